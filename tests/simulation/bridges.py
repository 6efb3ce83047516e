"""Bridges: each polls for one seat, hands over, and says what became of it, when it does.

What was handed over stands in the pump's own journal, which outlives the bridge; that part is the
real one. The rest is chance: polls that break off, answers that get lost, words that come late.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import SeatState
from clankie.core.errors import (
    ClankieError,
    FaultError,
    TransitionRefusedError,
    UncertainError,
)
from clankie.core.seat import SeatEvent
from clankie.core.seat_errors import (
    EventNotFoundError,
    OccupantChangedError,
    SeatNotFoundError,
    SeatSupersededError,
)
from clankie.host.house import House
from clankie.host.seats import answers, attachment, poll
from clankie.host.seats.poll import Page
from clankie.host.waiting import Value, caught
from clankie.seats.folder import Folder
from clankie.seats.handing import Handing
from clankie.seats.journal import Journal, KnownState, Took
from clankie.seats.port import Harness
from simulation.glass import Glass
from simulation.ledger import Ledger, Told
from simulation.programs import Program, Word
from simulation.stops import Stops
from simulation.world import World

SOON = 50.0
"""Seconds within which nothing that was given out lapses."""


class AwayError(Exception):
    """The service is not there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a bridge lives: what it shares with all others of this life."""

    world: World
    ledger: Ledger
    glass: Glass
    house: Callable[[], House]


class Bridge:
    """The bridge of one seat, in whatever process it is at the moment."""

    def __init__(self, place: Place, program: Program, seat: str, folder: Folder) -> None:
        self._place, self.program, self.seat = place, program, seat
        self._folder = folder
        self._starts = 0
        self._polls = 0
        self._lost: tuple[int, float, set[tuple[str, int]]] | None = None
        self._page: deque[SeatEvent] = deque()
        self._poll_id: str | None = None
        self.ended: float | None = None
        self.waiting: float | None = None
        self.broke = self.renew = False
        self.heard: list[SeatEvent] = []
        self._replies: deque[Word] = deque()
        self._takers: dict[tuple[str, int], str] = {}
        self.gone = False
        self._stops = Stops(place.world, place.ledger, place.glass, seat)
        self._begin()

    @property
    def _world(self) -> World:
        return self._place.world

    @property
    def _house(self) -> House:
        return self._place.house()

    def _begin(self) -> None:
        """A new process: what it knows is in the journal."""
        world, self._starts = self._world, self._starts + 1
        self.binding = f"b-{self.seat}-{self._starts}"
        self._page.clear()
        self._poll_id = self._lost = None
        self._journal = Journal(self._folder, world.clock)
        program = cast("Harness", self.program)
        self._handing = Handing(program, self._journal, world.clock, lambda _: None)

    def boots(self) -> None:
        """The service begins anew: its polls are over, and half of the bridges too."""
        self.waiting = self.ended = None
        self.broke = False
        self._stops.boots()
        if self._world.likely(0.4) or self._handing.broken:
            self._begin()

    async def work(self) -> None:
        """Poll and hand over until the harness or the seat is gone."""
        while self.program.alive and not self.gone:
            try:
                await self._round()
            except (AwayError, FaultError, UncertainError) as error:
                self._world.tell(self.seat, type(error).__name__)
                if not self._world.calm and self._world.likely(0.2):
                    self._begin()
                await self._world.clock.sleep(3.0)
            except SeatNotFoundError:
                self._world.tell(self.seat, "is gone")
                self.gone = True
            except ClankieError as error:
                self._world.tell(self.seat, error.code)
                await self._world.clock.sleep(1.0)
            self._world.alive()

    async def _round(self) -> None:
        world = self._world
        if not world.calm:
            await self._moods()
        if self._handing.broken:
            self._begin()
        while self._page:
            took = await self._handing.hand(self._page[0], self.binding)
            world.alive()
            self._page.popleft()
            if took is not None and (world.calm or not world.likely(0.2)):
                await self._tell(took)
        if world.calm or not world.likely(0.3):
            await self.says()
        await self._asks()

    async def _moods(self) -> None:
        world = self._world
        mood = world.chance.random()
        if mood < 0.05:
            self._begin()
        elif mood < 0.12:
            seconds = world.chance.choice((10.0, 40.0, 70.0, 130.0, 800.0))
            world.tell(self.seat, "is silent for", seconds)
            await world.clock.sleep(seconds)
        elif mood < 0.18:
            await self.meddles()
        elif mood < 0.4:
            await world.pause(2.0)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────

    async def _asks(self) -> None:
        world = self._world
        if self._poll_id is None:
            self._polls += 1
            self._poll_id = f"p-{self.seat}-{self._polls}"
        wait = 30.0 if world.calm or world.likely(0.9) else world.chance.choice((0.0, 3.0))
        page = await self._asked(wait)
        if page is None:
            return
        self._again(page)
        if not world.calm and page.events and world.likely(0.08):
            # Its answer is lost: it is asked for again under its id.
            keys = {(one.id, one.attempt) for one in page.events}
            self._lost = world.boot, world.clock.monotonic(), keys
            return
        self._poll_id = None
        self.renew = self.renew or page.renew
        for event, _ in page.interrupts:
            await self.program.interrupt(event)
        self._page.extend(page.events)
        self.heard = [*self.heard, *page.events][-8:]

    def _again(self, page: Page) -> None:
        """The same poll brings the same page."""
        if self._lost is None:
            return
        boot, at, keys = self._lost
        self._lost = None
        world, chair = self._world, self._house.desk.chair(self.seat)
        sits = chair.seat.conversation is not None and not chair.parked(world.clock.now())
        soon = boot == world.boot and not world.usurped and world.clock.monotonic() - at < SOON
        # A session start that was confirmed meanwhile may have told what a handoff was to tell.
        keys -= {one for one in keys if self._place.glass.told(one[0])}
        if sits and soon and (missing := keys - {(one.id, one.attempt) for one in page.events}):
            world.wrong(f"asked again, {self.seat} was not given {sorted(missing)}")

    async def _asked(self, wait: float) -> Page | None:
        world = self._world
        if world.calm or not world.likely(0.08):
            return await self._polled(wait)
        newer: Value[Page] | Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(caught(self._polled(wait)))
            await world.pause(5.0)
            if world.likely(0.5) and not asking.done():
                # Another takes its place.
                newer = await caught(self._polled(wait))
            asking.cancel()
        found = None if asking.cancelled() else asking.result()
        found = newer or found
        if isinstance(found, Exception):
            raise found
        return None if found is None else found.value

    async def _polled(self, wait: float) -> Page:
        world, house = self._world, self._house
        now, name = world.clock.monotonic(), self._poll_id or "?"
        if wait > 0:
            self.waiting = now
        had, stops = dict(self._place.ledger.seats.had), self._stops.asked()
        try:
            page = await poll.poll(house, self.seat, binding=self.binding, poll_id=name, wait=wait)
        except BaseException:
            self.waiting = self.ended = None
            self.broke = True
            raise
        world.alive()
        self.waiting = None
        self.ended = world.clock.monotonic()
        if page.events or page.superseded:
            world.tell(self.seat, name, [one.id for one in page.events], page.superseded)
        if not world.usurped:
            self._look(page, name, had)
        if not (world.usurped or page.superseded):
            self._stops.page(page.interrupts, stops, listens=wait > 0)
        return page

    def _look(self, page: Page, poll_id: str, had: dict[str, int]) -> None:
        """What is wrong with a page at the moment in which it comes."""
        seats = self._place.ledger.seats
        for one in page.events:
            self._takers[one.id, one.attempt] = self.binding
            if not one.pieces:
                known = {(it.span, it.attempt) for it in seats.told}
                if (one.id, one.attempt) not in known:
                    before = had.get(one.conversation, 0)
                    seats.told.append(
                        Told(one.id, one.attempt, one.conversation, one.content, before)
                    )
        for sentence in self._place.glass.given(self.seat, self.binding, poll_id, page.events):
            self._world.wrong(sentence)

    # ── saying ───────────────────────────────────────────────────────────────────────────────────

    async def says(self) -> None:
        """Whatever of the past was not said, or not heard."""
        for took in self._journal.untold():
            await self._tell(took)
        while self._replies:
            await self._reply(self._replies[0])
            if self._replies:
                self._replies.popleft()

    async def _tell(self, took: Took) -> None:
        key = self.seat, took.event, took.attempt
        seats = self._place.ledger.seats
        house, n, by = self._house, took.attempt, took.binding
        if took.state is KnownState.TAKEN:
            seats.acks[key].add(by)
            work = answers.ack(house, self.seat, took.event, attempt=n, binding=by)
        else:
            seats.refusals[key].add(by)
            why = took.reason
            if not self._world.calm and self._world.likely(0.5):
                await _changes(self, self._world, house)
            work = answers.refuse(house, self.seat, took.event, attempt=n, binding=by, reason=why)
        await self._said(took.event, work)
        self._journal.told(took.event, took.attempt)

    async def _said(self, event: str, work: Awaitable[object]) -> object:
        """The service's word is the last; what it could not do is said again later."""
        try:
            state = await work
        except (FaultError, UncertainError, SeatNotFoundError):
            raise
        except ClankieError as error:
            state = error.code
        self._world.alive()
        self._world.tell(self.seat, "said of", event, state)
        self._drives()
        return state

    def reply(self, word: Word) -> None:
        """Answer an event, when it is said."""
        self._replies.append(word)

    async def _reply(self, word: Word) -> None:
        event, chance = word.event, self._world.chance
        text = f"reply to {event.id} {event.attempt} of {self.seat}"
        self._place.ledger.seats.replies[event.id, event.attempt].add(text)
        if chance.random() < 0.4:
            work: Awaitable[object] = answers.spoken(self._house, self.seat, event.id, text)
        else:
            binding = self._takers.get((event.id, event.attempt), self.binding)
            work = answers.reply(
                self._house,
                self.seat,
                event.id,
                attempt=event.attempt,
                binding=binding,
                text=text,
            )
        await self._said(event.id, work)

    async def _speaks(self, event: SeatEvent) -> None:
        """Answer what is uncertain by the seat's tools: that alone proves nothing."""
        house, seats = self._house, self._place.ledger.seats
        found = await house.store.deliveries.get(event.id)
        it = event.id, event.attempt
        if found.attempts[-1].state is not SeatState.UNCERTAIN or it in seats.proofs:
            return
        try:
            state = await answers.spoken(house, self.seat, event.id, "without proof")
        except (TransitionRefusedError, EventNotFoundError):
            return
        self._world.alive()
        self._world.wrong(f"{event.id} was uncertain, and an answer without proof made it {state}")

    def _drives(self) -> None:
        drove = self._place.ledger.seats.drove
        for conversation, cursor in self._place.glass.harness_cursors():
            drove.setdefault(conversation, cursor)

    async def meddles(self) -> None:
        """What nobody should do: words of a bridge that was never given the event."""
        if not self.heard:
            return
        proofs = self._place.ledger.seats.proofs
        unproven = [it for it in self.heard if (it.id, it.attempt) not in proofs]
        asked = [it for it in unproven if it.reply]
        if asked and self._world.likely(0.5):
            await self._speaks(self._world.chance.choice(asked))
            return
        world, event = self._world, self._world.chance.choice(unproven or self.heard)
        if world.likely(0.5) or not event.pieces:
            self.program.confuses(event)
            return
        verb = answers.ack if world.likely(0.5) else answers.refuse
        more = {"reason": "meddled"} if verb is answers.refuse else {}
        try:
            state = await verb(
                self._house, self.seat, event.id, attempt=event.attempt, binding="b-other", **more
            )
        except (SeatSupersededError, EventNotFoundError, OccupantChangedError):
            world.alive()
            return
        world.alive()
        world.wrong(f"a bridge that was never given {event.id} settled it: {state}")


async def _changes(bridge: Bridge, world: World, house: House) -> None:
    """In that very moment its owner lets it go, or its person begins another session."""
    bridge.ended, bridge.broke = None, True
    if world.likely(0.3):
        await caught(attachment.detach(house, bridge.seat, OPERATOR, "detached"))
    else:
        await caught(bridge.program.begins(house, bridge.seat, "clear", same=False))
    world.alive()
