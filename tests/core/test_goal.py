"""A durable objective: a step leads to the next only when it was answered within the budget."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clankie.core.delivery import InputState
from clankie.core.errors import InvalidFieldError, RefusedError, TransitionRefusedError
from clankie.core.goal import (
    BUDGET_LIMIT,
    TEXT_LIMIT,
    UNREPORTED,
    Goal,
    GoalNotFoundError,
    GoalState,
    SeatDrivesError,
    after_step,
    check_new,
    finished,
    stepped,
)
from clankie.core.ids import delivery_id, qualified, stored_delivery_id
from core.kit import NOON

OPEN = {InputState.QUEUED, InputState.RUNNING}
ANSWERED = {InputState.SETTLED, InputState.ABSORBED}

# What an active goal becomes when its step ended so, with budget left: state and reason.
ACTIVE_AFTER = {
    InputState.QUEUED: ("active", None),
    InputState.RUNNING: ("active", None),
    InputState.SETTLED: ("active", None),
    InputState.ABSORBED: ("active", None),
    InputState.FAILED: ("paused", "model_unreachable"),
    InputState.CANCELLED: ("paused", "model_unreachable"),
    InputState.NOT_SENT: ("paused", "model_unreachable"),
    InputState.UNCERTAIN: ("paused", "uncertain"),
    InputState.ABANDONED: ("paused", "uncertain"),
}


def goal(**changed: Any) -> Goal:
    """An active goal in its third step; 400 of 1,000 tokens are spent."""
    whole: dict[str, Any] = {
        "id": "goal-1",
        "conversation": "garden",
        "text": "Plan the beds.",
        "token_budget": 1_000,
        "created_at": NOON,
        "spent": 400,
        "step": 3,
        "counted": False,
        **changed,
    }
    return Goal(**whole)


@pytest.mark.parametrize(("state", "ended"), [*product(GoalState, InputState)])
def test_only_an_answered_step_within_the_budget_leaves_a_goal_active(
    state: GoalState, ended: InputState
) -> None:
    # proves: SERV-5
    before = goal(state=state, reason=None if state is GoalState.ACTIVE else "why")
    after = after_step(before, ended, 100, "model_unreachable")
    if state is GoalState.ACTIVE:
        assert (after.state, after.reason) == ACTIVE_AFTER[ended]
    else:
        assert (after.state, after.reason) == (state, "why")
    assert after.spent == (400 if ended in OPEN else 500)
    assert after.counted == (ended not in OPEN)
    assert replace(after, spent=400, counted=False, state=state, reason=before.reason) == before


@pytest.mark.parametrize(("state", "ended"), [*product(GoalState, InputState)])
def test_a_step_is_taken_account_of_once(state: GoalState, ended: InputState) -> None:
    # proves: SERV-5
    before = goal(state=state, counted=True)
    assert after_step(before, ended, 10_000, "late") == before


@pytest.mark.parametrize("ended", [InputState.SETTLED, InputState.ABSORBED])
@pytest.mark.parametrize(
    ("tokens", "state", "reason"),
    [
        (599, "active", None),
        (600, "exhausted", "budget_exhausted"),
        (601, "exhausted", "budget_exhausted"),
    ],
)
def test_a_goal_ends_when_its_budget_is_spent(
    ended: InputState, tokens: int, state: str, reason: str | None
) -> None:
    # proves: SERV-5
    after = after_step(goal(), ended, tokens, None)
    assert (after.state, after.reason, after.spent) == (state, reason, 400 + tokens)


@pytest.mark.parametrize("reported", [0, -7])
@pytest.mark.parametrize("ended", [InputState.SETTLED, InputState.ABSORBED])
def test_an_answer_whose_usage_nobody_reports_still_costs(ended: InputState, reported: int) -> None:
    # proves: SERV-5
    after = after_step(goal(token_budget=10_000), ended, reported, None)
    assert (after.state, after.spent) == (GoalState.ACTIVE, 400 + UNREPORTED)


def test_without_any_usage_reported_the_steps_come_to_an_end() -> None:
    # proves: SERV-5
    now = goal(spent=0, step=0, token_budget=3 * UNREPORTED, counted=True)
    while now.state is GoalState.ACTIVE and now.step < 100:
        now = after_step(stepped(now), InputState.SETTLED, 0, None)
    assert (now.step, now.state) == (3, GoalState.EXHAUSTED)


@pytest.mark.parametrize(("reported", "cost"), [(0, 0), (-7, 0), (30, 30)])
@pytest.mark.parametrize("ended", [s for s in InputState if s not in {*OPEN, *ANSWERED}])
def test_a_step_without_an_answer_costs_what_was_reported(
    ended: InputState, reported: int, cost: int
) -> None:
    assert after_step(goal(), ended, reported, None).spent == 400 + cost


@pytest.mark.parametrize(
    "ended", [InputState.FAILED, InputState.CANCELLED, InputState.NOT_SENT], ids=str
)
def test_a_pause_without_a_code_names_how_the_step_ended(ended: InputState) -> None:
    assert after_step(goal(), ended, 0, None).reason == ended.value


def test_a_step_that_went_wrong_pauses_even_when_the_budget_is_spent_as_well() -> None:
    after = after_step(goal(), InputState.UNCERTAIN, 5_000, None)
    assert (after.state, after.spent) == (GoalState.PAUSED, 5_400)


@pytest.mark.parametrize(("reached", "reason"), [(True, "reached"), (False, "unreachable")])
def test_a_step_may_say_that_the_goal_is_done_however_it_ends_itself(
    *, reached: bool, reason: str
) -> None:
    # proves: SERV-5
    done = finished(goal(), reached=reached)
    assert done == goal(state=GoalState.DONE, reason=reason)
    for ended in InputState:
        after = after_step(done, ended, 10_000, "broken")
        assert (after.state, after.reason) == (GoalState.DONE, reason)


@pytest.mark.parametrize("state", sorted(set(GoalState) - {GoalState.ACTIVE}))
def test_a_goal_that_is_not_active_is_neither_finished_nor_stepped(state: GoalState) -> None:
    # proves: SERV-5
    ended = goal(state=state, reason="why", counted=True)
    assert finished(ended, reached=True) == ended
    with pytest.raises(TransitionRefusedError) as refused:
        stepped(ended)
    assert refused.value.facts["state"] == state


def test_a_step_has_the_next_number_and_an_id_of_goal_and_number() -> None:
    # proves: SERV-5
    new = Goal(id="goal-1", conversation="garden", text="x", token_budget=1, created_at=NOON)
    first = stepped(new)
    assert (first.step, first.step_id, first.counted) == (1, "goal-1-1", False)
    assert replace(first, step=0, counted=True) == new
    assert goal(text="Other words.", spent=7).step_id == goal().step_id


@pytest.mark.parametrize("ended", sorted(OPEN))
def test_no_step_follows_one_that_has_not_ended(ended: InputState) -> None:
    # proves: SERV-5
    with pytest.raises(TransitionRefusedError):
        stepped(after_step(goal(), ended, 100, None))
    assert stepped(after_step(goal(), InputState.SETTLED, 100, None)).step == 4


@given(
    st.tuples(st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True), st.integers(0, 10**9)),
    st.tuples(st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True), st.integers(0, 10**9)),
)
def test_no_two_steps_share_an_id(one: tuple[str, int], other: tuple[str, int]) -> None:
    # proves: SERV-5
    ids = [goal(id=name, step=step).step_id for name, step in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)
    for step_id in ids:
        assert delivery_id(step_id) == step_id
        stored = qualified("captain", step_id)
        assert stored_delivery_id(stored) == stored


class Pursuit(RuleBasedStateMachine):
    """A goal that is stepped, ends its steps somehow, and may be declared done at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.goal = self.before = goal(spent=0, step=0, token_budget=2_500, counted=True)
        self.ids: list[str] = []
        self.cost = 0

    @rule()
    def step(self) -> None:
        self.before = self.goal
        if self.goal.state is GoalState.ACTIVE and self.goal.counted:
            self.goal = stepped(self.goal)
            self.ids.append(self.goal.step_id)

    @rule(ended=st.sampled_from(InputState), tokens=st.integers(-50, 50))
    def end_step(self, ended: InputState, tokens: int) -> None:
        self.before = self.goal
        if ended not in OPEN and not self.goal.counted:
            self.cost += UNREPORTED if ended in ANSWERED and tokens <= 0 else max(0, tokens)
        self.goal = after_step(self.goal, ended, tokens, None)

    @rule(reached=st.booleans())
    def finish(self, *, reached: bool) -> None:
        self.before = self.goal
        self.goal = finished(self.goal, reached=reached)

    @invariant()
    def what_is_spent_never_becomes_less(self) -> None:
        assert self.goal.spent == self.cost
        assert self.goal.spent >= self.before.spent

    @invariant()
    def what_has_ended_stays_as_it_ended(self) -> None:
        if self.before.state is not GoalState.ACTIVE:
            ended = self.before
            assert replace(self.goal, spent=ended.spent, counted=ended.counted) == ended
        assert (self.goal.reason is None) == (self.goal.state is GoalState.ACTIVE)

    @invariant()
    def no_step_id_comes_twice(self) -> None:
        assert len(set(self.ids)) == len(self.ids) == self.goal.step


def test_however_it_is_pursued_it_never_spends_less_returns_or_repeats_a_step() -> None:
    # proves: SERV-5
    run_state_machine_as_test(Pursuit)


def test_the_prompt_has_the_objective_the_step_and_what_is_spent() -> None:
    assert goal().prompt == (
        "Go on with the objective of this conversation (step 3): Plan the beds.\n\n"
        "400 of 1000 tokens are spent. Do the next useful step and say what you did. "
        "When the objective is reached or cannot be, call finish_goal."
    )


def test_a_goal_is_shown_whole_and_without_what_is_unknown() -> None:
    shown = {
        "id": "goal-1",
        "text": "Plan the beds.",
        "token_budget": 1_000,
        "spent": 400,
        "step": 3,
        "state": "active",
        "created_at": "2026-11-30T12:00:00.000Z",
    }
    assert goal().to_wire() == shown
    later = goal(state=GoalState.PAUSED, reason="uncertain", created_at=NOON + timedelta(hours=1))
    assert later.to_wire() == {
        **shown,
        "state": "paused",
        "reason": "uncertain",
        "created_at": "2026-11-30T13:00:00.000Z",
    }


@pytest.mark.parametrize("text", ["x", "x" * TEXT_LIMIT])
@pytest.mark.parametrize("token_budget", [1, BUDGET_LIMIT])
def test_a_goal_may_be_as_large_as_its_limits(text: str, token_budget: int) -> None:
    assert (TEXT_LIMIT, BUDGET_LIMIT) == (4_000, 100_000_000)
    check_new(text, token_budget)


@pytest.mark.parametrize(
    ("text", "token_budget", "path", "what"),
    [
        ("", 1, "text", "1 to 4000 characters, not blank"),
        (" \n", 1, "text", "1 to 4000 characters, not blank"),
        ("x" * 4_001, 1, "text", "1 to 4000 characters, not blank"),
        ("x", 0, "token_budget", "a whole number from 1 to 100000000"),
        ("x", 100_000_001, "token_budget", "a whole number from 1 to 100000000"),
    ],
)
def test_a_goal_out_of_bounds_is_refused_and_the_field_named(
    text: str, token_budget: int, path: str, what: str
) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        check_new(text, token_budget)
    assert (refused.value.path, refused.value.rule) == (path, what)


def test_a_missing_goal_and_a_driving_seat_are_refusals_with_a_code() -> None:
    # proves: SERV-5
    missing = GoalNotFoundError("garden")
    assert isinstance(missing, RefusedError)
    assert (missing.code, missing.facts) == ("goal_not_found", {"conversation": "garden"})
    assert "'garden'" in missing.detail
    error = SeatDrivesError()
    assert isinstance(error, RefusedError)
    assert error.code == "goal_seat_drives"
    assert error.detail.endswith("Detach the seat first.")
