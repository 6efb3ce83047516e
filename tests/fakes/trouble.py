"""A part of the store that fails as a test says, before or after the real one did its work."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from clankie.core.errors import CommitUnknownError, StorageUnavailableError
from clankie.host.house import House

FULL = StorageUnavailableError("disk full")
UNKNOWN = CommitUnknownError("input or output error")

Failure = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]


def refuse(error: BaseException = FULL) -> Failure:
    """Raise, and nothing was done."""

    async def fail(_work: Callable[[], Awaitable[Any]]) -> Any:
        raise error

    return fail


def lose(error: BaseException = UNKNOWN) -> Failure:
    """Do it, then raise: the caller cannot know."""

    async def fail(work: Callable[[], Awaitable[Any]]) -> Any:
        await work()
        raise error

    return fail


def pause_before(reached: asyncio.Event, go: asyncio.Event) -> Failure:
    """Say that it is about to be done, and do it when told to."""

    async def wait(work: Callable[[], Awaitable[Any]]) -> Any:
        reached.set()
        await go.wait()
        return await work()

    return wait


def pause_after(reached: asyncio.Event, go: asyncio.Event) -> Failure:
    """Do it, say so, and answer when told to."""

    async def wait(work: Callable[[], Awaitable[Any]]) -> Any:
        found = await work()
        reached.set()
        await go.wait()
        return found

    return wait


def honest() -> Failure:
    """No trouble this time."""

    async def work_on(work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    return work_on


class Trouble:
    """Stands before a part of the store; each planned failure is used once, in order."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._plans: dict[str, deque[Failure]] = {}
        self.calls: list[str] = []

    def plan(self, verb: str, *failures: Failure) -> None:
        self._plans.setdefault(verb, deque()).extend(failures)

    def left(self, verb: str) -> int:
        """How many failures of this verb have not happened yet."""
        return len(self._plans.get(verb, ()))

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        real = getattr(self._part, verb)

        async def call(*args: Any, **facts: Any) -> Any:
            self.calls.append(verb)
            plan = self._plans.get(verb)
            if plan:
                return await plan.popleft()(lambda: real(*args, **facts))
            return await real(*args, **facts)

        return call


def trouble(house: House, part: str = "deliveries") -> Trouble:
    """Put trouble before a part of this house's store."""
    made = Trouble(getattr(house.store, part))
    setattr(house.store, part, made)
    return made
