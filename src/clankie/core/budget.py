"""The owner's daily budget of tokens: a warning for the owner, a stop for everything else."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from clankie.core.admission import Origin

if TYPE_CHECKING:
    from clankie.core.settings import Models


class Spending(StrEnum):
    """Whether a turn may begin."""

    FREE = "free"
    WARN = "warn"  # the owner's own message: it runs, and the conversation says so
    STOP = "stop"


def spending(origin: Origin, spent_today: int, models: Models) -> Spending:
    """Whether an input of this origin may run when so many tokens were used today (UTC)."""
    if spent_today < models.daily_tokens:
        return Spending.FREE
    return Spending.WARN if origin is Origin.OWNER else Spending.STOP
