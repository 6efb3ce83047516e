"""The door on real sockets, and lines to it that are written by hand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.kit import BOUND, Api
from clankie.api.serve import Server


class Line:
    """A connection, by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def until(self, mark: bytes) -> bytes:
        async with asyncio.timeout(BOUND):
            return await self.reader.readuntil(mark)

    async def all(self) -> bytes:
        """Everything until the other side closes."""
        async with asyncio.timeout(BOUND):
            return await self.reader.read()


class Served:
    """A server, and lines to it."""

    def __init__(self, api: Api, server: Server, url: str) -> None:
        self.api, self.server, self.url = api, server, url
        self.port = int(url.rpartition(":")[2])

    @asynccontextmanager
    async def line(self, *, socket: bool = False) -> AsyncIterator[Line]:
        if socket:
            reader, writer = await asyncio.open_unix_connection(self.api.home / "service.sock")
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Line(reader, writer)
        finally:
            writer.close()

    def get(self, path: str, *, host: str = "", more: str = "") -> bytes:
        name = host or f"127.0.0.1:{self.port}"
        return (
            f"GET {path} HTTP/1.1\r\nHost: {name}\r\n"
            f"Authorization: Bearer {self.api.secret}\r\n{more}\r\n"
        ).encode()


@asynccontextmanager
async def on_sockets(api: Api) -> AsyncIterator[Served]:
    server = Server(api.hall.house)
    url = await server.start(host="127.0.0.1", port=0, socket=api.home / "service.sock")
    try:
        yield Served(api, server, url)
    finally:
        api.hall.house.stopping = True
        api.hall.house.feed.close()
        await server.drain()
        await server.close()
