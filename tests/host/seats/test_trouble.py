"""Seats while the store does not serve them, or after something of theirs is gone."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import CommitUnknownError, NotAllowedError, StorageUnavailableError
from clankie.core.ids import HEAD
from clankie.core.seat import EntryKind, Limited
from clankie.host.conversations import reset
from clankie.host.doctor import examine
from clankie.host.seats import roster
from fakes.bridge import opened
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.loop import virtual
from fakes.trouble import Failure, lose, pause_before, refuse, trouble


@virtual
async def test_a_handoff_of_a_seat_that_was_retired_is_uncertain_after_its_time(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-6, FENCE-11
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.says("I was here")
        await clock.sleep(60)
        await hall.send("wake", "w-1", origin=Origin.WAKE)
        await hall.ended("w-1")
        await seat.given()
        await roster.retire(hall.house, seat.seat, OPERATOR)
        die()
    async with machine.on() as hall:
        await clock.sleep(70)
        phases = [one["phase"] for one in await hall.log() if one["kind"] == "handoff"]
        assert phases[-1] == "uncertain"
        assert hall.house.desk.given == {}


@virtual
async def test_what_a_retired_seat_may_have_seen_still_lapses(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11, FENCE-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await seat.given()
        await roster.retire(hall.house, seat.seat, OPERATOR)
        await clock.sleep(70)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
        assert hall.lane.asked == []


@virtual
async def test_deadlines_are_written_although_the_disk_was_full(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        await seat.given()
        trouble(hall.house, "mail").plan(
            "lapse", refuse(), lose(), refuse(NotAllowedError("It should not be."))
        )
        await clock.sleep(70)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN


@virtual
async def test_a_seat_binds_although_held_wakes_could_not_be_released(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        trouble(hall.house).plan("release_held", refuse())
        waiting = seat.parks()
        await clock.sleep(1)
        await hall.send("hello", "m-1")
        await clock.sleep(1)
        assert waiting.done()


@pytest.mark.parametrize("verb", ["ack", "refuse", "reply"])
def test_what_nobody_can_tell_of_is_said_again(tmp_path: Path, verb: str) -> None:
    # proves: SEAT-4, FENCE-7
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            seat = await opened(hall)
            await seat.poll(1)
            await hall.send("done?", "e-1", origin=Origin.ESCALATION)
            event = await seat.given()
            trouble(hall.house, "mail").plan(verb, lose(), refuse())

            async def say() -> SeatState:
                if verb == "reply":
                    return await seat.reply(event, "yes")
                return await (seat.ack(event) if verb == "ack" else seat.refuse(event))

            with pytest.raises(CommitUnknownError):
                await say()
            with pytest.raises(StorageUnavailableError):
                await say()
            states = {
                "ack": SeatState.TAKEN,
                "refuse": SeatState.REFUSED,
                "reply": SeatState.REPLIED,
            }
            assert await say() is states[verb]
            if verb == "refuse":
                await hall.ended("e-1")
            assert len(await hall.said()) == (0 if verb == "ack" else 1)

    scenario()


@virtual
async def test_a_reset_that_nobody_can_tell_of_retires_the_session_all_the_same(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        await opened(hall)
        trouble(hall.house, "conversations").plan("reset", lose())
        with pytest.raises(CommitUnknownError):
            await reset(hall.house, HEAD, None, OPERATOR)
        assert hall.house.desk.chair("s-00000000000000000000000002").seat.stale
        names = {one.name for one in await examine(hall.house)}
        assert "parked seats" in names


@virtual
async def test_what_is_acknowledged_while_its_deadline_is_carried_out_is_still_waited_for(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
        event = await seat.given()
        reached, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house, "mail").plan("lapse", pause_before(reached, go))
        await clock.sleep(60)
        await reached.wait()
        assert await seat.ack(event) is SeatState.TAKEN
        go.set()
        await clock.sleep(599)
        assert (await hall.receipt("e-1")).attempts[0].state is SeatState.TAKEN
        await clock.sleep(2)
        found = await hall.receipt("e-1")
        assert (found.attempts[0].state, found.code) == (SeatState.DELIVERED, "no_reply")


@virtual
async def test_every_event_of_a_page_has_its_deadline_although_a_read_failed_on_the_way(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        for name in ("w-1", "w-2"):
            await hall.send("a wake", name, origin=Origin.WAKE)
        await clock.sleep(1)
        trouble(hall.house).plan("get", refuse())
        with pytest.raises(StorageUnavailableError):
            await seat.poll()
        await clock.sleep(70)
        for name in ("w-1", "w-2"):
            assert (await hall.receipt(name)).state is InputState.UNCERTAIN


@virtual
@pytest.mark.parametrize("verb", ["ack", "sync"])
async def test_late_evidence_has_its_deadline_although_the_store_could_not_say_so(
    clock: FakeClock, tmp_path: Path, verb: str
) -> None:
    # proves: FENCE-11, FENCE-4
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        await clock.sleep(61)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
        trouble(hall.house, "mail").plan(verb, lose())
        with pytest.raises(CommitUnknownError):
            await (seat.ack(event) if verb == "ack" else seat.sync(seat.proof(event)))
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await clock.sleep(610)
        found = await hall.receipt("m-1")
        assert (found.state, found.attempts[0].state) == (InputState.SETTLED, SeatState.DELIVERED)


@virtual
@pytest.mark.parametrize(("part", "verb"), [("seats", "get"), ("mail", "in_flight")])
async def test_late_evidence_has_its_deadline_although_a_read_failed_behind_its_rows(
    clock: FakeClock, tmp_path: Path, part: str, verb: str
) -> None:
    # proves: FENCE-11, FENCE-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        await clock.sleep(61)
        row = seat.proof(event)
        store = trouble(hall.house, part)
        store.plan(verb, refuse())
        with pytest.raises(StorageUnavailableError):
            await seat.sync(row)
        assert store.left(verb) == 0
        assert (await seat.sync(row)).accepted == 0
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await clock.sleep(610)
        found = await hall.receipt("m-1")
        assert (found.state, found.attempts[0].state) == (InputState.SETTLED, SeatState.DELIVERED)


@virtual
@pytest.mark.parametrize("how", [refuse(), lose()])
async def test_a_usage_limit_parks_the_seat_although_the_disk_was_full_behind_its_row(
    clock: FakeClock, tmp_path: Path, how: Failure
) -> None:
    # proves: LIMIT-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        resets = clock.now() + timedelta(hours=1)
        met = Limited(window="five_hour", occurred_at=clock.now(), resets_at=resets)
        limit = seat.row(EntryKind.LIMIT, "You have hit your limit", limit=met)
        trouble(hall.house, "seats").plan("park", how)
        with pytest.raises((StorageUnavailableError, CommitUnknownError)):
            await seat.sync(limit)
        assert (await seat.sync(limit)).accepted == 0
        (row,) = await roster.listed(hall.house)
        assert row.state == "parked"
        # Sent once more after the harness has answered again, it says nothing new.
        await clock.sleep(1)
        await seat.sync(seat.row(EntryKind.ASSISTANT, "here I am"))
        await seat.sync(limit)
        (row,) = await roster.listed(hall.house)
        assert row.state == "live"
