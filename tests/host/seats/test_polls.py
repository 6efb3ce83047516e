"""Polls: they wait, supersede one another, are repeated, and end."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import ReceiptsUnreadableError, ShuttingDownError
from clankie.core.seat_errors import SeatNotFoundError, SeatSupersededError
from fakes.bridge import Bridge, contents, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.loop import virtual
from fakes.trouble import pause_after, refuse, trouble


@virtual
async def test_a_message_reaches_the_poll_that_waits_for_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-3, SEAT-4, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(5)
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        assert (event.id, event.attempt, event.kind, event.content) == ("m-1", 1, "turn", "hello")
        found = await hall.receipt("m-1")
        assert (found.state, found.attempts[0].state) == (InputState.RUNNING, SeatState.ATTEMPTING)
        assert found.attempts[0].seat == seat.seat
        assert await seat.ack(event) is SeatState.TAKEN
        await seat.answers(event, "hi there")
        found = await hall.ended("m-1")
        assert (found.state, found.attempts[0].state) == (InputState.SETTLED, SeatState.DELIVERED)
        assert hall.lane.asked == []
        assert await hall.said() == ["hi there"]


@virtual
async def test_a_poll_repeated_under_its_id_reads_the_same_page_and_no_other_does(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-9, SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        lost = seat.parks(poll_id="p-1")
        await clock.sleep(1)
        await hall.send("one", "m-1", origin=Origin.WAKE)
        await clock.sleep(0.1)
        page = page_of(lost)
        await hall.send("two", "m-2")
        assert await seat.poll(poll_id="p-1") == page
        other = await seat.poll(poll_id="p-2")
        assert [one.id for one in other.events] == ["m-2"]
        assert await seat.poll(poll_id="p-1") == page
        await seat.ack(page.events[0])
        assert await seat.poll(poll_id="p-1") == page
        # Once it has ended there is nothing to be asked for again.
        await seat.answers(page.events[0], "one it is")
        assert (await seat.poll(0, poll_id="p-1")).events == ()


@virtual
async def test_a_newer_poll_supersedes_an_older_one_which_returns_empty_at_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        older = seat.parks()
        await clock.sleep(5)
        seat.binding = "b-2"
        newer = seat.parks()
        await clock.sleep(0.1)
        assert (page_of(older).superseded, page_of(older).events) == (True, ())
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        (event,) = page_of(newer).events
        # No later poll and no other bridge acknowledges by implication.
        seat.binding = "b-1"
        with pytest.raises(SeatSupersededError):
            await seat.ack(event)
        await seat.poll(0)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.ATTEMPTING
        seat.binding = "b-2"
        assert await seat.ack(event) is SeatState.TAKEN
        assert await seat.ack(event) is SeatState.TAKEN


@virtual
async def test_a_poll_waits_as_long_as_the_service_allows_and_not_longer(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        began = clock.monotonic()
        assert (await seat.poll(99.999)).events == ()
        assert clock.monotonic() - began == 30.0
        assert (await seat.poll(2)).events == ()
        assert clock.monotonic() - began == 32.0
        assert (await seat.poll(-1)).events == ()


@virtual
async def test_a_poll_that_does_not_wait_binds_nobody(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        assert (await seat.poll(0)).events == ()
        await hall.send("hello", "m-1")
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-1"]
        # It does not take the place of one that waits either.
        waiting = seat.parks()
        await clock.sleep(1)
        assert (await seat.poll(0)).events == ()
        assert not waiting.done()
        waiting.cancel()


@virtual
async def test_a_poll_that_is_broken_off_leaves_what_it_took_to_its_own_id(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-9, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        reached, go = asyncio.Event(), asyncio.Event()
        waiting = seat.parks(poll_id="p-1")
        await clock.sleep(1)
        trouble(hall.house, "mail").plan("take", pause_after(reached, go))
        await hall.send("hello", "m-1")
        await reached.wait()
        waiting.cancel()
        go.set()
        await clock.sleep(0.1)
        assert waiting.cancelled()
        assert (await seat.poll(poll_id="p-2", wait=1)).events == ()
        page = await seat.poll(poll_id="p-1")
        assert contents(page.events) == ["hello"]
        await clock.sleep(61)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN


@virtual
async def test_polls_end_when_the_service_goes_down_and_no_other_begins(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(1)
        await hall.house.captain.stop()
        await clock.sleep(0.1)
        assert page_of(waiting).events == ()
        with pytest.raises(ShuttingDownError):
            await seat.poll()


@virtual
async def test_a_seat_that_was_never_registered_has_no_polls(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        with pytest.raises(SeatNotFoundError):
            await Bridge(hall, "s-none", "native-9").poll()


@virtual
async def test_a_store_that_cannot_answer_a_poll_does_not_unbind_its_seat(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-6, FENCE-10
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        trouble(hall.house, "mail").plan("take", refuse(ReceiptsUnreadableError("bad page")))
        with pytest.raises(ReceiptsUnreadableError):
            await seat.poll()
        await hall.send("hello", "m-1")
        assert (await seat.takes()).id == "m-1"
        assert hall.lane.asked == []


@virtual
async def test_an_ask_is_stored_now_and_then_and_not_with_each_poll(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5
    async with Machine(tmp_path, clock).on() as hall:
        stands = trouble(hall.house, "seats")
        seat = await opened(hall)
        for _ in range(40):
            await seat.poll(1)
        await clock.sleep(0.1)
        assert stands.calls.count("asked") == 2


@virtual
async def test_a_poll_that_does_not_wait_takes_only_for_the_bridge_that_is_bound(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-4, SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await clock.sleep(1)
        other = Bridge(hall, seat.seat, seat.native, binding="b-2")
        assert (await other.poll(0)).events == ()
        assert [one.id for one in (await seat.poll(0)).events] == ["m-1"]
        await hall.send("hello again", "m-2")
        # Its grace is over, its hold is not.
        await clock.sleep(35)
        assert (await seat.poll(0)).events == ()
        assert (await seat.takes()).id == "m-2"
