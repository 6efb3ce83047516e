"""A pump hands each event over at most once, and says of each only what it knows."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clankie.core.seat import Activity, Entry, EntryKind, EventKind, SeatEvent
from clankie.seats.ending import Ending
from clankie.seats.folder import Folder, made
from clankie.seats.journal import Journal
from clankie.seats.port import Handed, Observation, Question, Refused, Seen, Taken, Unknown
from clankie.seats.pump import Pump, Workings
from clankie.seats.service import (
    BusyError,
    MissingError,
    NotOursError,
    Page,
    RefusedError,
    SupersededError,
    UnreachableError,
)
from fakes.clock import FakeClock
from fakes.harness import FakeHarness
from fakes.seat_service import AT, FakeSeatService, event

pytestmark = pytest.mark.anyio
BINDING = "11111111-1111-4111-8111-111111111111"
AWAY = UnreachableError("nobody answered")
GONE = NotOursError(401, "token_unknown", "The token is unknown.")
NO_SEAT = MissingError(404, "seat_not_found", "There is no such seat.")
REPLACED = SupersededError(409, "seat_superseded", "Another one.")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return made(str(tmp_path), "seat")


@dataclass
class Bench:
    """A pump between two fakes."""

    service: FakeSeatService
    harness: FakeHarness
    folder: Folder
    clock: FakeClock = field(default_factory=FakeClock)
    binding: str = BINDING
    log: list[str] = field(default_factory=list)
    began: list[tuple[str, str]] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    unsent: int = 0

    def pump(self) -> Pump:
        polls = itertools.count(1)

        async def began(session: str, source: str) -> None:
            self.began.append((session, source))

        async def before() -> bool:
            self.before.append(len(self.service.sent))
            return len(self.before) > self.unsent

        workings = Workings(
            clock=self.clock,
            jitter=lambda: 1.0,
            binding=self.binding,
            poll_id=lambda: f"{self.binding[:8]}-{next(polls)}",
            say=self.log.append,
            began=began,
            before=before,
        )
        return Pump(self.service, self.harness, Journal(self.folder, self.clock), workings)

    async def until_idle(self) -> None:
        """Run until the pump waits in a poll that nobody answers; then end its process."""
        async with self.running():
            await self.idle()

    async def idle(self) -> None:
        while not self.service.waits.is_set():
            await self.clock.settle()
            if not self.service.waits.is_set():
                await self.clock.advance_to_next()
        await self.clock.settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[Ending]]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.pump().run())
            yield task
            task.cancel()

    async def ending(self) -> Ending:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.pump().run())
            while not task.done():
                await self.clock.settle()
                await self.clock.advance_to_next()
        return task.result()


Make = Callable[..., Bench]


@pytest.fixture
def bench(folder: Folder) -> Make:
    def make(*answers: Any, harness: FakeHarness | None = None) -> Bench:
        return Bench(FakeSeatService(*answers), harness or FakeHarness(), folder)

    return make


async def test_what_the_harness_has_is_acknowledged_and_nothing_else(bench: Make) -> None:
    outcomes: dict[str, Handed] = {
        "a": Taken(proof="row"),
        "b": Refused("a dialog is open"),
        "c": Unknown("no row came"),
    }
    table = bench(
        Page(events=[event("a"), event("b"), event("c")]),
        harness=FakeHarness(lambda one: outcomes[one.id]),
    )
    await table.until_idle()
    assert table.harness.given == [("a", 1), ("b", 1), ("c", 1)]
    assert table.service.said == [("ack", "a", 1), ("refuse", "b", 1)]
    assert table.service.reasons == {"b": "a dialog is open"}
    assert table.service.bindings == {BINDING}
    assert any("c" in line and "not known" in line for line in table.log)


# proves: SEAT-4
async def test_a_poll_after_an_unacknowledged_event_says_nothing_of_it(bench: Make) -> None:
    table = bench(
        Page(events=[event("a")]),
        Page(),
        Page(),
        harness=FakeHarness(lambda _: Unknown("no word")),
    )
    await table.until_idle()
    assert table.service.said == []
    assert len(table.service.polls) == 4
    assert len({poll for _, poll in table.service.polls}) == 4


async def test_a_poll_whose_answer_was_lost_is_repeated_with_its_own_id(bench: Make) -> None:
    table = bench(AWAY, AWAY, Page(events=[event("a")]))
    await table.until_idle()
    assert len({poll for _, poll in table.service.polls[:3]}) == 1
    assert table.service.polls[3][1] != table.service.polls[2][1]
    assert table.clock.monotonic() == 10.0
    assert table.service.said == [("ack", "a", 1)]


# proves: FENCE-9
async def test_a_page_that_comes_twice_is_handed_over_once(bench: Make) -> None:
    page = Page(events=[event("a"), event("b")])
    table = bench(page, page)
    await table.until_idle()
    assert table.harness.given == [("a", 1), ("b", 1)]
    assert table.service.said == [("ack", "a", 1), ("ack", "b", 1)]


async def test_another_attempt_of_the_same_delivery_is_handed_over(bench: Make) -> None:
    table = bench(Page(events=[event("a")]), Page(events=[event("a", attempt=2)]))
    await table.until_idle()
    assert table.harness.given == [("a", 1), ("a", 2)]


# proves: FENCE-4
async def test_a_pump_that_died_while_handing_over_leaves_the_event_alone(bench: Make) -> None:
    first = bench(Page(events=[event("a")]), harness=FakeHarness(lambda _: None))
    async with first.running():
        while not first.harness.given:
            await first.clock.settle()
    second = bench(Page(events=[event("a"), event("b")]))
    second.binding = "22222222-2222-4222-8222-222222222222"
    await second.until_idle()
    assert second.harness.given == [("b", 1)]
    assert second.service.said == [("ack", "b", 1)]


async def test_a_pump_that_could_not_say_what_it_took_leaves_that_to_the_next(bench: Make) -> None:
    first = bench(Page(events=[event("a"), event("b")]))
    first.service.failures = [AWAY, AWAY]
    async with first.running():
        while len(first.harness.given) < 2:
            await first.clock.settle()
        await first.clock.settle()
    assert first.service.said == []
    second = bench(Page(events=[event("a")]))
    second.binding = "22222222-2222-4222-8222-222222222222"
    await second.until_idle()
    assert second.harness.given == []
    assert second.service.said == [("ack", "a", 1), ("ack", "b", 1)]
    assert second.service.bindings == {BINDING}, "under the binding that took it"


async def test_an_acknowledgement_is_repeated_beside_the_polls(bench: Make) -> None:
    table = bench(Page(events=[event("a")]), Page(events=[event("b")]))
    table.service.failures = [AWAY, BusyError("later", 3.0)]
    async with table.running():
        await table.idle()
        assert table.harness.given == [("a", 1), ("b", 1)]
        await table.clock.advance(8)
    assert sorted(table.service.said) == [("ack", "a", 1), ("ack", "b", 1)]


async def test_after_a_quarter_of_an_hour_an_acknowledgement_is_given_up_and_said(
    bench: Make,
) -> None:
    table = bench(Page(events=[event("a")]))
    table.service.failures = [AWAY] * 1_000
    async with table.running():
        await table.idle()
        await table.clock.advance(1_000)
    assert table.service.said == []
    assert any("a: what became of it" in line for line in table.log)


async def test_a_refused_acknowledgement_is_said_and_the_pump_goes_on(bench: Make) -> None:
    table = bench(Page(events=[event("a")]), Page(events=[event("b")]))
    table.service.failures = [RefusedError(409, "transition_refused", "It is settled.")]
    await table.until_idle()
    assert table.service.said == [("ack", "b", 1)]
    assert any("transition_refused" in line for line in table.log)
    again = bench(Page(events=[event("c")]))
    await again.until_idle()
    assert again.service.said == [("ack", "c", 1)], "the service's word was the last"


# proves: FENCE-8
async def test_events_of_an_older_start_of_the_service_are_refused(bench: Make) -> None:
    table = bench(Page(events=[event("a", generation=3)]), Page(events=[event("b", generation=2)]))
    await table.until_idle()
    assert table.harness.given == [("a", 1)]
    assert table.service.reasons == {"b": "stale_generation"}


async def test_the_generation_is_remembered_by_the_next_pump(bench: Make) -> None:
    await bench(Page(events=[event("a", generation=3)])).until_idle()
    table = bench(Page(events=[event("b", generation=2)]))
    await table.until_idle()
    assert table.harness.given == []


async def test_kinds_that_were_not_declared_are_refused_unseen(bench: Make) -> None:
    only = FakeHarness(kinds=frozenset({EventKind.TURN}))
    table = bench(Page(events=[event("w", kind=EventKind.WAKE), event("a")]), harness=only)
    await table.until_idle()
    assert only.given == [("a", 1)]
    assert table.service.reasons == {"w": "kind_unsupported"}


async def test_an_event_whose_deadline_has_passed_is_refused(bench: Make) -> None:
    table = bench(Page(events=[event("a")]))
    table.clock.shift(60)
    await table.until_idle()
    assert table.harness.given == []
    assert table.service.reasons == {"a": "too_late"}


async def test_an_event_that_cannot_be_read_is_refused_and_the_others_go_on(bench: Make) -> None:
    table = bench(Page(events=[event("a")], malformed=[("x", 4, "no content")]))
    await table.until_idle()
    assert table.service.said == [("refuse", "x", 4), ("ack", "a", 1)]


async def test_a_harness_that_says_nothing_is_given_up_on_before_the_grace_ends(
    bench: Make,
) -> None:
    table = bench(Page(events=[event("a"), event("b")]), harness=FakeHarness(lambda _: None))
    table.harness._decide = lambda one: None if one.id == "a" else Refused("no")
    await table.until_idle()
    assert table.clock.monotonic() == 25.0
    assert table.service.said == [("refuse", "b", 1)]


async def test_a_failed_hand_over_stops_the_pump_and_refuses_the_rest(bench: Make) -> None:
    table = bench(
        Page(events=[event("a"), event("b")]),
        Page(events=[event("c")]),
        harness=FakeHarness(lambda _: OSError("the pipe is gone")),
    )
    assert await table.ending() is Ending.BROKEN
    assert table.harness.given == [("a", 1)]
    assert table.service.said == [("refuse", "b", 1)]
    assert len(table.service.polls) == 1


async def test_an_empty_page_that_comes_at_once_does_not_spin(bench: Make) -> None:
    table = bench(Page(), Page(), Page())
    await table.until_idle()
    assert table.clock.monotonic() == 3.0


@pytest.mark.parametrize(
    ("answers", "ending"),
    [
        ([Page(superseded=True)], Ending.SUPERSEDED),
        ([REPLACED], Ending.SUPERSEDED),
        ([SupersededError(409, "occupant_changed", "Another session.")], Ending.SUPERSEDED),
        ([GONE, GONE], Ending.CLOSED),
        ([NO_SEAT], Ending.MISSING),
    ],
)
async def test_the_pump_stops_where_the_seat_is_no_longer_its_own(
    bench: Make, answers: list[Any], ending: Ending
) -> None:
    table = bench(*answers, Page(events=[event("a")]))
    assert await table.ending() is ending
    assert table.harness.given == []
    assert ending.sentence


async def test_a_token_that_was_renewed_meanwhile_is_read_anew(bench: Make) -> None:
    table = bench(GONE, Page(events=[event("a")]), GONE, Page(events=[event("b")]))
    await table.until_idle()
    assert table.harness.given == [("a", 1), ("b", 1)]


async def test_what_the_service_calls_wrong_is_said_and_tried_again_without_haste(
    bench: Make,
) -> None:
    table = bench(RefusedError(422, "invalid_field", "No."), Page(events=[event("a")]))
    await table.until_idle()
    assert table.clock.monotonic() == 30.0
    assert table.service.said == [("ack", "a", 1)]


async def test_a_busy_service_is_asked_less_and_less_often(bench: Make) -> None:
    busy = BusyError("not now", None)
    table = bench(*[busy] * 7, Page())
    await table.until_idle()
    assert table.clock.monotonic() == 1 + 2 + 4 + 8 + 16 + 30 + 30


async def test_retry_after_is_obeyed(bench: Make) -> None:
    table = bench(BusyError("not now", 12.0), Page(events=[event("a")]))
    await table.until_idle()
    assert table.clock.monotonic() == 12.0


async def test_interrupts_and_decisions_reach_the_harness_before_new_words(bench: Make) -> None:
    stopped: list[list[str]] = []
    harness = FakeHarness()

    def decide(_: SeatEvent) -> Handed:
        stopped.append(list(harness.interrupted))
        return Refused("no")

    harness._decide = decide
    table = bench(
        Page(
            events=[event("b")],
            interrupts=[("a", 1)],
            decisions=[("q-1", True), ("q-2", False)],
        ),
        harness=harness,
    )
    await table.until_idle()
    assert stopped == [["a"]]
    assert harness.answered == [("q-1", True), ("q-2", False)]


async def test_an_interrupt_that_cannot_be_asked_for_is_said(bench: Make) -> None:
    table = bench(Page(interrupts=[("a", 1)], decisions=[("q", True)]))
    table.harness.stops = False
    await table.until_idle()
    assert any("a: its turn could not be stopped" in line for line in table.log)
    assert any("q: the harness did not take" in line for line in table.log)


def row(name: str) -> Entry:
    return Entry(id=name, kind=EntryKind.ASSISTANT, at=AT, text="hello")


async def test_what_the_harness_writes_is_sent_with_its_session(bench: Make) -> None:
    table = bench()
    seen = Observation(session_id="s-9", entries=[row("r1")], activity=Activity.WAITING)
    table.harness.show(Seen(observation=seen, notes=("a note",)))
    await table.until_idle()
    assert table.service.sent == [("s-9", [row("r1")], Activity.WAITING)]
    assert "a note" in table.log


@pytest.mark.parametrize("ago", [0, 9])
async def test_the_rest_of_a_transcript_is_sent_before_a_turn_ends(bench: Make, ago: int) -> None:
    table = bench()
    heard = table.clock.now() - timedelta(seconds=ago)
    table.harness.show(Seen(observation=Observation(session_id="s", entries=[row("r1")])))
    ends = Observation(session_id="s", activity=Activity.WAITING, at=heard if ago else None)
    table.harness.show(Seen(observation=ends))
    table.unsent = 3
    async with table.running():
        await table.idle()
        await table.clock.advance(3 * 5)
    assert [activity for _, _, activity in table.service.sent] == [None, Activity.WAITING]
    assert table.before == [1, 1, 1, 1], "until it is sent, before the end of the turn was told"
    # What it waited for may have brought rows of the next turn: those are not meant.
    assert table.service.reported == [heard]


async def test_rows_wait_until_the_service_is_back(bench: Make) -> None:
    table = bench()
    table.service.failures = [AWAY] * 500
    table.harness.show(Seen(observation=Observation(session_id="s", entries=[row("r1")])))
    async with table.running():
        await table.idle()
        await table.clock.advance(500 * 5)
    assert [len(rows) for _, rows, _ in table.service.sent] == [1]


async def test_refused_rows_are_said_and_the_next_are_sent(bench: Make) -> None:
    table = bench()
    table.service.failures = [RefusedError(409, "session_conflict", "It belongs elsewhere.")]
    table.harness.show(Seen(observation=Observation(session_id="s", entries=[row("r1")])))
    table.harness.show(Seen(observation=Observation(session_id="s", entries=[row("r2")])))
    await table.until_idle()
    assert [rows for _, rows, _ in table.service.sent] == [[row("r2")]]
    assert any("session_conflict" in line for line in table.log)


async def test_a_question_of_the_harness_is_put_before_the_owner(bench: Make) -> None:
    table = bench()
    question = Question(id="q-1", summary="May it run `ls`?")
    table.harness.show(Seen(question=question))
    await table.until_idle()
    assert table.service.questions == [question]


async def test_an_answer_that_was_given_to_a_pump_before_is_passed_on(bench: Make) -> None:
    table = bench()
    table.service.decided = {"q-1": True, "q-2": False}
    for name in ("q-1", "q-2", "q-3"):
        table.harness.show(Seen(question=Question(id=name, summary="May it run `ls`?")))
    await table.until_idle()
    assert table.harness.answered == [("q-1", True), ("q-2", False)]


async def test_a_question_that_was_answered_at_the_harness_is_withdrawn(bench: Make) -> None:
    table = bench()
    table.service.failures = [RefusedError(404, "seat_not_found", "It is gone.")]
    table.harness.show(Seen(answered=("q-1",)))
    table.harness.show(Seen(answered=("q-2", "q-3")))
    await table.until_idle()
    assert table.service.withdrawn == ["q-2", "q-3"]
    assert any("q-1: the owner still sees it" in line for line in table.log)


async def test_a_harness_that_ends_in_the_middle_of_a_page_gets_the_rest_refused(
    bench: Make,
) -> None:
    harness = FakeHarness()
    gone = Observation(session_id="s", ended=True)

    def decide(one: SeatEvent) -> Handed:
        if one.id == "a":
            harness.show(Seen(observation=gone))
            return Taken(proof="row")
        return Refused("it has ended")

    harness._decide = decide
    table = bench(Page(events=[event("a"), event("b"), event("c")]), harness=harness)
    assert await table.ending() is Ending.ENDED
    assert [(what, name) for what, name, _ in table.service.said] == [
        ("ack", "a"),
        ("refuse", "b"),
        ("refuse", "c"),
    ]


async def test_a_new_session_is_told_before_its_rows_are_sent(bench: Make) -> None:
    table = bench()
    table.harness.show(Seen(observation=Observation(session_id="s-2", source="clear")))
    await table.until_idle()
    assert table.began == [("s-2", "clear")]
    assert table.service.sent == []


async def test_the_pump_ends_with_its_harness(bench: Make) -> None:
    ended = bench()
    ended.harness.show(Seen(observation=Observation(session_id="s", ended=True)))
    assert await ended.ending() is Ending.ENDED
    silent = bench()
    silent.harness.show(None)
    assert await silent.ending() is Ending.ENDED


async def test_an_adapter_that_fails_while_it_watches_ends_its_seat_alone(bench: Make) -> None:
    table = bench()
    table.harness.show(ValueError("a row that no one expected"))
    assert await table.ending() is Ending.BROKEN
    assert any("a row that no one expected" in line for line in table.log)
