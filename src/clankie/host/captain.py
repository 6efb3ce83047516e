"""Runs the conversations: one turn at a time in each, all of them side by side.

Everything it starts lives in one task group. Stopping is an event (nothing new starts), then a
deadline, then cancellation with the outcomes written.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeVar

from clankie.core.errors import ClankieError, FaultError
from clankie.host import dispatch, journal, wakes
from clankie.host.dispatch import Running, Step
from clankie.host.outcome import Cut
from clankie.host.turn import Turn
from clankie.host.waiting import Value, caught, event_within

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import TracebackType

    from clankie.host.house import House
    from clankie.host.ports import Reservation

T = TypeVar("T")

STORE_PAUSE = 1.0
"""Seconds before a conversation is looked at again after the store could not serve it."""


class Captain:
    """The conversations' executor. Enter it to start, leave it to stop."""

    def __init__(self) -> None:
        self._tasks = asyncio.TaskGroup()
        self._house: House | None = None
        self._drains: dict[str, bool] = {}
        self._running: dict[str, Running] = {}
        self._stopping = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._wakes = asyncio.Event()

    async def start(self, house: House) -> Self:
        """Begin with what waits already."""
        self._house = house
        await self._tasks.__aenter__()
        _ = self.spawn(self._kept("wakes", wakes.tend(house, self)))
        _ = self.spawn(self._kept("retention", wakes.tend_retention(house, self)))
        for conversation in await house.store.conversations.list():
            if conversation.waiting:
                self.nudge(conversation.id)
        return self

    async def stop(self) -> None:
        """Start nothing new, let turns end until the deadline, then cut them and write outcomes."""
        house = self._the_house()
        house.stopping = True
        self._stopping.set()
        self._wakes.set()
        if not await event_within(house.clock, self._quiet, house.settings.lifecycle.drain):
            for running in list(self._running.values()):
                running.cancel(Cut.STOPPED)
        await self._tasks.__aexit__(None, None, None)

    async def abort(self, error: BaseException, trace: TracebackType | None) -> None:
        """End at once; what ran is found uncertain by the next start."""
        await self._tasks.__aexit__(type(error), error, trace)

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[Value[T] | Exception]:
        """Run beside everything else; its failure is a value, not the end of the house."""
        return self._tasks.create_task(caught(work))

    def nudge(self, conversation: str) -> None:
        """Something may be due there."""
        if self._stopping.is_set():
            return
        if conversation in self._drains:
            self._drains[conversation] = True
            return
        self._drains[conversation] = False
        self._quiet.clear()
        _ = self.spawn(self._kept("conversation", self._drain(conversation)))

    def wakes_changed(self) -> None:
        """A wake was set, removed or released."""
        self._wakes.set()

    async def next_wake_change(self, seconds: float | None) -> bool:
        """Wait for a change of wakes or that long; False once the service stops."""
        house = self._the_house()
        if seconds is None:
            await self._wakes.wait()
        else:
            await event_within(house.clock, self._wakes, seconds)
        self._wakes.clear()
        return not self._stopping.is_set()

    async def until_stopping(self, seconds: float) -> None:
        """Wait that long, or until the service stops."""
        await event_within(self._the_house().clock, self._stopping, seconds)

    @property
    def stopping(self) -> bool:
        """Whether it is going down."""
        return self._stopping.is_set()

    def running(self, conversation: str) -> Running | None:
        """The turn that runs there now."""
        return self._running.get(conversation)

    def snapshot(self) -> list[dict[str, object]]:
        """What runs now, for status: conversation, delivery, phase, seconds of silence, tools."""
        now = self._the_house().clock.monotonic()
        return [
            {
                "conversation": conversation,
                "delivery": running.turn.delivery.id,
                "phase": running.turn.marks.phase,
                "silent_seconds": round(now - running.turn.marks.last, 1),
                "tools": sorted(running.turn.marks.tools),
            }
            for conversation, running in self._running.items()
        ]

    def _the_house(self) -> House:
        if self._house is None:
            message = "the captain was not started"
            raise RuntimeError(message)
        return self._house

    async def _drain(self, conversation: str) -> None:
        house, elsewhere = self._the_house(), set[str]()
        try:
            while not self._stopping.is_set():
                self._drains[conversation] = False
                reservation = await self._reserved(conversation, frozenset(elsewhere))
                if reservation is None:
                    if not self._drains[conversation]:
                        return
                    elsewhere.clear()
                elif await self._step(house, conversation, reservation) is Step.ELSEWHERE:
                    elsewhere.add(reservation.delivery.id)
        finally:
            del self._drains[conversation]
            if not self._drains:
                self._quiet.set()

    async def _reserved(self, conversation: str, without: frozenset[str]) -> Reservation | None:
        house = self._the_house()
        try:
            return await house.store.deliveries.reserve(conversation, without)
        except FaultError as error:
            journal.warn("store refuses", conversation=conversation, why=error.detail)
            await event_within(house.clock, self._stopping, STORE_PAUSE)
            self._drains[conversation] = True
            return None

    async def _step(self, house: House, conversation: str, reservation: Reservation) -> Step:
        running = Running(Turn(house, reservation))
        self._running[conversation] = running
        try:
            return await dispatch.run(house, running)
        finally:
            del self._running[conversation]

    async def _kept(self, what: str, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except ClankieError as error:
            journal.warn(f"{what} ended", why=error.detail, code=error.code)
        except Exception as error:  # noqa: BLE001 - a defect in one conversation must not end the others
            journal.defect(f"{what} failed", error)
