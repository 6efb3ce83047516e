"""How long a silent seat is waited for, and what follows when it is not any more."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.driver import Presence
from clankie.core.errors import CommitUnknownError
from clankie.core.ids import HEAD
from fakes.bridge import Bridge, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.lane import ScriptedLane, waits
from fakes.loop import virtual
from fakes.trouble import lose, refuse, trouble


def presence(hall: Hall, conversation: str = HEAD) -> Presence:
    standing = hall.house.seats.standing(conversation)
    assert standing is not None
    return standing.presence


async def takeovers(hall: Hall) -> list[dict[str, Any]]:
    return [one for one in await hall.log() if one["kind"] == "notice" and "silent" in one["text"]]


@virtual
async def test_input_within_the_hold_is_stored_at_the_seat_and_taken_over_at_its_end(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-7, FENCE-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(10)
        await clock.sleep(20)
        assert presence(hall) is Presence.LIVE
        await hall.send("first", "m-1")
        await clock.sleep(20)
        # Its binding has ended, its hold has not.
        assert presence(hall) is Presence.HOLDING
        await hall.send("second", "m-2")
        await clock.sleep(4.9)
        for name in ("m-1", "m-2"):
            found = await hall.receipt(name)
            assert (found.state, found.attempts[0].state) == (
                InputState.QUEUED,
                SeatState.OFFERED,
            )
        assert hall.lane.asked == []
        await clock.sleep(0.2)
        found = await hall.ended("m-1")
        assert [one.state for one in found.attempts] == [
            SeatState.RELEASED,
            ServiceState.COMPLETED,
        ]
        assert found.attempts[0].code == "hold_lapsed"
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-1", "m-2"]
        (notice,) = await takeovers(hall)
        assert "last asked at 12:00:10 UTC and has been silent for 45 seconds" in notice["text"]


@virtual
async def test_a_seat_that_asks_within_its_hold_gets_what_was_stored_for_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await clock.sleep(44.9)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        assert event.id == "m-1"
        await clock.sleep(10)
        assert hall.lane.asked == []
        assert await takeovers(hall) == []


@virtual
async def test_a_poll_that_is_broken_off_ends_the_binding_and_not_the_hold(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(20)
        assert presence(hall) is Presence.LIVE
        waiting.cancel()
        await clock.sleep(0.1)
        assert presence(hall) is Presence.HOLDING
        await clock.sleep(44.8)
        assert presence(hall) is Presence.HOLDING
        await clock.sleep(0.2)
        assert presence(hall) is Presence.ABSENT


@virtual
async def test_each_silence_is_said_once(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("one", "m-1")
        await clock.sleep(60)
        await hall.send("two", "m-2")
        await hall.ended("m-2")
        await clock.sleep(600)
        assert len(await takeovers(hall)) == 1
        await seat.poll(1)
        await hall.send("three", "m-3")
        await clock.sleep(60)
        await hall.ended("m-3")
        assert len(await takeovers(hall)) == 2
        # A silence in which nothing waited needs no word.
        await seat.poll(1)
        await clock.sleep(60)
        assert len(await takeovers(hall)) == 2


@virtual
async def test_a_poll_that_waits_behind_a_run_is_an_ask_for_as_long_as_it_waits(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-7, HAND-4, FENCE-3
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done))) as hall:
        seat = await opened(hall)
        await seat.starts()
        await hall.send("first", "m-1")
        await clock.sleep(1)
        polling = seat.parks(30)
        await clock.sleep(1)
        await hall.send("second", "m-2")
        await clock.sleep(29.1)
        assert page_of(polling).events == ()
        polling = seat.parks(30)
        await clock.sleep(29)
        assert await takeovers(hall) == []
        done.set()
        await clock.sleep(0.1)
        (event,) = page_of(polling).events
        assert event.source == "service-handoff"
        await seat.ack(event)
        assert (await seat.takes()).id == "m-2"
        assert hall.lane.asked == ["m-1"]


@pytest.mark.parametrize("seconds", [9 * 3_600.0, -9 * 3_600.0])
def test_a_wall_clock_that_jumps_takes_nothing_over_and_ends_nothing(
    tmp_path: Path, seconds: float
) -> None:
    # proves: SEAT-5, FENCE-11
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            seat = await opened(hall)
            await hall.send("before", "m-0")
            await hall.ended("m-0")
            waiting = seat.parks(10)
            await clock.sleep(1)
            await hall.send("one", "m-1")
            await clock.sleep(0.1)
            (event,) = page_of(waiting).events
            clock.shift(seconds)
            await clock.sleep(30)
            assert presence(hall) is not Presence.ABSENT
            await hall.send("two", "m-2")
            await clock.sleep(5)
            assert (await hall.receipt("m-1")).attempts[0].state is SeatState.ATTEMPTING
            assert (await hall.receipt("m-2")).attempts[0].state is SeatState.OFFERED
            assert await seat.ack(event) is SeatState.TAKEN
            assert (await seat.takes()).id == "m-2"
            assert hall.lane.asked == ["m-0"]

    scenario()


@virtual
async def test_elsewhere_than_at_the_head_there_is_a_grace_and_no_hold(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-7
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        seat = await opened(hall, conversation=place)
        await seat.poll(1)
        await clock.sleep(29)
        assert presence(hall, place) is Presence.LIVE
        await hall.send("hello", "m-1", conversation=place)
        await clock.sleep(0.5)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.OFFERED
        await clock.sleep(1)
        found = await hall.ended("m-1")
        assert found.attempts[0].code == "grace_lapsed"
        assert hall.lane.asked == ["m-1"]
        assert [one for one in await hall.log(place) if one["kind"] == "notice"][1:] == []
        # A poll that is broken off is nobody's any more.
        waiting = seat.parks()
        await clock.sleep(1)
        waiting.cancel()
        await clock.sleep(0.1)
        assert presence(hall, place) is Presence.ABSENT


@virtual
async def test_detaching_ends_the_hold_at_once(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-5, SEAT-6, FENCE-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await clock.sleep(1)
        await seat.detach()
        found = await hall.ended("m-1", 1)
        assert [one.state for one in found.attempts] == [
            SeatState.RELEASED,
            ServiceState.COMPLETED,
        ]
        assert hall.house.seats.standing(HEAD) is None


@pytest.mark.parametrize(("age", "presumed"), [(100.0, True), (170.0, False)])
def test_after_a_restart_a_seat_that_asked_shortly_before_is_presumed_live(
    tmp_path: Path, age: float, presumed: bool
) -> None:
    # proves: SEAT-5
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        async with machine.on() as hall:
            seat = await opened(hall)
            await seat.poll(10)
            die()
        await clock.sleep(age)
        async with machine.on() as hall:
            again = Bridge(hall, seat.seat, seat.native, binding="b-2")
            assert (presence(hall) is not Presence.ABSENT) is presumed
            await hall.send("hello", "m-1")
            await clock.sleep(44.9)
            assert hall.lane.asked == ([] if presumed else ["m-1"])
            if presumed:
                assert (await again.takes()).id == "m-1"
                return
            await hall.ended("m-1")

    scenario()


@virtual
async def test_a_presumed_seat_that_does_not_come_is_taken_over_45_seconds_after_the_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-7
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await clock.sleep(10)
        die()
    async with machine.on() as hall:
        await clock.sleep(44.9)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.OFFERED
        await clock.sleep(0.2)
        assert (await hall.ended("m-1", 1)).state is InputState.SETTLED
        assert len(await takeovers(hall)) == 1


@virtual
async def test_a_takeover_that_the_store_could_not_write_is_tried_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        trouble(hall.house, "mail").plan("take_over", refuse(), refuse())
        await clock.sleep(60)
        assert (await hall.ended("m-1", 1)).state is InputState.SETTLED
        assert len(await takeovers(hall)) == 1


@virtual
async def test_the_silence_after_a_limit_that_passed_during_a_poll_is_one_of_its_own(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-7, FENCE-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks(30)
        await clock.sleep(1)
        await seat.limited(resets_at=clock.now() + timedelta(seconds=10))
        await clock.sleep(30)
        assert page_of(waiting).events == ()
        await hall.send("hello", "m-1")
        await clock.sleep(1)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.OFFERED
        await clock.sleep(50)
        assert (await hall.ended("m-1", 1)).state is InputState.SETTLED
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_what_a_poll_was_given_lapses_although_the_store_could_not_say_so(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-2, FENCE-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        trouble(hall.house, "mail").plan("take", lose())
        with pytest.raises(CommitUnknownError):
            await seat.poll(1)
        await clock.sleep(59)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.ATTEMPTING
        await clock.sleep(3)
        found = await hall.receipt("m-1")
        assert (found.state, found.code) == (InputState.UNCERTAIN, "unacknowledged")


@virtual
async def test_with_no_live_seat_a_report_runs_once_on_the_service_lane(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-1, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await clock.sleep(60)
        for number, origin in enumerate((Origin.REPORT, Origin.WAKE, Origin.WATCH)):
            await hall.send("something", f"h-{number}", origin=origin)
            assert (await hall.ended(f"h-{number}")).state is InputState.SETTLED
        assert hall.lane.asked == ["h-0", "h-1", "h-2"]
