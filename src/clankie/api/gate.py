"""The outermost layer: guard, then who asks, then the routes; every error leaves as a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.api import attachments, problems
from clankie.api.auth import identify
from clankie.api.call import CALLER, DOOR
from clankie.api.guard import BODY_LIMIT, HEAD, Exchange, Names, read_head
from clankie.api.rights import public
from clankie.core.errors import RefusedError
from clankie.host import journal

TRANSCRIPT: Final = "/transcript"
TRANSCRIPT_LIMIT: Final = 786_432
"""Bytes of one batch of a transcript."""

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from clankie.api.door import Door


class Gate:
    """A pure ASGI application around all others."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app = app
        self.door = door
        self._names = Names(door.config.port, door.config.names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(receive, send)
        try:
            head = scope[HEAD] = read_head(scope["headers"])
            exchange.expect(head, self._bound(scope))
            self._names.check(scope, head)
            if not public(scope["method"], scope["path"]):
                scope[CALLER] = identify(self.door.house.tokens, scope["method"], head)
            scope[DOOR] = self.door
            await self.app(scope, exchange.receive, exchange.send)
        except Exception as error:
            if exchange.started:
                # The answer is under way and cannot be taken back: cut it off, visibly.
                journal.defect("answer broke off", error, path=scope["path"])
                raise
            await problems.explain(error, self.door.house.ids).send(exchange.send)

    def _bound(self, scope: Scope) -> int:
        if scope["path"] == attachments.PATH:
            return self.door.house.settings.attachments.bytes
        if scope["path"].endswith(TRANSCRIPT):
            return TRANSCRIPT_LIMIT
        return BODY_LIMIT

    async def _websocket(self, scope: Scope, send: Send) -> None:
        """There are none yet: all are turned away, foreign ones with the guard's reason."""
        reason = "there is no websocket here"
        try:
            self._names.check(scope, read_head(scope["headers"]))
        except RefusedError as error:
            reason = error.code
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
