"""One thing at a time in a conversation, all conversations side by side, and steering."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Mode
from clankie.core.delivery import InputState, ServiceState
from clankie.core.ids import HEAD
from clankie.host.cancel import CancelOutcome, cancel
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, answers, fails, steers, waits
from fakes.loop import virtual
from fakes.trouble import honest, pause_after, pause_before, trouble


@virtual
async def test_a_conversation_runs_one_message_after_the_other(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-5
    first = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(first))) as hall:
        await hall.send("message 1", "m-1")
        await clock.sleep(1)
        for number in range(2, 5):
            await hall.send(f"message {number}", f"m-{number}")
        await clock.sleep(10)
        assert hall.lane.asked == ["m-1"]
        first.set()
        await hall.ended("m-4")
        assert hall.lane.asked == ["m-1", "m-2", "m-3", "m-4"]
        turns = [one["phase"] for one in await hall.log() if one["kind"] == "turn"]
        assert turns == [
            *("admitted", "started", "admitted", "admitted", "admitted", "completed"),
            *["started", "completed"] * 3,
        ]


@virtual
async def test_conversations_run_side_by_side(clock: FakeClock, tmp_path: Path) -> None:
    # proves: CONV-5
    first = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(first))) as hall:
        other = await hall.make("other")
        await hall.send("stuck", "m-1")
        await clock.sleep(1)
        await hall.send("free", "m-2", conversation=other)
        assert (await hall.ended("m-2", 1)).state is InputState.SETTLED
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        assert await hall.said(other) == ["re: free"]
        first.set()
        await hall.ended("m-1")


@virtual
async def test_what_arrives_in_the_last_moment_of_a_turn_is_not_forgotten(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        # The second look finds nothing any more; its answer is late.
        looked, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house).plan("reserve", honest(), pause_after(looked, go))
        await hall.send("hello", "m-1")
        await looked.wait()
        await hall.send("just in time", "m-2")
        go.set()
        await clock.sleep(1)
        assert (await hall.receipt("m-2")).state is InputState.SETTLED


@virtual
async def test_a_steering_message_joins_the_turn_that_runs(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8
    go = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(steers(go))) as hall:
        await hall.send("dinner", "m-1")
        await clock.sleep(1)
        await hall.send("later", "m-2", mode=Mode.QUEUE)
        await hall.steer("without fish", "m-3")
        go.set()
        member = await hall.ended("m-3")
        assert (member.state, member.absorbed_by) == (InputState.ABSORBED, "steer")
        assert member.reply_delivery_id == "m-1"
        assert member.reply_cursor == (await hall.receipt("m-1")).reply_cursor
        assert [(one.state, one.into) for one in member.attempts] == [
            (ServiceState.COMPLETED, "m-1")
        ]
        await hall.ended("m-2")
        assert hall.lane.asked == ["m-1", "m-2"]
        assert await hall.said() == ["dinner + without fish", "re: later"]


@virtual
async def test_a_steering_message_that_comes_too_late_is_the_next_turn(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8
    first, go = asyncio.Event(), asyncio.Event()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        assert await host.steered() == ()
        first.set()
        await go.wait()
        return LaneResult(text=f"re: {request.delivery.text}")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("dinner", "m-1")
        await hall.send("later", "m-2")
        await first.wait()
        await hall.steer("without fish", "m-3")
        go.set()
        assert (await hall.ended("m-3")).state is InputState.SETTLED
        await hall.ended("m-2")
        # It steers, so it goes before what was only queued.
        assert hall.lane.asked == ["m-1", "m-3", "m-2"]


@virtual
async def test_what_joins_while_its_run_is_cancelled_is_told_all_the_same(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8, FENCE-13
    async def deaf_to_it(request: TurnRequest, host: TurnHost) -> LaneResult:
        try:
            await host.steered()
        except asyncio.CancelledError:
            joined = [one.text for one in await host.steered()]
            return LaneResult(text=" + ".join([request.delivery.text, *joined]))
        raise AssertionError("it was cancelled")

    async with Machine(tmp_path, clock).on(ScriptedLane(deaf_to_it)) as hall:
        joining, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house).plan("join", pause_before(joining, go))
        await hall.send("dinner", "m-1")
        await joining.wait()
        await hall.steer("without fish", "m-2")
        assert (await cancel(hall.house, HEAD)).outcome is CancelOutcome.REQUESTED
        go.set()
        assert (await hall.ended("m-2")).state is InputState.ABSORBED
        assert await hall.said() == ["dinner + without fish"]


@virtual
async def test_a_steering_message_without_a_turn_is_an_ordinary_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8
    async with Machine(tmp_path, clock).on() as hall:
        await hall.steer("hello", "m-1")
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert await hall.said() == ["re: hello"]


@pytest.mark.parametrize("code", ["model_unreachable", "answer_too_long"])
def test_a_member_fails_with_the_run_it_joined(tmp_path: Path, code: str) -> None:
    # proves: FENCE-8
    @virtual
    async def scenario(clock: FakeClock) -> None:
        go = asyncio.Event()

        async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
            await go.wait()
            await host.steered()
            return await fails(code)(request, host)

        async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
            await hall.send("dinner", "m-1")
            await clock.sleep(1)
            await hall.steer("without fish", "m-2")
            go.set()
            member = await hall.ended("m-2")
            assert (member.state, member.code) == (InputState.FAILED, code)
            assert hall.lane.asked == ["m-1"]

    scenario()


@virtual
async def test_an_owner_is_told_when_the_model_said_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(answers(" \n"))) as hall:
        await hall.send("hello", "m-1")
        ended = await hall.ended("m-1")
        assert (ended.state, ended.code) == (InputState.FAILED, "answer_empty")
        assert await hall.said() == []


@virtual
async def test_a_turn_sees_the_log_without_its_own_words_and_without_what_waits(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-3, CONV-6
    seen: list[list[str]] = []

    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        projection = await host.projection()
        seen.append([one.line.partition("] ")[2] for one in projection.entries])
        return LaneResult(text="seen")

    async with Machine(tmp_path, clock).on(ScriptedLane(play, play)) as hall:
        await asyncio.gather(*(hall.send(f"word {n}", f"m-{n}") for n in (1, 2, 3)))
        await hall.ended("m-3")
        assert seen == [[], ["owner: word 1", "you: seen"]]
