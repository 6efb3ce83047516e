"""Wakes: due in their time, tried again with growing waits, then held until something changes."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import CommitUnknownError, WakeNotFoundError
from clankie.core.ids import HEAD
from clankie.host import credentials, deliveries, settings, wakes
from clankie.host.cancel import CancelOutcome, cancel
from clankie.host.ports import LaneError, LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.lane import ScriptedLane, call, fails, silence, steers
from fakes.loop import virtual
from fakes.trouble import lose, pause_after, pause_before, refuse, trouble

HOUR = 3_600.0


@virtual
async def test_a_wake_runs_when_it_is_due_and_not_before(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        name = await hall.wake("look at the oven")
        await clock.sleep(59.999)
        assert hall.lane.asked == []
        await clock.sleep(0.002)
        ended = await hall.ended(name)
        assert ended.state is InputState.SETTLED
        assert (ended.admitted_at - clock.now()).total_seconds() > -1
        assert await wakes.listed(hall.house) == []
        assert await hall.phases(name) == ["admitted", "started", "completed"]


@virtual
async def test_a_wake_set_while_another_is_waited_for_comes_first(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        late = await hall.wake("late", "w-1", due_at=clock.now() + timedelta(hours=2))
        await clock.sleep(10)
        early = await hall.wake("early", "w-2", due_at=clock.now() + timedelta(seconds=30))
        await clock.sleep(31)
        assert hall.lane.asked == [early]
        await clock.sleep(2 * HOUR)
        assert hall.lane.asked == [early, late]


@virtual
async def test_failed_wakes_back_off_and_then_hold(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-12
    asked = list[float]()

    async def play(_request: TurnRequest, _host: TurnHost) -> LaneResult:
        asked.append(clock.monotonic())
        await clock.sleep(7)
        raise LaneError("model_unreachable", "Nobody answers.")

    async with Machine(tmp_path, clock).on(ScriptedLane(*[play] * 9)) as hall:
        name = await hall.wake("look at the oven")
        await clock.sleep(60 + 7 + 1)
        waiting = (await wakes.listed(hall.house))[0]
        assert (waiting.id, waiting.held, waiting.delivery_id) == ("w-1", None, name)
        retry = await hall.receipt(name)
        assert retry.not_before == clock.now() + timedelta(seconds=4)
        await clock.sleep(HOUR)
        # At 60 s; 5 s and then 10 s after each of them had settled.
        assert asked == pytest.approx([60.0, 60 + 7 + 5, 60 + 7 + 5 + 7 + 10], abs=0.01)
        held = (await wakes.listed(hall.house))[0]
        assert (held.due_at, held.held) == (waiting.due_at, "attempts_exhausted")
        found = await hall.receipt(name)
        assert (found.state, found.held) == (InputState.QUEUED, "attempts_exhausted")
        assert [one.state for one in found.attempts] == [ServiceState.FAILED] * 3
        log = await hall.log()
        assert [one["text"] for one in log if one["kind"] == "message"] == ["look at the oven"]
        assert await hall.phases(name) == ["admitted", *["started", "failed"] * 3]
        assert (await hall.house.store.conversations.get(HEAD)).state == "held"


@virtual
async def test_a_failed_wake_waits_from_the_moment_at_which_its_failure_is_stored(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on(ScriptedLane(fails("x"))) as hall:
        trouble(hall.house).plan("settle", *[refuse()] * 6)
        name = await hall.wake()
        await clock.sleep(61)
        first, second = (await hall.ended(name, HOUR)).attempts
        assert first.ended_at is not None
        assert second.started_at - first.ended_at >= timedelta(seconds=5)


@virtual
async def test_a_failed_owner_message_is_never_tried_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on(ScriptedLane(fails("model_unreachable"))) as hall:
        await hall.send("one", "m-1")
        assert (await hall.ended("m-1")).state is InputState.FAILED
        await clock.sleep(HOUR)
        assert hall.lane.asked == ["m-1"]


@virtual
async def test_a_rejected_credential_holds_after_one_attempt(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on(
        ScriptedLane(fails("model_credential_rejected"))
    ) as hall:
        name = await hall.wake()
        await clock.sleep(HOUR)
        assert (await hall.receipt(name)).held == "credential_rejected"
        assert hall.lane.asked == [name]
        await credentials.put(hall.house, "openai", "https://api.example.com/v1", "secret")
        assert (await hall.ended(name, 1)).state is InputState.SETTLED


@virtual
async def test_a_new_credential_frees_nothing_that_was_held_for_another_reason(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on(ScriptedLane(*[fails("x")] * 3)) as hall:
        name = await hall.wake()
        await clock.sleep(HOUR)
        await credentials.put(hall.house, "openai", "https://api.example.com", "secret")
        await clock.sleep(HOUR)
        assert (await hall.receipt(name)).held == "attempts_exhausted"


async def _release(hall: Hall) -> None:
    assert await wakes.release(hall.house, HEAD) == 1


async def _change_model(hall: Hall) -> None:
    await settings.patch(hall.house, {"models": {"model": "openai-chat:any"}}, 0)


@pytest.mark.parametrize("change", [_release, _change_model])
def test_a_change_frees_a_held_wake_with_a_fresh_count(
    tmp_path: Path, change: Callable[[Hall], Awaitable[None]]
) -> None:
    # proves: FENCE-12
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on(ScriptedLane(*[fails("x")] * 6)) as hall:
            name = await hall.wake()
            await clock.sleep(HOUR)
            assert len(hall.lane.asked) == 3
            await change(hall)
            await clock.sleep(1)
            assert len(hall.lane.asked) == 4
            await clock.sleep(HOUR)
            assert len(hall.lane.asked) == 6
            assert (await hall.receipt(name)).held == "attempts_exhausted"
            await change(hall) if change is _release else await _release(hall)
            assert (await hall.ended(name, 1)).state is InputState.SETTLED
            assert len([one for one in await hall.log() if one.get("role") == "external"]) == 1

    scenario()


@pytest.mark.parametrize("gone", [True, False], ids=["client gone", "answer lost"])
def test_what_was_set_free_runs_although_nobody_heard_of_it(tmp_path: Path, gone: bool) -> None:
    # proves: FENCE-12
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on(ScriptedLane(*[fails("x")] * 3)) as hall:
            name = await hall.wake()
            await clock.sleep(HOUR)
            freed, go = asyncio.Event(), asyncio.Event()
            stands = trouble(hall.house)
            stands.plan("release_held", pause_after(freed, go) if gone else lose())
            async with asyncio.TaskGroup() as tasks:
                request = tasks.create_task(_quietly(wakes.release(hall.house)))
                if gone:
                    await freed.wait()
                    request.cancel()
                    go.set()
            assert (await hall.ended(name, 1)).state is InputState.SETTLED

    scenario()


async def _quietly(request: Awaitable[object]) -> None:
    with contextlib.suppress(CommitUnknownError):
        await request


@virtual
async def test_a_wake_that_failed_after_an_effect_waits_for_the_owner(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12, SERV-7
    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1", effect=True)) as report:
            report.detail = "posted"
        return await fails("model_unreachable")(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        name = await hall.wake()
        await clock.sleep(HOUR)
        found = await hall.receipt(name)
        assert (found.held, found.to_wire()["detail"]) == (
            "failed_after_effect",
            "It is held: failed_after_effect.",
        )
        assert hall.lane.asked == [name]


@pytest.mark.parametrize(("tool", "held"), [(False, None), (True, "cut_off_after_tool")])
def test_a_stalled_wake_is_tried_again_only_if_no_tool_had_started(
    tmp_path: Path, tool: bool, held: str | None
) -> None:
    # proves: FENCE-12
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
            if tool:
                async with host.tool(call("c-1")) as report:
                    report.detail = "seen"
            return await silence(request, host)

        async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
            name = await hall.wake()
            await clock.sleep(60 + 300 + 1)
            found = await hall.receipt(name)
            assert (found.state, found.held) == (InputState.QUEUED, held)
            await clock.sleep(HOUR)
            assert len(hall.lane.asked) == (1 if tool else 2)

    scenario()


@virtual
async def test_a_tool_whose_start_was_being_written_when_the_run_was_cut_counts_as_started(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12, SERV-7
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1", effect=True)):
            raise AssertionError("it must not run")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        stands = trouble(hall.house)
        stands.plan("tool_started", pause_after(asyncio.Event(), asyncio.Event()))
        name = await hall.wake()
        await clock.sleep(60 + 300 + 1)
        found = await hall.receipt(name)
        assert [one.state for one in found.attempts[0].tools] == ["uncertain"]
        assert found.held == "cut_off_after_tool"


@virtual
async def test_a_wake_cut_short_by_a_crash_is_uncertain_and_never_tried_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(silence)) as hall:
        name = await hall.wake()
        await clock.sleep(61)
        die()
    async with machine.on() as hall:
        await clock.sleep(HOUR)
        assert (await hall.receipt(name)).state is InputState.UNCERTAIN
        assert await wakes.release(hall.house) == 0
        await clock.sleep(HOUR)
        assert hall.lane.asked == []
        assert (await deliveries.abandon(hall.house, name)).state is InputState.ABANDONED


@virtual
async def test_wakes_that_came_due_while_nothing_ran_all_run_at_the_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    machine = Machine(tmp_path, clock)
    async with machine.on(override={"wakes": {"waiting": 100}}) as hall:
        names = [await hall.wake(f"wake {n}", f"w-{n:03}") for n in range(70)]
        far = await hall.wake("far", "w-far", due_at=clock.now() + timedelta(hours=20))
    clock.shift(HOUR)
    async with machine.on() as hall:
        for name in names:
            await hall.ended(name, 30)
        assert hall.lane.asked == names
        assert far not in hall.lane.asked


@virtual
async def test_a_wake_due_while_the_machine_slept_runs_soon_after(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        name = await hall.wake("morning", due_at=clock.now() + timedelta(hours=8))
        await clock.sleep(10)
        clock.shift(9 * HOUR)
        await clock.sleep(60)
        assert (await hall.ended(name, 1)).state is InputState.SETTLED


@virtual
async def test_a_wake_that_comes_due_while_others_are_let_in_is_not_passed_over(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        admitting, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house).plan("admit", pause_before(admitting, go))
        first = await hall.wake("first", "w-1")
        second = await hall.wake("second", "w-2", due_at=clock.now() + timedelta(seconds=61))
        await admitting.wait()
        await clock.sleep(5)
        go.set()
        await clock.sleep(1)
        assert hall.lane.asked == [first, second]


@virtual
async def test_a_removed_wake_does_not_run(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        await hall.wake()
        await clock.sleep(30)
        await wakes.remove(hall.house, "w-1")
        await clock.sleep(HOUR)
        assert hall.lane.asked == []
        assert await hall.log() == []
        with pytest.raises(WakeNotFoundError):
            await wakes.remove(hall.house, "w-1")


@virtual
async def test_a_wake_removed_in_its_last_moment_does_not_run_and_others_do(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        admitting, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house).plan("admit", pause_before(admitting, go))
        await hall.wake("removed", "w-1")
        other = await hall.wake("stays", "w-2")
        await admitting.wait()
        await wakes.remove(hall.house, "w-1")
        go.set()
        await clock.sleep(HOUR)
        assert hall.lane.asked == [other]


@virtual
async def test_a_wake_whose_name_is_taken_by_other_words_is_dropped(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("something else", "captain/w-1")
        await hall.wake()
        other = await hall.wake("fine", "w-2")
        await clock.sleep(HOUR)
        assert hall.lane.asked == ["captain/w-1", other]
        assert await wakes.listed(hall.house) == []


@virtual
async def test_an_admitted_wake_that_waits_for_its_retry_can_be_cancelled(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-13
    async with Machine(tmp_path, clock).on(ScriptedLane(fails("x"))) as hall:
        name = await hall.wake()
        await clock.sleep(61)
        assert (await cancel(hall.house, HEAD, name)).outcome is CancelOutcome.CANCELLED
        await clock.sleep(HOUR)
        assert hall.lane.asked == [name]
        assert await wakes.listed(hall.house) == []


@virtual
async def test_a_wake_answered_without_words_is_settled(clock: FakeClock, tmp_path: Path) -> None:
    async def nothing(_request: TurnRequest, _host: TurnHost) -> LaneResult:
        return LaneResult(text="")

    async with Machine(tmp_path, clock).on(ScriptedLane(nothing)) as hall:
        name = await hall.wake()
        await clock.sleep(61)
        found = await hall.receipt(name)
        assert (found.state, found.reply_cursor) == (InputState.SETTLED, None)
        assert await hall.said() == []


@virtual
async def test_a_message_that_joined_a_failing_wake_fails_and_is_not_tried_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8, FENCE-12
    go = asyncio.Event()

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        await steers(go)(request, host)
        raise LaneError("model_unreachable", "Nobody answers.")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        name = await hall.wake()
        await clock.sleep(61)
        await hall.steer("and the soup", "m-1")
        go.set()
        assert (await hall.ended("m-1")).state is InputState.FAILED
        assert (await hall.ended(name)).state is InputState.SETTLED
        assert hall.lane.asked == [name, name]


@virtual
async def test_the_owner_speaks_while_a_wake_waits_for_its_retry(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on(ScriptedLane(fails("x"), fails("x"))) as hall:
        name = await hall.wake()
        await clock.sleep(60 + 5 + 1)
        await hall.send("hello", "m-1", author=OPERATOR)
        assert (await hall.ended("m-1", 1)).state is InputState.SETTLED
        assert (await hall.ended(name)).state is InputState.SETTLED
        assert hall.lane.asked == [name, name, "m-1", name]
