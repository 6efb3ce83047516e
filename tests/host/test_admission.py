"""Admission through the whole house: what is promised is on disk, and is promised once."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.admission import Mode, Origin
from clankie.core.delivery import InputState
from clankie.core.errors import (
    BackpressureError,
    CommitUnknownError,
    DeliveryConflictError,
    ReceiptExpiredError,
    RevisionConflictError,
    ShuttingDownError,
    StorageUnavailableError,
    UnconfirmedError,
)
from clankie.core.settings import DAY
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.lane import ScriptedLane, fails, waits
from fakes.loop import virtual
from fakes.trouble import lose, pause_after, refuse, trouble


@virtual
async def test_a_message_is_answered_once(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-1, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        admitted = await hall.send("hello", "m-1")
        assert admitted.fresh
        assert (admitted.revision, admitted.delivery.state) == (1, InputState.QUEUED)
        ended = await hall.ended("m-1")
        assert ended.state is InputState.SETTLED
        assert hall.lane.asked == ["m-1"]
        assert await hall.said() == ["re: hello"]
        assert await hall.phases("m-1") == ["admitted", "started", "completed"]
        log = await hall.log()
        assert log[ended.reply_cursor or 0 - 1]["cursor"] == (ended.reply_cursor or 0) + 1
        assert log[(ended.reply_cursor or 0) - 1]["author"]["principal"] == "captain"


@virtual
async def test_the_same_id_again_gets_the_receipt_and_no_second_answer(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("hello", "m-1", expected_revision=0)
        again = await hall.send(" hello\r\n", "m-1", expected_revision=0)
        assert not again.fresh
        await hall.ended("m-1")
        known = await hall.send("hello", "m-1", expected_revision=0)
        assert (known.delivery.state, known.revision) == (InputState.SETTLED, 1)
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_the_same_id_with_other_words_is_refused(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("hello", "m-1")
        before = await hall.log()
        with pytest.raises(DeliveryConflictError):
            await hall.send("goodbye", "m-1")
        with pytest.raises(DeliveryConflictError):
            await hall.send("hello", "m-1", mode=Mode.QUEUE)
        assert (await hall.log())[: len(before)] == before
        assert len([one for one in await hall.log() if one.get("role") == "owner"]) == 1


@virtual
async def test_equal_words_under_a_new_id_are_a_new_message(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("again", "m-1")
        await hall.send("again", "m-2")
        await hall.ended("m-2")
        assert hall.lane.asked == ["m-1", "m-2"]


@virtual
async def test_a_client_that_is_behind_is_told_where_the_conversation_stands(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-5
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("one", "m-1", expected_revision=0)
        await hall.ended("m-1")
        with pytest.raises(RevisionConflictError) as refused:
            await hall.send("two", "m-2", expected_revision=0)
        assert refused.value.facts == {"revision": 1, "cursor": 5}
        assert (await hall.send("two", "m-2", expected_revision=1)).revision == 2


@virtual
async def test_of_two_sends_that_saw_the_same_revision_one_is_refused(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-5
    async with Machine(tmp_path, clock).on() as hall:
        both = await asyncio.gather(
            hall.send("one", "m-1", expected_revision=0),
            hall.send("two", "m-2", expected_revision=0),
            return_exceptions=True,
        )
        assert isinstance(both[1], RevisionConflictError)
        await hall.ended("m-1")
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_an_automatic_repeat_of_what_is_uncertain_is_unconfirmed(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-10, FENCE-7
    machine, never = Machine(tmp_path, clock), asyncio.Event()
    async with machine.on(ScriptedLane(waits(never))) as hall:
        await hall.send("pay the bill", "m-1")
        await clock.sleep(1)
        die()
    async with machine.on() as hall:
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
        assert (await hall.send("pay the bill", "m-1")).delivery.state is InputState.UNCERTAIN
        for delivery_id, text, automatic in (
            ("m-1", "pay the bill", True),
            ("m-1", "pay another bill", False),
            ("m-2", "pay the bill", True),
        ):
            with pytest.raises(UnconfirmedError) as blocked:
                await hall.send(text, delivery_id, automatic=automatic)
            assert blocked.value.facts == {"blocker": "m-1"}
        # The owner may say the same words anew, and unrelated input goes on.
        await hall.send("pay the bill", "m-3")
        await hall.send("and hello", "m-4", automatic=True)
        await hall.ended("m-4")
        assert hall.lane.asked == ["m-3", "m-4"]


@virtual
async def test_a_pruned_id_says_so_and_dispatches_nothing(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        clock.shift(7 * DAY)
        await clock.sleep(DAY + 1)
        with pytest.raises(ReceiptExpiredError):
            await hall.send("hello", "m-1")
        with pytest.raises(DeliveryConflictError):
            await hall.send("other", "m-1")
        with pytest.raises(ReceiptExpiredError):
            await hall.receipt("m-1")
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_nothing_is_pruned_before_its_week_is_over(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        clock.shift(6 * DAY - 60)
        await clock.sleep(DAY + 1)
        assert (await hall.receipt("m-1")).state is InputState.SETTLED


@virtual
async def test_more_than_may_wait_is_refused_and_not_recorded(
    clock: FakeClock, tmp_path: Path
) -> None:
    override = {"queue": {"conversation": 1}}
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done)), override=override) as hall:
        await hall.send("runs", "m-1")
        await clock.sleep(1)
        await hall.send("waits", "m-2")
        with pytest.raises(BackpressureError):
            await hall.send("too much", "m-3")
        assert not (await hall.send("waits", "m-2")).fresh
        done.set()
        await hall.ended("m-2")
        await hall.send("fits again", "m-3")
        assert (await hall.ended("m-3")).state is InputState.SETTLED


@virtual
async def test_a_failed_message_can_be_sent_again_as_a_new_one_that_names_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7
    async with Machine(tmp_path, clock).on(ScriptedLane(fails("model_unreachable"))) as hall:
        await hall.send("hello", "m-1")
        assert (await hall.ended("m-1")).state is InputState.FAILED
        again = await hall.send("hello", "m-2", retry_of="m-1")
        assert again.delivery.retry_of == "m-1"
        assert (await hall.ended("m-2")).state is InputState.SETTLED


@virtual
async def test_a_house_that_goes_down_admits_nothing(clock: FakeClock, tmp_path: Path) -> None:
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        await hall.house.captain.stop()
        with pytest.raises(ShuttingDownError):
            await hall.send("too late", "m-1")
    async with machine.on() as hall:
        assert await hall.log() == []


@virtual
async def test_a_refusing_disk_records_nothing(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        trouble(hall.house).plan("admit", refuse())
        with pytest.raises(StorageUnavailableError):
            await hall.send("hello", "m-1")
        assert await hall.log() == []
        assert (await hall.send("hello", "m-1")).fresh
        assert (await hall.ended("m-1")).state is InputState.SETTLED


@virtual
async def test_what_was_stored_although_nobody_could_tell_runs_all_the_same(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        trouble(hall.house).plan("admit", lose())
        with pytest.raises(CommitUnknownError):
            await hall.send("hello", "m-1")
        assert (await hall.ended("m-1", 10)).state is InputState.SETTLED
        assert not (await hall.send("hello", "m-1")).fresh


@virtual
async def test_what_was_stored_for_a_client_that_went_away_runs_all_the_same(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        gone = asyncio.Event()
        trouble(hall.house).plan("admit", pause_after(gone, asyncio.Event()))
        async with asyncio.TaskGroup() as tasks:
            client = tasks.create_task(hall.send("hello", "m-1"))
            await gone.wait()
            client.cancel()
        assert (await hall.ended("m-1", 10)).state is InputState.SETTLED


@virtual
async def test_inputs_of_the_house_raise_no_revision(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-5
    async with Machine(tmp_path, clock).on() as hall:
        await hall.wake(due_at=clock.now() + timedelta(seconds=40))
        await clock.sleep(60)
        log = await hall.log()
        assert [one["role"] for one in log if one["kind"] == "message"] == ["external", "agent"]
        assert log[0]["source"] == Origin.WAKE
        assert (await hall.send("hello", "m-1", expected_revision=0)).revision == 1
