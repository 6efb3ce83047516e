"""What the owner queues behind a seat's own turn: that seat's, and nobody else's."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, EntryKind
from clankie.host.seats import roster
from fakes.bridge import Bridge, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.loop import virtual
from fakes.trouble import pause_after, refuse, trouble


async def queue(hall: Hall, text: str, name: str) -> None:
    await hall.send(text, name, mode=Mode.QUEUE)


@virtual
async def test_a_queue_waits_for_the_end_of_the_native_turn(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, SEAT-15
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await queue(hall, "then this", "m-1")
        assert (await hall.receipt("m-1")).reach is Reach.HELD_QUEUE
        await seat.nothing()
        # What steers goes out meanwhile.
        await hall.send("and be quick", "m-2")
        event = await seat.takes()
        assert (event.id, event.steer) == ("m-2", True)
        waiting = seat.parks()
        await clock.sleep(5)
        assert not waiting.done()
        await seat.rests()
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        assert (event.id, event.steer) == ("m-1", False)
        assert hall.lane.asked == []


@virtual
async def test_a_turn_that_shows_no_sign_of_life_holds_a_queue_back_no_longer(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await queue(hall, "then this", "m-1")
        for _ in range(10):
            await clock.sleep(20)
            await seat.poll(1)
        await seat.sync(seat.row(EntryKind.TOOL, "still here"))
        for _ in range(44):
            page = await seat.poll(20)
            assert page.events == ()
        event = await seat.given()
        assert event.id == "m-1"


@virtual
async def test_an_older_session_does_not_end_the_turn_of_a_newer_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-15, SEAT-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.starts()
        await seat.poll(1)
        await seat.works()
        await seat.starts("native-2", source="clear")
        await seat.works()
        await queue(hall, "then this", "m-1")
        await seat.sync(activity=Activity.WAITING, native="native-1")
        await seat.nothing()
        await seat.sync(activity=Activity.RESPONDING, native="native-1")
        await seat.rests()
        assert (await seat.given()).id == "m-1"


@virtual
async def test_a_seat_that_never_syncs_holds_nothing_back(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-15
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await queue(hall, "then this", "m-1")
        assert (await seat.given()).id == "m-1"


@pytest.mark.parametrize("broken_off", [True, False])
def test_a_queue_whose_bridge_leaves_ends_as_not_sent_after_its_grace(
    tmp_path: Path, broken_off: bool
) -> None:
    # proves: SEAT-8, FENCE-2
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            seat = await opened(hall)
            await seat.poll(1)
            await seat.works()
            waiting = seat.parks(5)
            await clock.sleep(4)
            await queue(hall, "then this", "m-1")
            await hall.send("hello", "h-1", origin=Origin.WAKE)
            await clock.sleep(0.1)
            await seat.ack(page_of(waiting).events[0])
            waiting = seat.parks(5)
            if broken_off:
                await clock.sleep(1)
                waiting.cancel()
            else:
                await clock.sleep(5.1)
            await clock.sleep(29.5)
            assert (await hall.receipt("m-1")).state is InputState.QUEUED
            await clock.sleep(1)
            found = await hall.receipt("m-1")
            assert (found.state, found.code) == (InputState.NOT_SENT, "seat_left")
            await clock.sleep(600)
            assert hall.lane.asked == []

    scenario()


@virtual
async def test_a_queue_is_never_taken_over_and_ends_when_its_seat_is_detached(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, FENCE-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("one", "m-1")
        event = await seat.takes()
        await seat.works()
        await queue(hall, "then this", "m-2")
        await hall.send("and hear this", "h-1", origin=Origin.REPORT)
        await seat.detach()
        # The one it took stays with it, the Queue ends, the rest follows the driver that is now.
        assert (await hall.ended("m-2", 1)).state is InputState.NOT_SENT
        assert (await hall.ended("h-1", 1)).state is InputState.SETTLED
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.TAKEN
        assert await seat.ack(event) is SeatState.TAKEN
        assert hall.lane.asked == ["h-1"]


@virtual
async def test_a_queue_ends_after_a_restart_whose_seat_does_not_come_back(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, SEAT-5
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await queue(hall, "then this", "m-1")
        die()
    async with machine.on() as hall:
        await clock.sleep(44)
        assert (await hall.receipt("m-1")).state is InputState.QUEUED
        await clock.sleep(2)
        assert (await hall.receipt("m-1")).state is InputState.NOT_SENT
        assert hall.lane.asked == []


@virtual
async def test_without_a_live_seat_a_queued_message_is_an_ordinary_turn(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8
    async with Machine(tmp_path, clock).on() as hall:
        await opened(hall)
        await queue(hall, "hello", "m-1")
        found = await hall.ended("m-1")
        assert (found.state, found.reach) == (InputState.SETTLED, Reach.CONVERSATION)


@virtual
async def test_a_queue_that_its_seat_refuses_fails_and_runs_nowhere(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await queue(hall, "then this", "m-1")
        await seat.refuse(await seat.given())
        found = await hall.ended("m-1")
        assert (found.state, found.code) == (InputState.FAILED, "refused_by_seat")
        assert hall.lane.asked == []


@virtual
async def test_a_queue_that_is_refused_when_its_seat_has_left_was_not_sent(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await queue(hall, "then this", "m-1")
        given = await seat.given()
        await seat.detach()
        await seat.refuse(given)
        found = await hall.receipt("m-1")
        assert (found.state, found.code) == (InputState.NOT_SENT, "seat_left")
        await clock.sleep(60)
        assert hall.lane.asked == []


@virtual
async def test_a_queue_that_is_refused_after_a_long_silence_was_not_sent(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await queue(hall, "then this", "m-1")
        given = await seat.given()
        await clock.sleep(50)
        await seat.refuse(given)
        await clock.sleep(1)
        assert (await hall.receipt("m-1")).state is InputState.NOT_SENT
        assert hall.lane.asked == []


@virtual
async def test_what_a_seat_refuses_when_it_has_left_goes_to_the_next_driver_at_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-4, SEAT-9
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        given = await seat.given()
        await seat.detach()
        await clock.sleep(5)
        await seat.refuse(given)
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_the_end_of_a_queue_is_written_although_the_disk_was_full(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await queue(hall, "then this", "m-1")
        trouble(hall.house, "mail").plan("end_queue", refuse())
        await clock.sleep(35)
        assert (await hall.receipt("m-1")).state is InputState.NOT_SENT


async def refused_and_reserved(hall: Hall, clock: FakeClock) -> tuple[Bridge, asyncio.Event]:
    """A Queue that its seat refused was just taken up to be failed; that goes on when told to."""
    seat = await opened(hall)
    await seat.poll(1)
    await queue(hall, "then this", "m-1")
    given = await seat.given()
    await clock.sleep(0.1)  # nobody chooses a driver now
    reached, go = asyncio.Event(), asyncio.Event()
    trouble(hall.house).plan("reserve", pause_after(reached, go))
    await seat.refuse(given)
    await reached.wait()
    return seat, go


@virtual
async def test_a_refused_queue_that_is_given_back_when_its_seat_is_silent_was_not_sent(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        _, go = await refused_and_reserved(hall, clock)
        # Its grace passes meanwhile: what ends the Queues of this seat finds one that is under way.
        await clock.sleep(60)
        assert (await hall.receipt("m-1")).state is InputState.QUEUED
        go.set()
        assert (await hall.ended("m-1", 5)).state is InputState.NOT_SENT
        assert hall.lane.asked == []


@virtual
async def test_a_refused_queue_of_a_seat_that_is_retired_meanwhile_ends_at_the_next_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, FENCE-2
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat, go = await refused_and_reserved(hall, clock)
        await hall.house.store.seats.retire(seat.seat, "ended", OPERATOR)
        assert (await hall.receipt("m-1")).state is InputState.QUEUED
        go.set()
        die()
    async with machine.on() as hall:
        found = await hall.ended("m-1", 5)
        assert (found.state, found.code) == (InputState.NOT_SENT, "seat_left")
        assert hall.lane.asked == []


@virtual
@pytest.mark.parametrize("leaves", ["detached", "retired"])
async def test_a_queue_that_comes_when_its_seat_has_just_left_is_an_ordinary_turn(
    clock: FakeClock, tmp_path: Path, leaves: str
) -> None:
    # proves: SEAT-8, FENCE-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        standing = hall.house.seats.standing(HEAD)
        assert standing is not None
        if leaves == "detached":
            await seat.detach()
        else:
            await roster.retire(hall.house, seat.seat, OPERATOR)
        # It was addressed while the seat sat there, and admitted after it had left.
        addressed = {"reach": Reach.HELD_QUEUE, "occupant": standing.occupant}
        await hall.send("then this", "m-1", mode=Mode.QUEUE, **addressed)
        receipt = await hall.ended("m-1")
        assert (receipt.state, receipt.reach) == (InputState.SETTLED, Reach.CONVERSATION)
        assert len(hall.lane.asked) == 1
