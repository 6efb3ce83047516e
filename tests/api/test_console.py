"""The console's page and files as the door serves them."""

import pytest

from api.kit import CONSOLE, Api
from clankie.api.assets import TYPES
from clankie.api.console import POLICY

FILES = sorted(one.name for one in CONSOLE.iterdir() if one.suffix in TYPES)


@pytest.mark.parametrize("path", ["/", "/login"])
async def test_the_page_comes_without_a_token_and_under_the_policy(api: Api, path: str) -> None:
    # proves: SEC-2
    answer = await api.get(path, token=None)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy == POLICY.decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"


async def test_every_file_is_kept_by_the_browser_and_asked_for_again(api: Api) -> None:
    for name in FILES:
        first = await api.get(f"/console/{name}", token=None)
        assert (first.status, first.headers["cache-control"]) == (200, "no-cache"), name
        tag = {"if-none-match": first.headers["etag"]}
        again = await api.get(f"/console/{name}", token=None, headers=tag)
        assert (again.status, again.raw) == (304, b""), name
        other = await api.get(f"/console/{name}", token=None, headers={"if-none-match": '"x"'})
        assert other.raw == first.raw


@pytest.mark.parametrize(
    "name", ["nothing.js", "..%2Fapi%2Fapp.py", "__init__.py", "%2e%2e", "a/b.js", ""]
)
async def test_what_is_no_file_of_the_console_is_not_served(api: Api, name: str) -> None:
    answer = await api.get(f"/console/{name}", token=None)
    assert (answer.status, answer.code) == (404, "not_found")


async def test_files_are_packed_for_whoever_can_unpack_them(api: Api) -> None:
    packed = await api.get("/console/main.js", token=None)
    plain = await api.get("/console/main.js", token=None, headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.raw == plain.raw == (CONSOLE / "main.js").read_bytes()
    assert packed.headers["etag"] != plain.headers["etag"]


@pytest.mark.parametrize("path", ["/", "/login", "/console/main.js"])
async def test_nothing_but_reading_is_possible(api: Api, path: str) -> None:
    answer = await api.post(path)
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


async def test_the_page_is_for_our_own_names_only(api: Api) -> None:
    foreign = await api.get("/", token=None, headers={"host": "evil.example"})
    assert (foreign.status, foreign.code) == (421, "unknown_host")
