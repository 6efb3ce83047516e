"""What is turned away before anybody asks who sends it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from api.kit import BASE, HERE, PORT, Api
from clankie.api.app import create_app
from clankie.api.door import ApiConfig
from clankie.api.guard import BODY_LIMIT, HEAD_LIMIT


@pytest.mark.parametrize(
    "host",
    [
        f"127.0.0.1:{PORT}",
        f"localhost:{PORT}",
        f"LOCALHOST:{PORT}",
        f"[::1]:{PORT}",
    ],
)
async def test_our_own_names_with_our_port_are_served(api: Api, host: str) -> None:
    # proves: SEC-1
    assert (await api.get("/v1/health", headers={"host": host})).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "localhost",
        f"localhost:{PORT + 1}",
        f"127.0.0.2:{PORT}",
        f"localhost:{PORT}.evil.example",
        f"localhost:{PORT} ",
        "",
    ],
)
async def test_another_name_is_turned_away(api: Api, host: str) -> None:
    # proves: SEC-1
    for path in ("/v1/health", "/v1/status", "/nowhere"):
        answer = await api.get(path, headers={"host": host})
        assert (answer.status, answer.code) == (421, "unknown_host")


async def test_a_configured_name_is_served(api: Api) -> None:
    # proves: SEC-1
    config = ApiConfig(port=PORT, backups=api.home, names=("clankie.example",))
    api.app = create_app(api.hall.house, config)
    for host in ("clankie.example", f"clankie.example:{PORT}"):
        head = {"host": host, "origin": f"https://{host}"}
        assert (await api.get("/v1/health", headers=head)).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"http://localhost:{PORT + 1}", ""]
)
async def test_a_foreign_page_is_turned_away(api: Api, origin: str) -> None:
    # proves: SEC-1
    for method, path in (("GET", "/v1/health"), ("OPTIONS", f"{HERE}/inputs"), ("GET", "/nowhere")):
        answer = await api.ask(method, path, headers={"origin": origin})
        assert (answer.status, answer.code) == (403, "foreign_origin")


async def test_our_own_page_is_served_and_no_answer_speaks_of_other_origins(api: Api) -> None:
    # proves: SEC-1
    for path in ("/v1/health", "/v1/status", "/nowhere"):
        answer = await api.get(path, headers={"origin": BASE})
        assert answer.status in {200, 404}
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


async def drive(
    api: Api, scope: dict[str, Any], *parts: bytes, last: bool = False
) -> list[dict[str, Any]]:
    """Send a hand-made request; what came back, and how much of the body was read."""
    sent: list[dict[str, Any]] = []
    left = list(parts)

    async def receive() -> dict[str, Any]:
        assert left, "read further than the bound"
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left) or not last}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    await api.app(scope, receive, send)
    sent[0]["left"] = len(left)
    return sent


def post(
    api: Api, *headers: tuple[bytes, bytes], server: Any = ("127.0.0.1", PORT)
) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": f"{HERE}/inputs",
        "raw_path": b"",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": server,
        "headers": [
            (b"host", f"127.0.0.1:{PORT}".encode()),
            (b"authorization", f"Bearer {api.secret}".encode()),
            (b"content-type", b"application/json"),
            *headers,
        ],
    }


async def test_a_body_that_says_it_is_too_large_is_not_read_at_all(api: Api) -> None:
    # proves: SEC-11
    scope = post(api, (b"content-length", str(BODY_LIMIT + 1).encode()))
    head, body = await drive(api, scope, b"x")
    assert head["status"] == 413
    assert b'"body_too_large"' in body["body"]
    assert head["left"] == 1
    assert (b"connection", b"close") in head["headers"]


async def test_a_body_in_pieces_is_read_no_further_than_its_bound(api: Api) -> None:
    # proves: SEC-11
    parts = [b"x" * 65_536] * 40
    head, _ = await drive(api, post(api, (b"transfer-encoding", b"chunked")), *parts)
    assert head["status"] == 413
    assert head["left"] == 40 - 17
    assert (b"connection", b"close") in head["headers"]


async def test_a_body_in_one_piece_beyond_its_bound_is_refused(api: Api) -> None:
    # proves: SEC-11
    scope, body = post(api, (b"transfer-encoding", b"chunked")), b"x" * (BODY_LIMIT + 1)
    assert (await drive(api, scope, body, last=True))[0]["status"] == 413


async def test_a_body_of_exactly_the_bound_is_read(api: Api) -> None:
    answer = await api.post(f"{HERE}/inputs", raw=b" " * BODY_LIMIT)
    assert (answer.status, answer.code) == (400, "bad_json")
    over = await api.ask("PATCH", "/v1/settings", raw=b" " * (BODY_LIMIT + 1))
    assert (over.status, over.code) == (413, "body_too_large")


async def test_headers_beyond_their_bound_are_refused(api: Api) -> None:
    # proves: SEC-11
    answer = await api.get("/v1/health", headers={"x-long": "x" * HEAD_LIMIT})
    assert (answer.status, answer.code) == (431, "headers_too_large")


async def test_a_request_with_two_hosts_is_turned_away(api: Api) -> None:
    # proves: SEC-1
    for second in (b"evil.example", f"127.0.0.1:{PORT}".encode()):
        head, body = await drive(api, post(api, (b"host", second)), b"{}")
        assert head["status"] == 421
        assert b'"unknown_host"' in body["body"]


@pytest.mark.parametrize("host", [b"localhost", b"localhost:9"])
@pytest.mark.parametrize("server", [None, ("/run/service.sock", None)])
async def test_over_the_unix_socket_only_localhost_is_a_name(
    api: Api, host: bytes, server: Any
) -> None:
    # proves: SEC-1
    scope = post(api, server=server) | {"method": "GET", "path": "/v1/health"}
    scope["headers"] = [(b"host", host)]
    assert (await drive(api, scope))[0]["status"] == 200
    scope["headers"] = [(b"host", b"127.0.0.1:4310")]
    assert (await drive(api, scope))[0]["status"] == 421
    scope["headers"] = [(b"host", host), (b"origin", b"http://localhost")]
    assert (await drive(api, scope))[0]["status"] == 403


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([(b"host", f"localhost:{PORT}".encode())], "there is no websocket here"),
        ([(b"host", b"evil.example")], "unknown_host"),
        (
            [(b"host", f"localhost:{PORT}".encode()), (b"origin", b"http://evil.example")],
            "foreign_origin",
        ),
    ],
)
async def test_websockets_pass_the_same_guard(
    api: Api, headers: list[tuple[bytes, bytes]], reason: str
) -> None:
    # proves: SEC-1
    scope = post(api) | {"type": "websocket", "path": "/v1/play/watch", "headers": headers}
    sent = await drive(api, scope)
    assert (sent[0]["type"], sent[0]["reason"]) == ("websocket.close", reason)


async def test_a_client_that_leaves_in_the_middle_of_its_body_sends_nothing(api: Api) -> None:
    sent: list[Any] = []

    async def messages() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "http.request", "body": b'{"delivery_id":', "more_body": True}
        yield {"type": "http.disconnect"}

    source = messages()

    async def receive() -> dict[str, Any]:
        return await anext(source)

    async def send(message: Any) -> None:
        sent.append(message)

    await api.app(post(api, (b"transfer-encoding", b"chunked")), receive, send)
    assert sent[0]["status"] == 400
    assert await api.hall.log() == []
