"""Waiting for other programs, which send us no event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from clankie.host.clock import SystemClock

T = TypeVar("T")
PATIENCE: Final = 60.0
"""Seconds before a test gives up; it never says how long something should take."""
_LOOK: Final = 0.05


async def until(found: Callable[[], T], *, why: Callable[[], object] = lambda: "") -> T:
    """What `found` finds, once it is true."""
    clock = SystemClock()
    end = clock.monotonic() + PATIENCE
    while not (value := found()):
        if clock.monotonic() > end:
            raise TimeoutError(f"it never came: {why()}")
        await clock.sleep(_LOOK)
    return value


@asynccontextmanager
async def collecting(source: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    """What comes from `source` while this is open, in order."""
    kept: list[T] = []
    keep = kept.append

    async def collect() -> None:
        async for one in source:
            keep(one)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(collect())
        try:
            yield kept
        finally:
            task.cancel()
