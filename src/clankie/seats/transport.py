"""Requests over the service's unix socket for httpx2: a connection for each, ended when cancelled.

The library's own transport waits on a unix socket in a way that fails in the event loop when a
request is cancelled at the moment its answer comes; and a pump cancels its poll at every end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import httpx2

from clankie.seats import unix

if TYPE_CHECKING:
    from asyncio import StreamReader

_PIECE: Final = 65_536


class UnixTransport(httpx2.AsyncBaseTransport):
    """Sends each request to the socket at this path. The read timeout bounds the whole answer."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read to its end.

        Raises:
            httpx2.TransportError: nobody listens, or no whole answer came in time.
        """
        body = await request.aread()
        line = f"{request.method} {request.url.raw_path.decode()}"
        skipped = {"connection", "content-length", "content-type", "host"}
        headers = {name: value for name, value in request.headers.items() if name not in skipped}
        sent = unix.request(line, headers, body or None)
        limit: float | None = request.extensions.get("timeout", {}).get("read")
        try:
            async with asyncio.timeout(limit):
                whole = await self._exchange(sent)
            status, given, content = unix.parsed(whole)
        except TimeoutError as error:
            raise httpx2.ReadTimeout(f"no answer within {limit:g} s", request=request) from error
        except (OSError, unix.WireError) as error:
            raise httpx2.NetworkError(str(error), request=request) from error
        return httpx2.Response(status, headers=given, content=content, request=request)

    async def _exchange(self, sent: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self._path)
        try:
            writer.write(sent)
            await writer.drain()
            return await _read(reader)
        finally:
            # At once, also when we are cancelled: the service sees that nobody waits any more.
            writer.transport.abort()


async def _read(reader: StreamReader) -> bytes:
    whole = bytearray()
    while piece := await reader.read(_PIECE):
        whole += piece
        if len(whole) > unix.LIMIT:
            raise unix.WireError("The service's answer is longer than it can be.", sent=True)
    return bytes(whole)
