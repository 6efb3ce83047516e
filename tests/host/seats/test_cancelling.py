"""Cancelling what waits at a seat, and asking a seat to stop what it has."""

from dataclasses import replace
from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, Capabilities, EntryKind, Mishap
from clankie.host.cancel import CancelOutcome, cancel
from clankie.host.seats import attachment, roster
from fakes.bridge import Bridge, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.loop import virtual
from fakes.trouble import refuse, trouble


@virtual
async def test_what_only_waits_at_a_seat_is_cancelled_and_never_given_out(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        answer = await cancel(hall.house, HEAD, "m-1")
        assert answer.outcome is CancelOutcome.CANCELLED
        assert answer.delivery is not None
        assert answer.delivery.state is InputState.CANCELLED
        assert [one.state for one in answer.delivery.attempts] == [SeatState.RELEASED]
        await seat.nothing()
        await clock.sleep(60)
        assert hall.lane.asked == []


@virtual
async def test_what_a_seat_has_is_asked_to_stop_and_its_outcome_is_the_true_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        waiting = seat.parks(poll_id="p-1")
        await clock.sleep(1)
        answer = await cancel(hall.house, HEAD, "m-1")
        assert answer.outcome is CancelOutcome.REQUESTED
        await clock.sleep(0.1)
        page = page_of(waiting)
        assert (page.events, page.interrupts) == ((), (("m-1", 1),))
        # The same poll again says the same; the next one does not.
        assert (await seat.poll(poll_id="p-1")).interrupts == (("m-1", 1),)
        assert (await seat.poll(1)).interrupts == ()
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        # It answered in spite of that, and that is what the receipt says.
        await seat.answers(event, "done already")
        assert (await hall.ended("m-1")).state is InputState.SETTLED


@virtual
@pytest.mark.parametrize("asked", [True, False])
async def test_what_the_harness_stopped_ends_cancelled_only_where_the_owner_asked_for_it(
    clock: FakeClock, tmp_path: Path, asked: bool
) -> None:
    # proves: FENCE-8, FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        await seat.sync(seat.proof(event), activity=Activity.RESPONDING)
        if asked:
            assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
            assert (await seat.poll(1)).interrupts == (("m-1", 1),)
        await seat.sync(seat.row(EntryKind.ASSISTANT, "so far"))
        end = seat.row(EntryKind.ERROR, error=Mishap.INTERRUPTED)
        await seat.sync(end, activity=Activity.WAITING)
        receipt = await hall.ended("m-1")
        assert receipt.state is (InputState.CANCELLED if asked else InputState.FAILED)
        assert (receipt.code, receipt.reply_cursor) == ("interrupted", None)
        assert receipt.attempts[-1].state is SeatState.FAILED
        assert (await seat.sync(end)).duplicates == 1
        # The next one is a turn of its own.
        await hall.send("go on", "m-2")
        await seat.answers(await seat.takes(), "gladly")
        assert (await hall.ended("m-2")).state is InputState.SETTLED


@virtual
@pytest.mark.parametrize("asked", [True, False])
async def test_what_the_owner_stopped_and_the_seat_then_refused_goes_to_nobody_else(
    clock: FakeClock, tmp_path: Path, asked: bool
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        if asked:
            assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        await seat.refuse(event)
        receipt = await hall.ended("m-1")
        assert receipt.state is (InputState.CANCELLED if asked else InputState.SETTLED)
        assert len(hall.lane.asked) == (0 if asked else 1)


@virtual
async def test_a_stop_that_was_asked_for_outlives_the_service(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13, FENCE-7
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        await seat.sync(seat.proof(event), activity=Activity.RESPONDING)
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, polls=10)
        assert (await seat.poll(1)).interrupts == (("m-1", 1),)
        end = seat.row(EntryKind.ERROR, error=Mishap.INTERRUPTED)
        await seat.sync(replace(end, id="after-the-start"), activity=Activity.WAITING)
        assert (await hall.ended("m-1")).state is InputState.CANCELLED


@virtual
async def test_a_seat_that_was_let_go_is_asked_to_stop_what_it_has(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13, FENCE-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await seat.takes()
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        await attachment.detach(hall.house, seat.seat, OPERATOR, "detached")
        assert (await seat.poll(1)).interrupts == (("m-1", 1),)


@virtual
async def test_a_stop_that_could_not_be_looked_for_is_asked_for_a_moment_later(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        await cancel(hall.house, HEAD, "m-1")
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, polls=10)
        await seat.poll(1)
        broken = trouble(hall.house, "mail")
        broken.plan("in_flight", refuse(), refuse())
        assert await seat.ack(event) is SeatState.TAKEN
        assert (await seat.poll(20)).interrupts == (("m-1", 1),)
        assert broken.left("in_flight") == 0


@virtual
@pytest.mark.parametrize("shown", [True, False])
async def test_what_is_known_late_to_have_arrived_is_stopped_late(
    clock: FakeClock, tmp_path: Path, shown: bool
) -> None:
    # proves: FENCE-13, FENCE-7
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, polls=10)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
        assert (await seat.poll(1)).interrupts == ()
        if shown:
            await seat.sync(seat.proof(event), activity=Activity.RESPONDING)
        else:
            await seat.ack(event)
        assert (await seat.poll(1)).interrupts == (("m-1", 1),)


@virtual
async def test_a_poll_that_is_asked_again_hears_what_was_to_be_stopped_since(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13, FENCE-9
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        lost = await seat.poll(poll_id="p-1")
        assert ([one.id for one in lost.events], lost.interrupts) == (["m-1"], ())
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        again = await seat.poll(poll_id="p-1")
        assert ([one.id for one in again.events], again.interrupts) == (["m-1"], (("m-1", 1),))
        assert (await seat.poll(poll_id="p-1")).interrupts == (("m-1", 1),)


@virtual
async def test_without_a_name_it_is_the_newest_that_the_seat_has(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        assert (await cancel(hall.house, HEAD)).outcome is CancelOutcome.NOTHING
        await seat.poll(1)
        for number in (1, 2):
            await hall.send(f"part {number}", f"m-{number}")
            await seat.takes()
        answer = await cancel(hall.house, HEAD)
        assert answer.outcome is CancelOutcome.REQUESTED
        assert answer.delivery is not None
        assert answer.delivery.id == "m-2"
        assert (await seat.poll(1)).interrupts == (("m-2", 1),)


@virtual
async def test_a_member_is_stopped_under_the_event_that_it_went_with(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13, SEAT-12
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        for number in (1, 2):
            await hall.send(
                f"part {number}", f"e-{number}", origin=Origin.ESCALATION, channel="discord-main"
            )
        await seat.takes()
        assert (await cancel(hall.house, HEAD, "e-1")).outcome is CancelOutcome.REQUESTED
        assert (await seat.poll(1)).interrupts == (("e-2", 1),)


@virtual
async def test_nothing_is_promised_that_the_harness_cannot_do(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall, capabilities=Capabilities(interrupt=False))
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await seat.takes()
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.NOTHING
        assert (await seat.poll(1)).interrupts == ()


@virtual
async def test_what_has_ended_or_whose_seat_is_gone_is_not_interrupted(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await seat.answers(await seat.takes(), "hi")
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.NOTHING
        await hall.send("more", "m-2")
        await seat.takes()
        await seat.sync(activity=Activity.RESPONDING)
        await roster.retire(hall.house, seat.seat, OPERATOR)
        assert (await cancel(hall.house, HEAD, "m-2")).outcome is CancelOutcome.NOTHING
        assert (await cancel(hall.house, HEAD)).outcome is CancelOutcome.NOTHING


@virtual
async def test_a_stop_that_a_bridge_heard_and_died_with_is_told_the_next_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        for _ in range(2):
            assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        assert (await seat.poll(1)).interrupts == (("m-1", 1),)
        seat.binding = "b-2"
        assert (await seat.poll(1)).interrupts == (("m-1", 1),)
        assert (await seat.poll(1)).interrupts == ()
        # Once it has ended there is nothing to stop.
        await seat.answers(event, "done already")
        seat.binding = "b-3"
        assert (await seat.poll(1)).interrupts == ()
