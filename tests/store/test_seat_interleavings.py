"""Seats come, go, ask, answer and die in any order, with restarts between: the invariants hold."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.delivery import SeatState
from clankie.core.driver import Presence, Standing
from clankie.core.errors import ClankieError
from clankie.core.ids import HEAD
from clankie.core.seat import (
    Activity,
    Entry,
    EntryKind,
    Evidence,
    Proof,
    Report,
    SeatEvent,
    delivery_uuid,
)
from clankie.host.storage import Reservation
from clankie.store.sqlite import SqliteStore
from contracts.seat_kit import BRIDGE, BY, LIMITS, OTHER, occupant, poll, seated
from contracts.store_kit import BOUND, DONE, Told, World, made, offer
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash
from store.invariants import violations
from store.test_interleavings import NAMES, Life

ORIGINS = (Origin.OWNER, Origin.ESCALATION, Origin.WAKE, Origin.LINEAR, Origin.REPORT)


@dataclass
class SeatLife(Life):
    """A store with seats, and what each bridge was given."""

    world: World = field(default_factory=lambda: World(lambda *_: None))  # type: ignore[arg-type]  # its time only
    seats: list[str] = field(default_factory=list)
    sits: dict[str, Standing] = field(default_factory=dict)
    given: list[tuple[str, str, SeatEvent]] = field(default_factory=list)
    polls: int = 0
    rows: int = 0

    async def step(self, verb: int, which: int) -> None:
        steps: tuple[Callable[[int], object], ...] = (
            self.open,
            self.mail,
            self.mail,
            self.choose,
            self.choose,
            self.ask,
            self.ask,
            self.ask,
            self.say,
            self.say,
            self.show,
            self.run,
            self.lapse,
            self.move,
            self.leave,
        )
        if verb >= len(steps):
            await self.do(verb - len(steps), which)
            return
        try:
            await steps[verb](which)  # type: ignore[misc]  # each is a coroutine function
        except ClankieError:
            return

    def seat(self, which: int) -> str:
        if not self.seats:
            message = "no seat sits anywhere"
            raise ClankieError(message)
        return self.seats[which % len(self.seats)]

    async def there(self, conversation: str) -> str | None:
        found = [one.id for one in await self.store.seats.all() if one.conversation == conversation]
        return found[0] if found else None

    async def open(self, which: int) -> None:
        name, conversation = f"s-{len(self.seats)}", NAMES[which % 2]
        expected = await self.there(conversation)
        self.world.clock = self.clock
        self.sits[name] = await seated(
            self.store, self.world, name, conversation, expected=expected
        )
        self.seats.append(name)

    async def mail(self, which: int) -> None:
        self.count += 1
        one = offer(
            f"m-{self.count}",
            f"Text {which % 3}",
            conversation=NAMES[which % 2],
            origin=ORIGINS[which % 5],
            channel="main" if which % 3 else None,
        )
        if which % 7 == 0 and self.seats:
            reach = Reach.HELD_QUEUE if which % 2 else Reach.OCCUPANT
            sits = self.sits[self.seat(which)].occupant
            one = replace(one, reach=reach, occupant=sits, mode=Mode.QUEUE)
        await self.store.deliveries.admit(one, BOUND)

    async def choose(self, which: int) -> None:
        conversation = NAMES[which % 2]
        there = await self.there(conversation)
        standing = None if there is None else self.sits[there]
        if standing is not None and which % 5 == 0:
            standing = replace(standing, presence=Presence.ABSENT)
        found = await self.store.deliveries.reserve(conversation, seat=standing)
        if isinstance(found, Reservation):
            self.held.append(found)

    async def ask(self, which: int) -> None:
        seat, binding = self.seat(which), OTHER if which % 11 == 0 else BRIDGE
        conversation = (await self.store.seats.get(seat)).conversation
        if conversation is not None and which % 5:
            await self.store.deliveries.reserve(conversation, seat=self.sits[seat])
        self.polls += which % 4 > 0
        found = await poll(self.store, seat, f"p-{self.polls}", binding, responding=which % 3 == 0)
        again = {(s, e.id, e.attempt) for s, _, e in self.given}
        for one in found:
            if (seat, one.id, one.attempt) not in again:
                await self.never_twice(seat, one)
                self.given.append((seat, binding, one))

    async def never_twice(self, seat: str, event: SeatEvent) -> None:
        """An event is given again only after its attempt before was refused, or never went out."""
        earlier = [(s, e) for s, _, e in self.given if e.id == event.id]
        for _, former in earlier:
            if former.id.startswith("h-"):
                assert former.attempt < event.attempt, f"{event.id} again at {seat}"
                continue
            attempts = (await self.store.deliveries.get(former.id)).attempts
            state = next(a.state for a in attempts if a.n == former.attempt)
            assert state is SeatState.REFUSED, f"{event.id} again at {seat}: {state}"

    def some_event(self, which: int) -> tuple[str, str, SeatEvent]:
        if not self.given:
            message = "nothing was given"
            raise ClankieError(message)
        return self.given[-1 - (which // 3) % min(4, len(self.given))]

    async def say(self, which: int) -> None:
        seat, binding, event = self.some_event(which)
        mail = self.store.mail
        match which % 4:
            case 0:
                await mail.refuse(seat, event.id, event.attempt, binding, "busy")
            case 1:
                await mail.reply(seat, event.id, event.attempt, binding, f"Words {which % 2}")
            case _:
                await mail.ack(seat, event.id, event.attempt, binding)

    async def show(self, which: int) -> None:
        seat = self.seat(which)
        self.rows += 1
        kind = EntryKind.USER if which % 2 else EntryKind.ASSISTANT
        row = Entry(id=f"r-{self.rows}", kind=kind, at=self.clock.now(), text=f"Text {which % 3}")
        if self.given and which % 2:
            _, _, event = self.some_event(which)
            value = delivery_uuid(event.id, event.attempt)
            evidence = Evidence(
                event=event.id, attempt=event.attempt, proof=Proof.UUID, value=value
            )
            row = replace(row, evidence=evidence)
        activity = (None, Activity.RESPONDING, Activity.WAITING)[which % 3]
        # Some reports are older than the rows that are there.
        at = self.clock.now() - timedelta(seconds=which % 4) if which % 5 else None
        report = None if activity is None else Report(activity, at)
        one = await self.store.seats.get(seat)
        session = one.occupant.native.session_id
        await self.store.mail.sync(seat, session, [row], report, LIMITS)

    async def run(self, which: int) -> None:
        """A turn of the service lane, whole or as far as it gets."""
        found = await self.store.deliveries.reserve(NAMES[which % 2])
        if isinstance(found, Reservation):
            self.held.append(found)
            await self.store.deliveries.start(found)
            if which % 3:
                await self.store.deliveries.settle(found, DONE)

    async def lapse(self, which: int) -> None:
        seat, _, event = self.some_event(which)
        await self.store.mail.lapse(seat, event.id, event.attempt)

    async def move(self, which: int) -> None:
        seat, conversation = self.seat(which // 2), NAMES[which % 2]
        expected = await self.there(conversation)
        await self.store.seats.attach(seat, conversation, expected, BY)

    async def leave(self, which: int) -> None:
        seat, mail, seats = self.seat(which), self.store.mail, self.store.seats
        match which % 7:
            case 0:
                await seats.detach(seat, "left", BY)
            case 1:
                await mail.take_over(seat, "silent", "Silent.")
            case 2:
                await mail.end_queue(seat, "gone")
            case 3:
                anew = occupant(f"n-{seat}-{which}")
                await seats.occupied(seat, anew)
                self.sits[seat] = replace(self.sits[seat], occupant=anew.id)
            case 4:
                await seats.park(seat, self.clock.now() + timedelta(seconds=which), "limit")
            case 5:
                head = await self.store.conversations.get(HEAD)
                session = (await seats.get(seat)).occupant.native.session_id
                await seats.projected(seat, session, head.cursor - which % 3)
            case _:
                await seats.retire(seat, "retired", BY)


STEPS = st.lists(st.tuples(st.integers(0, 31), st.integers(0, 59)), min_size=20, max_size=90)


@settings(max_examples=60)
@given(STEPS)
def test_whatever_seats_do_the_records_replay_and_nothing_is_given_twice(
    steps: list[tuple[int, int]],
) -> None:
    # proves: FENCE-4, FENCE-8, HAND-6
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "clankie.db"

        async def live() -> None:
            clock = FakeClock()
            async with SqliteStore(
                path,
                clock=clock,
                ids=FakeIds(),
                crash=NoCrash(),
                committed=Told(),
                inline=True,
                durable=False,
            ) as store:
                await store.boot()
                await made(store, "den")
                life = SeatLife(clock, store)
                for verb, which in [(0, 0), (0, 1), *steps]:
                    await life.step(verb, which)
                assert violations(path) == []

        asyncio.run(live())
