"""The seat's tools as the service serves them at /v1/mcp, asked for one call at a time.

Each call has a connection of its own with the seat's token as it is then: a restart of the service
or a renewed token breaks nothing, and nothing of one seat can be left over for another.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from clankie import __version__
from clankie.seats import registration
from clankie.seats.transport import UnixTransport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from clankie.seats.folder import Folder
    from clankie.seats.registration import Seated

URL: Final = "http://localhost/v1/mcp"
LIMIT: Final = 60.0
"""Seconds of one call."""
_R = TypeVar("_R", bound=types.Result)
_REASONS: Final = {
    401: "This seat's token opens nothing any more. Ask the person to open the seat again with "
    "`clankie seat open`.",
    404: "The service has no such seat any more. Ask the person to open it again with "
    "`clankie seat open`.",
}


class RelayError(Exception):
    """The service's tools cannot be reached; the text says why and what to do."""


class Relay:
    """The tools of the seat in this folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def tools(self) -> list[types.Tool]:
        """What the seat may use. Raises RelayError."""
        request = types.ListToolsRequest(params=types.PaginatedRequestParams())
        return list((await self._asked(request, types.ListToolsResult)).tools)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Use one. Raises RelayError."""
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        request = types.CallToolRequest(params=params)
        return await self._asked(request, types.CallToolResult)

    async def _asked(self, request: types.ClientRequest, kind: type[_R]) -> _R:
        seated = registration.seated(self._folder)
        if seated is None:
            raise RelayError("This session is not registered as a seat yet. Try again in a moment.")
        statuses: list[int] = []
        try:
            async with self._connected(seated, statuses) as client:
                return await client.session.send_request(request, kind, LIMIT)
        except MCPError as error:
            if statuses:
                raise RelayError(_reason(statuses[-1])) from error
            raise RelayError(f"The service refused: {error.message}") from error
        except (httpx2.HTTPError, OSError, ExceptionGroup) as error:
            raise RelayError(_reason(statuses[-1] if statuses else 0)) from error

    @asynccontextmanager
    async def _connected(self, seated: Seated, statuses: list[int]) -> AsyncGenerator[Client]:
        async def keep(response: httpx2.Response) -> None:
            if response.is_error:
                statuses.append(response.status_code)

        http = httpx2.AsyncClient(
            transport=UnixTransport(self._folder.socket),
            headers={"Authorization": f"Bearer {seated.token}"},
            timeout=LIMIT,
            trust_env=False,
            event_hooks={"response": [keep]},
        )
        client = Client(
            streamable_http_client(URL, http_client=http),
            read_timeout_seconds=LIMIT,
            client_info=types.Implementation(name="clankie-bridge", version=__version__),
            cache=None,
        )
        async with http, client:
            yield client


def _reason(status: int) -> str:
    if status in _REASONS:
        return _REASONS[status]
    if status:
        return f"The service refused this call (HTTP {status})."
    return "Clankie is not running. Ask the person to start it with `clankie up`."
