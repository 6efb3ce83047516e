"""One event, from the page into the harness: at most once, whatever happens on the way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, assert_never

from clankie.host.waiting import caught
from clankie.seats.port import Handed, Refused, Taken, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.core.seat import SeatEvent
    from clankie.host.ports import Clock
    from clankie.seats.journal import Journal, Took
    from clankie.seats.port import Harness

HAND_OVER: Final = 25.0
"""Seconds for one hand-over. It is less than the grace of a binding, so that its word counts."""


class Handing:
    """Hands events over. `broken`: the adapter failed, and nothing more is given to it."""

    def __init__(
        self, harness: Harness, journal: Journal, clock: Clock, say: Callable[[str], None]
    ) -> None:
        self._harness, self._journal, self._clock, self._say = harness, journal, clock, say
        self.broken = False

    async def hand(self, event: SeatEvent, binding: str) -> Took | None:
        """Hand it over; what is to be told to the service, or None where nothing is known.

        An attempt that the journal has is never handed over; what is known of it is told again.
        """
        if self._journal.has(event):
            return self._journal.word(event)
        reason = self._unfit(event)
        self._journal.begin(event, binding)
        handed = await self._handed(event) if reason is None else Refused(reason)
        match handed:
            case Taken():
                return self._journal.taken(event.id, event.attempt)
            case Refused(reason=why):
                return self._journal.refused(event.id, event.attempt, why)
            case Unknown(why=why):
                self._say(f"{event.id}: it is not known whether it arrived ({why}).")
                return None
            case _:
                assert_never(handed)

    def _unfit(self, event: SeatEvent) -> str | None:
        """Why it is not handed over at all: then nothing can have arrived."""
        if self.broken:
            return "harness_broken"
        if event.generation < self._journal.generation:
            return "stale_generation"
        if event.kind not in self._harness.declaration.capabilities.kinds:
            return "kind_unsupported"
        if event.deadline <= self._clock.now():
            return "too_late"
        return None

    async def _handed(self, event: SeatEvent) -> Handed:
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self._clock.sleep(HAND_OVER))
            work = tasks.create_task(caught(self._harness.hand_over(event)))
            await asyncio.wait({timer, work}, return_when=asyncio.FIRST_COMPLETED)
            late = not work.done()
            timer.cancel()
            work.cancel()
        if late:
            return Unknown(f"no word from the harness within {HAND_OVER:g} s")
        found = work.result()
        if isinstance(found, Exception):
            self.broken = True
            return Unknown(f"its adapter failed: {type(found).__name__}: {found}")
        return found.value
