"""Work that runs beside a body in a group, and leaves the body's own errors as they are."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine


@asynccontextmanager
async def beside(*work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run this until the body ends. Where it fails, the body is cancelled and its error raised.

    A task group alone would wrap what the body raises, and nobody could tell it by its type. Only
    where several things fail is the group raised.
    """
    raised: list[BaseException] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised again below, outside of the group
                raised.append(error)
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as failed:
        raised += failed.exceptions
    if len(raised) > 1:
        raise BaseExceptionGroup("it failed, and so did what ran beside it", raised)
    if raised:
        raise raised[0]
