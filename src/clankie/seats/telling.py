"""What became of an event, said to the service until it knows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clankie.seats.journal import KnownState, Took
from clankie.seats.patience import INSIST, Patience
from clankie.seats.service import (
    Answered,
    AnsweredError,
    BusyError,
    NotOursError,
    SeatWireError,
    UnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.host.ports import Clock
    from clankie.seats.journal import Journal
    from clankie.seats.service import Service


@dataclass(kw_only=True)
class Telling:
    """Tells at once; what fails then is repeated beside the polls, with the same ids."""

    service: Service
    journal: Journal
    clock: Clock
    jitter: Callable[[], float]
    say: Callable[[str], None]
    group: asyncio.TaskGroup
    _open: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]], init=False)

    async def untold(self) -> None:
        """Say what an earlier pump took and could not say. Its binding may still count."""
        for took in self.journal.untold():
            await self.tell(took)

    async def tell(self, took: Took) -> None:
        """Acknowledge or refuse an attempt, as the journal has it."""
        try:
            await self._once(took)
        except (UnreachableError, BusyError) as error:
            task = self.group.create_task(self._insist(took, error))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    def stop(self) -> None:
        """Repeat nothing any more. It stands in the journal, for whoever comes next."""
        for task in tuple(self._open):
            task.cancel()

    async def _insist(self, took: Took, error: SeatWireError) -> None:
        patience = Patience(clock=self.clock, jitter=self.jitter)
        await patience.pause(error)
        try:
            await patience.insist(lambda: self._once(took), INSIST)
        except SeatWireError as last:
            self.say(f"{took.event}: what became of it could not be said ({last}).")

    async def _once(self, took: Took) -> None:
        which = Answered(event=took.event, attempt=took.attempt, binding=took.binding)
        try:
            if took.state is KnownState.TAKEN:
                await self.service.ack(which)
            else:
                await self.service.refuse(which, took.reason)
        except NotOursError:
            # The poll finds that out too, and says it; the journal keeps what is not told.
            return
        except AnsweredError as error:
            # The service has settled it otherwise meanwhile. Its word is the last.
            self.say(f"{took.event}: {error}")
        self.journal.told(took.event, took.attempt)
