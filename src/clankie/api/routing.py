"""The two kinds of route: plain ones for what is hot, the framework's for the rest.

Both keep the protocol's order of checks: who asks (the gate), the form of the request, then rights.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.requests import Request as StarletteRequest
from starlette.routing import Route as StarletteRoute

from clankie.api.call import CALLER, DOOR, Call
from clankie.api.guard import HEAD
from clankie.api.hygiene import decode, json_content

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

Endpoint = Callable[..., Awaitable[Any]]


async def read_body(receive: Receive) -> bytes:
    """The whole body; the gate bounds it."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


class _Read(Request):
    """A request whose body was read and cleaned already."""

    def __init__(self, request: StarletteRequest, raw: bytes, value: object) -> None:
        super().__init__(request.scope, request.receive)
        self._raw, self._value = raw, value

    async def body(self) -> bytes:
        """What was read."""
        return self._raw

    async def json(self) -> Any:  # noqa: ANN401 - JSON
        """What it says."""
        return self._value


def _with_rights(endpoint: Endpoint) -> Endpoint:
    @functools.wraps(endpoint)
    async def checked(**values: Any) -> Any:  # noqa: ANN401 - the endpoint's own arguments
        call = values.get("call")
        if isinstance(call, Call):
            call.allow()
        return await endpoint(**values)

    return checked


class Cold(APIRoute):
    """A route of the framework with our JSON reading before it and our rights after its checks."""

    def __init__(self, path: str, endpoint: Endpoint, **options: Any) -> None:  # noqa: ANN401
        super().__init__(path, _with_rights(endpoint), **options)

    def get_route_handler(self) -> Callable[[StarletteRequest], Coroutine[Any, Any, Response]]:
        """Read and clean the body before the framework looks at it."""
        inner = super().get_route_handler()
        if self.body_field is None:
            return inner

        async def handle(request: StarletteRequest) -> Response:
            raw = await read_body(request.receive)
            value: object = None
            if raw:
                json_content(request.scope[HEAD].get(b"content-type"))
                value = decode(raw)
            return await inner(_Read(request, raw, value))

        return handle


def router(tag: str) -> APIRouter:
    """A router for one resource."""
    return APIRouter(route_class=Cold, tags=[tag])


class Hot:
    """What a plain route is given: the call, and the wire itself."""

    __slots__ = ("call", "head", "receive", "scope", "send")

    def __init__(self, call: Call, scope: Scope, receive: Receive, send: Send) -> None:
        self.call = call
        self.scope = scope
        self.head: dict[bytes, bytes] = scope[HEAD]
        self.receive = receive
        self.send = send

    @property
    def path(self) -> dict[str, str]:
        """The path's parameters."""
        path: dict[str, str] = self.scope["path_params"]
        return path


class _Plain:
    """An ASGI application of one route."""

    def __init__(self, route: tuple[str, str], handler: Callable[[Hot], Awaitable[None]]) -> None:
        self._route = route
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = Call(scope[DOOR], scope[CALLER], self._route)
        await self._handler(Hot(call, scope, receive, send))


def plain(method: str, path: str, handler: Callable[[Hot], Awaitable[None]]) -> StarletteRoute:
    """A route without the framework. `handler` calls `call.allow` after it checked the form."""
    route = StarletteRoute(path, _Plain((method, path), handler), methods=[method])
    route.methods = {method}  # no HEAD: it would open a stream only to throw it away
    return route
