"""pi's rpc mode: a JSON object a line on the standard input and output of a process that we own.

Rule: a response with `success: false` is a definite refusal. A process that ended before it
answered says nothing: what was asked may have been done.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any, Final, cast

Json = dict[str, Any]

LINE: Final = 64 * 1024 * 1024
"""Bytes of one line; the end of a run names all its messages."""
TIMEOUT: Final = 15.0
_QUIET: Final = (b'{"type":"message_update"', b'{"type":"tool_execution_update"')
"""Lines that come many times a second, each longer than the one before, and say nothing to us."""


class PiError(Exception):
    """pi did not do it, or nobody knows; the text says why."""


class PiRefusedError(PiError):
    """pi said no: nothing was done."""


class PiLostError(PiError):
    """It ended, or time ran out, before it answered."""


class PiBrokenError(PiError):
    """It is there, and what it says cannot be read any more."""


class Link:
    """The process. `events` gives what it says by itself, until it ends."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._marks: dict[str, str] = {}
        self._events: asyncio.Queue[Json | PiBrokenError | None] = asyncio.Queue()
        self.ended = False

    async def ask(self, kind: str, **fields: object) -> Json:
        """Ask, and wait for the answer's data.

        Raises:
            PiRefusedError, PiLostError: see there.
        """
        if self.ended:
            raise PiRefusedError("pi has ended")
        name = str(next(self._ids))
        waiting = self._waiting[name] = asyncio.get_running_loop().create_future()
        try:
            await self.send({"id": name, "type": kind, **fields})
            async with asyncio.timeout(TIMEOUT):
                answer = await waiting
        except TimeoutError:
            raise PiLostError(f"{kind}: pi did not answer within {TIMEOUT:.0f} s") from None
        finally:
            del self._waiting[name]
        if answer.get("success") is not True:
            raise PiRefusedError(str(answer.get("error") or f"pi refused {kind}"))
        data = answer.get("data")
        return cast("Json", data) if isinstance(data, dict) else {}

    async def mark(self, kind: str) -> None:
        """Put an event of this type behind everything that pi has said when it hears of it."""
        name = str(next(self._ids))
        self._marks[name] = kind
        with contextlib.suppress(PiLostError):
            await self.send({"id": name, "type": "get_state"})

    async def send(self, message: Json) -> None:
        """Send a line. Raises PiLostError."""
        stream = self.child.stdin
        if stream is None:
            raise PiLostError("pi has no input")
        try:
            stream.write(json.dumps(message).encode() + b"\n")
            await stream.drain()
        except (ConnectionError, BrokenPipeError) as error:
            raise PiLostError("pi has ended") from error

    async def events(self) -> AsyncIterator[Json]:
        """What it says by itself, in order. Raises PiBrokenError."""
        while (event := await self._events.get()) is not None:
            if isinstance(event, PiBrokenError):
                raise event
            yield event

    async def read(self) -> None:
        """Read until it ends. Runs beside everything else; what fails, `events` raises."""
        stream, why = self.child.stdout, "pi has ended"
        try:
            while stream is not None and (line := await stream.readline()):
                if not line.startswith(_QUIET):
                    self._take(line)
        except ConnectionError:
            pass
        except Exception as error:  # noqa: BLE001 - such as a line beyond all bounds
            why = f"what pi says cannot be read any more ({type(error).__name__}: {error})"
            broken = PiBrokenError(why)
            broken.__cause__ = error
            self._events.put_nowait(broken)
        finally:
            self.ended = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(PiLostError(why))
            self._events.put_nowait(None)

    def _take(self, line: bytes) -> None:
        try:
            found: object = json.loads(line)
        except ValueError:
            return  # a word of some program that writes where it should not
        if not isinstance(found, dict):
            return
        message = cast("Json", found)
        waiting = self._waiting.get(str(message.get("id")))
        if message.get("type") != "response":
            self._events.put_nowait(message)
        elif message.get("id") in self._marks:
            self._events.put_nowait({"type": self._marks.pop(str(message.get("id")))})
        elif waiting is not None and not waiting.done():
            waiting.set_result(message)
