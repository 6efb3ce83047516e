"""A local model server that answers by script, faults included; `model_wires` has the protocols.

It is plain asyncio: a fault of the wire (a dropped connection, headers that never come) cannot be
asked of an HTTP library. `ModelServer.script` holds one act for each request; the last one stays.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass
class Wire:
    """One connection, to write an answer to."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in headers.items())]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client hangs up."""
        while await self.reader.read(65_536):
            pass

    def drop(self) -> None:
        self.writer.transport.abort()


Act = Callable[[Wire], Awaitable[None]]


def event(payload: object) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def usage(prompt: int = 9, completion: int = 3) -> bytes:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return event({"choices": [], "usage": counts})


DONE = b"data: [DONE]\n\n"


def text_events(*words: str, finish: str = "stop") -> list[bytes]:
    said = [delta(role="assistant", content=""), *(delta(content=word) for word in words)]
    return [*said, delta(finish), usage(), DONE]


def call_events(*wanted: tuple[str, str]) -> list[bytes]:
    """Tool calls in pieces: name first, then the arguments in two halves."""
    pieces: list[bytes] = []
    for index, (name, arguments) in enumerate(wanted):
        half = len(arguments) // 2
        start = {"name": name, "arguments": ""}
        pieces.append(delta(tool_calls=[{"index": index, "id": f"c{index}", "function": start}]))
        pieces += [
            delta(tool_calls=[{"index": index, "function": {"arguments": part}}])
            for part in (arguments[:half], arguments[half:])
        ]
    return [*pieces, delta("tool_calls"), usage(), DONE]


def streams(*chunks: bytes, kind: str = EVENTS, headers: Mapping[str, str] | None = None) -> Act:
    """Status 200 and these bytes, a chunk each; the connection can be used again."""

    async def act(wire: Wire) -> None:
        given = headers or {}
        await wire.head(200, {"content-type": kind, "transfer-encoding": "chunked", **given})
        for data in chunks:
            await wire.chunk(data)
        wire.writer.write(b"0\r\n\r\n")

    return act


def says(*words: str) -> Act:
    return streams(*text_events(*words))


def calls(*wanted: tuple[str, str]) -> Act:
    return streams(*call_events(*wanted))


def status(code: int, body: str = "", headers: Mapping[str, str] | None = None) -> Act:
    """A status with a body, whole."""

    async def act(wire: Wire) -> None:
        given = headers or {}
        length = str(len(body.encode()))
        await wire.head(
            code, {"content-type": "application/json", "content-length": length, **given}
        )
        wire.writer.write(body.encode())

    return act


def problem(message: str, code: str = "") -> str:
    return json.dumps({"error": {"message": message, "code": code}})


async def drops(wire: Wire) -> None:
    """Hang up before the first byte."""
    wire.drop()


async def stays_silent(wire: Wire) -> None:
    """Never answer."""
    await wire.gone()


def breaks_off(*chunks: bytes) -> Act:
    """Begin an answer, then hang up."""

    async def act(wire: Wire) -> None:
        await wire.head(200, {"content-type": EVENTS, "transfer-encoding": "chunked"})
        for data in chunks:
            await wire.chunk(data)
        wire.writer.write_eof()
        await wire.gone()

    return act


def falls_silent(*chunks: bytes) -> Act:
    """Begin an answer, then send nothing more."""

    async def act(wire: Wire) -> None:
        await wire.head(200, {"content-type": EVENTS, "transfer-encoding": "chunked"})
        for data in chunks:
            await wire.chunk(data)
        await wire.gone()

    return act


def never_ends(before: Sequence[bytes], data: bytes) -> Act:
    """The same bytes for as long as anybody reads them."""

    async def act(wire: Wire) -> None:
        await wire.head(200, {"content-type": EVENTS, "transfer-encoding": "chunked"})
        for first in before:
            await wire.chunk(first)
        while not wire.writer.transport.is_closing():
            await wire.chunk(data)

    return act


@dataclass
class ModelServer:
    """Enter it to listen on a free port of this machine."""

    script: list[Act] = field(default_factory=lambda: [says("Hello", " there")])
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    _server: asyncio.Server | None = None
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)
    _handlers: list[asyncio.Future[None]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for handler in self._handlers:
            await handler
        await self._server.wait_closed()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._handlers.append(ended)
        try:
            while True:
                self.asked.append(await _request(reader))
                act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                await act(Wire(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client hung up
        finally:
            writer.close()
            ended.set_result(None)


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(head[0].split(" ")[1], headers, json.loads(body or b"{}"))
