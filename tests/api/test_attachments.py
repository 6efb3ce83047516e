"""Pictures and text files over HTTP: what is kept, how it comes back, and what is refused."""

import hashlib
from typing import Any

import pytest

from api.kit import HERE, Answer, Api
from clankie.core.conversation import Principal
from core.test_pictures import jpeg, png

PATH = "/v1/attachments"
TINY = png(3, 2)
DIGEST = hashlib.sha256(TINY).hexdigest()


async def upload(api: Api, data: bytes, kind: str, name: str = "cat.png", **how: Any) -> Answer:
    return await api.ask(
        "POST", f"{PATH}?name={name}", raw=data, headers={"content-type": kind}, **how
    )


async def set_limits(api: Api, **limits: object) -> None:
    found = (await api.get("/v1/settings")).json["revision"]
    body = {"attachments": limits, "expected_revision": found}
    assert (await api.ask("PATCH", "/v1/settings", body)).status == 200


async def test_a_picture_is_kept_once_and_comes_back_as_it_was(api: Api) -> None:
    # proves: DAY-2
    for _ in range(2):
        kept = await upload(api, TINY, "image/png")
        assert kept.status == 201
        assert kept.json == {
            "digest": DIGEST,
            "name": "cat.png",
            "media_type": "image/png",
            "size": len(TINY),
        }
    answer = await api.get(f"{PATH}/{DIGEST}")
    assert (answer.status, answer.raw) == (200, TINY)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == "inline"


async def test_what_is_no_picture_is_saved_and_never_shown_or_run(api: Api) -> None:
    # proves: SEC-2
    page = b"<script>alert(1)</script>"
    kept = await upload(api, page, "text/html; charset=utf-8", "page.html")
    answer = await api.get(f"{PATH}/{kept.json['digest']}")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "default-src 'none'" in policy


async def test_a_message_carries_what_was_uploaded_before(api: Api) -> None:
    # proves: DAY-2
    await upload(api, TINY, "image/png")
    given = [{"digest": DIGEST, "name": "my cat.png"}]
    sent = await api.send("look", "m-1", fields={"attachments": given})
    assert sent.status == 202
    whole = {**given[0], "media_type": "image/png", "size": len(TINY)}
    assert sent.json["delivery"]["attachments"] == [whole]
    message = next(one for one in await api.hall.log() if one["kind"] == "message")
    assert message["attachments"] == [whole]
    again = await api.send("look", "m-1", fields={"attachments": given})
    assert again.status == 200
    other = await api.send("look", "m-1", fields={"attachments": []})
    assert (other.status, other.code) == (409, "delivery_conflict")


async def test_a_message_cannot_name_what_was_never_uploaded(api: Api) -> None:
    given = [{"digest": "0" * 64, "name": "a"}]
    answer = await api.send("look", "m-1", fields={"attachments": given})
    assert (answer.status, answer.code) == (404, "attachment_not_found")
    assert await api.hall.log() == []


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("x", "attachments"),
        ([{"digest": "0" * 64, "name": "a"}] * 33, "attachments"),
        (["x"], "attachments.0"),
        ([{"digest": "0" * 63, "name": "a"}], "attachments.0.digest"),
        ([{"digest": 7, "name": "a"}], "attachments.0.digest"),
        ([{"digest": "0" * 64}], "attachments.0.name"),
        ([{"digest": "0" * 64, "name": "../etc/passwd"}], "attachments.0.name"),
        ([{"digest": "0" * 64, "name": "a\\b"}], "attachments.0.name"),
        ([{"digest": "0" * 64, "name": "a\u202eb"}], "attachments.0.name"),
        ([{"digest": "0" * 64, "name": "a" * 121}], "attachments.0.name"),
        ([{"digest": "0" * 64, "name": " "}], "attachments.0.name"),
    ],
)
async def test_an_attachment_out_of_form_is_refused_by_its_place(
    api: Api, given: object, path: str
) -> None:
    # proves: SEC-11
    answer = await api.send("look", "m-1", fields={"attachments": given})
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert answer.json["errors"][0]["path"] == path


async def test_only_so_many_go_with_one_message(api: Api) -> None:
    await upload(api, TINY, "image/png")
    await set_limits(api, count=1)
    given = [{"digest": DIGEST, "name": "a"}, {"digest": DIGEST, "name": "b"}]
    answer = await api.send("look", "m-1", fields={"attachments": given})
    assert (answer.status, answer.code) == (422, "invalid_field")


async def test_a_picture_with_too_many_pixels_is_refused_by_its_header(api: Api) -> None:
    # proves: SEC-11
    fits = await upload(api, jpeg(6_000, 4_000), "image/jpeg", "a.jpg")
    assert fits.status == 201
    answer = await upload(api, jpeg(6_001, 4_000), "image/jpeg", "a.jpg")
    assert (answer.status, answer.code) == (422, "invalid_field")
    assert "24 million pixels" in answer.json["detail"]
    await set_limits(api, megapixels=0.1)
    assert (await upload(api, png(400, 300), "image/png")).status == 422


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (TINY, "image/jpeg"),
        (b"no picture", "image/png"),
        (b"\xff\xfe\x00", "text/plain"),
        (b"a\0b", "text/plain"),
        (b"", "text/plain"),
    ],
)
async def test_content_that_is_not_what_it_says_is_refused(
    api: Api, data: bytes, kind: str
) -> None:
    # proves: SEC-11
    answer = await upload(api, data, kind)
    assert (answer.status, answer.code) == (422, "invalid_field")


@pytest.mark.parametrize("kind", ["image/svg+xml", "application/pdf", "video/mp4", "", "text/"])
async def test_only_pictures_that_models_see_and_text_are_taken(api: Api, kind: str) -> None:
    answer = await upload(api, TINY, kind)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert "image/png" in answer.json["detail"]


@pytest.mark.parametrize(
    "query", ["", "?name=", "?name=a%2Fb", "?name=a%00b", "?" + "&".join("a" * 9)]
)
async def test_a_file_needs_a_plain_name(api: Api, query: str) -> None:
    answer = await api.ask(
        "POST", PATH + query, raw=b"words", headers={"content-type": "text/plain"}
    )
    assert (answer.status, answer.code) == (422, "invalid_field")


async def test_an_attachment_may_be_larger_than_other_bodies_up_to_its_own_bound(api: Api) -> None:
    # proves: SEC-11
    large = b"x" * (2 * 1024 * 1024)
    assert (await upload(api, large, "text/plain")).status == 201
    refused = await api.ask("POST", f"{HERE}/inputs", raw=large)
    assert (refused.status, refused.json["limit"]) == (413, 1_048_576)
    await set_limits(api, bytes=1_024)
    answer = await upload(api, b"x" * 1_025, "text/plain")
    assert (answer.status, answer.code, answer.json["limit"]) == (413, "body_too_large", 1_024)
    assert (await upload(api, b"x" * 1_024, "text/plain")).status == 201


async def test_somebody_who_may_not_write_is_not_read(api: Api) -> None:
    secret = await api.token(Principal.WORKER)
    answer = await upload(api, b"x" * 9_000_000, "text/plain", token=secret)
    assert (answer.status, answer.code) == (403, "not_allowed")


@pytest.mark.parametrize("digest", ["0" * 64, "x", "0" * 65, "0" * 63 + "A"])
async def test_an_attachment_that_is_not_there_is_404(api: Api, digest: str) -> None:
    answer = await api.get(f"{PATH}/{digest}")
    assert (answer.status, answer.code) == (404, "attachment_not_found")
