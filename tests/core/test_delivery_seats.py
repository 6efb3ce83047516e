"""Any life inputs can have at a seat, whoever dies at any moment, beside a model made of words."""

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
from clankie.core.delivery import InputState, SeatState, Transition
from clankie.core.errors import TransitionRefusedError

SEEN = {"attempting", "taken", "accepted", "uncertain"}
"""What an input is at a seat that may have its words."""


class Model(RuleBasedStateMachine):
    """`state` and `attempts` are what core decided; `seen`, `given` and `refused` are the model.

    A batch is given out, acknowledged, refused, proven, lost and answered as one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.state: dict[str, InputState] = {}
        self.attempts: dict[str, list[SeatState]] = {}
        self.batch: dict[str, tuple[str, ...]] = {}
        self.moves: list[Transition] = []
        self.seen: set[str] = set()
        self.given: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self.abandoned: set[str] = set()

    # What a shell does: it asks core for the whole step, then writes all of it.

    def step(self, one: str, after: SeatState, *, cancelled: bool = False) -> None:
        before, member = self.attempts[one][-1], one not in self.batch
        record = f"{one}#{len(self.attempts[one])}"
        step = delivery.seat_step(
            record, (before, after), one, self.state[one], member=member, cancelled=cancelled
        )
        self.attempts[one][-1] = step.attempt
        self.moves.append(Transition(record, before, step.attempt))
        for state in step.inputs:
            self.moves.append(Transition(one, self.state[one], state))
            self.state[one] = state

    def steps(self, one: str, after: SeatState, *, cancelled: bool = False) -> bool:
        """Move a whole batch by its newest; False, and nothing changed, when core refuses."""
        if not self.attempts[one] or one not in self.batch:
            return False
        kept = self.snapshot()
        try:
            for it in (*self.batch[one], one):
                self.step(it, after, cancelled=cancelled)
        except TransitionRefusedError:
            # A transaction: nothing of a refused step was written.
            self.restore(kept)
            return False
        return True

    def snapshot(self) -> tuple[dict[str, InputState], dict[str, list[SeatState]], int]:
        attempts = {one: list(states) for one, states in self.attempts.items()}
        return dict(self.state), attempts, len(self.moves)

    def restore(self, kept: tuple[dict[str, InputState], dict[str, list[SeatState]], int]) -> None:
        self.state, self.attempts = kept[0], kept[1]
        del self.moves[kept[2] :]

    def at(self, one: str) -> str:
        return str(self.attempts[one][-1]) if self.attempts[one] else "nowhere"

    # What can happen.

    @invariant()
    def nothing_a_seat_may_have_seen_waits_for_a_driver(self) -> None:
        for one in self.seen:
            assert self.state[one] is not InputState.QUEUED

    @invariant()
    def nothing_is_given_twice_but_after_a_definite_refusal(self) -> None:
        for one, times in self.given.items():
            assert times <= self.refused[one] + 1

    @invariant()
    def what_may_have_been_seen_is_never_hidden(self) -> None:
        for one in self.seen:
            if self.at(one) == "uncertain":
                assert self.state[one] in {"uncertain", "abandoned"}
            elif self.at(one) in SEEN:
                assert self.state[one] in {"running", "abandoned"}

    @invariant()
    def at_most_one_attempt_is_open(self) -> None:
        for states in self.attempts.values():
            assert sum(state in delivery.OPEN_SEAT for state in states) <= 1

    @invariant()
    def the_record_of_moves_adds_up(self) -> None:
        found = delivery.replay(self.moves)
        for one, state in self.state.items():
            assert found[one] == state
            for n, attempt in enumerate(self.attempts[one], 1):
                assert found[f"{one}#{n}"] == attempt


class AtASeat(Model):
    """What can happen to them."""

    inputs = Bundle("inputs")

    @rule(target=inputs)
    def admit(self) -> str:
        one = f"m-{len(self.state) + 1}"
        self.state[one] = InputState.QUEUED
        self.moves.append(Transition(one, None, InputState.QUEUED))
        self.attempts[one] = []
        self.given[one] = self.refused[one] = 0
        return one

    @rule(one=inputs)
    def store(self, one: str) -> None:
        is_open = self.attempts[one] and self.attempts[one][-1] in delivery.OPEN_SEAT
        if self.state[one] is not InputState.QUEUED or is_open:
            return
        self.attempts[one].append(SeatState.OFFERED)
        self.batch[one] = ()
        record = f"{one}#{len(self.attempts[one])}"
        self.moves.append(Transition(record, None, SeatState.OFFERED))

    @rule(data=st.data(), size=st.integers(1, 3))
    def poll(self, data: st.DataObject, size: int) -> None:
        stored = sorted(one for one in self.state if self.at(one) == "offered")
        if not stored:
            return
        chosen = data.draw(st.lists(st.sampled_from(stored), max_size=size, unique=True))
        if not chosen:
            return
        *older, newest = sorted(chosen, key=lambda one: int(one[2:]))
        for one in older:
            del self.batch[one]
        self.batch[newest] = tuple(older)
        assert self.steps(newest, SeatState.ATTEMPTING)
        for one in chosen:
            self.given[one] += 1
            self.seen.add(one)

    @rule(one=inputs)
    def acknowledge(self, one: str) -> None:
        before = self.at(one)
        moved = self.steps(one, SeatState.TAKEN)
        assert not moved or before in {"attempting", "uncertain"}

    @rule(one=inputs)
    def refuse(self, one: str) -> None:
        before = self.at(one)
        if self.steps(one, SeatState.REFUSED):
            assert before == "attempting"
            for it in (*self.batch[one], one):
                self.refused[it] += 1
                self.seen.discard(it)

    @rule(one=inputs)
    def release(self, one: str) -> None:
        before = self.at(one)
        if self.steps(one, SeatState.RELEASED):
            assert before == "offered"

    @rule(one=inputs)
    def show_in_the_transcript(self, one: str) -> None:
        before = self.at(one)
        assert not self.steps(one, SeatState.ACCEPTED) or before in SEEN

    @rule(one=inputs)
    def reply(self, one: str) -> None:
        members = self.batch.get(one, ())
        if not self.steps(one, SeatState.REPLIED):
            return
        for it in members:
            assert self.state[it] == ("abandoned" if it in self.abandoned else "absorbed")
        assert self.state[one] == ("abandoned" if one in self.abandoned else "settled")

    @rule(one=inputs)
    def end_without_a_reply(self, one: str) -> None:
        if self.steps(one, SeatState.DELIVERED):
            assert self.state[one] in {"settled", "abandoned"}

    @rule(one=inputs, cancelled=st.booleans())
    def fail(self, one: str, cancelled: bool) -> None:
        if self.steps(one, SeatState.FAILED, cancelled=cancelled):
            assert self.state[one] in {"cancelled" if cancelled else "failed", "abandoned"}

    @rule(one=inputs)
    def lapse(self, one: str) -> None:
        if self.at(one) == "attempting":
            self.steps(one, SeatState.UNCERTAIN)

    @rule()
    def restart(self) -> None:
        for one in sorted(self.state):
            if not self.attempts[one]:
                continue
            after = delivery.seat_after_restart(self.attempts[one][-1])
            if after is not None:
                self.step(one, after)

    @rule(one=inputs)
    def close_as_unknown(self, one: str) -> None:
        if self.state[one] is InputState.UNCERTAIN:
            after = delivery.move_input(one, self.state[one], InputState.ABANDONED)
            self.moves.append(Transition(one, self.state[one], after))
            self.state[one] = after
            self.abandoned.add(one)

    # What must hold after everything.


def test_whatever_a_seat_does_nothing_is_given_twice_and_nothing_is_hidden() -> None:
    # proves: FENCE-4, FENCE-5, FENCE-7, FENCE-8, SEAT-12
    check: Callable[[type[RuleBasedStateMachine]], None] = run_state_machine_as_test
    check(AtASeat)
