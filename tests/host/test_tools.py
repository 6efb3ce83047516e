"""Tools of a turn: written down before they run, and their outcome after, whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clankie.core.delivery import InputState
from clankie.core.errors import ConversationNotFoundError, InvalidFieldError
from clankie.core.ids import HEAD, stored_delivery_id
from clankie.core.wake import WakeLimitError
from clankie.host.cancel import cancel
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.lane import ScriptedLane, call, silence
from fakes.loop import virtual
from fakes.trouble import lose, refuse, trouble


@virtual
async def test_a_call_is_on_disk_before_its_tool_runs_and_its_end_after(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-7
    seen: list[list[str]] = []

    async with Machine(tmp_path, clock).on() as hall:

        async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
            async with host.tool(call("c-1", effect=True, name="post")) as report:
                seen.append([one.get("phase", "") for one in await hall.log()])
                receipt = await hall.receipt("m-1")
                seen.append([one.state for one in receipt.attempts[0].tools])
                report.detail = "posted it"
            return LaneResult(text="done")

        hall.lane.plays(play)
        await hall.send("one", "m-1")
        ended = await hall.ended("m-1")
        assert seen == [["", "admitted", "started", "started"], ["attempting"]]
        assert [(one.name, one.effect, one.state) for one in ended.attempts[0].tools] == [
            ("post", True, "completed")
        ]
        tools = [one for one in await hall.log() if one["kind"] == "tool"]
        assert [(one["phase"], one["detail"]) for one in tools] == [
            ("started", "a detail"),
            ("completed", "posted it"),
        ]


@virtual
async def test_a_tool_that_fails_is_recorded_as_failed(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SERV-7
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        try:
            async with host.tool(call("c-1")) as report:
                report.detail = "could not"
                int("no number")
        except ValueError:
            pass
        return LaneResult(text="it failed")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        ended = await hall.ended("m-1")
        assert ended.state is InputState.SETTLED
        assert [one.state for one in ended.attempts[0].tools] == ["failed"]


@virtual
async def test_a_tool_does_not_run_when_its_call_cannot_be_stored(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-7
    ran = list[str]()

    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        host.draft("I will ")
        async with host.tool(call("c-1", effect=True, name="post")):
            ran.append("c-1")
        return LaneResult(text="done")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        trouble(hall.house).plan("tool_started", refuse())
        await hall.send("one", "m-1")
        ended = await hall.ended("m-1")
        assert (ended.state, ended.code) == (InputState.FAILED, "storage_unavailable")
        assert ran == []
        assert ended.attempts[0].tools == ()
        assert (await hall.log())[-1]["partial"] == "I will "


@virtual
async def test_the_outcome_of_a_tool_is_stored_as_soon_as_the_disk_takes_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-7
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1", effect=True)) as report:
            report.detail = "done"
        return LaneResult(text="done")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        stands = trouble(hall.house)
        stands.plan("tool_ended", refuse(), refuse(), lose())
        await hall.send("one", "m-1")
        ended = await hall.ended("m-1")
        assert ended.state is InputState.SETTLED
        assert [one.state for one in ended.attempts[0].tools] == ["completed"]
        assert [one.get("phase") for one in await hall.log()].count("completed") == 2


@pytest.mark.parametrize("effect", [True, False])
def test_a_tool_cut_off_in_the_middle_is_uncertain(tmp_path: Path, effect: bool) -> None:
    # proves: SERV-7
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
            async with host.tool(call("c-1", effect=effect)):
                return await silence(request, host)

        async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
            await hall.send("one", "m-1")
            await clock.sleep(1)
            await cancel(hall.house, HEAD)
            ended = await hall.ended("m-1")
            assert ended.state is InputState.CANCELLED
            assert [one.state for one in ended.attempts[0].tools] == ["uncertain"]

    scenario()


@virtual
async def test_a_crash_in_the_middle_of_a_tool_names_the_call(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-7, FENCE-7
    machine = Machine(tmp_path, clock)

    async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1", name="look")) as report:
            report.detail = "seen"
        async with host.tool(call("c-2", effect=True, name="post")):
            return await silence(request, host)

    async with machine.on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        die()
    async with machine.on() as hall:
        found = await hall.receipt("m-1")
        assert found.state is InputState.UNCERTAIN
        assert [(one.name, one.state) for one in found.attempts[0].tools] == [
            ("look", "completed"),
            ("post", "uncertain"),
        ]
        assert found.to_wire()["detail"] == (
            "The model was asked at 12:00 UTC; the process died before an answer was stored; "
            "tools run: look (completed), post (uncertain)."
        )
        await clock.sleep(3_600)
        assert hall.lane.asked == []


@virtual
async def test_a_tool_that_ends_after_its_turn_leaves_no_outcome(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-3, SERV-7
    done = asyncio.Event()

    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        async with host.tool(call("c-1", effect=True)):
            while not done.is_set():
                try:
                    await done.wait()
                except asyncio.CancelledError:
                    continue
        return LaneResult(text="late")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        await cancel(hall.house, HEAD)
        ended = await hall.ended("m-1")
        before = await hall.log()
        done.set()
        await clock.sleep(1)
        assert await hall.log() == before
        assert await hall.receipt("m-1") == ended
        assert [one.state for one in ended.attempts[0].tools] == ["uncertain"]


@virtual
async def test_a_turn_may_know_itself_and_nothing_of_other_conversations(
    clock: FakeClock, tmp_path: Path
) -> None:
    seen: list[dict[str, object]] = []

    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        seen.append(await host.self_state())
        return LaneResult(text="ok")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        other = await hall.make("other")
        await hall.wake("elsewhere", "w-2", conversation=other)
        await hall.wake("look at the oven")
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        assert seen == [
            {
                "name": "Clankie",
                "now": "2026-11-30T12:00:00.000Z",
                "model": "practice",
                "conversation": {
                    "id": HEAD,
                    "name": "Clankie",
                    "kind": "global",
                    "revision": 1,
                    "events": 3,
                    "waiting": 0,
                    "uncertain": 0,
                },
                "wakes": [
                    {
                        "id": "w-1",
                        "due_at": "2026-11-30T12:01:00.000Z",
                        "text": "look at the oven",
                        "held": None,
                    }
                ],
            }
        ]


def _schedules(due_in: float, *, call_id: str = "m-1#1-1-0") -> Callable[..., Awaitable[Any]]:
    async def schedule(clock: FakeClock, host: TurnHost) -> object:
        due = clock.now() + timedelta(seconds=due_in)
        return await host.schedule_wake(due_at=due, text="look again", call_id=call_id)

    return schedule


@virtual
async def test_the_same_call_sets_its_wake_once_under_a_name_that_can_be_asked_for(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        first = await _schedules(60)(clock, host)
        assert await _schedules(60)(clock, host) == first
        await _schedules(61, call_id="m-1#1-1-1")(clock, host)
        return LaneResult(text="set")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        wakes = await hall.house.store.wakes.list(HEAD)
        assert [(one.text, one.depth) for one in wakes] == [("look again", 1)] * 2
        await clock.sleep(62)
        woken = hall.lane.asked[1:]
        assert len(set(woken)) == 2
        for name in woken:
            assert stored_delivery_id(name) == name
            assert (await hall.receipt(name)).depth == 1


@virtual
async def test_a_wake_too_soon_one_too_many_and_one_too_deep_are_refused(
    clock: FakeClock, tmp_path: Path
) -> None:
    refusals = list[str]()

    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        for due_in, name in ((29.9, "a"), (30.0, "b"), (31.0, "c"), (32.0, "d")):
            try:
                await _schedules(due_in, call_id=name)(clock, host)
            except (InvalidFieldError, WakeLimitError) as error:
                refusals.append(f"{name}: {error.code}")
        return LaneResult(text="ok")

    async def deeper(_request: TurnRequest, host: TurnHost) -> LaneResult:
        try:
            await _schedules(40)(clock, host)
        except WakeLimitError as error:
            refusals.append(f"deep: {error.detail.partition(';')[0]}")
        return LaneResult(text="ok")

    override = {"wakes": {"waiting": 2, "depth": 1}}
    lane = ScriptedLane(play, deeper)
    async with Machine(tmp_path, clock).on(lane, override=override) as hall:
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        assert refusals == ["a: invalid_field", "d: wake_limit"]
        await clock.sleep(40)
        assert refusals[2:] == [
            "deep: 1 wakes have set one another without a message from the owner"
        ]


@virtual
async def test_a_turn_of_the_owner_may_look_at_other_conversations_and_a_room_may_not(
    clock: FakeClock, tmp_path: Path
) -> None:
    seen = list[list[int]]()

    async def looks(_request: TurnRequest, host: TurnHost) -> LaneResult:
        for place, before in ((other, None), (None, None), (None, 2)):
            page = await host.read_conversation(place, before=before, limit=2)
            seen.append([one.cursor for one in page.events])
        with pytest.raises(ConversationNotFoundError):
            await host.read_conversation("nowhere", before=None, limit=2)
        seen.append([(await host.here()).cursor])
        assert await host.workspace() is None
        return LaneResult(text="looked")

    async with Machine(tmp_path, clock).on() as hall:
        other = await hall.make("other")
        await hall.send("there", "m-1", conversation=other)
        await hall.ended("m-1")
        hall.lane.plays(looks)
        await hall.send("look around", "m-2")
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert seen == [[4, 5], [2, 3], [1], [3]]
