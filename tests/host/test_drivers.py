"""Who takes an input up, and the checks before that."""

from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import InputState, ServiceState
from clankie.core.driver import Presence
from clankie.core.errors import NotAllowedError
from clankie.core.ids import HEAD
from clankie.host.cancel import CancelOutcome, cancel
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.loop import virtual
from fakes.seats import FakeRooms, FakeSeats

HOUR = 3_600.0


def with_seats(hall: Hall) -> FakeSeats:
    hall.house.seats = seats = FakeSeats()
    return seats


def with_rooms(hall: Hall) -> FakeRooms:
    hall.house.rooms = rooms = FakeRooms()
    return rooms


@pytest.mark.parametrize("attached", [False, True])
def test_signed_linear_activity_never_runs_on_the_service_lane(
    tmp_path: Path, attached: bool
) -> None:
    # proves: FENCE-2
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            if attached:
                with_seats(hall).attach(HEAD, Presence.ABSENT)
            await hall.send("issue 7", "l-1", origin=Origin.LINEAR)
            await hall.send("hello", "m-1")
            # It waits for its receiver, and nothing waits for it.
            assert (await hall.ended("m-1")).state is InputState.SETTLED
            await clock.sleep(HOUR)
            assert hall.lane.asked == ["m-1"]
            found = await hall.receipt("l-1")
            assert (found.state, found.attempts) == (InputState.QUEUED, ())

    scenario()


@virtual
async def test_a_goal_never_goes_to_a_seat(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        with_seats(hall).attach(HEAD, Presence.LIVE)
        await hall.send("go on", "g-1", origin=Origin.GOAL)
        assert (await hall.ended("g-1")).state is InputState.SETTLED


@virtual
async def test_what_a_remote_lead_takes_that_came_back_a_moment_ago_is_not_run_here(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-2, FENCE-5
    async with Machine(tmp_path, clock).on() as hall:
        seats = with_seats(hall)
        seats.attach(HEAD, Presence.LIVE, remote=True)
        await hall.send("one", "m-1")
        await clock.sleep(HOUR)
        found = await hall.receipt("m-1")
        assert found.state is InputState.QUEUED
        assert [(one.state, one.code) for one in found.attempts] == [
            (ServiceState.RELEASED, "for_the_seat")
        ]
        assert hall.lane.asked == []
        seats.detach(HEAD)
        hall.house.captain.nudge(HEAD)
        assert (await hall.ended("m-1", 1)).state is InputState.SETTLED


@virtual
async def test_a_remote_lead_without_its_seat_is_refused_and_not_run_here(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        with_seats(hall).attach(HEAD, Presence.ABSENT, remote=True)
        await hall.send("one", "m-1")
        found = await hall.ended("m-1")
        assert (found.state, found.code) == (InputState.FAILED, "remote_lead_unavailable")
        assert found.attempts[0].state is ServiceState.FAILED
        assert hall.lane.asked == []


@virtual
async def test_a_room_message_stays_on_the_service_lane_while_the_seat_is_not_proven(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        with_seats(hall).attach(HEAD, Presence.LIVE, proven=False)
        await hall.send("hi", "d-1", origin=Origin.ROOM)
        assert (await hall.ended("d-1")).state is InputState.SETTLED


@virtual
async def test_a_room_message_whose_authority_is_gone_is_refused_unasked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        rooms = with_rooms(hall)
        rooms.refuses = NotAllowedError("The guild took it back.")
        await hall.send("hi", "d-1", origin=Origin.ROOM)
        found = await hall.ended("d-1")
        assert (found.state, found.code) == (InputState.FAILED, "not_allowed")
        rooms.refuses = None
        await hall.send("hi", "d-2", origin=Origin.ROOM)
        assert (await hall.ended("d-2")).state is InputState.SETTLED
        assert hall.lane.asked == ["d-2"]
        assert rooms.checked == ["d-1", "d-2"]


@pytest.mark.parametrize("heeds", [True, False])
def test_a_check_that_never_answers_fails_its_input_by_name(tmp_path: Path, heeds: bool) -> None:
    # proves: SERV-4
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            rooms = with_rooms(hall)
            rooms.hangs(heeds=heeds)
            await hall.send("hi", "d-1", origin=Origin.ROOM)
            await hall.send("hello", "m-1")
            await clock.sleep(299.9)
            assert (await hall.receipt("d-1")).state is InputState.QUEUED
            await clock.sleep(0.2)
            found = await hall.receipt("d-1")
            assert (found.state, found.code) == (InputState.FAILED, "conversation_turn_stalled")
            assert found.attempts[0].state is ServiceState.STALLED
            assert found.detail == (
                "A check gave no answer for 5 minutes (phase checks). Nothing was sent to a model."
            )
            assert (await hall.ended("m-1", 1)).state is InputState.SETTLED
            assert hall.lane.asked == ["m-1"]
            rooms.let_go()
            await clock.sleep(1)
            assert hall.lane.asked == ["m-1"]

    scenario()


@virtual
async def test_a_defect_in_a_check_fails_its_input_and_no_other(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-4
    async with Machine(tmp_path, clock).on() as hall:
        with_rooms(hall).refuses = ZeroDivisionError()
        await hall.send("hi", "d-1", origin=Origin.ROOM)
        await hall.send("hello", "m-1")
        found = await hall.ended("d-1")
        assert (found.state, found.code) == (InputState.FAILED, "internal_error")
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_what_is_cancelled_during_its_check_is_never_asked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13, SERV-4
    async with Machine(tmp_path, clock).on() as hall:
        with_rooms(hall).hangs(heeds=True)
        await hall.send("hi", "d-1", origin=Origin.ROOM)
        await clock.sleep(10)
        assert (await cancel(hall.house, HEAD, "d-1")).outcome is CancelOutcome.REQUESTED
        found = await hall.ended("d-1", 1)
        assert found.state is InputState.CANCELLED
        assert hall.lane.asked == []


@virtual
async def test_a_stop_does_not_wait_for_a_check(clock: FakeClock, tmp_path: Path) -> None:
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        with_rooms(hall).hangs(heeds=True)
        await hall.send("hi", "d-1", origin=Origin.ROOM)
        await clock.sleep(10)
        began = clock.monotonic()
        await hall.house.captain.stop()
        assert clock.monotonic() - began == 15.0
        assert (await hall.receipt("d-1")).state is InputState.QUEUED
    async with machine.on() as hall:
        assert (await hall.ended("d-1")).state is InputState.SETTLED
        assert hall.lane.asked == ["d-1"]
