"""The log, carried across changes of driver: each gap is told once, and nothing in it twice."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, EntryKind
from clankie.host.conversations import reset
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.bridge import Bridge, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.lane import ScriptedLane, answers, waits
from fakes.loop import virtual

HANDOFF = "service-handoff"


async def away(hall: Hall, clock: FakeClock) -> Bridge:
    """A seat that has driven the head and is not waited for any longer."""
    seat = await opened(hall)
    await seat.poll(1)
    await seat.says("I was here before")
    await clock.sleep(60)
    return seat


async def spans(hall: Hall) -> list[str]:
    return [one["phase"] for one in await hall.log() if one["kind"] == "handoff"]


async def ran(hall: Hall, text: str, name: str, origin: Origin = Origin.WAKE) -> None:
    await hall.send(text, name, origin=origin)
    assert (await hall.ended(name)).state is InputState.SETTLED


@virtual
async def test_the_seat_that_returns_gets_one_handoff_with_what_the_service_did(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-3, SERV-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "the build is red", "r-1", Origin.REPORT)
        external = [one for one in await hall.log() if one.get("role") == "external"]
        assert [one["text"] for one in external] == ["the build is red"]
        event = await seat.takes()
        assert (event.source, event.kind, event.reply) == (HANDOFF, "message", False)
        assert "external" in event.content
        assert "the build is red" in event.content
        assert "re: the build is red" in event.content
        assert "I was here before" not in event.content
        assert len(event.content) <= 24_000
        # Never again, neither as a handoff nor as a turn of its own.
        await seat.nothing()
        assert hall.lane.asked == ["r-1"]
        assert await spans(hall) == ["open", "attempting", "delivered"]


@virtual
async def test_the_turn_over_a_handoff_answers_no_message_that_came_meanwhile(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-6, SEAT-15, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "the build is red", "r-1", Origin.REPORT)
        handoff = await seat.takes()
        await hall.send("and you?", "m-1")
        # Its words wait in the harness's queue while the turn over the handoff runs.
        event = await seat.takes()
        await seat.works()
        await clock.sleep(1)
        said = seat.row(EntryKind.ASSISTANT, "noted")
        await seat.sync(seat.proof(handoff), said, activity=Activity.WAITING)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.TAKEN
        await seat.works()
        await clock.sleep(1)
        await seat.answers(event, "fine, thanks")
        receipt = await hall.ended("m-1")
        assert receipt.attempts[0].state is SeatState.DELIVERED
        log = {one["cursor"]: one.get("text") for one in await hall.log()}
        assert log[receipt.reply_cursor] == "fine, thanks"


@virtual
async def test_a_message_whose_words_no_row_shows_gets_no_other_turns_answer(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-15, FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await seat.takes()
        await seat.works()
        await clock.sleep(1)
        typed = seat.row(EntryKind.USER, "typed by hand")
        await seat.sync(typed, seat.row(EntryKind.ASSISTANT, "to the hand"))
        await seat.rests()
        await clock.sleep(599)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.TAKEN
        await clock.sleep(2)
        receipt = await hall.ended("m-1")
        assert (receipt.attempts[0].state, receipt.attempts[0].code) == (
            SeatState.DELIVERED,
            "no_reply",
        )
        assert receipt.reply_cursor is None


@virtual
async def test_a_run_that_was_going_lands_in_the_handoff_and_what_queued_behind_it_follows(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-3, HAND-4, SEAT-7, SEAT-10
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done, answers("A is done")))) as hall:
        seat = await away(hall, clock)
        await hall.send("wake A", "a", origin=Origin.WAKE)
        await clock.sleep(1)
        waiting = seat.parks()
        await clock.sleep(1)
        await hall.send("wake B", "b", origin=Origin.WAKE)
        await hall.send("and you", "m-1")
        await clock.sleep(1)
        assert not waiting.done()
        done.set()
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        assert event.source == HANDOFF
        assert "wake A" in event.content
        assert "A is done" in event.content
        assert "wake B" not in event.content
        # While it is on its way nothing else is given.
        assert (await seat.poll(1)).events == ()
        await seat.ack(event)
        page = await seat.poll()
        assert [one.id for one in page.events] == ["m-1", "b"]
        assert hall.lane.asked == ["a"]


@virtual
async def test_turns_after_the_handoff_are_told_in_the_next_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-3, HAND-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "first wake", "a")
        await seat.takes()
        await clock.sleep(60)
        await ran(hall, "second wake", "b")
        event = await seat.takes()
        assert "second wake" in event.content
        assert "first wake" not in event.content


@virtual
async def test_a_second_bind_with_nothing_new_gets_no_handoff(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "wake", "a")
        await seat.takes()
        for _ in range(2):
            await clock.sleep(60)
            await seat.nothing()
        await seat.detach()
        await seat.attach()
        await seat.nothing()


@virtual
async def test_where_no_harness_ever_drove_nothing_is_handed_over(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-5
    async with Machine(tmp_path, clock).on() as hall:
        await ran(hall, "wake", "a")
        seat = await opened(hall)
        await seat.nothing()
        assert await spans(hall) == []


@virtual
async def test_a_session_start_that_covers_the_gap_satisfies_it_once_it_is_confirmed(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-2, HAND-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "wake", "a")
        await ran(hall, "another", "b")
        begun = await seat.starts()
        assert "re: wake" in begun.text
        assert "re: another" in begun.text
        await seat.nothing()
        assert await spans(hall) == ["open", "delivered"]


@virtual
async def test_a_confirmation_that_is_lost_repeats_the_context_and_skips_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "wake", "a")
        await seat.starts(confirm=False)
        assert "wake" in (await seat.takes()).content


@virtual
async def test_a_run_that_ends_after_the_session_start_is_in_the_handoff(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-4, HAND-5
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done))) as hall:
        seat = await away(hall, clock)
        await hall.send("wake", "a", origin=Origin.WAKE)
        await clock.sleep(1)
        await seat.starts()
        done.set()
        event = await seat.takes()
        assert event.source == HANDOFF
        assert "re: wake" in event.content


@virtual
async def test_a_refused_handoff_is_handed_over_again(clock: FakeClock, tmp_path: Path) -> None:
    # proves: HAND-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "wake", "a")
        event = await seat.given()
        assert await seat.refuse(event) is SeatState.REFUSED
        again = await seat.given()
        assert (again.id, again.attempt) == (event.id, 2)
        assert "wake" in again.content
        await seat.ack(again)
        assert await spans(hall) == ["open", "attempting", "open", "attempting", "delivered"]


@virtual
async def test_a_handoff_that_nobody_acknowledged_moves_on_and_is_said_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-6, FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "wake", "a")
        event = await seat.given()
        for _ in range(6):
            await seat.poll(20)
        assert await spans(hall) == ["open", "attempting", "uncertain"]
        said = [one for one in await hall.log() if "may not have reached" in one.get("text", "")]
        assert [one["role"] for one in said] == ["external"]
        await seat.nothing()
        assert len(seat.heard) == 1
        # A late acknowledgement tells the truth and repeats nothing.
        await seat.ack(event)
        assert (await spans(hall))[-1] == "delivered"
        await seat.nothing()


@pytest.mark.parametrize("acknowledged", [True, False])
def test_a_restart_while_a_handoff_is_under_way_does_not_hand_it_over_again(
    tmp_path: Path, acknowledged: bool
) -> None:
    # proves: HAND-6, FENCE-8
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        async with machine.on() as hall:
            seat = await away(hall, clock)
            await ran(hall, "wake", "a")
            event = await seat.given()
            die()
        async with machine.on() as hall:
            assert await spans(hall) == ["open", "attempting", "unresolved"]
            seat = Bridge(hall, seat.seat, seat.native, polls=100)
            if acknowledged:
                await seat.ack(event)
            assert (await seat.poll(1)).events == ()
            assert (await seat.poll(1)).events == ()
            said = [
                one["role"]
                for one in await hall.log()
                if "may not have reached" in one.get("text", "")
            ]
            assert said == ([] if acknowledged else ["external"])
            assert (await spans(hall))[-1] == ("delivered" if acknowledged else "uncertain")
            await hall.send("hello", "m-1")
            assert (await seat.takes()).id == "m-1"
            assert hall.lane.asked == []

    scenario()


@virtual
async def test_after_a_restart_not_even_the_poll_that_was_given_the_handoff_gets_it_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-9, HAND-6
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "wake", "a")
        page = await seat.poll(poll_id="p-1")
        assert await seat.poll(poll_id="p-1") == page
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native)
        assert (await seat.poll(1, poll_id="p-1")).events == ()
        await seat.ack(page.events[0])
        assert (await spans(hall))[-1] == "delivered"


@virtual
async def test_service_turns_after_a_restart_between_seal_and_take_are_told_later(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-6
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "before", "a")
        await seat.given()
        die()
    await clock.sleep(300)
    async with machine.on() as hall:
        await ran(hall, "after", "b")
        seat = Bridge(hall, seat.seat, seat.native, polls=100)
        event = await seat.takes()
        assert "after" in event.content
        assert "before" not in event.content
        await seat.nothing()


@virtual
async def test_another_seat_is_told_what_the_one_before_it_was_not(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-3, SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        first = await away(hall, clock)
        await ran(hall, "wake", "a")
        second = await opened(hall, "native-2", pid=200)
        assert "wake" in (await second.takes()).content
        await first.nothing()


@virtual
async def test_a_service_turn_after_a_harness_drove_starts_from_the_log(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-1
    async with Machine(tmp_path, clock).on() as hall:
        await ran(hall, "one", "a")
        assert hall.lane.evicted == []
        seat = await opened(hall)
        await seat.poll(1)
        await seat.says("I did something")
        assert hall.lane.evicted == [HEAD]
        await clock.sleep(60)
        hall.lane.evicted.clear()
        # The turns that follow go on with that one session, until a harness drives again.
        await ran(hall, "two", "b")
        await ran(hall, "three", "c")
        assert hall.lane.evicted == []
        row = seat.row(EntryKind.ASSISTANT, "and more")
        await seat.sync(row)
        assert hall.lane.evicted == [HEAD]
        hall.lane.evicted.clear()
        assert (await seat.sync(row)).duplicates == 1
        assert hall.lane.evicted == []


@virtual
async def test_the_projection_of_a_service_turn_holds_what_the_harness_wrote(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-1, CONV-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        for number in range(60):
            await seat.says(f"turn {number} " + "x" * 1_000)
        await clock.sleep(60)
        shown: list[str] = []

        async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
            shown.append((await host.projection()).text)
            return await answers("seen")(request, host)

        hall.lane.plays(play)
        await ran(hall, "report", "r-1", Origin.REPORT)
        assert "turn 59 " in shown[0]
        assert "turn 0 " not in shown[0]
        assert "earlier events omitted" in shown[0]
        assert len(shown[0]) <= 24_000


@virtual
async def test_a_reset_leaves_nothing_of_before_to_be_told(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7, HAND-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        await ran(hall, "before", "a")
        await reset(hall.house, HEAD, None, OPERATOR)
        await ran(hall, "after", "b")
        await seat.starts("native-2", source="clear", confirm=False)
        event = await seat.takes()
        assert "after" in event.content
        assert "before" not in event.content


@virtual
async def test_a_long_absence_is_told_within_its_bound(clock: FakeClock, tmp_path: Path) -> None:
    # proves: HAND-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await away(hall, clock)
        for number in range(30):
            await ran(hall, f"wake {number} " + "y" * 1_000, f"w-{number}")
        event = await seat.takes()
        assert 20_000 < len(event.content) <= 24_000
        assert "wake 29 " in event.content
        assert "wake 0 " not in event.content
        assert "earlier turns left out, cursors" in event.content
        assert "read_conversation" in event.content
