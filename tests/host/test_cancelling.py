"""Cancelling: what waits ends at once, what runs is asked, and the outcome is the true one."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import ConversationNotFoundError, DeliveryNotFoundError
from clankie.core.ids import HEAD
from clankie.host.cancel import CancelOutcome, cancel
from clankie.host.dispatch import CANCEL_GRACE
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, answers, deaf, silence, waits
from fakes.loop import virtual
from fakes.trouble import honest, pause_after, pause_before, refuse, trouble


@virtual
async def test_what_still_waits_is_cancelled_and_never_asked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    first = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(first))) as hall:
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        await clock.sleep(1)
        answer = await cancel(hall.house, HEAD, "m-2")
        assert answer.outcome is CancelOutcome.CANCELLED
        assert answer.delivery is not None
        assert answer.delivery.state is InputState.CANCELLED
        assert answer.delivery.attempts == ()
        first.set()
        await hall.ended("m-1")
        await clock.sleep(60)
        assert hall.lane.asked == ["m-1"]
        assert await hall.phases("m-2") == ["admitted", "cancelled"]


@pytest.mark.parametrize("named", [True, False])
def test_what_runs_is_asked_to_end_and_keeps_what_it_wrote(tmp_path: Path, named: bool) -> None:
    # proves: FENCE-13
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
            host.draft("half an ")
            return await silence(request, host)

        async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
            await hall.send("one", "m-1")
            await clock.sleep(1)
            answer = await cancel(hall.house, HEAD, "m-1" if named else None)
            assert answer.outcome is CancelOutcome.REQUESTED
            ended = await hall.ended("m-1")
            assert (ended.state, ended.code) == (InputState.CANCELLED, "operator_interrupt")
            last = (await hall.log())[-1]
            assert (last["phase"], last["partial"]) == ("cancelled", "half an ")
            assert hall.lane.evicted == [HEAD]
            await hall.send("go on", "m-2")
            assert (await hall.ended("m-2")).state is InputState.SETTLED

    scenario()


@virtual
async def test_an_answer_that_came_in_spite_of_the_cancelling_is_shown(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(deaf(done, answers("done")))) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        done.set()
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert await hall.said() == ["done"]


@virtual
async def test_a_turn_that_does_not_heed_is_cut_off_after_its_grace(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(deaf(done))) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        await cancel(hall.house, HEAD)
        await clock.sleep(CANCEL_GRACE - 0.001)
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await clock.sleep(0.001)
        assert (await hall.ended("m-1", 1)).state is InputState.CANCELLED
        before = await hall.log()
        done.set()
        await clock.sleep(1)
        assert await hall.log() == before


@virtual
async def test_cancelling_a_member_ends_the_run_it_joined(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-13, FENCE-8
    go, joined = asyncio.Event(), asyncio.Event()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        await go.wait()
        await host.steered()
        joined.set()
        return await silence(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        await hall.steer("more", "m-2")
        go.set()
        await joined.wait()
        assert (await cancel(hall.house, HEAD, "m-2")).outcome is CancelOutcome.REQUESTED
        assert (await hall.ended("m-2")).state is InputState.CANCELLED
        assert (await hall.ended("m-1")).state is InputState.CANCELLED


@virtual
async def test_nothing_is_cancelled_where_nothing_runs(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        assert (await cancel(hall.house, HEAD)).outcome is CancelOutcome.NOTHING
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        before = await hall.log()
        answer = await cancel(hall.house, HEAD, "m-1")
        assert answer.outcome is CancelOutcome.NOTHING
        assert answer.delivery is not None
        assert answer.delivery.state is InputState.SETTLED
        assert await hall.log() == before


@virtual
async def test_a_settled_delivery_does_not_cancel_the_one_that_runs(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    first = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(answers("ok"), waits(first))) as hall:
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        await hall.send("two", "m-2")
        await clock.sleep(1)
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.NOTHING
        first.set()
        assert (await hall.ended("m-2")).state is InputState.SETTLED


@virtual
async def test_a_delivery_of_another_conversation_is_not_found_here(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        other = await hall.make("other")
        await hall.send("one", "m-1")
        await clock.sleep(1)
        with pytest.raises(DeliveryNotFoundError):
            await cancel(hall.house, other, "m-1")
        with pytest.raises(DeliveryNotFoundError):
            await cancel(hall.house, HEAD, "m-9")
        with pytest.raises(ConversationNotFoundError):
            await cancel(hall.house, "nowhere")
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await cancel(hall.house, HEAD)


@virtual
async def test_what_is_being_prepared_is_cancelled_without_being_asked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        prepared, go = asyncio.Event(), asyncio.Event()
        stands = trouble(hall.house)
        stands.plan("reserve", pause_after(prepared, go))
        stands.plan("cancel_waiting", honest(), refuse())
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        await prepared.wait()
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        go.set()
        ended = await hall.ended("m-1", 5)
        assert ended.state is InputState.CANCELLED
        assert [one.state for one in ended.attempts] == [ServiceState.RELEASED]
        await hall.ended("m-2")
        assert hall.lane.asked == ["m-2"]


@virtual
async def test_a_message_cancelled_while_its_start_is_written_asks_no_model(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on() as hall:
        starting, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house).plan("start", pause_before(starting, go))
        await hall.send("one", "m-1")
        await starting.wait()
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        go.set()
        assert (await hall.ended("m-1", 5)).state is InputState.CANCELLED
        assert hall.lane.asked == []
