"""A server at an address: streamable HTTP, with answers that are bounded."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from clankie.lanes.mcp.pipe import LINE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from mcp.client._transport import TransportStreams

_STREAM: Final = "text/event-stream"
_SILENCE: Final = 300.0  # a stream may be quiet for a while


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > LINE:
                raise httpx2.ReadError(f"The answer is longer than {LINE} bytes.")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncHTTPTransport):
    """Answers end at a bound. Of streams each event has one, which the SDK keeps."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        streams = response.headers.get("content-type", "").lower().startswith(_STREAM)
        if not streams and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)
        return response


@asynccontextmanager
async def called(
    url: str, headers: Mapping[str, str], limit: float
) -> AsyncGenerator[TransportStreams, None]:
    """The connection. Neither proxies nor credentials are taken from the environment."""
    limits = httpx2.Timeout(limit, read=max(limit, _SILENCE))
    client = httpx2.AsyncClient(
        transport=_Bounded(), headers=dict(headers), timeout=limits, trust_env=False
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LINE) as streams,
    ):
        yield streams
