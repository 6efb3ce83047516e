"""Servers of further tools: merged by name, bounded, and without a place for a secret."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clankie.core.errors import InvalidFieldError
from clankie.core.mcp import SERVERS, McpServer, merged
from core.servers import bodies, patches, whole

NOTES = {
    "command": "npx",
    "args": ["-y", "notes"],
    "url": "",
    "env": {"NOTES_TOKEN": "notes"},
    "headers": {},
    "timeout": 30.0,
    "on": True,
}
STANDING = merged({}, {"notes": NOTES})
SECRETS = [
    "sk-ant-API03-Zm9v",
    "Bearer abc",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "eyJhbGciOiJIUzI1NiJ9.e30.Et9HFtf9R3GEMA0IICOfFMVXY7kkTX1wr4qCyIxf58U",
    "pass word",
    "a/b+c=",
    "x" * 65,
    "",
    "-a",
    "notes\n",
    "ключ",
]


def refusal(patch: object) -> InvalidFieldError:
    with pytest.raises(InvalidFieldError) as refused:
        merged(STANDING, patch)
    return refused.value


def test_a_server_is_read_field_by_field() -> None:
    assert STANDING["notes"] == McpServer(
        command="npx", args=("-y", "notes"), env={"NOTES_TOKEN": "notes"}, timeout=30.0
    )
    assert STANDING["notes"].to_wire() == NOTES


def test_a_server_is_on_and_has_a_minute_for_a_call_unless_said_otherwise() -> None:
    server = merged({}, {"far": {"url": "https://tools.example"}})["far"]
    assert server == McpServer(url="https://tools.example", timeout=60.0, on=True)
    assert type(merged({}, {"a": {"command": "x", "timeout": 5}})["a"].timeout) is float


@given(patches(), bodies())
def test_a_server_as_json_brings_the_same_server_back(
    before: dict[str, Any], body: dict[str, Any]
) -> None:
    server = merged({}, {"a": body})["a"]
    assert server == whole(body)
    wire = server.to_wire()
    assert list(wire) == [one.name for one in fields(McpServer)]
    assert json.loads(json.dumps(wire)) == wire
    assert merged({}, {"a": wire})["a"] == server
    servers = merged({}, before)
    shown = {name: one.to_wire() for name, one in servers.items()}
    assert merged({}, shown) == servers
    assert merged(servers, shown) == servers


@given(patches(), patches())
def test_a_patch_changes_the_servers_it_names_and_no_other(
    before: dict[str, Any], patch: dict[str, Any]
) -> None:
    old = merged({}, before)
    new = merged({}, {**before, **patch})
    assert {name for name in new if name not in patch} == set(old) - set(patch)
    changed = merged(old, dict.fromkeys(patch))
    assert merged(changed, patch) == new
    assert old == merged({}, before)


def test_null_removes_a_server_and_one_that_is_not_there_needs_no_removal() -> None:
    assert merged(STANDING, {"notes": None, "other": None}) == {}
    assert list(STANDING) == ["notes"]


def test_a_part_of_a_server_can_be_changed_alone() -> None:
    off = merged(STANDING, {"notes": {"on": False}})["notes"]
    assert off.to_wire() == {**NOTES, "on": False}
    assert merged(STANDING, {"notes": {}}) == STANDING
    moved = merged(STANDING, {"notes": {"command": None, "args": None, "url": "http://x"}})
    assert moved["notes"].to_wire() == {**NOTES, "command": "", "args": [], "url": "http://x"}


@pytest.mark.parametrize("place", ["env", "headers"])
def test_credentials_are_named_one_by_one_and_null_takes_one_back(place: str) -> None:
    both = merged(STANDING, {"notes": {place: {"A": "one", "B": "two"}}})
    one = merged(both, {"notes": {place: {"A": None, "C": None}}})
    kept = {**NOTES[place], "B": "two"}  # type: ignore[dict-item] # the values of a JSON object
    assert one["notes"].to_wire()[place] == kept
    assert merged(one, {"notes": {place: None}})["notes"].to_wire()[place] == {}


@pytest.mark.parametrize("place", ["env", "headers"])
@pytest.mark.parametrize("secret", SECRETS)
def test_only_the_name_of_a_credential_can_stand_where_a_secret_would(
    place: str, secret: str
) -> None:
    error = refusal({"notes": {place: {"TOKEN": secret}}})
    assert error.path == f"mcp.servers.notes.{place}.TOKEN"
    assert error.rule == "the name of a stored credential: 1 to 64 of a-z 0-9 . _ -"
    if len(secret) > 2:
        assert secret not in error.detail


@pytest.mark.parametrize("place", ["env", "headers"])
@pytest.mark.parametrize("name", ["notes", "0", "a.b_c-d", "x" * 64])
def test_every_name_a_credential_may_have_can_be_used(place: str, name: str) -> None:
    server = merged(STANDING, {"notes": {place: {"TOKEN": name}}})["notes"]
    assert server.to_wire()[place]["TOKEN"] == name


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@tools.example/",
        "https://user@tools.example",
        "http://tools.example\\@evil.example",
        "https://tools.example/#part",
        "https://",
        "https:///path",
        "https://?a",
        "ftp://tools.example",
        "HTTPS//tools.example",
        "javascript:alert(1)",
        "//tools.example",
        "http://a b",
        "http://a/b c",
        " http://a",
        "http://a\n",
        "http://" + "a" * 1_018,
    ],
)
def test_an_address_is_http_and_carries_no_user_name(url: str) -> None:
    assert refusal({"far": {"url": url}}).path == "mcp.servers.far.url"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:3000",
        "https://[::1]:8443/mcp",
        "https://a.example/p@th?q=1/2",
        "https://bücher.example/",
        "http://a/" + "b" * 1_015,
    ],
)
def test_an_ordinary_address_is_taken_as_it_stands(url: str) -> None:
    assert merged({}, {"far": {"url": url}})["far"].url == url


@pytest.mark.parametrize("name", ["a", "z9", "web-search", "a-1-b", "x" * 32])
def test_a_name_is_short_and_plain(name: str) -> None:
    assert list(merged({}, {name: NOTES})) == [name]


@pytest.mark.parametrize(
    "name",
    ["", "A", "1a", "-a", "a-", "a--b", "a_b", "a__b", "a.b", "a b", "a\n", "é", "x" * 33],
)
def test_any_other_name_is_refused_for_it_could_pass_for_another_servers_tool(name: str) -> None:
    for server in (NOTES, None):
        error = refusal({name: server})
        assert error.path == f"mcp.servers.{name}"
        assert error.rule.startswith("a name of 1 to 32 of a-z 0-9")


@pytest.mark.parametrize(
    ("change", "path", "what"),
    [
        (5, "", "an object or null"),
        ([], "", "an object or null"),
        ({"command": None}, "", "either command or url"),
        ({"command": ""}, "", "either command or url"),
        ({"url": "http://x"}, "", "either command or url"),
        ({"token": "x"}, ".token", "one of command, args, url, env, headers, timeout, on"),
        ({"command": 5}, ".command", "printable text of at most 1024 characters"),
        ({"command": "a\x00"}, ".command", "printable text of at most 1024 characters"),
        ({"command": "x" * 1_025}, ".command", "printable text of at most 1024 characters"),
        ({"command": " "}, ".command", "a program, without blanks around it"),
        ({"command": "npx "}, ".command", "a program, without blanks around it"),
        ({"args": "-y"}, ".args", "a list of at most 64 texts"),
        ({"args": {"-y": 1}}, ".args", "a list of at most 64 texts"),
        ({"args": ["x"] * 65}, ".args", "a list of at most 64 texts"),
        ({"args": ["x", 5]}, ".args", "printable text of at most 1024 characters"),
        ({"args": ["\ud800"]}, ".args", "printable text of at most 1024 characters"),
        ({"url": 5}, ".url", "printable text of at most 1024 characters"),
        ({"env": []}, ".env", "an object of name to the name of a stored credential"),
        ({"headers": "x"}, ".headers", "an object of name to the name of a stored credential"),
        ({"env": {"A-B": "x"}}, ".env.A-B", "a plain name of at most 64 characters"),
        ({"env": {"1A": None}}, ".env.1A", "a plain name of at most 64 characters"),
        ({"env": {"A\n": "x"}}, ".env.A\n", "a plain name of at most 64 characters"),
        ({"headers": {"A_B": "x"}}, ".headers.A_B", "a plain name of at most 64 characters"),
        ({"headers": {"A:": "x"}}, ".headers.A:", "a plain name of at most 64 characters"),
        ({"env": {f"A{n}": "x" for n in range(64)}}, ".env", "at most 64 names"),
        ({"headers": {f"A{n}": "x" for n in range(65)}}, ".headers", "at most 64 names"),
        ({"timeout": 0.9}, ".timeout", "a number from 1 to 600"),
        ({"timeout": 601}, ".timeout", "a number from 1 to 600"),
        ({"timeout": True}, ".timeout", "a number from 1 to 600"),
        ({"timeout": "5"}, ".timeout", "a number from 1 to 600"),
        ({"timeout": math.nan}, ".timeout", "a number from 1 to 600"),
        ({"timeout": 10**400}, ".timeout", "a number from 1 to 600"),
        ({"on": 1}, ".on", "true or false"),
        ({"on": "true"}, ".on", "true or false"),
    ],
)
def test_what_is_out_of_bounds_is_refused_and_named(change: object, path: str, what: str) -> None:
    error = refusal({"notes": change})
    assert (error.path, error.rule) == (f"mcp.servers.notes{path}", what)


@pytest.mark.parametrize(
    ("change", "name", "found"),
    [
        ({"command": "x" * 1_024}, "command", "x" * 1_024),
        ({"args": ["x"] * 64}, "args", ["x"] * 64),
        ({"args": ("", "a b")}, "args", ["", "a b"]),
        ({"timeout": 1}, "timeout", 1.0),
        ({"timeout": 600.0}, "timeout", 600.0),
        ({"timeout": None}, "timeout", 60.0),
        ({"on": None}, "on", True),
    ],
)
def test_bounds_are_allowed_and_null_brings_a_default_back(
    change: object, name: str, found: object
) -> None:
    assert merged(STANDING, {"notes": change})["notes"].to_wire()[name] == found


@pytest.mark.parametrize("patch", [None, [], "", 0, False, "notes"])
def test_servers_are_an_object(patch: object) -> None:
    assert refusal(patch).path == "mcp.servers"


def test_there_are_at_most_16_servers_after_a_patch() -> None:
    full = merged({}, {f"s{n}": NOTES for n in range(SERVERS)})
    assert len(full) == 16
    with pytest.raises(InvalidFieldError, match="at most 16 servers") as refused:
        merged(full, {"one-more": NOTES})
    assert refused.value.path == "mcp.servers"
    assert len(merged(full, {"one-more": NOTES, "s0": None})) == 16


SOME_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
FIELD_NAMES = st.sampled_from([one.name for one in fields(McpServer)])


@given(
    st.dictionaries(
        st.sampled_from(["notes", "other"]) | st.text(max_size=5),
        SOME_JSON | st.dictionaries(FIELD_NAMES | st.text(max_size=5), SOME_JSON, max_size=3),
        max_size=3,
    )
)
@example({"notes": {"env": {"TOKEN": None}}})
def test_whatever_json_is_asked_the_answer_is_allowed_servers_or_a_named_field(
    patch: dict[str, Any],
) -> None:
    try:
        after = merged(STANDING, patch)
    except InvalidFieldError as refused:
        error = refused
    else:
        assert_standing(after)
        assert merged(after, patch) == after
        return
    assert error.path.startswith("mcp.servers")


def assert_standing(after: Mapping[str, McpServer]) -> None:
    shown = {name: one.to_wire() for name, one in after.items()}
    assert merged({}, shown) == after
