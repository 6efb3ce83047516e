"""A harness that did not begin a new session is asked again, where no person could begin one."""

from dataclasses import dataclass, field

import pytest

from clankie.seats.renewing import BEGAN_NONE, LONGEST, NEEDS_A_PERSON, Renewing
from fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


@dataclass
class Harness:
    """One that begins a new session, or not."""

    session: str = "native-1"
    begins: bool = False
    clock: FakeClock = field(default_factory=FakeClock)
    asked: list[float] = field(default_factory=list[float])
    log: list[str] = field(default_factory=list[str])

    def renewing(self, *, alone: bool = True) -> Renewing:
        return Renewing(
            clock=self.clock,
            say=self.log.append,
            session=lambda: self.session,
            renew=self.renew,
            alone=alone,
        )

    async def renew(self) -> bool:
        self.asked.append(self.clock.monotonic())
        if self.begins:
            self.session = "native-2"
        return self.begins


async def polls(harness: Harness, renewing: Renewing, seconds: int) -> None:
    """A look every ten seconds."""
    for _ in range(seconds // 10):
        await harness.clock.advance(10)
        await renewing.look()


async def test_it_is_asked_again_with_pauses_that_grow_until_it_begins_one() -> None:
    # proves: SEAT-14
    harness = Harness()
    renewing = harness.renewing()
    await renewing.look()
    assert harness.asked == []
    start = harness.clock.monotonic()
    await renewing.wanted()
    await polls(harness, renewing, 3000)
    waits = [
        after - before
        for before, after in zip([start, *harness.asked], harness.asked, strict=False)
    ]
    assert waits == [0, 30, 60, 120, 240, 480, LONGEST, LONGEST, LONGEST]
    harness.begins = True
    await polls(harness, renewing, 3000)
    assert len(harness.asked) == len(waits) + 1
    assert harness.log == [BEGAN_NONE]


async def test_where_a_person_can_begin_one_it_is_asked_once() -> None:
    harness = Harness()
    renewing = harness.renewing(alone=False)
    await renewing.wanted()
    await polls(harness, renewing, 600)
    assert len(harness.asked) == 1
    assert harness.log == [NEEDS_A_PERSON]


async def test_a_session_that_took_its_place_meanwhile_stays() -> None:
    harness = Harness()
    renewing = harness.renewing()
    await renewing.wanted()
    harness.session = "native-3"
    harness.begins = True
    await polls(harness, renewing, 600)
    assert (len(harness.asked), harness.session) == (1, "native-3")
    # It may come to the same as the first did.
    harness.begins = False
    await renewing.wanted()
    harness.begins = True
    await polls(harness, renewing, 30)
    assert (len(harness.asked), harness.session) == (3, "native-2")
