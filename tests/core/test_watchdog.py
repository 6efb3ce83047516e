"""When a run counts as stuck: marks and now, nothing else."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from clankie.core.settings import DEFAULTS
from clankie.core.watchdog import Marks, Phase, deadline, stalled

IDLE = 300.0


def test_the_limit_of_silence_is_five_minutes() -> None:
    # proves: SERV-2
    assert DEFAULTS.watchdog.idle == IDLE


def test_the_limit_runs_from_the_reservation() -> None:
    # proves: SERV-2
    marks = Marks(1_000.0)
    assert deadline(marks, IDLE) == 1_300.0
    assert not stalled(marks, IDLE, 1_299.9)
    assert stalled(marks, IDLE, 1_300.0)


def test_progress_renews_it() -> None:
    # proves: SERV-2
    marks = Marks(0.0).progress(299.0)
    assert not stalled(marks, IDLE, 598.9)
    assert stalled(marks, IDLE, 599.0)


@pytest.mark.parametrize("phase", Phase)
def test_the_next_phase_renews_it_and_is_what_a_stall_names(phase: Phase) -> None:
    # proves: SERV-2
    marks = Marks(0.0, tools=frozenset({"c-1"})).entered(phase, 100.0)
    assert marks == Marks(100.0, phase, frozenset({"c-1"}))


def test_a_run_begins_in_preparation_and_with_no_tool() -> None:
    assert Marks(0.0) == Marks(0.0, Phase.PREPARATION, frozenset())


def test_a_running_tool_suspends_it_for_as_long_as_it_takes() -> None:
    # proves: SERV-2
    marks = Marks(0.0).tool_started("c-1", 10.0)
    assert deadline(marks, IDLE) is None
    assert not stalled(marks, IDLE, 1e9)


def test_a_full_window_starts_when_the_last_tool_ends() -> None:
    # proves: SERV-2
    marks = Marks(0.0).tool_started("c-1", 10.0).tool_started("c-2", 20.0)
    marks = marks.tool_ended("c-1", 4_000.0)
    assert deadline(marks, IDLE) is None
    marks = marks.tool_ended("c-2", 5_000.0)
    assert deadline(marks, IDLE) == 5_300.0


def test_the_end_of_an_unknown_tool_ends_no_other() -> None:
    assert deadline(Marks(0.0).tool_started("c-1", 0.0).tool_ended("c-2", 5.0), IDLE) is None


def test_the_start_of_a_tool_is_a_sign_of_life() -> None:
    assert Marks(0.0).tool_started("c-1", 10.0).last == 10.0


class Run(RuleBasedStateMachine):
    """A run and the time that passes, beside one number: the seconds of silence without a tool."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.marks = Marks(self.now)
        self.tools: set[str] = set()
        self.silence = 0.0

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 100.0, 299.5, 300.0, 86_400.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        if not self.tools:
            self.silence += seconds

    @rule()
    def progress(self) -> None:
        self.marks = self.marks.progress(self.now)
        self.silence = 0.0

    @rule(phase=st.sampled_from(Phase))
    def enter(self, phase: Phase) -> None:
        self.marks = self.marks.entered(phase, self.now)
        self.silence = 0.0
        assert self.marks.phase is phase

    @rule(call=st.sampled_from(["c-1", "c-2", "c-3"]))
    def start_tool(self, call: str) -> None:
        self.marks = self.marks.tool_started(call, self.now)
        self.tools.add(call)
        self.silence = 0.0

    @precondition(lambda self: self.tools)
    @rule(data=st.data())
    def end_tool(self, data: st.DataObject) -> None:
        call = data.draw(st.sampled_from(sorted(self.tools)))
        self.marks = self.marks.tool_ended(call, self.now)
        self.tools.discard(call)
        self.silence = 0.0

    @invariant()
    def it_is_stuck_exactly_when_it_was_silent_for_the_window_with_no_tool(self) -> None:
        # Halves and wholes add up exactly, so there is no rounding to allow for.
        assert stalled(self.marks, IDLE, self.now) == (not self.tools and self.silence >= IDLE)

    @invariant()
    def there_is_no_cap_on_healthy_work(self) -> None:
        limit = deadline(self.marks, IDLE)
        assert (limit is None) == bool(self.tools)
        assert limit is None or limit == self.now - self.silence + IDLE


def test_a_run_is_stuck_exactly_when_it_was_silent_for_the_whole_window() -> None:
    # proves: SERV-2
    run_state_machine_as_test(Run)
