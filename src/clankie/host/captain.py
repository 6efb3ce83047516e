"""Runs the conversations: one turn at a time in each, all of them side by side.

Everything it starts lives in one task group. Stopping is an event (nothing new starts), then a
deadline, then cancellation with the outcomes written.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from clankie.core.admission import Origin
from clankie.core.errors import ClankieError, FaultError, UncertainError
from clankie.host import dispatch, goals, journal, search, wakes
from clankie.host.dispatch import Running, Step
from clankie.host.outcome import Cut
from clankie.host.seats import desk, keeping, watches
from clankie.host.storage import Offered
from clankie.host.turn import Turn
from clankie.host.waiting import Value, caught, event_within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from clankie.host.house import House
    from clankie.host.storage import Reservation

T = TypeVar("T")

CUT_GRACE = dispatch.CANCEL_GRACE + 5.0
"""Seconds for cut turns to end and be written when the service stops."""

STORE_PAUSE = 1.0
"""Seconds before a conversation is looked at again after the store could not serve it."""


class Captain:
    """The conversations' executor. Enter it to start, leave it to stop."""

    def __init__(self) -> None:
        self._tasks = asyncio.TaskGroup()
        self._all: set[asyncio.Task[Any]] = set()
        self._house: House | None = None
        self._drains: dict[str, bool] = {}
        self._running: dict[str, Running] = {}
        self._cut_first: set[str] = set()
        self._stopping = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._wakes = asyncio.Event()

    @asynccontextmanager
    async def at_work(self, house: House) -> AsyncGenerator[Self, None]:
        """Run what waits and what comes. An exception in the body ends everything at once."""
        failure: BaseException | None = None
        async with self._tasks:
            await self._start(house)
            try:
                yield self
            except BaseException as error:  # noqa: BLE001 - raised below, outside of the group
                failure = error
            else:
                await self.stop()
            self._end_all()
        if failure is not None:
            raise failure

    async def _start(self, house: House) -> None:
        self._house = house
        _ = self.spawn(self._kept("wakes", lambda: wakes.tend(house, self)))
        _ = self.spawn(self._kept("retention", lambda: wakes.tend_retention(house, self)))
        _ = self.spawn(self._kept("search", lambda: search.tend(house, self)))
        _ = self.spawn(self._kept("seats", lambda: keeping.tend(house, self)))
        _ = self.spawn(self._kept("watches", lambda: watches.tend(house, self)))
        for conversation in await house.store.conversations.list():
            if conversation.waiting:
                self.nudge(conversation.id)
        for goal in await house.store.goals.active():
            house.goals.add(goal.conversation)
            self.nudge(goal.conversation)

    async def stop(self) -> None:
        """Start nothing new, let turns end until the deadline, then cut them and write outcomes.

        A disk that takes no outcome does not hold the process: the next start says uncertain.
        Once is enough: stopping again changes nothing.
        """
        if self._stopping.is_set():
            return
        house = self._the_house()
        house.stopping = True
        self._stopping.set()
        self._wakes.set()
        desk.look_everywhere(house.desk)
        if not await event_within(house.clock, self._quiet, house.settings.lifecycle.drain):
            for running in list(self._running.values()):
                running.cancel(Cut.STOPPED)
            await event_within(house.clock, self._quiet, CUT_GRACE)

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[Value[T] | Exception]:
        """Run beside everything else; its failure is a value, not the end of the house."""
        watched = caught(work)
        try:
            task = self._tasks.create_task(watched)
        except RuntimeError:
            # The house falls this moment: nothing begins any more.
            watched.close()
            work.close()
            raise
        self._all.add(task)
        task.add_done_callback(self._all.discard)
        # Cancelled before its first step, a task leaves the work untouched.
        task.add_done_callback(lambda _: work.close())
        return task

    def _end_all(self) -> None:
        self._stopping.set()
        for task in list(self._all):
            task.cancel()

    def nudge(self, conversation: str) -> None:
        """Something may be due there."""
        if self._stopping.is_set():
            return
        if conversation in self._drains:
            self._drains[conversation] = True
            return
        with suppress(RuntimeError):
            _ = self.spawn(self._kept("conversation", lambda: self._drain(conversation)))
            self._drains[conversation] = False
            self._quiet.clear()

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

    def cut_when_taken_up(self, delivery: str) -> None:
        """It is being reserved this moment: end it before it starts."""
        self._cut_first.add(delivery)

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
                if not elsewhere:
                    # Else whoever nudges wants these to be looked at again.
                    self._drains[conversation] = False
                found = await self._reserved(conversation, frozenset(elsewhere))
                if found is None:
                    await self._goal(house, conversation)
                    if not self._drains[conversation]:
                        return
                    elsewhere.clear()
                elif not await self._given(house, conversation, found, elsewhere):
                    return
        finally:
            del self._drains[conversation]
            if not self._drains:
                self._quiet.set()

    async def _given(
        self,
        house: House,
        conversation: str,
        found: Reservation | Offered,
        elsewhere: set[str],
    ) -> bool:
        """Go on with what got a destination; False when another node has the conversation now."""
        if isinstance(found, Offered):
            room = found.delivery.origin is Origin.ROOM
            desk.stored_at(house.desk, found.seat, room=room)
            return True
        step = await self._step(house, conversation, found)
        # What it did is told to the seat first, then what queued behind it.
        desk.look_at(house.desk, conversation)
        if step is Step.ELSEWHERE:
            elsewhere.add(found.delivery.id)
        return step is not Step.FENCED

    async def _reserved(
        self, conversation: str, without: frozenset[str]
    ) -> Reservation | Offered | None:
        house = self._the_house()
        try:
            async with desk.fenced(house.desk, conversation):
                await keeping.settle_at(house, conversation)
                seat = house.seats.standing(conversation)
                return await house.store.deliveries.reserve(conversation, without, seat)
        except (FaultError, UncertainError) as error:
            # What was reserved all the same is what the next call returns.
            await self._refused(conversation, error)
            return None

    async def _goal(self, house: House, conversation: str) -> None:
        if conversation not in house.goals:
            return
        try:
            await goals.go_on(house, conversation)
        except (FaultError, UncertainError) as error:
            await self._refused(conversation, error)

    async def _refused(self, conversation: str, error: ClankieError) -> None:
        """The store could not serve it: look again after a pause."""
        journal.warn("store refuses", conversation=conversation, why=error.detail)
        await event_within(self._the_house().clock, self._stopping, STORE_PAUSE)
        self._drains[conversation] = True

    async def _step(self, house: House, conversation: str, reservation: Reservation) -> Step:
        running = Running(Turn(house, reservation))
        if reservation.delivery.id in self._cut_first:
            self._cut_first.discard(reservation.delivery.id)
            running.cancel(Cut.OWNER)
        if self._stopping.is_set():
            running.cancel(Cut.STOPPED)
        self._running[conversation] = running
        try:
            return await dispatch.run(house, running)
        finally:
            del self._running[conversation]

    async def _kept(self, what: str, work: Callable[[], Coroutine[object, object, None]]) -> None:
        try:
            await work()
        except ClankieError as error:
            journal.warn(f"{what} ended", why=error.detail, code=error.code)
        except Exception as error:  # noqa: BLE001 - a defect in one conversation must not end the others
            journal.defect(f"{what} failed", error)
