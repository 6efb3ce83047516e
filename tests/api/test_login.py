"""A browser's session."""

import pytest

from api.kit import BASE, HERE, Answer, Api
from clankie.api.login_codes import ATTEMPTS

LOGIN = "/v1/login"


async def code_of(api: Api) -> str:
    answer = await api.post("/v1/login-codes")
    assert answer.status == 201
    assert len(answer.json["code"]) == 8
    return str(answer.json["code"])


async def logged_in(api: Api) -> tuple[dict[str, str], str]:
    """The headers of a browser with a session, and what it sends back with writes."""
    answer = await api.post(LOGIN, {"code": await code_of(api)}, token=None)
    assert answer.status == 200
    cookie = cookies(answer)["clankie_session"].partition(";")[0]
    return {"cookie": f"clankie_session={cookie}"}, str(answer.json["csrf"])


def cookies(answer: Answer) -> dict[str, str]:
    found = answer.headers.get_list("set-cookie")
    return dict(one.split("=", 1) for one in found)


async def test_a_code_opens_a_session_that_scripts_cannot_read(api: Api) -> None:
    answer = await api.post(LOGIN, {"code": (await code_of(api)).lower()}, token=None)
    session = cookies(answer)["clankie_session"].lower()
    assert "httponly" in session
    assert "samesite=strict" in session
    head = {"cookie": f"clankie_session={cookies(answer)['clankie_session'].partition(';')[0]}"}
    assert (await api.get("/v1/status", token=None, headers=head)).status == 200


async def test_a_code_works_once(api: Api) -> None:
    code = await code_of(api)
    assert (await api.post(LOGIN, {"code": code}, token=None)).status == 200
    again = await api.post(LOGIN, {"code": code}, token=None)
    assert (again.status, again.code) == (401, "token_unknown")
    assert "set-cookie" not in again.headers


async def test_a_code_works_for_a_minute(api: Api) -> None:
    code = await code_of(api)
    await api.hall.clock.advance(60)
    assert (await api.post(LOGIN, {"code": code}, token=None)).status == 401


async def test_after_a_few_wrong_guesses_no_code_works(api: Api) -> None:
    code = await code_of(api)
    for _ in range(ATTEMPTS):
        assert (await api.post(LOGIN, {"code": "AAAAAAAA"}, token=None)).status == 401
    assert (await api.post(LOGIN, {"code": code}, token=None)).status == 401
    assert (await api.post(LOGIN, {"code": await code_of(api)}, token=None)).status == 200


async def test_only_so_many_codes_are_open(api: Api) -> None:
    codes = [await code_of(api) for _ in range(9)]
    assert (await api.post(LOGIN, {"code": codes[0]}, token=None)).status == 401
    assert (await api.post(LOGIN, {"code": codes[1]}, token=None)).status == 200


async def test_a_write_with_the_cookie_needs_the_header_of_our_own_page(api: Api) -> None:
    head, csrf = await logged_in(api)
    body = {"delivery_id": "m-1", "text": "hello"}
    for given in ({}, {"x-clankie-csrf": "0" * 32}):
        refused = await api.post(f"{HERE}/inputs", body, token=None, headers=head | given)
        assert (refused.status, refused.code) == (403, "not_allowed")
    plain = head | {"x-clankie-csrf": csrf, "content-type": "text/plain"}
    assert (await api.post(f"{HERE}/inputs", body, token=None, headers=plain)).status == 415
    own = head | {"x-clankie-csrf": csrf}
    assert (await api.post(f"{HERE}/inputs", body, token=None, headers=own)).status == 202
    assert (await api.hall.log())[0]["author"] == {"principal": "operator", "id": "operator"}
    assert (await api.get("/v1/deliveries/m-1")).status == 200


async def test_a_session_is_listed_and_revoked_like_any_token(api: Api) -> None:
    head, _ = await logged_in(api)
    listed = (await api.get("/v1/tokens")).json["tokens"]
    assert [one["principal"] for one in listed] == [{"principal": "operator", "id": "session"}]
    assert (await api.ask("DELETE", f"/v1/tokens/{listed[0]['id']}")).status == 204
    answer = await api.get("/v1/status", token=None, headers=head)
    assert (answer.status, answer.code) == (401, "token_unknown")


async def test_a_session_is_no_bearer_and_a_bearer_is_no_session(api: Api) -> None:
    head, _ = await logged_in(api)
    secret = head["cookie"].partition("=")[2]
    assert (await api.get("/v1/status", token=secret)).status == 401
    cookie = {"cookie": f"clankie_session={api.secret}"}
    assert (await api.get("/v1/status", token=None, headers=cookie)).status == 401


@pytest.mark.parametrize(
    "cookie", ["other=1", "clankie_session=", "clankie_session=x", "a b;;==", "clankie_session"]
)
async def test_a_cookie_that_says_nothing_opens_nothing(api: Api, cookie: str) -> None:
    answer = await api.get("/v1/status", token=None, headers={"cookie": cookie})
    assert answer.status == 401


async def test_a_page_on_disk_posts_its_code_as_a_form(api: Api) -> None:
    raw = f"code={await code_of(api)}".encode()
    head = {"content-type": "application/x-www-form-urlencoded", "origin": "null"}
    answer = await api.post(LOGIN, raw=raw, token=None, headers=head)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "clankie_session" in cookies(answer)
    assert "httponly" not in cookies(answer)["clankie_csrf"].lower()


async def test_a_foreign_page_cannot_even_try_codes(api: Api) -> None:
    head = {"origin": "http://evil.example"}
    answer = await api.post(LOGIN, {"code": await code_of(api)}, token=None, headers=head)
    assert (answer.status, answer.code) == (403, "foreign_origin")


@pytest.mark.parametrize(
    ("kind", "raw", "status"),
    [
        ("application/json", b"{}", 422),
        ("application/json", b'{"code": 7}', 422),
        ("application/json", b'["code"]', 422),
        ("application/json", b'{"code": "' + b"A" * 65 + b'"}', 422),
        ("application/json", b"{", 400),
        ("application/x-www-form-urlencoded", b"", 422),
        ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * 200), 422),
        ("text/plain", b"code=AAAAAAAA", 415),
    ],
)
async def test_what_is_no_code_is_refused(api: Api, kind: str, raw: bytes, status: int) -> None:
    head = {"content-type": kind, "origin": BASE}
    assert (await api.post(LOGIN, raw=raw, token=None, headers=head)).status == status


async def test_cookies_are_for_encrypted_connections_alone_where_the_browser_has_one(
    api: Api,
) -> None:
    # proves: SEC-1
    plain = cookies(await api.post(LOGIN, {"code": await code_of(api)}, token=None))
    assert not any("secure" in cookie.lower() for cookie in plain.values())

    # A proxy ends the encryption: to us it speaks plainly, and hands on where the page came from.
    head = {"origin": BASE.replace("http:", "https:")}
    behind = cookies(await api.post(LOGIN, {"code": await code_of(api)}, token=None, headers=head))
    assert all("secure" in cookie.lower() for cookie in behind.values())
    assert len(behind) == 2
