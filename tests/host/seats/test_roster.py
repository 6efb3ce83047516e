"""Who sits where, as people and lists see it."""

from datetime import timedelta
from pathlib import Path

from clankie.core.ids import HEAD
from clankie.host.doctor import examine
from clankie.host.seats import roster
from clankie.host.seats.roster import SeatView
from clankie.host.status import status
from fakes.bridge import opened
from fakes.clock import START, FakeClock
from fakes.hall import Hall, Machine
from fakes.loop import virtual
from fakes.processes import FakeProcesses


async def view(hall: Hall) -> SeatView:
    (one,) = await roster.listed(hall.house)
    return one


def later(seconds: float) -> object:
    return START + timedelta(seconds=seconds)


@virtual
async def test_the_roster_says_how_each_seat_stands_and_until_when(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-6, CONV-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        assert ((await view(hall)).state, roster.driver(hall.house, HEAD)) == ("absent", None)
        waiting = seat.parks(20)
        await clock.sleep(10)
        one = await view(hall)
        assert (one.state, one.last_ask, one.hold_until) == ("live", later(10), None)
        await clock.sleep(10.1)
        assert waiting.done()
        one = await view(hall)
        assert (one.state, one.hold_until, one.grace_until) == ("live", later(65), later(50))
        await clock.sleep(30)
        one = await view(hall)
        assert (one.state, one.hold_until, one.grace_until) == ("holding", later(65), None)
        driver = roster.driver(hall.house, HEAD)
        assert driver is not None
        assert (driver.seat, driver.state, driver.since) == (seat.seat, "holding", START)
        assert driver.to_wire()["hold_until"] == "2026-11-30T12:01:05.000Z"
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        assert ((await view(hall)).waiting, (await view(hall)).in_flight) == (1, 0)
        await seat.takes()
        assert ((await view(hall)).waiting, (await view(hall)).in_flight) == (0, 1)
        await seat.detach()
        one = await view(hall)
        assert (one.state, one.since) == ("unattached", None)
        assert roster.driver(hall.house, HEAD) is None


@virtual
async def test_lists_hear_when_the_driver_changes_by_the_passing_of_time(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-1, SEAT-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        for wait, what in ((0.0, "binds"), (30.1, "grace"), (15.1, "hold")):
            version = hall.house.feed.version
            if what == "binds":
                await seat.poll(1)
            await clock.sleep(wait)
            assert hall.house.feed.changed(HEAD, version), what


@virtual
async def test_status_and_doctor_say_what_there_is_to_say_of_seats(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-4, DAY-4
    machine = Machine(tmp_path, clock, processes=FakeProcesses(proves=False))
    async with machine.on() as hall:
        assert (await status(hall.house))["seats"] == {"open": 0, "live": 0, "parked": 0}
        assert [one for one in await examine(hall.house) if one.name == "seats"] == []
        seat = await opened(hall)
        await seat.poll(1)
        assert (await status(hall.house))["seats"] == {"open": 1, "live": 1, "parked": 0}
        (found,) = [one for one in await examine(hall.house) if one.name == "seats"]
        assert found.level == "warn"
        assert "Unproven" in found.sentence
        await seat.limited()
        assert (await status(hall.house))["seats"] == {"open": 1, "live": 0, "parked": 1}


@virtual
async def test_a_seat_that_drives_nothing_and_has_ended_is_retired_after_a_day(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-13, BASE-3
    processes = FakeProcesses()
    async with Machine(tmp_path, clock, processes=processes).on() as hall:
        seat = await opened(hall)
        other = await opened(hall, "native-2", pid=200, expected=seat.seat)
        await seat.poll(1)
        assert [one.state for one in await roster.listed(hall.house)] == ["unattached", "absent"]
        processes.ends(100)
        processes.ends(200)
        # What is attached is left to its owner.
        assert [one.state for one in await roster.listed(hall.house)] == ["ended", "absent"]
        await clock.sleep(86_000)
        assert len(await roster.listed(hall.house)) == 2
        await clock.sleep(4_500)
        assert [one.seat.id for one in await roster.listed(hall.house)] == [other.seat]
