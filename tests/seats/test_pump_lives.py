"""Pumps that die at any moment, one after the other on one folder: nothing is handed over twice."""

import asyncio
import itertools
import tempfile
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from clankie.core.seat import SeatEvent
from clankie.seats.folder import Folder, made
from clankie.seats.journal import Journal
from clankie.seats.port import Handed, Refused, Taken, Unknown
from clankie.seats.pump import Pump, Workings
from clankie.seats.service import BusyError, Page, SeatWireError, UnreachableError
from fakes.clock import FakeClock
from fakes.harness import FakeHarness
from fakes.seat_service import FakeSeatService, event

NAMES = "abcd"
events = st.builds(
    event, st.sampled_from(NAMES), attempt=st.integers(1, 2), generation=st.integers(1, 2)
)
failures = st.sampled_from([UnreachableError("away"), BusyError("busy", 2.0), None])
pages = st.one_of(
    st.lists(events, max_size=3).map(lambda found: Page(events=found)),
    st.just(UnreachableError("away")),
)
outcomes = st.sampled_from(["taken", "refused", "unknown", "never", "fails"])


@dataclass
class Life:
    """One pump: what it is given, how the harness takes it, and when it is killed."""

    answers: list[Page | SeatWireError]
    takes: list[str]
    failures: list[SeatWireError | None]
    steps: int


lives = st.builds(
    Life,
    answers=st.lists(pages, max_size=4),
    takes=st.lists(outcomes, min_size=1, max_size=6),
    failures=st.lists(failures, max_size=4),
    steps=st.integers(0, 12),
)


@dataclass
class World:
    """What all pumps of a seat did together."""

    folder: Folder
    given: list[tuple[str, int]] = field(default_factory=list)
    taken: set[tuple[str, int]] = field(default_factory=set)
    said: list[tuple[str, str, int]] = field(default_factory=list)

    def decide(self, one: SeatEvent, how: str) -> Handed | Exception | None:
        key = (one.id, one.attempt)
        match how:
            case "taken":
                self.taken.add(key)
                return Taken(proof="row")
            case "refused":
                return Refused("busy")
            case "unknown":
                self.taken.add(key)
                return Unknown("no row")
            case "fails":
                return OSError("gone")
            case _:
                return None

    async def live(self, life: Life, number: int) -> None:
        clock, takes = FakeClock(), itertools.cycle(life.takes)
        service = FakeSeatService(*life.answers)
        service.failures = [one for one in life.failures if one is not None]
        harness = FakeHarness(lambda one: self.decide(one, next(takes)))
        polls = itertools.count()
        workings = Workings(
            clock=clock,
            jitter=lambda: 0.5,
            binding=f"binding-{number}",
            poll_id=lambda: f"poll-{next(polls)}",
            say=lambda _: None,
        )
        async with asyncio.TaskGroup() as group:
            pump = group.create_task(
                Pump(service, harness, Journal(self.folder, clock), workings).run()
            )
            for _ in range(life.steps):
                await asyncio.sleep(0)
                if clock.sleeping:
                    await clock.advance_to_next()
            pump.cancel()
        self.given += harness.given
        self.said += service.said


# proves: SEAT-4, FENCE-4
@given(st.lists(lives, min_size=1, max_size=4))
def test_no_attempt_is_handed_over_twice_and_only_what_was_taken_is_acknowledged(
    all_lives: list[Life],
) -> None:
    with tempfile.TemporaryDirectory() as home:
        world = World(made(home, "seat"))
        for number, life in enumerate(all_lives):
            asyncio.run(world.live(life, number))
    assert len(world.given) == len(set(world.given))
    acknowledged = {(name, attempt) for verb, name, attempt in world.said if verb == "ack"}
    refused = {(name, attempt) for verb, name, attempt in world.said if verb == "refuse"}
    assert acknowledged <= world.taken
    assert not refused & world.taken
    assert acknowledged <= set(world.given)
