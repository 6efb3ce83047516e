"""What a running turn may ask of the host, and the marks that the watchdog reads.

Rule 1: a tool call is committed before it runs, its outcome after, whatever happens meanwhile.
Rule 2: once the turn is over (settled, stalled, cancelled) nothing it does reaches log or screen.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from clankie.core.errors import ClankieError, FaultError, UncertainError
from clankie.host import journal
from clankie.host.persist import stored
from clankie.host.ports import LaneError, ToolReport
from clankie.host.reach import Reach
from clankie.host.waiting import to_the_end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from clankie.core.conversation import Usage
    from clankie.core.projection import Projection
    from clankie.core.receipt import Delivery
    from clankie.core.watchdog import Phase
    from clankie.host.house import House
    from clankie.host.storage import Call, Reservation


class Turn(Reach):
    """One turn on the service lane, as its lane sees the host."""

    def __init__(self, house: House, reservation: Reservation) -> None:
        super().__init__(house, reservation.delivery)
        self.reservation = reservation
        self.cancel_requested = False
        self.tool_started = False
        self.effect_started = False
        self.members: list[str] = []
        self.usage: Usage | None = None
        self._parts: list[str] = []
        self._untold: list[Delivery] = []

    @property
    def partial(self) -> str:
        """What was written of the answer so far."""
        return "".join(self._parts)

    def enter(self, phase: Phase) -> None:
        """Go on to the next phase."""
        self.marks = self.marks.entered(phase, self._house.clock.monotonic())

    def close(self) -> None:
        """Nothing that still runs of it reaches log or screen from now on."""
        self.over = True

    def draft(self, text: str) -> None:
        """Show more of the answer; a sign of life too."""
        self._alive()
        self.progress()
        self._parts.append(text)
        conversation, attempt = self.delivery.conversation, self.reservation.attempt
        self._house.feed.draft(conversation, self.delivery.id, attempt, text)

    def spent(self, usage: Usage) -> None:
        """What it cost so far. Said also while it is being cut off, so it refuses nothing."""
        if not self.over:
            self.usage = usage

    async def steered(self) -> Sequence[Delivery]:
        """Waiting steering messages join the run; from here on they end with it."""
        self._alive()
        try:
            await to_the_end(self._join())
        except FaultError as error:
            # Nobody joined: what waits has its own turn later. An answer is not thrown away for it.
            journal.warn("nobody joins", delivery=self.delivery.id, why=error.detail)
        self.progress()
        told, self._untold = self._untold, []
        return tuple(told)

    async def _join(self) -> None:
        """To its end: what joined is a member, and is told, although its caller was cancelled."""
        joined = await self._house.store.deliveries.join(self.reservation)
        self.members += [one.id for one in joined]
        self._untold += joined

    async def projection(self) -> Projection:
        """The bounded log before this input."""
        self._alive()
        projection = await self._house.store.conversations.project(
            self.delivery.conversation,
            self._house.settings.projection,
            without=self.delivery.id,
        )
        self.progress()
        return projection

    @asynccontextmanager
    async def tool(self, call: Call) -> AsyncGenerator[ToolReport, None]:
        """Wrap the run of one tool.

        Cut off from outside, an effect's outcome is not known: its record stays open and the end of
        the turn marks it uncertain.
        """
        self._alive()
        report = ToolReport(detail=call.detail)
        await self._begin_tool(call)
        try:
            yield report
        except asyncio.CancelledError:
            self._tool_over(call)
            raise
        except BaseException:
            self._tool_over(call)
            await self._record(call, ok=False, detail=report.detail)
            raise
        self._tool_over(call)
        await self._record(call, ok=True, detail=report.detail)

    async def _begin_tool(self, call: Call) -> None:
        before = self.tool_started, self.effect_started
        # Said beforehand: cut off while it is written, the call may stand on disk as started.
        self.tool_started, self.effect_started = True, self.effect_started or call.effect
        try:
            await self._house.store.deliveries.tool_started(self.reservation, call)
        except ClankieError as error:
            # It did not run and will not: without its record nobody could tell later.
            if not isinstance(error, UncertainError):
                self.tool_started, self.effect_started = before
            detail = f"The tool {call.name} was not run: {error.detail}"
            raise LaneError(error.code, detail, partial=self.partial) from error
        self._alive()
        self.marks = self.marks.tool_started(call.call_id, self._house.clock.monotonic())

    def _tool_over(self, call: Call) -> None:
        self.marks = self.marks.tool_ended(call.call_id, self._house.clock.monotonic())

    async def _record(self, call: Call, *, ok: bool, detail: str) -> None:
        if self.over:
            return
        deliveries = self._house.store.deliveries
        await stored(
            self._house.clock,
            self.delivery.id,
            lambda: deliveries.tool_ended(self.reservation, call, ok=ok, detail=detail),
        )
