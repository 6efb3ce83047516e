"""The watchdog: silence ends a run at its limit, work never does."""

import asyncio
import logging
from pathlib import Path

import pytest

from clankie.core.delivery import InputState, ServiceState
from clankie.core.ids import HEAD
from clankie.core.watchdog import Phase
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, answers, call, deaf, silence
from fakes.loop import virtual

IDLE = 300.0


@virtual
async def test_a_silent_run_stalls_at_the_limit_and_not_a_moment_before(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-2, SERV-3
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        await clock.sleep(IDLE - 0.001)
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        assert hall.lane.asked == ["m-1"]
        await clock.sleep(0.001)
        ended = await hall.ended("m-1", 1)
        assert (ended.state, ended.code) == (InputState.FAILED, "conversation_turn_stalled")
        assert ended.attempts[0].state is ServiceState.STALLED
        assert ended.detail == (
            "There was no sign of life for 5 minutes (phase execution). "
            "What it did before is not known in full."
        )
        assert hall.lane.evicted == [HEAD]
        assert (await hall.ended("m-2", 1)).state is InputState.SETTLED


@virtual
async def test_signs_of_life_renew_the_limit_without_end(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SERV-2
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        for _ in range(50):
            await clock.sleep(IDLE - 1)
            host.progress()
            await clock.sleep(IDLE - 1)
            host.draft("word ")
        return LaneResult(text="done")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        assert (await hall.ended("m-1")).state is InputState.SETTLED


@virtual
async def test_what_waits_uses_up_none_of_its_own_limit(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SERV-2
    async def play(request: TurnRequest, _host: TurnHost) -> LaneResult:
        await clock.sleep(IDLE - 1)
        return LaneResult(text=request.delivery.id)

    async with Machine(tmp_path, clock).on(ScriptedLane(play, play, play)) as hall:
        for number in (1, 2, 3):
            await hall.send(f"message {number}", f"m-{number}")
        await hall.ended("m-3")
        assert await hall.said() == ["m-1", "m-2", "m-3"]


@virtual
async def test_a_running_tool_suspends_it_and_a_full_window_begins_at_its_end(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-2
    tool_ended = asyncio.Event()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1")), host.tool(call("c-2")):
            await clock.sleep(3 * IDLE)
        tool_ended.set()
        return await silence(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(2 * IDLE)
        assert hall.running().turn.marks.tools == {"c-1", "c-2"}
        await tool_ended.wait()
        await clock.sleep(IDLE - 1)
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await clock.sleep(1)
        assert (await hall.ended("m-1", 1)).code == "conversation_turn_stalled"


@virtual
async def test_what_a_stalled_run_does_later_changes_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-3
    done, seen = asyncio.Event(), list[str]()

    async def late(request: TurnRequest, host: TurnHost) -> LaneResult:
        for name, work in (
            ("draft", lambda: _draft(host)),
            ("steered", host.steered),
            ("projection", host.projection),
            ("self_state", host.self_state),
            ("wake", lambda: host.schedule_wake(due_at=clock.now(), text="x", call_id="c-9")),
            ("tool", lambda: _use(host)),
        ):
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - whatever refuses it
                seen.append(f"{name}: {type(error).__name__}")
        host.progress()
        return await answers("late")(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(deaf(done, late))) as hall:
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        before = await hall.log()
        done.set()
        await clock.sleep(1)
        assert seen == [
            *("draft: TurnOverError", "steered: TurnOverError", "projection: TurnOverError"),
            *("self_state: TurnOverError", "wake: TurnOverError", "tool: TurnOverError"),
        ]
        assert await hall.log() == before
        assert (await hall.receipt("m-1")).state is InputState.FAILED
        await hall.send("two", "m-2")
        await hall.ended("m-2")
        assert await hall.said() == ["re: two"]


async def _draft(host: TurnHost) -> None:
    host.draft("late words")


async def _use(host: TurnHost) -> None:
    async with host.tool(call("c-9")):
        raise AssertionError("it must not run")


@virtual
async def test_the_log_of_the_service_names_conversation_run_and_phase(
    clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # proves: SERV-3
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        with caplog.at_level(logging.WARNING, "clankie"):
            await hall.send("one", "m-1")
            await hall.ended("m-1")
        said = [one for one in caplog.records if one.message == "conversation_turn_stalled"]
        assert [one.__dict__["fields"] for one in said] == [
            {"conversation": HEAD, "run": "m-1#1", "phase": Phase.EXECUTION}
        ]


@virtual
async def test_other_conversations_do_not_notice_a_stalled_one(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-3
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        other = await hall.make("other")
        await hall.send("one", "m-1")
        await clock.sleep(IDLE - 1)

        async def busy(_request: TurnRequest, host: TurnHost) -> LaneResult:
            for _ in range(4):
                await clock.sleep(IDLE / 2)
                host.progress()
            return LaneResult(text="done")

        hall.lane.plays(busy)
        await hall.send("two", "m-2", conversation=other)
        assert (await hall.ended("m-1")).state is InputState.FAILED
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert hall.lane.evicted == [HEAD]


@virtual
async def test_a_machine_that_slept_was_not_silent(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SERV-2
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(IDLE / 2)
        clock.shift(9 * 3_600)
        await clock.sleep(IDLE / 2 - 1)
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await clock.sleep(1)
        assert (await hall.ended("m-1", 1)).state is InputState.FAILED
