"""Stopping: nothing new starts, turns may end, then they are cut and their outcomes written."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import ShuttingDownError
from clankie.core.ids import HEAD
from clankie.host import conversations
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.lane import ScriptedLane, answers, call, deaf, silence, waits
from fakes.loop import virtual
from fakes.trouble import pause_after, refuse, trouble

DRAIN = 15.0


@virtual
async def test_a_running_turn_may_end_and_what_waits_stays_for_the_next_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, clock)

    async def play(_request: TurnRequest, _host: TurnHost) -> LaneResult:
        await clock.sleep(DRAIN - 1)
        return LaneResult(text="just in time")

    async with machine.on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        await clock.sleep(1)
        await hall.house.captain.stop()
        assert (await hall.receipt("m-1")).state is InputState.SETTLED
        assert (await hall.receipt("m-2")).state is InputState.QUEUED
        assert hall.lane.asked == ["m-1"]
        assert hall.house.captain.stopping
    async with machine.on() as hall:
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-2"]


@virtual
async def test_after_the_deadline_turns_are_cut_and_their_outcomes_written(
    clock: FakeClock, tmp_path: Path
) -> None:
    machine, began = Machine(tmp_path, clock), clock.monotonic()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        host.draft("half")
        return await silence(request, host)

    async with machine.on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
    assert clock.monotonic() - began == DRAIN + 1
    async with machine.on() as hall:
        found = await hall.receipt("m-1")
        assert (found.state, found.code) == (InputState.FAILED, "service_stopped")
        assert [one["partial"] for one in await hall.log() if "partial" in one] == ["half"]
        assert hall.lane.asked == []


@virtual
async def test_an_answer_written_after_the_cut_counts(clock: FakeClock, tmp_path: Path) -> None:
    machine, done = Machine(tmp_path, clock), asyncio.Event()
    async with machine.on(ScriptedLane(deaf(done, answers("late but whole")))) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(hall.house.captain.stop())
            await clock.sleep(DRAIN + 1)
            done.set()
        assert (await hall.receipt("m-1")).state is InputState.SETTLED


@virtual
async def test_a_disk_that_takes_no_outcome_does_not_hold_the_end(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(silence)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        trouble(hall.house).plan("settle", *[refuse()] * 100)
    async with machine.on() as hall:
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN


@virtual
async def test_a_stopped_wake_is_tried_again_by_the_next_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(silence)) as hall:
        name = await hall.wake()
        await clock.sleep(61)
    async with machine.on() as hall:
        found = await hall.receipt(name)
        assert (found.state, found.held) == (InputState.QUEUED, None)
        assert (await hall.ended(name)).state is InputState.SETTLED


@virtual
async def test_a_wake_stopped_in_a_tool_is_held_for_the_owner(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    machine = Machine(tmp_path, clock)

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1")):
            return await silence(request, host)

    async with machine.on(ScriptedLane(play)) as hall:
        name = await hall.wake()
        await clock.sleep(61)
    async with machine.on() as hall:
        await clock.sleep(3_600)
        assert (await hall.receipt(name)).held == "cut_off_after_tool"
        assert hall.lane.asked == []


@virtual
async def test_a_turn_that_was_only_prepared_when_the_stop_came_waits_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        prepared, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house).plan("reserve", pause_after(prepared, go))
        await hall.send("one", "m-1")
        await prepared.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(hall.house.captain.stop())
            await clock.sleep(1)
            go.set()
        found = await hall.receipt("m-1")
        assert found.state is InputState.QUEUED
        assert [(one.state, one.code) for one in found.attempts] == [
            (ServiceState.RELEASED, "service_stopped")
        ]
        assert hall.lane.asked == []
    async with machine.on() as hall:
        assert (await hall.ended("m-1")).state is InputState.SETTLED


@virtual
async def test_nothing_is_changed_any_more_once_it_stops(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        by = (await hall.send("one", "m-1")).delivery.author
        await hall.ended("m-1")
        await hall.house.captain.stop()
        for verb in (
            lambda: hall.make("other"),
            lambda: conversations.rename(hall.house, HEAD, "x", 1),
            lambda: conversations.reset(hall.house, HEAD, 1, by),
            lambda: conversations.close(hall.house, HEAD, by),
        ):
            with pytest.raises(ShuttingDownError):
                await verb()


@virtual
async def test_an_end_without_a_stop_leaves_what_runs_uncertain(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7, FENCE-8
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(waits(asyncio.Event()))) as hall:
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        await clock.sleep(1)
        die()
    async with machine.on() as hall:
        found = await hall.receipt("m-1")
        assert found.state is InputState.UNCERTAIN
        assert [one.state for one in found.attempts] == [ServiceState.UNCERTAIN]
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-2"]
