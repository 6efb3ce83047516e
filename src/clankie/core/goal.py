"""One durable objective of a conversation, pursued step by step within a budget of tokens.

Rule 1: a step is an input like any other: admitted once under an id made of goal and number, run
        once, its outcome known or uncertain. A crash anywhere therefore repeats no step.
Rule 2: only a step that was answered leads to the next. Anything else pauses the goal: the owner
        decides.
Rule 3: steps run on the service lane alone; a goal is not set while a seat drives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, assert_never

from clankie.core.conversation import timestamp
from clankie.core.delivery import InputState
from clankie.core.errors import InvalidFieldError, RefusedError, TransitionRefusedError

if TYPE_CHECKING:
    from datetime import datetime

TEXT_LIMIT: Final = 4_000
BUDGET_LIMIT: Final = 100_000_000
UNREPORTED: Final = 1_000
"""Tokens that an answered step counts for when its model server reports none.

Without it a goal on such a server would never spend its budget and never end.
"""


class GoalState(StrEnum):
    """Where a goal is."""

    ACTIVE = "active"
    PAUSED = "paused"  # the last step was not answered; the owner may set it again
    DONE = "done"  # said so by a step
    EXHAUSTED = "exhausted"  # the budget is spent


class SeatDrivesError(RefusedError):
    """A seat drives the conversation; goals are pursued by the service lane alone."""

    code = "goal_seat_drives"

    def __init__(self) -> None:
        super().__init__(
            "A seat drives this conversation, and goals are pursued by the service lane alone. "
            "Detach the seat first."
        )


class GoalNotFoundError(RefusedError):
    """There is no active goal in this conversation."""

    code = "goal_not_found"

    def __init__(self, conversation: str) -> None:
        super().__init__(
            f"The conversation {conversation!r} has no active goal.", conversation=conversation
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """An objective. `step` counts the steps so far; tokens are what those have cost.

    `counted`: the present step is taken account of; there is none before the first. `reason` says
    why it is not active any more.
    """

    id: str
    conversation: str
    text: str
    token_budget: int
    created_at: datetime
    spent: int = 0
    step: int = 0
    counted: bool = True
    state: GoalState = GoalState.ACTIVE
    reason: str | None = None

    @property
    def step_id(self) -> str:
        """The id that the present step is admitted under, as its author's own.

        A function of goal and number that no other goal or number shares.
        """
        return f"{self.id}-{self.step}"

    @property
    def prompt(self) -> str:
        """What a step is asked to do. The objective is the owner's own words."""
        return (
            f"Go on with the objective of this conversation (step {self.step}): {self.text}\n\n"
            f"{self.spent} of {self.token_budget} tokens are spent. Do the next useful step and "
            "say what you did. When the objective is reached or cannot be, call finish_goal."
        )

    def to_wire(self) -> dict[str, Any]:
        """As the interface shows it."""
        wire = {
            "id": self.id,
            "text": self.text,
            "token_budget": self.token_budget,
            "spent": self.spent,
            "step": self.step,
            "state": self.state,
            "reason": self.reason,
            "created_at": timestamp(self.created_at),
        }
        return {name: value for name, value in wire.items() if value is not None}


def check_new(text: str, token_budget: int) -> None:
    """Whether a goal may be set like this. Raises InvalidFieldError."""
    if not text.strip() or len(text) > TEXT_LIMIT:
        raise InvalidFieldError("text", f"1 to {TEXT_LIMIT} characters, not blank")
    if not 1 <= token_budget <= BUDGET_LIMIT:
        raise InvalidFieldError("token_budget", f"a whole number from 1 to {BUDGET_LIMIT}")


def stepped(goal: Goal) -> Goal:
    """The goal with its next step about to be admitted.

    Raises:
        TransitionRefusedError: it is not active, or its present step is not taken account of.
    """
    if goal.state is not GoalState.ACTIVE or not goal.counted:
        raise TransitionRefusedError(f"The goal {goal.id!r}", goal.state, "stepped")
    return replace(goal, step=goal.step + 1, counted=False)


def finished(goal: Goal, *, reached: bool) -> Goal:
    """The goal after a step said that its objective is reached, or cannot be.

    One that is not active any more stays as it is.
    """
    return _ended(goal, GoalState.DONE, "reached" if reached else "unreachable")


def after_step(goal: Goal, ended: InputState, tokens: int, code: str | None) -> Goal:
    """The goal after its present step ended like this, having cost `tokens`.

    One that a step declared done stays done, however the step itself ended. A step that has not
    ended changes nothing, nor does one that is taken account of already. Usage is what a model
    server says: an answer for which it says nothing counts as `UNREPORTED`.
    """
    if goal.counted:
        return goal
    spent = replace(goal, spent=goal.spent + _cost(ended, tokens), counted=True)
    match ended:
        case InputState.QUEUED | InputState.RUNNING:
            return goal
        case InputState.SETTLED | InputState.ABSORBED:
            if spent.spent < goal.token_budget:
                return spent
            return _ended(spent, GoalState.EXHAUSTED, "budget_exhausted")
        case InputState.FAILED | InputState.CANCELLED | InputState.NOT_SENT:
            return _ended(spent, GoalState.PAUSED, code or ended.value)
        case InputState.UNCERTAIN | InputState.ABANDONED:
            return _ended(spent, GoalState.PAUSED, "uncertain")
        case _:
            assert_never(ended)


def _cost(ended: InputState, reported: int) -> int:
    if reported <= 0 and ended in {InputState.SETTLED, InputState.ABSORBED}:
        return UNREPORTED
    return max(0, reported)


def _ended(goal: Goal, state: GoalState, reason: str) -> Goal:
    if goal.state is not GoalState.ACTIVE:
        return goal
    return replace(goal, state=state, reason=reason)
