"""Whole stories of a conversation and its seat, from the first word to the last."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.admission import Mode, Origin
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import (
    BackpressureError,
    DeliveryConflictError,
    RevisionConflictError,
    UnconfirmedError,
)
from clankie.core.ids import HEAD
from clankie.host import deliveries
from clankie.host.seats import bank
from fakes.bridge import Bridge, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.lane import ScriptedLane, silence, steers, waits
from fakes.loop import virtual
from fakes.trouble import honest, lose, refuse, trouble


async def settled(hall: Hall, name: str) -> bool:
    return (await hall.ended(name)).state is InputState.SETTLED


@virtual
async def test_a_run_that_is_stuck_ends_and_what_queued_behind_it_goes_to_the_seat(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-3, HAND-4, FENCE-6
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        seat = await opened(hall)
        await seat.says("I was here")
        await clock.sleep(60)
        await hall.send("a report", "r-1", origin=Origin.REPORT)
        await clock.sleep(1)
        for number in range(9):
            await hall.send(f"part {number}", f"m-{number}")
        waiting = seat.parks()
        for _ in range(11):
            await clock.sleep(30)
            if waiting.done() and not page_of(waiting).events:
                waiting = seat.parks()
        (handoff,) = page_of(waiting).events
        assert handoff.source == "service-handoff"
        assert "conversation_turn_stalled" in handoff.content
        await seat.ack(handoff)
        page = await seat.poll()
        assert [one.id for one in page.events] == [f"m-{number}" for number in range(9)]
        report = await hall.receipt("r-1")
        assert (report.state, report.code) == (InputState.FAILED, "conversation_turn_stalled")
        again = await hall.send("a report", "r-1", origin=Origin.REPORT)
        assert not again.fresh
        assert hall.lane.asked == ["r-1"]


@virtual
async def test_of_two_sends_with_one_revision_one_is_admitted_and_reaches_the_seat(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-5, FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(1)
        revision = (await hall.house.store.conversations.get(HEAD)).revision
        tries = [
            hall.house.captain.spawn(hall.send("hello", f"m-{n}", expected_revision=revision))
            for n in range(2)
        ]
        await clock.sleep(1)
        refused = [one for one in (task.result() for task in tries) if isinstance(one, Exception)]
        assert [type(one) for one in refused] == [RevisionConflictError]
        assert len(page_of(waiting).events) == 1
        await seat.nothing()


@virtual
async def test_an_id_that_a_seat_has_is_answered_with_its_receipt_and_never_given_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1, FENCE-10, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        again = await hall.send("hello", "m-1")
        assert not again.fresh
        assert again.delivery.attempts[0].state is SeatState.ATTEMPTING
        with pytest.raises(DeliveryConflictError):
            await hall.send("something else", "m-1")
        await clock.sleep(61)
        # Unresolved, it blocks itself: its id, and what a program repeats of it.
        with pytest.raises(UnconfirmedError):
            await hall.send("something else", "m-1")
        with pytest.raises(UnconfirmedError):
            await hall.send("hello", "m-2", automatic=True)
        await hall.send("hello", "m-3")
        assert (await seat.takes()).id == "m-3"
        closed = await deliveries.abandon(hall.house, "m-1")
        assert closed.state is InputState.ABANDONED
        # The owner closed it: the late word is kept with the attempt and starts nothing.
        assert await seat.ack(event) is SeatState.TAKEN
        assert (await hall.receipt("m-1")).state is InputState.ABANDONED
        assert hall.lane.asked == []


@virtual
async def test_the_lid_is_closed_for_a_night_and_opened_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, SEAT-7, HAND-3, HAND-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.starts()
        await seat.poll(1)
        await hall.send("good night", "m-1")
        await seat.answers(await seat.takes(), "sleep well")
        waiting = seat.parks()
        await clock.sleep(10)
        waiting.cancel()
        # The bridge is asleep with its machine; the service is not.
        for hour in range(9):
            await hall.send(f"report {hour}", f"r-{hour}", origin=Origin.REPORT)
            await clock.sleep(3_600)
        assert hall.lane.asked == [f"r-{hour}" for hour in range(9)]
        handoff = await seat.takes()
        assert handoff.source == "service-handoff"
        assert all(f"report {hour}" in handoff.content for hour in range(9))
        assert "good night" not in handoff.content
        await hall.send("good morning", "m-2")
        await seat.answers(await seat.takes(), "good morning")
        assert await settled(hall, "m-2")
        said = [one for one in await hall.said() if not one.startswith("re: ")]
        assert said == ["sleep well", "good morning"]


@virtual
async def test_a_service_and_its_machine_sleep_and_nothing_is_taken_over_for_that(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(5)
        clock.shift(9 * 3_600)
        await clock.sleep(5)
        await hall.send("are you there?", "m-1")
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        clock.shift(9 * 3_600)
        await clock.sleep(50)
        assert await seat.ack(event) is SeatState.TAKEN
        await seat.answers(event, "yes")
        assert await settled(hall, "m-1")
        assert hall.lane.asked == []


@virtual
async def test_a_steer_into_a_run_joins_it_and_the_seat_is_told_of_both(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-3, FENCE-3
    go = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(steers(go))) as hall:
        seat = await opened(hall)
        await seat.says("I was here")
        await clock.sleep(60)
        await hall.send("first", "m-1")
        await clock.sleep(1)
        waiting = seat.parks()
        await clock.sleep(1)
        await hall.send("later", "m-2", mode=Mode.QUEUE)
        await hall.send("correction", "m-3", mode=Mode.STEER)
        go.set()
        await clock.sleep(0.1)
        (handoff,) = page_of(waiting).events
        assert "first" in handoff.content
        assert "correction" in handoff.content
        await seat.ack(handoff)
        assert (await seat.takes()).id == "m-2"
        assert (await hall.receipt("m-3")).state is InputState.ABSORBED


@virtual
async def test_a_goal_goes_on_under_the_fence_while_its_seat_waits(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-5, FENCE-2, FENCE-3
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done))) as hall:
        seat = await opened(hall)
        await hall.send("go on", "g-1", origin=Origin.GOAL)
        await clock.sleep(1)
        waiting = seat.parks()
        await clock.sleep(1)
        await hall.send("hello", "m-1")
        await clock.sleep(1)
        assert not waiting.done()
        done.set()
        await clock.sleep(0.1)
        assert [one.id for one in page_of(waiting).events] == ["m-1"]
        assert hall.lane.asked == ["g-1"]


@virtual
async def test_watches_survive_a_disk_that_is_full_and_a_conversation_that_is(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-1")
        stands = trouble(hall.house, "watches")
        stands.plan("all", refuse())
        stands.plan("remove", lose())
        await hall.send("now", "m-1", conversation=place)
        assert await settled(hall, "m-1")
        await clock.sleep(60)
        told = [one for one in await hall.log() if one.get("role") == "external"]
        assert len(told) == 1
        assert await hall.house.store.watches.all() == []


@virtual
async def test_a_watch_waits_while_its_conversation_is_full(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-1")
        stands = trouble(hall.house)
        stands.plan("admit", honest(), refuse(BackpressureError()))
        await hall.send("now", "m-1", conversation=place)
        assert await settled(hall, "m-1")
        await clock.sleep(1)
        assert len(await hall.house.store.watches.all()) == 1
        await hall.send("more", "m-2", conversation=place)
        await clock.sleep(5)
        assert await hall.house.store.watches.all() == []


@virtual
async def test_what_is_watched_and_is_gone_is_told_as_an_end(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("hello", "m-1")
        assert await settled(hall, "m-1")
        seat = await opened(hall)
        await bank.watch(hall.house, seat.seat, delivery="m-1", call_id="c-1")
        assert (await seat.takes()).kind == "watch"
        await bank.watch(hall.house, seat.seat, delivery="m-1", call_id="c-2")
        await hall.house.store.prune(clock.now() + timedelta(days=1))
        await seat.poll(30)
        assert await hall.house.store.watches.all() == []


@virtual
async def test_a_late_bridge_of_an_earlier_session_changes_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-14, SEAT-15, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.starts()
        await seat.poll(1)
        await hall.send("hello", "m-1")
        old = Bridge(hall, seat.seat, seat.native)
        event = await seat.takes()
        await seat.starts("native-2", source="clear")
        # What the old session was given it may still prove; a guess of it is nobody's word.
        await old.says("guess what I did")
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.TAKEN
        await old.sync(old.proof(event))
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.ACCEPTED
