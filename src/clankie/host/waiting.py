"""Waiting for whichever comes first, without leaving a task behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from clankie.host.ports import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """What a piece of work returned."""

    value: T


async def caught(work: Coroutine[object, object, T]) -> Value[T] | Exception:
    """The work's result or its failure as a value: one failure must not end a whole task group."""
    try:
        return Value(await work)
    except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the result
        return error


async def event_within(clock: Clock, event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event at most that long on the house's clock; whether it came."""
    if event.is_set() or seconds <= 0:
        return event.is_set()
    async with asyncio.TaskGroup() as tasks:
        timer = tasks.create_task(clock.sleep(seconds))
        came = tasks.create_task(event.wait())
        await asyncio.wait({timer, came}, return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        came.cancel()
    return event.is_set()


async def finished_within(
    clock: Clock, task: asyncio.Task[Any], seconds: float, unless: asyncio.Event
) -> bool:
    """Wait for the task at most that long, and not beyond `unless`; whether it has ended.

    The task is left as it is.
    """
    async with asyncio.TaskGroup() as tasks:
        others = {tasks.create_task(clock.sleep(seconds)), tasks.create_task(_came(unless))}
        await asyncio.wait({task, *others}, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
    return task.done()


async def _came(event: asyncio.Event) -> None:
    await event.wait()


async def to_the_end(work: Coroutine[object, object, T]) -> T:
    """Finish `work` even when the caller is cancelled meanwhile; then let the cancellation go on.

    Outcomes are written this way: a cancelled turn must still say how it ended.
    """
    cancelled: asyncio.CancelledError | None = None
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(caught(work))
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError as error:
                cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    if isinstance(result, Exception):
        raise result
    return result.value
