"""JSON-RPC with a Codex app-server: websocket frames on a unix socket, one object a frame.

Rule 1: an error that the server answered is a definite refusal. A connection that ended before an
        answer came says nothing: what was asked may have been done.
Rule 2: everything is bounded: the size of a frame, the calls that wait, and what was not read yet.
        A reader that falls that far behind loses the connection, never a single message.
Rule 3: a connection that we could not read any more did not end by itself: `said` raises why.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from clankie import __version__
from clankie.seats.beside import beside

Json = dict[str, Any]

FRAME: Final = 64 * 1024 * 1024
"""Bytes of one message; a resumed thread with all its turns is the longest."""
BACKLOG: Final = 20_000
"""Messages that may wait to be read."""
CALLS: Final = 64
TIMEOUT: Final = 20.0
_GOODBYE: Final = 1.0
"""Seconds for the other side to say goodbye."""
_AGENT: Final = re.compile(r"[^/ ]+/(\d[\w.+-]*)")
_QUIET: Final = (
    "command/exec/outputDelta",
    "item/agentMessage/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "process/outputDelta",
    "thread/tokenUsage/updated",
    "turn/diff/updated",
)
"""Notifications that we do not want: they come many times a second and say nothing to us."""


class RpcError(Exception):
    """A call that gave nothing."""


class RpcRefusedError(RpcError):
    """The server answered with an error: what was asked was not done."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.code, self.message = code, message


class RpcUnsentError(RpcError):
    """The connection had ended already, so the call never left."""


class RpcLostError(RpcError):
    """The connection ended, or time ran out, before an answer: nobody knows."""


class RpcBrokenError(RpcError):
    """The server is there, and what it says cannot be read any more."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that the server said by itself. With a `number` it is a question."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    number: int | str | None = None


class Rpc:
    """One connection. `said` gives what the server says by itself, until the connection ends."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._backlog: deque[Said] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._broken: RpcBrokenError | None = None
        self.version = ""

    @property
    def ended(self) -> bool:
        """Whether the connection is gone."""
        return self._ended

    async def call(self, method: str, params: Json, *, timeout: float = TIMEOUT) -> Json:  # noqa: ASYNC109 - a part of what is asked
        """Ask, and wait for the answer.

        Raises:
            RpcRefusedError, RpcUnsentError, RpcLostError: see there.
        """
        if self._ended or len(self._waiting) >= CALLS:
            raise RpcUnsentError(f"{method}: the connection to the app-server is gone")
        number = next(self._ids)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(timeout):
                answer = await waiting
        except TimeoutError:
            raise RpcLostError(f"{method}: no answer within {timeout:.0f} s") from None
        finally:
            del self._waiting[number]
        return _result(method, answer)

    async def answer(self, number: int | str, result: Json) -> None:
        """Answer a question of the server. Raises RpcLostError."""
        await self._send({"id": number, "result": result})

    async def refuse(self, number: int | str, message: str) -> None:
        """Say that we cannot answer this question. Raises RpcLostError."""
        await self._send({"id": number, "error": {"code": -32601, "message": message}})

    def mark(self, method: str) -> None:
        """Put a word of our own behind everything that the server has said by now."""
        self._backlog.append(Said(method))
        self._news.set()

    async def said(self) -> AsyncIterator[Said]:
        """What the server says by itself, in order. Raises RpcBrokenError."""
        while True:
            while self._backlog:
                yield self._backlog.popleft()
            if self._broken is not None:
                raise self._broken
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()

    async def hello(self) -> None:
        """The handshake; `version` is what the server says of itself. Raises RpcError."""
        info = {"name": "clankie", "title": "Clankie", "version": __version__}
        wants = {"experimentalApi": True, "optOutNotificationMethods": list(_QUIET)}
        found = await self.call("initialize", {"clientInfo": info, "capabilities": wants})
        await self._send({"method": "initialized"})
        agent = _AGENT.match(str(found.get("userAgent", "")))
        self.version = agent[1] if agent else ""

    async def read(self) -> None:
        """Read until the connection ends, beside everything else. What fails, `said` raises."""
        try:
            await self._read()
        except ConnectionClosed as closed:
            if closed.sent is not None and not closed.rcvd_then_sent:
                self._breaks(f"we closed the connection: {closed.sent}", closed)
        except OSError:
            pass  # as when the server is killed
        except Exception as error:  # noqa: BLE001 - whoever reads what the server says is told
            self._breaks(f"{type(error).__name__}: {error}", error)
        finally:
            self._end()

    async def _read(self) -> None:
        async for frame in self._connection:
            self._take(frame)
            if len(self._backlog) > BACKLOG:
                self._breaks(f"more than {BACKLOG} messages wait to be read", None)
                return

    def _breaks(self, why: str, error: Exception | None) -> None:
        self._broken = RpcBrokenError(f"what the app-server says cannot be read any more ({why})")
        self._broken.__cause__ = error

    def _take(self, frame: str | bytes) -> None:
        try:
            found: object = json.loads(frame)
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        message = cast("Json", found)
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            known = cast("Json", params) if isinstance(params, dict) else {}
            self._backlog.append(Said(method, known, number))
            self._news.set()
        elif isinstance(number, int):
            waiting = self._waiting.get(number)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)

    def _end(self) -> None:
        self._ended = True
        self._news.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                why = "the app-server went away" if self._broken is None else str(self._broken)
                waiting.set_exception(RpcLostError(why))

    async def _send(self, message: Json) -> None:
        try:
            await self._connection.send(json.dumps(message))
        except (ConnectionClosed, OSError) as error:
            # Whether the frame was still taken is not known.
            raise RpcLostError("the app-server went away") from error


def _result(method: str, answer: Json) -> Json:
    error = answer.get("error")
    if error is None:
        result = answer.get("result")
        return cast("Json", result) if isinstance(result, dict) else {}
    known = cast("Json", error) if isinstance(error, dict) else {}
    code, message = known.get("code"), known.get("message")
    raise RpcRefusedError(
        method, code if isinstance(code, int) else 0, str(message or "no reason was given")
    )


@asynccontextmanager
async def connected(path: Path) -> AsyncGenerator[Rpc]:
    """A connection to the app-server at this socket, after the handshake. Raises RpcError."""
    try:
        connection = await unix_connect(
            str(path),
            uri="ws://localhost/",
            max_size=FRAME,
            compression=None,
            ping_interval=None,
            close_timeout=_GOODBYE,
        )
    except (OSError, TimeoutError, WebSocketException) as error:
        raise RpcUnsentError(f"no app-server answers at {path}: {error}") from error
    rpc = Rpc(connection)
    async with beside(rpc.read()):
        try:
            await rpc.hello()
            yield rpc
        finally:
            await connection.close()
