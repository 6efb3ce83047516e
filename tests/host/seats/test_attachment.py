"""Attaching, detaching and switching: under the fence, with one winner."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.delivery import InputState, SeatState
from clankie.core.driver import Presence
from clankie.core.errors import (
    CommitUnknownError,
    NotAllowedError,
    RunInProgressError,
    ShuttingDownError,
)
from clankie.core.goal import SeatDrivesError
from clankie.core.ids import HEAD
from clankie.core.seat_errors import AttachmentConflictError, SeatNotFoundError
from clankie.host import goals
from clankie.host.conversations import close
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from clankie.host.seats import attachment, roster
from fakes.bridge import opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, call, fails, waits
from fakes.loop import virtual
from fakes.trouble import lose, trouble


@virtual
async def test_a_seat_that_attaches_during_a_run_waits_and_starts_no_second_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-3, HAND-4
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done))) as hall:
        seat = await opened(hall, conversation=await hall.make("side"))
        waiting = seat.parks()
        await clock.sleep(0.1)
        await hall.send("first", "m-1")
        await clock.sleep(1)
        assert await seat.attach(HEAD)
        await hall.send("second", "m-2")
        await clock.sleep(5)
        assert not waiting.done()
        done.set()
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        assert event.id == "m-2"
        assert hall.lane.asked == ["m-1"]
        assert await hall.said() == ["re: first"]


@virtual
async def test_two_that_attach_at_once_get_one_winner_and_one_clear_refusal(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1, FENCE-3
    async with Machine(tmp_path, clock).on() as hall:
        seats = [
            await opened(
                hall, f"native-{n}", conversation=await hall.make(f"side-{n}"), pid=100 + n
            )
            for n in range(2)
        ]
        tries = [hall.house.captain.spawn(seat.attach(HEAD)) for seat in seats]
        await clock.sleep(1)
        (refused,) = [one for one in (t.result() for t in tries) if isinstance(one, Exception)]
        assert isinstance(refused, AttachmentConflictError)
        standing = hall.house.seats.standing(HEAD)
        assert standing is not None
        assert refused.facts["current"] == standing.seat


@virtual
async def test_switching_hands_over_what_was_not_taken_and_nothing_else(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-4, FENCE-5, FENCE-6, SEAT-14
    async with Machine(tmp_path, clock).on() as hall:
        first = await opened(hall)
        await first.poll(1)
        await hall.send("one", "m-1")
        taken = await first.takes()
        waiting = first.parks()
        second = await opened(hall, "native-2", conversation=await hall.make("side"), pid=200)
        polling = second.parks()
        await clock.sleep(0.1)
        await hall.send("two", "m-2", origin=Origin.WAKE)
        await clock.sleep(0.1)
        held = page_of(waiting).events[0]
        await hall.send("three", "m-3")
        assert not await second.attach(HEAD, expected=first.seat)
        await clock.sleep(0.1)
        # m-3 was only stored at the first one: it goes on to the second, under a new attempt.
        (event,) = page_of(polling).events
        assert (event.id, event.attempt) == ("m-3", 2)
        assert (await hall.receipt("m-2")).attempts[0].state is SeatState.ATTEMPTING
        assert await first.ack(held) is SeatState.TAKEN
        assert (await hall.receipt("m-1")).attempts[0].seat == first.seat
        assert await first.ack(taken) is SeatState.TAKEN
        # The replaced one gets nothing, and is told that no bridge took its place.
        page = await first.poll(1)
        assert (page.events, page.superseded) == ((), False)
        assert hall.lane.asked == []


@virtual
async def test_detaching_with_one_taken_and_one_queued(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-6, FENCE-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("one", "m-1")
        event = await seat.takes()
        await hall.send("two", "m-2")
        waiting = seat.parks(30)
        await clock.sleep(0)
        await seat.detach()
        found = await hall.ended("m-2", 1)
        assert found.conversation == HEAD
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.TAKEN
        assert hall.lane.asked in (["m-2"], [])
        await clock.sleep(1)
        assert waiting.done()
        assert await seat.ack(event) is SeatState.TAKEN


@virtual
async def test_who_may_attach_and_who_may_not(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-1, SEAT-2
    async with Machine(tmp_path, clock).on() as hall:
        place, other = await hall.make("side"), await hall.make("other")
        seat = await opened(hall, conversation=place)
        itself = Author(Principal.SEAT, seat.seat)
        for principal in (Principal.WORKER, Principal.ROOM, Principal.DEVICE, Principal.FLEET):
            with pytest.raises(NotAllowedError):
                await attachment.attach(hall.house, seat.seat, other, None, Author(principal, "x"))
            with pytest.raises(NotAllowedError):
                await attachment.detach(hall.house, seat.seat, Author(principal, "x"), "no")
        with pytest.raises(NotAllowedError):
            await attachment.attach(hall.house, seat.seat, other, None, itself)
        with pytest.raises(SeatNotFoundError):
            await attachment.attach(
                hall.house, seat.seat, place, None, Author(Principal.SEAT, "s-other")
            )
        with pytest.raises(SeatNotFoundError):
            await attachment.detach(hall.house, seat.seat, Author(Principal.SEAT, "s-other"), "no")
        await attachment.detach(hall.house, seat.seat, itself, "leaves")
        made = await attachment.attach(hall.house, seat.seat, place, None, itself)
        assert made.seat.conversation == place
        # The same again changes nothing.
        before = await hall.log(place)
        await attachment.attach(hall.house, seat.seat, place, None, OPERATOR)
        assert await hall.log(place) == before
        assert hall.house.seats.standing(HEAD) is None
        assert hall.house.seats.standing(other) is None


@virtual
async def test_selecting_one_conversation_selects_no_other(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1, SEAT-2, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(0.1)
        await hall.send("over here", "m-1", conversation=place)
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert not waiting.done()
        waiting.cancel()


@virtual
async def test_a_held_wake_goes_to_the_seat_that_binds(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-12, SEAT-9
    async with Machine(tmp_path, clock).on(ScriptedLane(*[fails("model_unavailable")] * 3)) as hall:
        name = await hall.wake()
        await clock.sleep(600)
        found = await hall.receipt(name)
        assert (found.state, found.held) == (InputState.QUEUED, "attempts_exhausted")
        seat = await opened(hall)
        event = await seat.takes()
        assert (event.id, event.kind) == (name, "wake")
        said = [one for one in await hall.log() if one.get("delivery_id") == name]
        assert len([one for one in said if one["kind"] == "message"]) == 1
        assert len(hall.lane.asked) == 3


@virtual
async def test_a_wake_that_may_have_done_something_is_not_repeated_because_a_seat_binds(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1", effect=True)) as report:
            report.detail = "posted"
        return await fails("model_unreachable")(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        name = await hall.wake()
        await clock.sleep(600)
        seat = await opened(hall)
        await seat.nothing()
        found = await hall.receipt(name)
        assert (found.state, found.held) == (InputState.QUEUED, "failed_after_effect")


@virtual
async def test_no_goal_is_set_while_a_seat_drives(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SERV-5, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(0.1)
        with pytest.raises(SeatDrivesError):
            await goals.put(hall.house, HEAD, "win", 1_000)
        await hall.send("go on", "g-1", origin=Origin.GOAL)
        assert (await hall.ended("g-1")).state is InputState.SETTLED
        assert hall.lane.asked == ["g-1"]
        assert not waiting.done()
        waiting.cancel()


@virtual
async def test_an_attachment_that_nobody_can_tell_of_is_known_all_the_same(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall, conversation=await hall.make("side"))
        stands = trouble(hall.house, "seats")
        stands.plan("attach", lose())
        with pytest.raises(CommitUnknownError):
            await seat.attach(HEAD)
        assert hall.house.seats.standing(HEAD) is not None
        stands.plan("detach", lose())
        with pytest.raises(CommitUnknownError):
            await seat.detach()
        assert hall.house.seats.standing(HEAD) is None
        stands.plan("retire", lose())
        with pytest.raises(CommitUnknownError):
            await roster.retire(hall.house, seat.seat, OPERATOR)
        assert await roster.listed(hall.house) == []


@virtual
async def test_closing_a_conversation_lets_its_seat_go(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-6, SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        seat = await opened(hall, conversation=place)
        await seat.poll(1)
        await hall.send("hello", "m-1", conversation=place)
        event = await seat.given()
        with pytest.raises(RunInProgressError):
            await close(hall.house, place, OPERATOR)
        await seat.ack(event)
        await seat.answers(event, "hi")
        await hall.send("more", "m-2", conversation=place)
        await close(hall.house, place, OPERATOR)
        assert (await hall.receipt("m-2")).state is InputState.NOT_SENT
        assert hall.house.desk.chair(seat.seat).seat.conversation is None
        assert (await seat.poll(1)).events == ()


@virtual
async def test_nothing_is_attached_while_the_service_goes_down(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await hall.house.captain.stop()
        with pytest.raises(ShuttingDownError):
            await seat.attach(HEAD)
        with pytest.raises(ShuttingDownError):
            await seat.detach()


@virtual
async def test_a_seat_that_polls_unattached_is_live_the_moment_it_is_attached(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.detach()
        waiting = seat.parks()
        await clock.sleep(1)
        await seat.attach(HEAD)
        standing = hall.house.seats.standing(HEAD)
        assert standing is not None
        assert standing.presence is Presence.LIVE
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        assert [one.id for one in page_of(waiting).events] == ["m-1"]
