"""What a harness wrote becomes part of the log, and is believed only as far as it proves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clankie.core.admission import Mode, Origin
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, SeatState
from clankie.core.driver import Presence
from clankie.core.errors import CommitUnknownError
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, EntryKind, Evidence, Limited, Proof, delivery_uuid
from clankie.core.seat_errors import SeatNotFoundError, SessionConflictError
from clankie.host.conversations import reset
from clankie.host.seats import roster
from fakes.bridge import Bridge, opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.loop import virtual
from fakes.trouble import lose, trouble

HOUR = timedelta(hours=1)


async def notices(hall: Hall, code: str) -> list[str]:
    return [
        one["text"] for one in await hall.log() if one["kind"] == "notice" and one["code"] == code
    ]


async def state(hall: Hall) -> str:
    (view,) = await roster.listed(hall.house)
    return view.state


@virtual
async def test_rows_enter_the_log_in_order_and_once(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-3, SEC-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        tool = {"name": "Bash", "call_id": "c-1", "phase": "completed", "detail": "ls"}
        rows = [
            seat.row(EntryKind.USER, "list it"),
            seat.row(EntryKind.TOOL, tool=tool),
            seat.row(EntryKind.ASSISTANT, "here it is"),
        ]
        synced = await seat.sync(*rows)
        assert (synced.accepted, synced.duplicates) == (3, 0)
        again = await seat.sync(*rows, seat.row(EntryKind.ASSISTANT, "more"))
        assert (again.accepted, again.duplicates) == (1, 3)
        log = [one for one in await hall.log() if one["kind"] in {"message", "tool"}]
        assert [(one.get("role"), one.get("text") or one.get("name")) for one in log] == [
            ("external", "list it"),
            (None, "Bash"),
            ("agent", "here it is"),
            ("agent", "more"),
        ]
        # What was typed in the harness is never the owner's word.
        assert {one["author"]["principal"] for one in log} == {"seat"}
        assert {one["author"]["id"] for one in log} == {seat.seat}


@virtual
async def test_a_message_of_ours_stands_once_after_the_transcript_shows_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-4, FENCE-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        await seat.sync(seat.proof(event), activity=Activity.RESPONDING)
        found = await hall.receipt("m-1")
        assert (found.attempts[0].state, found.attempts[0].proof) == (
            SeatState.ACCEPTED,
            Proof.UUID,
        )
        await seat.sync(seat.row(EntryKind.ASSISTANT, "hi"), activity=Activity.WAITING)
        said = [one["text"] for one in await hall.log() if one["kind"] == "message"]
        assert said == ["hello", "hi"]
        found = await hall.ended("m-1")
        assert found.attempts[0].state is SeatState.DELIVERED
        assert found.reply_cursor is not None


@virtual
async def test_a_turn_that_is_steered_does_not_end_with_the_late_end_of_the_one_before(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-15, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("one", "m-1")
        await seat.answers(await seat.takes(), "The first answer")
        over = clock.now()
        await hall.send("two", "m-2")
        event = await seat.takes()
        await clock.sleep(1)
        # A hook tells of the next turn, then another way of the end of the first.
        await seat.sync(seat.proof(event), activity=Activity.RESPONDING)
        await seat.says("Let me see")
        await seat.sync(activity=Activity.WAITING, at=over)
        await hall.send("and be quick", "m-3")
        event = await seat.takes()
        assert event.steer
        await seat.sync(seat.proof(event))
        assert (await hall.receipt("m-2")).state is InputState.RUNNING
        said = seat.row(EntryKind.ASSISTANT, "Here are both")
        await seat.sync(said, activity=Activity.WAITING, at=clock.now())
        cursors = [(await hall.ended(name)).reply_cursor for name in ("m-2", "m-3")]
        (at,) = [one["cursor"] for one in await hall.log() if one.get("text") == "Here are both"]
        assert cursors == [at, at]


@virtual
async def test_evidence_that_is_not_exact_proves_nothing(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEC-4, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        for attempt, value in (
            (1, delivery_uuid("m-1", 2)),
            (2, delivery_uuid("m-1", 2)),
            (1, None),
        ):
            evidence = Evidence(event="m-1", attempt=attempt, proof=Proof.UUID, value=value)
            await seat.sync(seat.row(EntryKind.USER, "hello", evidence=evidence))
        # Equal words alone are none either.
        await seat.sync(seat.row(EntryKind.USER, "hello"))
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.ATTEMPTING
        await clock.sleep(61)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
        # Exact, it settles what was uncertain, late as it is.
        await seat.answers(event, "hi")
        assert (await hall.receipt("m-1")).state is InputState.SETTLED
        assert hall.lane.asked == []


@virtual
async def test_what_a_row_proved_is_not_cut_off_for_a_missing_acknowledgement(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
        event = await seat.given()
        await clock.sleep(30)
        await seat.sync(seat.proof(event))
        await clock.sleep(100)
        assert (await hall.receipt("e-1")).attempts[0].state is SeatState.ACCEPTED
        await seat.reply(event, "yes")
        assert (await hall.receipt("e-1")).state is InputState.SETTLED


@virtual
async def test_a_session_belongs_to_one_conversation(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-3, SEAT-2
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        await seat.says("one")
        await seat.attach(place)
        with pytest.raises(SessionConflictError):
            await seat.says("two")
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, rows=10)
        with pytest.raises(SessionConflictError):
            await seat.says("three")
        assert [one["text"] for one in await hall.log(place) if one.get("role")] == []
        await seat.detach()
        with pytest.raises(SeatNotFoundError):
            await seat.says("four")


@virtual
async def test_after_a_reset_the_old_session_writes_nowhere_and_a_new_one_does(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7, SEAT-14
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.says("one")
        waiting = seat.parks()
        await clock.sleep(1)
        await reset(hall.house, HEAD, None, OPERATOR)
        with pytest.raises(SessionConflictError):
            await seat.says("two")
        with pytest.raises(SessionConflictError):
            await seat.starts(source="resume")
        # Nothing is for the retired session: the service lane goes on.
        await hall.send("hello", "m-1")
        assert (await hall.ended("m-1", 5)).state is InputState.SETTLED
        assert await state(hall) == "parked"
        assert page_of(waiting).events == ()
        waiting = seat.parks()
        await clock.sleep(1)
        assert not waiting.done()
        await seat.starts("native-2", source="clear")
        await hall.send("you again", "m-2")
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        assert event.source == "service-handoff"
        await seat.ack(event)
        assert (await seat.takes()).id == "m-2"
        await seat.says("three")
        assert await hall.said() == ["one", "re: hello", "three"]


@virtual
async def test_a_new_session_that_only_writes_takes_the_place_of_a_retired_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.says("one")
        await reset(hall.house, HEAD, None, OPERATOR)
        seat.native = "native-2"
        await seat.says("two")
        assert await state(hall) == "absent"
        waiting = seat.parks()
        await clock.sleep(0.1)
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        assert [one.id for one in page_of(waiting).events] == ["m-1"]
        assert hall.lane.asked == []


@virtual
async def test_a_usage_limit_parks_the_seat_until_it_resets(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-5, SEAT-6, SERV-1
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("taken", "m-1")
        taken = await seat.takes()
        await hall.send("accepted", "m-0")
        await seat.given()
        await hall.send("stored", "m-2")
        await seat.limited(resets_at=clock.now() + HOUR)
        # What was only stored moves at once, in spite of the hold; what was taken never.
        found = await hall.ended("m-2", 1)
        assert found.attempts[0].state is SeatState.RELEASED
        failed = await hall.receipt("m-1")
        assert (failed.state, failed.code) == (InputState.FAILED, "usage_limited")
        assert (await hall.receipt("m-0")).attempts[0].state is SeatState.ATTEMPTING
        await hall.send("a wake", "w-1", origin=Origin.WAKE)
        assert (await hall.ended("w-1")).state is InputState.SETTLED
        await seat.limited(resets_at=clock.now() + HOUR)
        assert len(await notices(hall, "seat_parked")) == 1
        assert await state(hall) == "parked"
        assert sorted(hall.lane.asked) == ["m-2", "w-1"]
        waiting = seat.parks(30)
        await clock.sleep(30.1)
        assert page_of(waiting).events == ()
        await clock.sleep(3_600 - 30)
        event = await seat.takes()
        assert event.source == "service-handoff"
        assert "stored" in event.content
        assert await seat.ack(taken) is SeatState.FAILED


@virtual
async def test_a_limit_without_a_reset_counts_for_an_hour_from_when_it_happened(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await clock.sleep(7_200)
        await seat.limited(occurred_at=clock.now() - 1.5 * HOUR)
        assert await state(hall) == "absent"
        await seat.limited(occurred_at=clock.now() - 0.5 * HOUR)
        assert await state(hall) == "parked"
        await clock.sleep(1_799)
        assert await state(hall) == "parked"
        await clock.sleep(62)
        assert await state(hall) == "absent"


@virtual
async def test_a_real_answer_takes_a_parked_seat_back_at_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(1)
        await seat.limited(resets_at=clock.now() + HOUR)
        before = seat.row(EntryKind.ASSISTANT, "from before", at=clock.now() - HOUR)
        await seat.sync(before)
        assert await state(hall) == "parked"
        await clock.sleep(1)
        await seat.says("it works again")
        assert await state(hall) == "live"
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        assert [one.id for one in page_of(waiting).events] == ["m-1"]


@virtual
async def test_a_limit_that_a_real_answer_follows_in_the_same_batch_parks_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        now = clock.now()
        met = Limited(window="weekly", occurred_at=now - 0.2 * HOUR, resets_at=now + HOUR)
        limit = seat.row(EntryKind.LIMIT, "You have hit your limit", limit=met)
        again = seat.row(EntryKind.ASSISTANT, "it works again", at=now - 0.1 * HOUR)
        await seat.sync(limit, again)
        assert await state(hall) == "live"


@virtual
@pytest.mark.parametrize("reset", [True, False])
async def test_a_limit_of_an_absurd_time_ends_all_the_same(
    clock: FakeClock, tmp_path: Path, *, reset: bool
) -> None:
    # proves: SEAT-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        never = datetime.max.replace(tzinfo=UTC)
        await seat.limited(never if reset else None, occurred_at=never)
        (view,) = await roster.listed(hall.house)
        assert view.seat.parked_until is not None
        assert clock.now() < view.seat.parked_until <= clock.now() + 31 * 24 * HOUR
        await clock.sleep(1)
        await seat.says("it works again")
        assert await state(hall) == "live"


@virtual
async def test_a_queue_at_a_parked_seat_keeps_its_grace_and_is_not_sent(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-8, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await hall.send("then this", "m-1", mode=Mode.QUEUE)
        await seat.limited(resets_at=clock.now() + HOUR)
        await clock.sleep(29)
        assert (await hall.receipt("m-1")).state is InputState.QUEUED
        await clock.sleep(2)
        found = await hall.receipt("m-1")
        assert (found.state, found.code) == (InputState.NOT_SENT, "seat_parked")
        assert hall.lane.asked == []


@virtual
async def test_a_parking_outlives_a_restart(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-6, FENCE-8
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.limited(resets_at=clock.now() + HOUR)
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, polls=100, rows=100)
        await seat.poll(1)
        standing = hall.house.seats.standing(HEAD)
        assert standing is not None
        assert standing.presence is Presence.ABSENT
        await clock.sleep(1)
        await seat.says("it works again")
        assert await state(hall) == "live"


@virtual
async def test_a_sync_that_nobody_can_tell_of_forgets_the_lanes_session(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-1, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        trouble(hall.house, "mail").plan("sync", lose())
        row = seat.row(EntryKind.ASSISTANT, "one")
        with pytest.raises(CommitUnknownError):
            await seat.sync(row)
        assert hall.lane.evicted == [HEAD]
        assert (await seat.sync(row)).duplicates == 1


@virtual
async def test_a_seat_that_was_let_go_still_answers_what_it_had_taken(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-6, SEC-4, HAND-1
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        await seat.attach(place)
        hall.lane.evicted.clear()
        await seat.answers(event, "hi there")
        assert await hall.said() == ["hi there"]
        assert [one for one in await hall.log(place) if one.get("role")] == []
        assert HEAD in hall.lane.evicted
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        # Nothing of it is open there any more, and the session is the head's.
        with pytest.raises(SessionConflictError):
            await seat.says("and more")
