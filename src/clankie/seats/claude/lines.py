"""A child process that speaks JSON lines on its standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any, Final

from clankie.seats.claude.words import object_of
from clankie.seats.folder import Folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from clankie.host.ports import Clock

Json = dict[str, Any]

LONGEST: Final = 32 * 1024 * 1024
"""Bytes of a line; longer ones are left out."""
PATIENCE: Final = 5.0
"""Seconds for each step of ending it."""


class EndedError(Exception):
    """The process has ended: nothing was sent."""


class Child:
    """A running child; its group ends with it."""

    def __init__(self, process: asyncio.subprocess.Process, clock: Clock) -> None:
        self._process, self._clock = process, clock

    @classmethod
    async def started(
        cls, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], errors: Path, clock: Clock
    ) -> Child:
        """Start it in a group of its own, so that a person's Ctrl-C does not reach it first.

        Raises OSError: there is no such program. StrangeFileError: `errors` is no plain file.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = Folder(str(errors.parent)).opened(errors.name, flags)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env=dict(env),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=descriptor,
                limit=LONGEST,
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
        return cls(process, clock)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it is known to have ended."""
        return self._process.returncode is not None

    async def send(self, row: Json) -> None:
        """Write one line. Raises EndedError (nothing was sent), OSError (it may have been)."""
        pipe = self._process.stdin
        if self.ended or pipe is None or pipe.is_closing():
            raise EndedError
        pipe.write(json.dumps(row).encode() + b"\n")
        await pipe.drain()

    async def rows(self) -> AsyncIterator[Json]:
        """What it says, until it ends."""
        pipe = self._process.stdout
        while pipe is not None:
            try:
                line = await pipe.readline()
            except ValueError:
                continue  # longer than LONGEST: the reader dropped it
            if not line:
                return
            try:
                yield object_of(json.loads(line))
            except (ValueError, RecursionError):
                continue

    async def end(self) -> None:
        """Close its input, then ask it, then make it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None and not self.ended:
                os.killpg(self._process.pid, number)
            if await self._gone():
                return

    async def _gone(self) -> bool:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(self._process.wait())
            timer = tasks.create_task(self._clock.sleep(PATIENCE))
            await asyncio.wait({waiting, timer}, return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            waiting.cancel()
        return self.ended
