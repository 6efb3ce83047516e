"""Goals: one step after the other within a budget, ended by a step, the budget or the owner."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR, Usage
from clankie.core.delivery import InputState
from clankie.core.driver import Presence
from clankie.core.errors import (
    ClankieError,
    ConversationClosedError,
    ConversationNotFoundError,
    InvalidFieldError,
)
from clankie.core.goal import Goal, GoalNotFoundError, GoalState, SeatDrivesError
from clankie.core.ids import HEAD
from clankie.core.settings import DAY
from clankie.host import conversations, goals
from clankie.host.planstore import GoalStore
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.lane import ScriptedLane, fails, silence
from fakes.loop import virtual
from fakes.seats import FakeSeats
from fakes.trouble import FULL, UNKNOWN, Failure, honest, lose, pause_after, refuse, trouble

HOUR = 3_600.0
VERBS = ("get", "advance")


async def works(request: TurnRequest, _host: TurnHost) -> LaneResult:
    usage = Usage(input_tokens=20, output_tokens=20, requests=1)
    return LaneResult(text=f"did {request.delivery.id}", usage=usage)


async def reaches(_request: TurnRequest, host: TurnHost) -> LaneResult:
    await host.finish_goal(reached=True)
    return LaneResult(text="that is it")


async def goal_of(hall: Hall, conversation: str = HEAD) -> Goal:
    goal = await goals.get(hall.house, conversation)
    assert goal is not None
    return goal


@virtual
async def test_steps_follow_one_another_until_the_budget_is_spent(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(*[works] * 9)) as hall:
        await goals.put(hall.house, HEAD, " tidy up ", 100)
        await clock.sleep(1)
        goal = await goal_of(hall)
        assert (goal.state, goal.reason, goal.spent) == (
            GoalState.EXHAUSTED,
            "budget_exhausted",
            120,
        )
        assert hall.lane.asked == [f"captain/{goal.id}-{n}" for n in (1, 2, 3)]
        assert "tidy up" in hall.lane.requests[1].delivery.text
        assert "40 of 100 tokens" in hall.lane.requests[1].delivery.text
        assert [one["text"] for one in await hall.log() if one.get("code") == "goal"] == [
            "The goal is exhausted (budget_exhausted)."
        ]
        assert (await hall.house.store.conversations.get(HEAD)).revision == 0


@virtual
async def test_a_step_may_say_that_the_objective_is_reached(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(works, reaches, works)) as hall:
        await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(1)
        assert (await goal_of(hall)).state is GoalState.DONE
        assert len(hall.lane.asked) == 2


@virtual
async def test_only_an_active_goal_can_be_reached(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(reaches)) as hall:
        await hall.send("are you done?", "m-1")
        assert (await hall.ended("m-1")).code == GoalNotFoundError.code


@virtual
async def test_the_owner_speaks_between_two_steps(clock: FakeClock, tmp_path: Path) -> None:
    async def asks(request: TurnRequest, host: TurnHost) -> LaneResult:
        await hall.send("wait", "m-1")
        return await works(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(asks, works, works)) as hall:
        goal = await goals.put(hall.house, HEAD, "tidy up", 60)
        await clock.sleep(1)
        assert hall.lane.asked == [f"captain/{goal.id}-1", "m-1", f"captain/{goal.id}-2"]


@virtual
async def test_a_step_that_was_not_answered_pauses_the_goal(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(fails("model_unreachable"))) as hall:
        await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(HOUR)
        goal = await goal_of(hall)
        assert (goal.state, goal.reason) == (GoalState.PAUSED, "model_unreachable")
        assert len(hall.lane.asked) == 1
        hall.lane.plays(reaches)
        again = await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(1)
        assert (again.id != goal.id, (await goal_of(hall)).state) == (True, GoalState.DONE)


@virtual
async def test_a_step_cut_short_by_a_crash_is_uncertain_and_pauses_the_goal(
    clock: FakeClock, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(silence)) as hall:
        goal = await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(1)
        die()
    async with machine.on() as hall:
        await clock.sleep(HOUR)
        assert ((await goal_of(hall)).state, hall.lane.asked) == (GoalState.PAUSED, [])
        assert (await hall.receipt(f"captain/{goal.id}-1")).state is InputState.UNCERTAIN


@virtual
async def test_a_goal_goes_on_after_a_restart(clock: FakeClock, tmp_path: Path) -> None:
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        stands = trouble(hall.house)
        stands.plan("reserve", *[refuse()] * 1_000)
        goal = await goals.put(hall.house, HEAD, "tidy up", 70)
        die()
    async with machine.on(ScriptedLane(works, works)) as hall:
        await clock.sleep(1)
        assert hall.lane.asked == [f"captain/{goal.id}-1", f"captain/{goal.id}-2"]


@virtual
async def test_a_step_whose_receipt_was_pruned_before_it_was_counted_pauses_the_goal(
    clock: FakeClock, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(works)) as hall:
        trouble(hall.house, "goals").plan("advance", honest(), *[refuse()] * 100)
        await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(10)
        die()
    clock.shift(8 * DAY)
    async with machine.on() as hall:
        await clock.sleep(1)
        goal = await goal_of(hall)
        assert (goal.state, goal.reason) == (GoalState.PAUSED, "receipt_expired")
        assert hall.lane.asked == []


@pytest.mark.parametrize(
    "failures",
    [[refuse(FULL)] * 3, [lose(UNKNOWN)], [refuse(UNKNOWN)]],
    ids=["full", "stored unknown", "unknown"],
)
@pytest.mark.parametrize(
    ("verb", "after"), [("put", 0), *((v, n) for v in VERBS for n in (0, 1, 2, 3))]
)
def test_a_disk_in_trouble_only_delays_a_goal(
    tmp_path: Path, verb: str, after: int, failures: list[Failure]
) -> None:
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on(ScriptedLane(*[works] * 9)) as hall:
            trouble(hall.house, "goals").plan(verb, *[honest()] * after, *failures)
            for _ in range(5):
                try:
                    await goals.put(hall.house, HEAD, "tidy up", 70)
                except ClankieError:
                    await clock.sleep(1)
                else:
                    break
            await clock.sleep(60)
            goal = await goal_of(hall)
            assert goal.state is GoalState.EXHAUSTED
            # One that was stored although nobody could tell may have taken a step before.
            assert len(set(hall.lane.asked)) == len(hall.lane.asked)
            steps = [f"captain/{goal.id}-{n}" for n in (1, 2)]
            assert [one for one in hall.lane.asked if goal.id in one] == steps

    scenario()


@virtual
async def test_a_step_that_could_not_be_admitted_at_once_is_admitted_later(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(works, works)) as hall:
        stands = trouble(hall.house)
        stands.plan("admit", refuse(), lose(), refuse(UNKNOWN))
        await goals.put(hall.house, HEAD, "tidy up", 70)
        await clock.sleep(60)
        assert (await goal_of(hall)).state is GoalState.EXHAUSTED
        assert len(set(hall.lane.asked)) == len(hall.lane.asked) == 2


@virtual
async def test_a_goal_is_pursued_although_its_client_went_away(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(works, works)) as hall:
        kept, go = asyncio.Event(), asyncio.Event()
        trouble(hall.house, "goals").plan("put", pause_after(kept, go))
        async with asyncio.TaskGroup() as tasks:
            client = tasks.create_task(goals.put(hall.house, HEAD, "tidy up", 70))
            await kept.wait()
            client.cancel()
            go.set()
        await clock.sleep(1)
        assert (await goal_of(hall)).state is GoalState.EXHAUSTED


@virtual
async def test_a_forgotten_goal_takes_no_further_step(clock: FakeClock, tmp_path: Path) -> None:
    async def slowly(request: TurnRequest, host: TurnHost) -> LaneResult:
        await clock.sleep(10)
        return await works(request, host)

    async with Machine(tmp_path, clock).on(ScriptedLane(slowly)) as hall:
        goal = await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(1)
        await goals.remove(hall.house, HEAD)
        await clock.sleep(HOUR)
        assert hall.lane.asked == [f"captain/{goal.id}-1"]
        assert (await hall.receipt(f"captain/{goal.id}-1")).state is InputState.SETTLED
        assert await goals.get(hall.house, HEAD) is None


@virtual
async def test_a_goal_ends_with_its_conversation(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        other = await hall.make("other")
        trouble(hall.house).plan("reserve", *[refuse()] * 3)
        await goals.put(hall.house, other, "tidy up", 1_000)
        await conversations.close(hall.house, other, OPERATOR)
        await clock.sleep(HOUR)
        assert hall.lane.asked == []
        found = await goals.get(hall.house, other)
        assert found is None or found.state is not GoalState.ACTIVE
        with pytest.raises(ConversationClosedError):
            await goals.put(hall.house, other, "tidy up", 1_000)


@virtual
async def test_what_cannot_be_a_goal_is_refused(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        for text, budget in ((" ", 100), ("x" * 4_001, 100), ("tidy up", 0)):
            with pytest.raises(InvalidFieldError):
                await goals.put(hall.house, HEAD, text, budget)
        for work in (goals.get, goals.remove):
            with pytest.raises(ConversationNotFoundError):
                await work(hall.house, "nowhere")
        assert await goals.get(hall.house, HEAD) is None


@pytest.mark.parametrize("presence", list(Presence))
def test_no_goal_is_set_while_a_seat_drives(tmp_path: Path, presence: Presence) -> None:
    # proves: FENCE-2
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on(ScriptedLane(reaches)) as hall:
            hall.house.seats = seats = FakeSeats()
            seats.attach(HEAD, presence)
            if presence is Presence.ABSENT:
                await goals.put(hall.house, HEAD, "tidy up", 100)
                await clock.sleep(1)
                assert (await goal_of(hall)).state is GoalState.DONE
            else:
                with pytest.raises(SeatDrivesError):
                    await goals.put(hall.house, HEAD, "tidy up", 100)

    scenario()


class Raced:
    """Goals of a store in which somebody else always writes the same a moment before."""

    def __init__(self, goals: GoalStore) -> None:
        self._goals = goals

    async def get(self, conversation: str) -> Goal | None:
        return await self._goals.get(conversation)

    async def active(self) -> Sequence[Goal]:
        return await self._goals.active()

    async def put(self, goal: Goal) -> None:
        await self._goals.put(goal)

    async def advance(self, before: Goal, after: Goal) -> bool:
        await self._goals.advance(before, after)
        return await self._goals.advance(before, after)

    async def remove(self, conversation: str) -> None:
        await self._goals.remove(conversation)


@virtual
async def test_what_somebody_else_wrote_meanwhile_is_not_written_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-5
    async with Machine(tmp_path, clock).on(ScriptedLane(works, silence)) as hall:
        store = hall.house.store
        await goals.put(hall.house, HEAD, "tidy up", 1_000)
        await clock.sleep(1)
        running = await goal_of(hall)
        await goals.go_on(hall.house, HEAD)
        assert await goal_of(hall) == running, "a step that runs is neither counted nor followed"
        store.goals = Raced(store.goals)
        with pytest.raises(GoalNotFoundError):
            await goals.finish(hall.house, HEAD, reached=True)
        assert (await goal_of(hall)).state is GoalState.DONE
        await clock.sleep(HOUR)
        assert (await goal_of(hall)).counted
