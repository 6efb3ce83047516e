"""The pump of one seat: it polls, hands over, says what became of it, and sends what is seen.

Rule 1: only what the harness has is acknowledged, one event at a time. No poll acknowledges.
Rule 2: what was taken is written down before its words leave (`journal`); an attempt that stands
        there is not handed over again, by this pump or the next.
Rule 3: what may have arrived is neither acknowledged nor refused: the service shows it as
        uncertain.
Rule 4: a harness whose adapter fails is given nothing more. What was not handed over is refused,
        and no further poll is made, because it would take what nobody can deliver.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.core.seat import Report
from clankie.seats.asking import Asking
from clankie.seats.ending import Ending
from clankie.seats.handing import HAND_OVER, Handing
from clankie.seats.patience import INSIST, Patience
from clankie.seats.questions import Questions
from clankie.seats.renewing import Renewing
from clankie.seats.service import Answered, AnsweredError, SeatWireError, UnreachableError
from clankie.seats.telling import Telling

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clankie.host.ports import Clock
    from clankie.seats.journal import Journal
    from clankie.seats.port import Harness, Observation
    from clankie.seats.service import Page, Service

QUICK: Final = 1.0
"""Seconds. Empty pages that come faster are followed by a pause: they must not spin."""


async def _reads_itself(session_id: str, source: str) -> None:
    """A harness with a hook of its own reads the log by itself."""


async def _all_sent() -> bool:
    """There is no transcript beside what the adapter shows."""
    return True


async def _cannot() -> bool:
    """Only a harness that a driver owns begins a session by itself."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Workings:
    """What a pump works with.

    `say` takes sentences for the log of this side. `began` is told of each new native session, and
    how it began. `before` sends what is left of a transcript, before anything is said of its turn;
    False when the service could not take it now.
    `renew` lets the harness begin a new session; whether it did, and the service knows. `alone`: no
    person sits in front of it, who could.
    """

    clock: Clock
    jitter: Callable[[], float]
    binding: str
    poll_id: Callable[[], str]
    say: Callable[[str], None]
    began: Callable[[str, str], Awaitable[None]] = _reads_itself
    before: Callable[[], Awaitable[bool]] = _all_sent
    renew: Callable[[], Awaitable[bool]] = _cannot
    alone: bool = False


class Pump:
    """Runs one seat until it ends."""

    def __init__(
        self, service: Service, harness: Harness, journal: Journal, workings: Workings
    ) -> None:
        self._service, self._harness, self._journal = service, harness, journal
        self._with = workings
        self._free = asyncio.Event()
        self._free.set()
        self._questions = Questions(
            service=service,
            asked=journal.asked,
            clock=workings.clock,
            jitter=workings.jitter,
            say=workings.say,
            answer=self._answer,
        )
        self._renewing = Renewing(
            clock=workings.clock,
            say=workings.say,
            session=lambda: harness.native.session_id,
            renew=lambda: self._tried(self._renewed()),
            alone=workings.alone,
        )

    async def run(self) -> Ending:
        """Work until the seat or the harness ends; says why."""
        async with asyncio.TaskGroup() as group:
            telling = self._telling(group)
            polling = group.create_task(self._polling(telling))
            watching = group.create_task(self._watching())
            tasks = {polling, watching}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            first = watching if watching.done() else polling
            if first is watching:
                await self._page_is_done()
            for task in tasks:
                task.cancel()
            telling.stop()
        return first.result()

    async def _page_is_done(self) -> None:
        """Finish the page that is being handed over: what a dead harness cannot get is refused."""
        async with asyncio.TaskGroup() as tasks:
            free = tasks.create_task(self._free.wait())
            timer = tasks.create_task(self._with.clock.sleep(HAND_OVER))
            await asyncio.wait({free, timer}, return_when=asyncio.FIRST_COMPLETED)
            free.cancel()
            timer.cancel()

    def _telling(self, group: asyncio.TaskGroup) -> Telling:
        return Telling(
            service=self._service,
            journal=self._journal,
            clock=self._with.clock,
            jitter=self._with.jitter,
            say=self._with.say,
            group=group,
        )

    # ── what comes from the service ──────────────────────────────────────────────────────────

    async def _polling(self, telling: Telling) -> Ending:
        await telling.untold()
        clock = self._with.clock
        handing = Handing(self._harness, self._journal, clock, self._with.say)
        asking = Asking(
            service=self._service,
            clock=clock,
            jitter=self._with.jitter,
            binding=self._with.binding,
            poll_id=self._with.poll_id,
            say=self._with.say,
        )
        while True:
            began = clock.monotonic()
            page = await asking.page()
            if isinstance(page, Ending):
                return page
            if asking.lost:
                asking.lost = not await self._questions.again()
            self._free.clear()
            try:
                await self._orders(page)
                await self._hand_all(page, handing, telling)
            finally:
                self._free.set()
            if handing.broken:
                return Ending.BROKEN
            if not page.events and clock.monotonic() - began < QUICK:
                await clock.sleep(QUICK)

    async def _orders(self, page: Page) -> None:
        """Turns to stop, and the owner's answers: they do not wait behind words."""
        for event, _ in page.interrupts:
            if not await self._tried(self._harness.interrupt(event)):
                self._with.say(f"{event}: its turn could not be stopped.")
        for question, approve in page.decisions:
            await self._questions.answered(question, approve=approve)
        await (self._renewing.wanted() if page.renew else self._renewing.look())

    async def _renewed(self) -> bool:
        """Begin a new session, before anything more is asked for: it reads the log first."""
        await self._with.before()
        return await self._with.renew()

    async def _answer(self, question: str, approve: bool) -> bool:  # noqa: FBT001 - a callback
        return await self._tried(self._harness.answer(question, approve=approve))

    async def _tried(self, work: Awaitable[bool]) -> bool:
        try:
            return await work
        except Exception as error:  # noqa: BLE001 - an adapter's failure must not end the seat
            self._with.say(f"The harness failed ({type(error).__name__}: {error}).")
            return False

    async def _hand_all(self, page: Page, handing: Handing, telling: Telling) -> None:
        for name, attempt, why in page.malformed:
            self._with.say(f"{name}: it cannot be read ({why}); it was not handed over.")
            await self._refuse(name, attempt)
        for event in page.events:
            took = await handing.hand(event, self._with.binding)
            if took is not None:
                await telling.tell(took)

    async def _refuse(self, event: str, attempt: int) -> None:
        """Refuse what cannot be read. Once will do: else the service shows it as uncertain."""
        which = Answered(event=event, attempt=attempt, binding=self._with.binding)
        try:
            await self._service.refuse(which, "unreadable_event")
        except SeatWireError as error:
            self._with.say(f"{event}: {error}")

    # ── what comes from the harness ──────────────────────────────────────────────────────────

    async def _watching(self) -> Ending:
        try:
            await self._watch()
        except Exception as error:  # noqa: BLE001 - an adapter's failure ends its seat alone
            self._with.say(f"The harness failed ({type(error).__name__}: {error}).")
            return Ending.BROKEN
        return Ending.ENDED

    async def _watch(self) -> None:
        async for seen in self._harness.seen():
            for note in seen.notes:
                self._with.say(note)
            if seen.question is not None:
                await self._questions.ask(seen.question)
            for name in seen.answered:
                await self._questions.withdraw(name)
            if seen.standing is not None:
                await self._questions.stand(seen.standing)
            if seen.observation is not None:
                await self._observe(seen.observation)
                if seen.observation.ended:
                    return

    async def _observe(self, seen: Observation) -> None:
        """Send what was seen; while the service is away it waits here, and so does the adapter."""
        if seen.source is not None:
            await self._with.began(seen.session_id, seen.source)
        # A turn that ends settles its delivery, and nobody else sends what a dead harness wrote.
        first = seen.activity is not None or seen.ended
        says = bool(seen.entries) or seen.activity is not None
        heard = seen.at or self._with.clock.now()
        report = None if seen.activity is None else Report(seen.activity, heard)

        async def send() -> None:
            if first and not await self._with.before():
                raise UnreachableError("the transcript could not be sent")
            if says:
                await self._service.transcript(seen.session_id, seen.entries, report)

        try:
            await self._patience().insist(send, None if says else INSIST)
        except AnsweredError as error:
            self._with.say(f"Part of the transcript of {seen.session_id} was refused ({error}).")
        except SeatWireError as error:
            self._with.say(f"The rest of {seen.session_id} was not sent ({error}).")

    def _patience(self) -> Patience:
        return Patience(clock=self._with.clock, jitter=self._with.jitter)
