"""Programs that we start: each leads a process group of its own, over pipes of ours.

The usual pipes of asyncio belong to the process: its end is reported only when everything that it
left behind has closed them too. These are ours to close.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process


class Outlet:
    """What a program writes to; `stream` is our end, `theirs` the one that it inherits."""

    def __init__(
        self, stream: asyncio.StreamReader, transport: asyncio.BaseTransport, theirs: int
    ) -> None:
        self.stream, self.theirs = stream, theirs
        self._transport = transport

    @classmethod
    async def open(cls, limit: int) -> Outlet:
        """A new pipe. `limit`: bytes of a line that is read whole."""
        ours, theirs = os.pipe()
        stream = asyncio.StreamReader(limit=limit)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(ours, "rb", buffering=0)
        )
        return cls(stream, transport, theirs)

    def started(self) -> None:
        """The program has its end, or will never have it."""
        os.close(self.theirs)

    def close(self) -> None:
        """Hear no more of it."""
        self._transport.close()


class Inlet:
    """What a program reads from; `stream` is our end."""

    def __init__(self, stream: asyncio.StreamWriter, theirs: int) -> None:
        self.stream, self.theirs = stream, theirs

    @classmethod
    async def open(cls) -> Inlet:
        """A new pipe."""
        theirs, ours = os.pipe()
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            os.fdopen(ours, "wb", buffering=0),
        )
        return cls(asyncio.StreamWriter(transport, protocol, None, loop), theirs)

    def started(self) -> None:
        """The program has its end, or will never have it."""
        os.close(self.theirs)

    def close(self) -> None:
        """Say no more; what was not written yet is dropped."""
        self.stream.transport.abort()


def kill(process: Process, how: signal.Signals = signal.SIGKILL) -> None:
    """End it and everything in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)
