"""A server-sent-event stream over plain ASGI.

Rule 1: a stream keeps a place, never a buffer: what it has not sent yet is read again.
Rule 2: a write that does not get through within twice the heartbeat ends the stream.
Rule 3: it ends when its client goes, its token is revoked, or the service goes down.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import anyio

from clankie.api.errors import TokenUnknownError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.types import Receive, Scope

    from clankie.api.routing import Hot

HEARTBEAT: Final = b":\n\n"
RETRY: Final = b"retry: 2000\n\n"
PIECE: Final = 65_536
"""Bytes of one write, about: between two writes the transport may say that it is full."""

ABORT: Final = "clankie.abort"
"""Extension of the scope by which our server lets a stuck connection be dropped."""

_LAST_WORD: Final = 1.0
"""Seconds that the end of a stream may take to be written."""

_HEAD: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"x-accel-buffering", b"no"),
    ],
}

Source = "AsyncGenerator[list[bytes], None]"


async def stream(hot: Hot, source: AsyncGenerator[list[bytes], None]) -> None:
    """Send what the source yields, until it ends or rule 3 applies.

    An empty list is a heartbeat. Check everything that can be refused before: from here on the
    answer has begun.

    Raises:
        TooManyStreamsError, TokenUnknownError: before anything is sent.
    """
    call, house = hot.call, hot.call.house
    call.door.streams.check(call.caller, house.settings.streams)
    if not house.tokens.alive(call.caller.token):
        # Revoked since the gate let it in.
        raise TokenUnknownError
    async with aclosing(source), anyio.create_task_group() as tasks:
        with call.door.streams.opened(call.caller, tasks.cancel_scope.cancel):
            tasks.start_soon(until_gone, hot.receive, tasks.cancel_scope.cancel)
            await hot.send(dict(_HEAD))
            await _pump(hot, source)
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(_LAST_WORD, shield=True) as last:
        await hot.send({"type": "http.response.body", "body": b"", "more_body": False})
    if last.cancelled_caught:
        _abort(hot.scope)


async def _pump(hot: Hot, source: AsyncGenerator[list[bytes], None]) -> None:
    patience = 2 * hot.call.house.settings.streams.heartbeat
    try:
        await _write(hot, RETRY, patience)
        async for frames in source:
            for piece in pieces(frames):
                await _write(hot, piece, patience)
    except TimeoutError:
        _abort(hot.scope)


async def _write(hot: Hot, data: bytes, patience: float) -> None:
    async with asyncio.timeout(patience):
        await hot.send({"type": "http.response.body", "body": data, "more_body": True})


def pieces(frames: list[bytes]) -> list[bytes]:
    """The frames as few writes of bounded size; a single one may be larger. None: a heartbeat."""
    if len(frames) == 1:
        return frames
    if not frames:
        return [HEARTBEAT]
    found: list[bytes] = []
    begin = size = 0
    for index, frame in enumerate(frames):
        if size and size + len(frame) > PIECE:
            found.append(b"".join(frames[begin:index]))
            begin, size = index, 0
        size += len(frame)
    found.append(b"".join(frames[begin:]))
    return found


async def changed_within(changed: asyncio.Event, seconds: float) -> bool:
    """Wait for it; False when only the time passed."""
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


async def until_gone(receive: Receive, gone: Callable[[], object]) -> None:
    """Wait until the client is gone, and say so."""
    while (await receive())["type"] != "http.disconnect":
        pass
    gone()


def _abort(scope: Scope) -> None:
    """Drop the connection with what the kernel did not take: its reader does not read."""
    extension: dict[str, Any] = scope.get("extensions", {}).get(ABORT, {})
    abort = extension.get("call")
    if abort is not None:
        abort()
