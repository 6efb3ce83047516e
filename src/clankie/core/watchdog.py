"""When a run counts as stuck: a function of its marks and of now.

The limit runs from the reservation. Progress renews it; running tools suspend it, and a full window
starts when the last one ends. There is no cap on healthy work. Times are seconds on a monotonic
clock: a laptop that slept has not been silent, and the caller's clock must not count the sleep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Phase(StrEnum):
    """Where a run was when it fell silent."""

    CHECKS = "checks"
    PREPARATION = "preparation"
    EXECUTION = "execution"


@dataclass(frozen=True, slots=True)
class Marks:
    """The last sign of life, and which tools run."""

    last: float
    phase: Phase = Phase.PREPARATION
    tools: frozenset[str] = frozenset()

    def progress(self, now: float) -> Marks:
        """Something was observed."""
        return replace(self, last=now)

    def entered(self, phase: Phase, now: float) -> Marks:
        """The run went on to its next phase."""
        return replace(self, last=now, phase=phase)

    def tool_started(self, call: str, now: float) -> Marks:
        """A tool runs; silence is its own business now."""
        return replace(self, last=now, tools=self.tools | {call})

    def tool_ended(self, call: str, now: float) -> Marks:
        """A tool ended; with the last one a full window begins."""
        return replace(self, last=now, tools=self.tools - {call})


def deadline(marks: Marks, idle: float) -> float | None:
    """When the run counts as stuck if nothing more is seen; None while a tool runs."""
    return None if marks.tools else marks.last + idle


def stalled(marks: Marks, idle: float, now: float) -> bool:
    """Whether the run is stuck at `now`."""
    limit = deadline(marks, idle)
    return limit is not None and now >= limit
