"""The tool that runs a command: in the workspace, starved of secrets, and gone when it is over.

Rule 1: the command leads a process group of its own, which is killed whole when the command ends,
        takes too long, says too much, or the turn is cancelled. What leaves the group on purpose
        can outlive it.
Rule 2: of what it prints, the first and the last part are kept, and the rest is counted.
Rule 3: it has no input, and of our environment only what `surroundings` names.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from clankie.host.framing import one_line
from clankie.lanes import walk
from clankie.lanes.child import Outlet, Pipes, kill, started
from clankie.lanes.surroundings import scrubbed
from clankie.lanes.tools import DETAIL_LIMIT, Bench, Done, Tool, ToolFailedError

if TYPE_CHECKING:
    from asyncio.subprocess import Process

FLOOD: Final = 268_435_456
"""Bytes after which a command is stopped that prints without end."""

_CHUNK: Final = 65_536
_DRAIN: Final = 1.0


class CommandArguments(msgspec.Struct, forbid_unknown_fields=True):
    """What to run."""

    command: Annotated[
        str, msgspec.Meta(min_length=1, max_length=16_384, description="a line for /bin/sh")
    ]


@dataclass(slots=True)
class Output:
    """The beginning and the end of what was printed, at most `limit` bytes in all."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, data: bytes) -> None:
        """Take in more."""
        self.total += len(data)
        room = max(0, self.limit // 2 - len(self.head))
        self.head += data[:room]
        self.tail += data[room:]
        most = self.limit - self.limit // 2
        if len(self.tail) > most:
            del self.tail[:-most]

    @property
    def text(self) -> str:
        """As it is shown."""
        left_out = self.total - len(self.head) - len(self.tail)
        gap = f"\n[{left_out} bytes left out]\n" if left_out else ""
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self.head, self.tail))
        return f"{head}{gap}{tail}"


async def _run_command(arguments: CommandArguments, bench: Bench) -> Done:
    root = await bench.host.workspace()
    if root is None or not bench.settings.tools.shell:
        raise ToolFailedError("There is no shell here; nothing was run.")
    if "\0" in arguments.command:
        raise ToolFailedError("A command holds no NUL; nothing was run.")
    await asyncio.to_thread(_require, root)
    tools = bench.settings.tools
    output = Output(tools.shell_output)
    ended = await _ended(arguments.command, root, output, tools.shell_timeout)
    shown = bench.quoted("command", one_line(arguments.command, DETAIL_LIMIT), output.text)
    return Done(f"{ended}\n{shown}", one_line(f"{ended} {arguments.command}", DETAIL_LIMIT))


def _require(root: str) -> None:
    with walk.directory(root, []):
        return


async def _ended(command: str, root: str, output: Output, limit: float) -> str:
    """Run it to its end and say how it ended."""
    pipe = await Outlet.open(_CHUNK)
    try:
        process = await started(
            ["/bin/sh", "-c", command],
            Pipes(stdout=pipe, stderr=pipe),
            env=scrubbed(),
            cwd=root,
        )
        try:
            return await _watched(process, pipe.stream, output, limit)
        except BaseException:
            kill(process)
            await process.wait()
            raise
    finally:
        pipe.close()


async def _watched(
    process: Process, stream: asyncio.StreamReader, output: Output, limit: float
) -> str:
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(_collected(stream, output))
        ending = tasks.create_task(process.wait())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
                if reading.done() and not reading.result():
                    # It closed its output, and may go on.
                    await asyncio.wait({ending})
        flooded = reading.done() and reading.result()
        code = process.returncode
        kill(process)
        await process.wait()
        await asyncio.wait({reading}, timeout=_DRAIN)
        reading.cancel()
    if flooded:
        return f"Stopped: it printed more than {FLOOD} bytes."
    if code is None:
        return f"Stopped after {limit:g} seconds; what it did until then stays done."
    return f"Exit code {code}." if code >= 0 else f"Ended by signal {-code}."


async def _collected(stream: asyncio.StreamReader, output: Output) -> bool:
    """Read to the end; whether it was a flood."""
    while output.total <= FLOOD:
        data = await stream.read(_CHUNK)
        if not data:
            return False
        output.add(data)
    return True


RUN_COMMAND: Final = Tool(
    name="run_command",
    description=(
        "Run a command with /bin/sh in the workspace. It has no input and a limited time; of long "
        "output the beginning and the end are shown."
    ),
    arguments=CommandArguments,
    effect=True,
    run=_run_command,
)
