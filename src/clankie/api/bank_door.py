"""/v1/mcp: the way to the tools of a seat.

Rule 1: who calls is the token of the request, every time. A session gives nothing; it only lets a
        client say which calls belong together.
Rule 2: a session that is not the caller's own answers as one that never was: 404.
Rule 3: there is no stream from here to the client, so there is nothing to leave open: GET is 405.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.api.errors import SessionNotFoundError
from clankie.api.hygiene import decode, json_content
from clankie.api.replies import Reply
from clankie.api.routing import plain, read_body

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import Message, Receive, Send

    from clankie.api.routing import Hot

PATH: Final = "/v1/mcp"
HEADER: Final = b"mcp-session-id"


async def post_mcp(hot: Hot) -> None:
    """One message of the protocol, and what answers it."""
    json_content(hot.head.get(b"content-type"))
    raw = await read_body(hot.receive)
    message = decode(raw)
    hot.call.allow()
    session = _named(hot)
    scope, send = dict(hot.scope), hot.send
    server = await asyncio.to_thread(_load)
    if session is not None:
        scope[server.SESSION] = session
    elif _begins(message):
        send = _beginning(hot)
    await server.serve(scope, _once(raw, hot.receive), send)


async def delete_mcp(hot: Hot) -> None:
    """End a session."""
    hot.call.allow()
    session = _named(hot)
    if session is None:
        raise SessionNotFoundError
    hot.call.door.mcp.end(hot.call.caller.token, session)
    await Reply(204, b"").send(hot.send)


def _named(hot: Hot) -> str | None:
    """The session that the request names, if it names one. Raises SessionNotFoundError."""
    given = hot.head.get(HEADER)
    if given is None:
        return None
    session = given.decode("latin-1")
    hot.call.door.mcp.check(hot.call.caller.token, session)
    return session


def _begins(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    return cast("dict[str, object]", message).get("method") == "initialize"


def _beginning(hot: Hot) -> Send:
    """Begin a session with the answer to the handshake, if it is a good one."""

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:  # noqa: PLR2004
            session = hot.call.house.ids.secret()
            tokens = hot.call.house.tokens
            hot.call.door.mcp.begin(hot.call.caller.token, session, tokens.alive)
            headers = [*message.get("headers", ()), (HEADER, session.encode())]
            message = {**message, "headers": headers}
        await hot.send(message)

    return send


def _once(raw: bytes, receive: Receive) -> Receive:
    """The body that was read already, and then whatever comes."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": raw, "more_body": False}

    return again


def _load() -> Any:  # noqa: ANN401 - a module
    from clankie.api import bank_server  # noqa: PLC0415 - the SDK is slow to load, and not needed

    return bank_server


def routes() -> list[Route]:
    """Two."""
    return [plain("POST", PATH, post_mcp), plain("DELETE", PATH, delete_mcp)]
