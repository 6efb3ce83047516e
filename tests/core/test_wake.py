"""When a wake may be set, and what follows when one fails."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from clankie.core.errors import InvalidFieldError
from clankie.core.settings import DEFAULTS, WakeLimits
from clankie.core.wake import (
    CREDENTIAL_REJECTED,
    EXHAUSTED,
    STALLED,
    STOPPED,
    Again,
    Failure,
    Hold,
    Wake,
    WakeLimitError,
    after_failure,
    check_new,
)
from core.kit import NOON

LIMITS = DEFAULTS.wakes
CODES = [STALLED, STOPPED, CREDENTIAL_REJECTED, EXHAUSTED, "provider_unavailable"]


def failure(**changed: Any) -> Failure:
    whole: dict[str, Any] = {
        "code": "provider_unavailable",
        "settled_at": NOON,
        "attempts": 1,
        "tool_started": False,
        "effect_started": False,
        **changed,
    }
    return Failure(**whole)


def wake(**changed: Any) -> Wake:
    whole: dict[str, Any] = {
        "id": "w-1",
        "conversation": "garden",
        "due_at": NOON + timedelta(minutes=5),
        "text": "Look at the beans.",
        "depth": 1,
        "created_at": NOON,
        **changed,
    }
    return Wake(**whole)


def test_the_bounds_of_wakes_are_those_of_the_requirement() -> None:
    # proves: FENCE-12
    backoff = (LIMITS.first_backoff, LIMITS.attempts)
    bounds = (LIMITS.waiting, LIMITS.soonest, LIMITS.depth)
    assert (backoff, bounds) == ((5.0, 3), (20, 30.0, 10))


@pytest.mark.parametrize(
    ("attempts", "next_one"),
    [
        (1, Again(NOON + timedelta(seconds=5))),
        (2, Again(NOON + timedelta(seconds=10))),
        (3, Hold("attempts_exhausted")),
        (4, Hold("attempts_exhausted")),
    ],
)
def test_it_waits_5_s_from_settlement_then_10_s_then_it_is_held(
    attempts: int, next_one: Again | Hold
) -> None:
    # proves: FENCE-12
    assert after_failure(failure(attempts=attempts), LIMITS) == next_one


def test_a_rejected_credential_holds_after_one() -> None:
    # proves: FENCE-12
    assert after_failure(failure(code=CREDENTIAL_REJECTED), LIMITS) == Hold("credential_rejected")


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_one_that_was_stopped_by_the_daily_budget_is_held_and_says_so(attempts: int) -> None:
    # proves: SERV-8
    stopped = failure(code=EXHAUSTED, attempts=attempts)
    assert after_failure(stopped, LIMITS) == Hold("budget_exhausted")


@pytest.mark.parametrize("code", [STALLED, STOPPED])
@pytest.mark.parametrize("effect", [False, True])
def test_one_that_was_cut_off_after_a_tool_had_started_is_held_for_the_owner(
    code: str, effect: bool
) -> None:
    # proves: FENCE-12
    cut = failure(code=code, tool_started=True, effect_started=effect)
    assert after_failure(cut, LIMITS) == Hold("cut_off_after_tool")


@pytest.mark.parametrize("code", [STALLED, STOPPED])
def test_one_that_was_cut_off_before_any_tool_counts_as_failed(code: str) -> None:
    # proves: FENCE-12
    assert after_failure(failure(code=code), LIMITS) == Again(NOON + timedelta(seconds=5))


@pytest.mark.parametrize("code", [CREDENTIAL_REJECTED, "provider_unavailable"])
def test_a_failure_after_an_effect_is_the_owners_to_repeat(code: str) -> None:
    done = failure(code=code, tool_started=True, effect_started=True)
    assert after_failure(done, LIMITS) == Hold("failed_after_effect")


def test_a_tool_that_changed_nothing_does_not_hold_a_plain_failure() -> None:
    assert isinstance(after_failure(failure(tool_started=True), LIMITS), Again)


@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.floats(0.1, 3_600.0),
    st.datetimes(datetime(2026, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001 - drawn as naive bounds
)
def test_within_the_bounds_of_the_settings_the_wait_doubles_and_then_ends(
    attempts: int, limit: int, first: float, settled: datetime
) -> None:
    # proves: FENCE-12
    limits = WakeLimits(first_backoff=first, attempts=limit)
    answer = after_failure(failure(attempts=attempts, settled_at=settled), limits)
    if attempts >= limit:
        assert answer == Hold("attempts_exhausted")
        return
    assert isinstance(answer, Again)
    wait = first
    for _ in range(attempts - 1):
        wait += wait
    assert answer.at - settled == timedelta(seconds=wait)


@pytest.mark.parametrize(("seconds", "allowed"), [(29.9, False), (30.0, True), (30.1, True)])
def test_a_wake_is_never_due_sooner_than_30_s(seconds: float, allowed: bool) -> None:
    soon = wake(due_at=NOON + timedelta(seconds=seconds))
    if allowed:
        check_new(soon, 0, LIMITS)
        return
    with pytest.raises(InvalidFieldError, match="at least 30 seconds") as refused:
        check_new(soon, 0, LIMITS)
    assert refused.value.path == "due_at"


@pytest.mark.parametrize(("waiting", "allowed"), [(0, True), (19, True), (20, False), (21, False)])
def test_a_conversation_has_at_most_20_waiting_wakes(waiting: int, allowed: bool) -> None:
    if allowed:
        check_new(wake(), waiting, LIMITS)
        return
    with pytest.raises(WakeLimitError, match=f"{waiting} wakes already wait"):
        check_new(wake(), waiting, LIMITS)


@pytest.mark.parametrize(("depth", "allowed"), [(1, True), (10, True), (11, False)])
def test_at_most_10_wakes_set_one_another_without_the_owner(depth: int, allowed: bool) -> None:
    if allowed:
        check_new(wake(depth=depth), 0, LIMITS)
        return
    with pytest.raises(WakeLimitError, match="10 wakes have set one another") as refused:
        check_new(wake(depth=depth), 0, LIMITS)
    assert refused.value.code == "wake_limit"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [("", False), (" \n\t", False), ("x", True), ("x" * 4_000, True), ("x" * 4_001, False)],
)
def test_the_text_of_a_wake_is_neither_blank_nor_too_long(text: str, allowed: bool) -> None:
    if allowed:
        check_new(wake(text=text), 0, LIMITS)
        return
    with pytest.raises(InvalidFieldError, match="1 to 4000 characters") as refused:
        check_new(wake(text=text), 0, LIMITS)
    assert refused.value.path == "text"


class Backoff(RuleBasedStateMachine):
    """One wake that keeps failing in every way there is, until the owner looks after it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.tries = 0
        self.waits: list[float] = []
        self.held: str | None = None

    @precondition(lambda self: self.held is None)
    @rule(
        code=st.sampled_from(CODES),
        tool=st.booleans(),
        effect=st.booleans(),
        took=st.integers(0, 600),
    )
    def fail(self, code: str, tool: bool, effect: bool, took: int) -> None:
        self.tries += 1
        self.now += timedelta(seconds=took)
        what = failure(
            code=code,
            settled_at=self.now,
            attempts=self.tries,
            tool_started=tool or effect,
            effect_started=effect,
        )
        answer = after_failure(what, LIMITS)
        cut = code in {STALLED, STOPPED} and (tool or effect)
        at_once = code in {CREDENTIAL_REJECTED, EXHAUSTED}
        must_hold = cut or effect or at_once or self.tries == LIMITS.attempts
        assert isinstance(answer, Hold) == must_hold
        if isinstance(answer, Hold):
            self.held = answer.reason
            return
        self.waits.append((answer.at - self.now).total_seconds())
        assert self.waits == [5.0, 10.0][: self.tries]
        self.now = answer.at

    @precondition(lambda self: self.held is not None)
    @rule()
    def release(self) -> None:
        """Something changed: it may try again, from the start."""
        self.held, self.tries, self.waits = None, 0, []


def test_however_it_fails_a_wake_waits_5_and_10_s_and_is_held_by_the_third() -> None:
    # proves: FENCE-12
    run_state_machine_as_test(Backoff)


def test_another_setting_is_obeyed() -> None:
    limits = replace(LIMITS, first_backoff=7.5, attempts=5, waiting=1, soonest=0.0, depth=1, text=3)
    answer = after_failure(failure(attempts=4), limits)
    assert answer == Again(NOON + timedelta(seconds=60))
    check_new(wake(due_at=NOON, text="abc"), 0, limits)
    with pytest.raises(WakeLimitError):
        check_new(wake(text="abc"), 1, limits)
