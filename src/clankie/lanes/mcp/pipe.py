"""A server as a program of ours: lines of JSON over its standard input and output.

The SDK's own transport reads lines of any length and gives the program's errors to our log; here a
line is bounded, and of what it writes to standard error only the end is kept, to say why it failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from clankie.lanes.child import Inlet, Outlet, Pipes, kill, started

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

LINE: Final = 4_194_304
"""Bytes of one message."""

PATIENCE: Final = 1.0
"""Seconds that a server has to end after its input was closed, and again after SIGTERM."""

_ERRORS: Final = 2_048

if TYPE_CHECKING:
    Inward = MemoryObjectSendStream[SessionMessage | Exception]
    Streams = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start. `over` is called when it says no more; `errors` keeps its last words."""

    argv: Sequence[str]
    env: Mapping[str, str]
    over: Callable[[], None]
    errors: bytearray


@asynccontextmanager
async def piped(program: Program) -> AsyncGenerator[Streams, None]:
    """The running program. Raises OSError when it cannot be started."""
    inlet = await Inlet.open()
    pipes = Pipes(stdin=inlet, stdout=await Outlet.open(LINE), stderr=await Outlet.open(_ERRORS))
    try:
        process = await started(program.argv, pipes, env=program.env, cwd=str(Path.home()))
        try:
            async with _streams(program, inlet, pipes) as streams:
                yield streams
        finally:
            await _stopped(process, inlet)
    finally:
        pipes.close()


@asynccontextmanager
async def _streams(program: Program, inlet: Inlet, pipes: Pipes) -> AsyncGenerator[Streams, None]:
    inward, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outward = anyio.create_memory_object_stream[SessionMessage](0)
    async with inward, received, sent, outward, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, pipes.stdout.stream, inward, program.over)
        tasks.start_soon(_write, inlet.stream, outward)
        tasks.start_soon(_keep, pipes.stderr.stream, program.errors)
        try:
            yield received, sent
        finally:
            tasks.cancel_scope.cancel()


async def _read(stream: asyncio.StreamReader, inward: Inward, over: Callable[[], None]) -> None:
    try:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with inward:
                # A line beyond the bound is a ValueError: whoever sends it is heard no more.
                with contextlib.suppress(ValueError):
                    while line := await stream.readline():
                        await inward.send(_message(line))
    finally:
        over()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(
    stream: asyncio.StreamWriter, outward: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    with contextlib.suppress(OSError):
        async for one in outward:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            stream.write(text.encode() + b"\n")
            await stream.drain()


async def _keep(stream: asyncio.StreamReader, errors: bytearray) -> None:
    while data := await stream.read(_ERRORS):
        errors += data
        del errors[:-_ERRORS]


async def _stopped(process: Process, inlet: Inlet) -> None:
    """Ask it to end, first by closing its input, then by a signal; then end it."""
    try:
        inlet.close()
        if not await _ended(process):
            kill(process, signal.SIGTERM)
            await _ended(process)
    finally:
        kill(process)
        await process.wait()


async def _ended(process: Process) -> bool:
    try:
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    except TimeoutError:
        return False
    return True
