"""Any life an input can have, the process dying at any moment, beside a model made of words."""

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from clankie.core import delivery
from clankie.core.delivery import InputState, ServiceState, Transition
from clankie.core.errors import TransitionRefusedError
from core.kit import table

INPUT = table("""
queued: running not_sent cancelled failed
running: settled failed absorbed cancelled uncertain queued
uncertain: running settled failed abandoned
settled:
failed:
absorbed:
cancelled:
not_sent:
abandoned:
""")

ATTEMPT = table("""
reserved: running released failed stalled
running: completed failed stalled cancelled uncertain
released:
completed:
failed:
stalled:
cancelled:
uncertain:
""")

OPEN = {"reserved", "running"}
ENDS = {
    "completed": "settled",
    "failed": "failed",
    "stalled": "failed",
    "cancelled": "cancelled",
    "uncertain": "uncertain",
}


class Lives(RuleBasedStateMachine):
    """`state`, `attempts` are what core decided; `model` is what FENCE-8 says should be there."""

    inputs = Bundle("inputs")

    def __init__(self) -> None:
        super().__init__()
        self.state: dict[str, InputState] = {}
        self.wakes: set[str] = set()
        self.attempts: dict[str, list[ServiceState]] = {}
        self.into: dict[str, str] = {}
        self.moves: list[Transition] = []
        self.model: dict[str, str] = {}
        self.runs: dict[str, int] = {}
        self.retries: dict[str, int] = {}

    # What a shell does: it asks core, then writes the state and the move together.

    def write_input(self, one: str, after: InputState) -> None:
        before = self.state[one]
        if before is not after:
            self.state[one] = delivery.move_input(one, before, after)
            self.moves.append(Transition(one, before, after))

    def write_attempt(self, one: str, after: ServiceState, *, again: bool = False) -> None:
        before = self.attempts[one][-1]
        self.attempts[one][-1] = delivery.move_service(one, before, after)
        self.moves.append(Transition(f"{one}#{len(self.attempts[one])}", before, after))
        joined = one in self.into
        self.write_input(one, delivery.consequence(after, joined=joined, again=again))
        if after not in delivery.OPEN_SERVICE:
            self.into.pop(one, None)

    def open_attempt(self, one: str, state: ServiceState) -> None:
        self.attempts[one].append(state)
        self.moves.append(Transition(f"{one}#{len(self.attempts[one])}", None, state))
        self.write_input(one, delivery.consequence(state, joined=False, again=False))

    def has_open(self, one: str) -> bool:
        return any(state in delivery.OPEN_SERVICE for state in self.attempts[one])

    def refused(self, move: Callable[[], None]) -> None:
        kept = (dict(self.state), {k: list(v) for k, v in self.attempts.items()}, len(self.moves))
        try:
            move()
        except TransitionRefusedError:
            now = (
                dict(self.state),
                {k: list(v) for k, v in self.attempts.items()},
                len(self.moves),
            )
            assert now == kept
        else:
            raise AssertionError("a move that no requirement names was made")

    # What can happen.

    @rule(target=inputs, wake=st.booleans())
    def admit(self, wake: bool) -> str:
        one = f"m-{len(self.state) + 1}"
        self.state[one] = InputState.QUEUED
        self.moves.append(Transition(one, None, InputState.QUEUED))
        self.attempts[one] = []
        self.model[one] = "queued"
        self.runs[one] = self.retries[one] = 0
        if wake:
            self.wakes.add(one)
        return one

    @rule(one=inputs)
    def reserve(self, one: str) -> None:
        if self.state[one] is InputState.QUEUED and not self.has_open(one):
            self.open_attempt(one, ServiceState.RESERVED)

    @rule(one=inputs, run=inputs)
    def steer(self, one: str, run: str) -> None:
        """A waiting input joins a run of another; its attempt begins as running."""
        free = self.state[one] is InputState.QUEUED and not self.has_open(one)
        running = self.attempts[run][-1:] == [ServiceState.RUNNING] and run not in self.into
        if one != run and free and running:
            self.into[one] = run
            self.open_attempt(one, ServiceState.RUNNING)
            self.runs[one] += 1
            self.model[one] = "running"

    @rule(one=inputs, after=st.sampled_from(ServiceState), retry=st.booleans())
    def step(self, one: str, after: ServiceState, retry: bool) -> None:
        """The attempt moves, or is asked to; a run takes those that joined it along."""
        if not self.attempts[one] or one in self.into:
            return
        if after not in ATTEMPT[self.attempts[one][-1]]:
            self.refused(lambda: self.write_attempt(one, after))
            return
        members = [member for member, run in self.into.items() if run == one]
        again = retry and one in self.wakes and after in {"failed", "stalled"}
        self.write_attempt(one, after, again=again)
        self.expect(one, after, again=again)
        for member in members:
            self.write_attempt(member, after)
            self.model[member] = "absorbed" if after == "completed" else ENDS[after]

    def expect(self, one: str, after: str, *, again: bool) -> None:
        if after == "running":
            self.runs[one] += 1
            self.model[one] = "running"
        elif again:
            self.retries[one] += 1
            self.model[one] = "queued"
        else:
            self.model[one] = ENDS.get(after, "queued")

    @rule()
    def die(self) -> None:
        """The process is killed; the next one takes over what it finds."""
        for one, attempts in self.attempts.items():
            after = delivery.after_restart(attempts[-1]) if attempts else None
            if after is None:
                continue
            ran = attempts[-1] == "running"
            self.write_attempt(one, after)
            self.model[one] = "uncertain" if ran else "queued"

    @rule(one=inputs, after=st.sampled_from(["cancelled", "not_sent"]))
    def end_waiting(self, one: str, after: str) -> None:
        """Cancelled, or its conversation closed, before any driver had it."""
        if self.state[one] is InputState.QUEUED and not self.has_open(one):
            self.write_input(one, InputState(after))
            self.model[one] = after

    @rule(one=inputs)
    def abandon(self, one: str) -> None:
        if self.state[one] is InputState.UNCERTAIN:
            self.write_input(one, InputState.ABANDONED)
            self.model[one] = "abandoned"

    @rule(one=inputs, after=st.sampled_from(InputState))
    def meddle(self, one: str, after: InputState) -> None:
        """Somebody asks for a move that the requirement does not name."""
        if after not in INPUT[self.state[one]]:
            self.refused(lambda: self.force(one, after))

    def force(self, one: str, after: InputState) -> None:
        self.state[one] = delivery.move_input(one, self.state[one], after)

    # What must always hold.

    @invariant()
    def the_machine_and_the_words_agree(self) -> None:
        assert {one: str(state) for one, state in self.state.items()} == self.model

    @invariant()
    def at_most_one_attempt_is_open(self) -> None:
        for attempts in self.attempts.values():
            assert sum(state in OPEN for state in attempts) <= 1

    @invariant()
    def nothing_runs_twice_but_a_wake_whose_failure_is_known(self) -> None:
        for one, runs in self.runs.items():
            assert runs <= 1 + self.retries[one]
            assert one in self.wakes or self.retries[one] == 0

    @invariant()
    def what_is_uncertain_stays_so_until_somebody_says_otherwise(self) -> None:
        for one, attempts in self.attempts.items():
            if "uncertain" in attempts:
                assert attempts[-1] == "uncertain"
                assert self.state[one] in {"uncertain", "abandoned"}

    @invariant()
    def adding_up_the_moves_gives_the_states(self) -> None:
        expected = {one: str(state) for one, state in self.state.items()}
        for one, attempts in self.attempts.items():
            expected |= {f"{one}#{n}": str(state) for n, state in enumerate(attempts, start=1)}
        assert delivery.replay(self.moves) == expected


def test_any_life_keeps_one_open_attempt_one_run_and_a_record_that_adds_up() -> None:
    # proves: FENCE-8
    run_state_machine_as_test(Lives)
