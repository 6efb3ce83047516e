"""Programs that we start: each leads a process group of its own, over pipes of ours.

The usual pipes of asyncio belong to the process: its end is reported only when everything that it
left behind has closed them too. These are ours to close.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping, Sequence


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
        if not self.stream.transport.is_closing():
            self.stream.transport.abort()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipes:
    """What a program is started with. Without `stdin` it reads nothing."""

    stdout: Outlet
    stderr: Outlet
    stdin: Inlet | None = None

    def all(self) -> Sequence[Outlet | Inlet]:
        """Each of them once."""
        errors = () if self.stderr is self.stdout else (self.stderr,)
        return (self.stdout, *errors, *(() if self.stdin is None else (self.stdin,)))

    def close(self) -> None:
        """Our ends."""
        for pipe in self.all():
            pipe.close()


async def started(
    argv: Sequence[str], pipes: Pipes, *, env: Mapping[str, str], cwd: str
) -> Process:
    """The running program; it has its ends of the pipes then, and we have them no more.

    Cancelled meanwhile, it is ended with all that it may have started already: asyncio itself would
    end the program alone.

    Raises:
        OSError: it cannot be started.
    """
    made: list[Process] = []

    async def start() -> None:
        made.append(
            await asyncio.create_subprocess_exec(
                *argv,
                env=dict(env),
                cwd=cwd,
                stdin=asyncio.subprocess.DEVNULL if pipes.stdin is None else pipes.stdin.theirs,
                stdout=pipes.stdout.theirs,
                stderr=pipes.stderr.theirs,
                start_new_session=True,
            )
        )

    try:
        await to_the_end(start())
    except BaseException:
        for process in made:
            kill(process)
            await process.wait()
        raise
    finally:
        for pipe in pipes.all():
            pipe.started()
    return made[0]


def kill(process: Process, how: signal.Signals = signal.SIGKILL) -> None:
    """End it and everything in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)
