"""One event to a thousand open streams of one conversation."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import uvloop

from processes import service, token
from shape import Rounds, Row, scratch
from wire import Connection

if TYPE_CHECKING:
    from processes import Running

SUBSCRIBERS = 1_000
_MARK = b'"kind":"reset"'


class Subscriber(asyncio.Protocol):
    """An open stream; `seen` counts the events that are waited for."""

    def __init__(self, request: bytes, board: Board) -> None:
        self._request, self._board = request, board
        self._opened = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        self.transport = transport
        transport.write(self._request)  # type: ignore[attr-defined] # a socket's transport

    def data_received(self, data: bytes) -> None:
        """Count the answer's beginning and each marked event."""
        if not self._opened and b"retry:" in data:
            self._opened = True
            self._board.opened += 1
        self._board.seen += data.count(_MARK)
        self._board.told.set()


class Board:
    """What all subscribers saw together."""

    def __init__(self) -> None:
        self.opened = self.seen = 0
        self.told = asyncio.Event()

    async def until(self, what: str, count: int) -> None:
        """Wait until `opened` or `seen` reaches it. Raises TimeoutError."""
        async with asyncio.timeout(30):
            while getattr(self, what) < count:
                self.told.clear()
                await self.told.wait()


async def _subscribe(
    port: int, secret: str, conversation: str, after: int, board: Board
) -> list[asyncio.BaseTransport]:
    request = (
        f"GET /v1/conversations/{conversation}/events?after={after} HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {secret}\r\n"
        "Accept: text/event-stream\r\n\r\n"
    ).encode()
    loop, transports = asyncio.get_running_loop(), list[asyncio.BaseTransport]()
    for number in range(SUBSCRIBERS):
        made = await loop.create_connection(lambda: Subscriber(request, board), "127.0.0.1", port)
        transports.append(made[0])
        if number % 50 == 0:
            await board.until("opened", number // 2)
    await board.until("opened", SUBSCRIBERS)
    return transports


async def _measure(one: Running, secret: str, rounds: int) -> list[Row]:
    async with Connection(one.port, secret) as connection:
        streams = {"per_principal": 2 * SUBSCRIBERS, "total": 2 * SUBSCRIBERS}
        await connection.patch_settings({"streams": streams})
        name, board = await connection.conversation("crowd"), Board()
        before = one.rss()
        at = await connection.done("GET", f"/v1/conversations/{name}")
        transports = await _subscribe(one.port, secret, name, at["cursor"], board)
        held = one.rss()
        wall, cpu = list[float](), list[float]()
        for number in range(1, rounds + 1):
            at = await connection.done("GET", f"/v1/conversations/{name}")
            used, began = one.cpu(), time.perf_counter()
            body = {"expected_revision": at["revision"]}
            await connection.done("POST", f"/v1/conversations/{name}/reset", body)
            await board.until("seen", SUBSCRIBERS * number)
            wall.append((time.perf_counter() - began) * 1000)
            cpu.append((one.cpu() - used) / SUBSCRIBERS * 1e6)
        for transport in transports:
            transport.close()
    return [
        Row(
            name=f"one event to {SUBSCRIBERS:,} streams, wall",
            figure=Rounds.of(wall).median,
            unit="ms",
            spread=Rounds.of(wall).spread,
        ),
        # The processor's clock has steps of 10 ms: only the mean over all rounds says anything.
        Row(name="one event to one stream, processor", figure=sum(cpu) / len(cpu), unit="us"),
        Row(
            name="memory of one open stream",
            figure=(held - before) / SUBSCRIBERS * 1024,
            unit="KiB",
        ),
        Row(name=f"memory with {SUBSCRIBERS:,} streams", figure=held, unit="MiB"),
    ]


def rows(*, quick: bool) -> list[Row]:
    """Latency until the last one has it, processor per stream, memory."""
    with scratch() as home, service(home) as one:
        return uvloop.run(_measure(one, token(home), 5 if quick else 20))
