"""JSON from outside."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit import HERE, Api
from clankie.api.errors import BadJsonError
from clankie.api.hygiene import DEPTH_LIMIT, decode
from clankie.core.errors import InvalidFieldError

BAD = [
    b"",
    b"{",
    b"nope",
    b"{'a': 1}",
    b'{"a": 1,}',
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": -Infinity}',
    b'{"a": 1e999}',
    b'{"a": 1, "a": 2}',
    b'{"a": {"b": 1, "b": 2}}',
    b'{"a": "\xff"}',
    b'{"a": "\xed\xa0\x80"}',
    b'\xef\xbb\xbf{"a": 1}',
    b'{"a": "\x00"}',
    b'{"a": 1} {"b": 2}',
    b'{"a": ' + b"9" * 5_000 + b"}",
    b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1),
    b'{"a":' * (DEPTH_LIMIT + 1) + b"1" + b"}" * (DEPTH_LIMIT + 1),
    b"[" * 100_000,
]


@pytest.mark.parametrize("raw", BAD)
async def test_what_is_not_json_here_is_refused_by_every_kind_of_route(
    api: Api, raw: bytes
) -> None:
    # proves: SEC-11
    for method, path in (("POST", f"{HERE}/inputs"), ("PATCH", "/v1/settings")):
        answer = await api.ask(method, path, raw=raw)
        if raw:
            assert (answer.status, answer.code) == (400, "bad_json")
        assert answer.status in {400, 422}


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (r'{"delivery_id": "m-1", "text": "a\u0000b"}', "text"),
        (r'{"delivery_id": "m-1", "text": "a\ud800b"}', "text"),
        (r'{"delivery_id": "m-1", "text": "a\udc00\ud800b"}', "text"),
        (r'{"delivery_id": "m-1", "text": "x", "later": [{"deep": "\u0000"}]}', "later.0.deep"),
        (r'{"delivery_id": "m-1", "text": "x", "\u0000": 1}', "body"),
        (r'{"delivery_id": "m-1", "text": "x", "a": {"\ud800": 1}}', "a"),
        (r'"\u0000"', "body"),
    ],
)
async def test_nul_and_half_surrogates_are_refused_wherever_they_stand(
    api: Api, raw: str, path: str
) -> None:
    # proves: SEC-11
    answer = await api.post(f"{HERE}/inputs", raw=raw.encode())
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert answer.json["errors"][0]["path"] == path
    assert await api.hall.log() == []


async def test_whole_surrogate_pairs_are_ordinary_text(api: Api) -> None:
    raw = rb'{"delivery_id": "m-1", "text": "\ud83d\ude00"}'
    assert (await api.post(f"{HERE}/inputs", raw=raw)).status == 202
    assert (await api.hall.log())[0]["text"] == "\U0001f600"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", "json"]
)
async def test_a_body_of_another_kind_is_refused(api: Api, kind: str) -> None:
    # proves: SEC-11
    for method, path in (("POST", f"{HERE}/inputs"), ("PATCH", "/v1/settings")):
        answer = await api.ask(method, path, raw=b"{}", headers={"content-type": kind})
        assert (answer.status, answer.code) == (415, "unsupported_media_type")


async def test_json_may_name_its_charset(api: Api) -> None:
    head = {"content-type": "Application/JSON; charset=utf-8"}
    answer = await api.post(f"{HERE}/inputs", {"delivery_id": "m-1", "text": "é"}, headers=head)
    assert answer.status == 202


async def test_every_wrong_field_of_a_body_is_named(api: Api) -> None:
    answer = await api.post("/v1/conversations", {"request_id": 7, "name": "", "kind": "room"})
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert {one["path"] for one in answer.json["errors"]} == {"request_id", "name", "kind"}
    assert all(one["rule"] for one in answer.json["errors"])


@pytest.mark.parametrize("value", ["1", 1.5, True, None, [1], -1, 2**53])
async def test_types_are_taken_at_their_word(api: Api, value: object) -> None:
    # proves: SEC-11
    answer = await api.post(f"{HERE}/reset", {"expected_revision": value})
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "expected_revision")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def dirty(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value or any("\ud800" <= one <= "\udfff" for one in value)
    if isinstance(value, dict):
        return any(dirty(name) or dirty(one) for name, one in value.items())
    return isinstance(value, list) and any(map(dirty, value))


@given(JSON, st.booleans())
def test_harmless_json_is_read_as_it_is(value: object, escaped: bool) -> None:
    # proves: SEC-11
    raw = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    if not dirty(value):
        assert decode(raw) == value
        return
    with pytest.raises((BadJsonError, InvalidFieldError)):
        decode(raw)


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_be_read_or_refused(raw: bytes) -> None:
    # proves: SEC-11
    try:
        decode(raw)
    except (BadJsonError, InvalidFieldError) as error:
        assert error.detail  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("opening", ['"', '\\"', '["', '{"a":"'])
def test_a_body_made_to_be_slow_is_refused_at_once(opening: str) -> None:
    with pytest.raises(BadJsonError):
        decode(opening.encode() * 200_000)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert decode(b"[2.0, 2.5, 1e300]") == [2, 2.5, 1e300]
    assert [type(one) for one in decode(b"[2.0, 2e3, 2.5, 1e300]")] == [int, int, float, float]  # type: ignore[attr-defined]


def test_the_deepest_body_that_is_allowed_is_read() -> None:
    assert depth(decode(b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT)) == DEPTH_LIMIT
    wide = json.dumps([[1]] * 100).encode()
    assert decode(wide) == [[1]] * 100
