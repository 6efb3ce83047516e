"""Waiting for something that really uses the network and sleeps on the fake clock."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fakes.clock import FakeClock

T = TypeVar("T")


async def through(clock: FakeClock, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; whenever it sleeps, time goes on to its next deadline."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        while not task.done():
            asleep = group.create_task(clock.asleep())
            await asyncio.wait({task, asleep}, return_when=asyncio.FIRST_COMPLETED)
            asleep.cancel()
            await clock.advance_to_next()
    return task.result()


async def until(holds: Callable[[], bool]) -> None:
    """Let everything run until it holds: what happens in another process sends no event."""
    while not holds():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0)
