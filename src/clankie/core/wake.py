"""Wakes: when one may be set, and what follows when one fails.

A failed wake backs off (5 s, doubling, from its settlement); after three attempts, or one rejected
credential, it is held until something changes. Where a tool may have been left half way, or an
effect was started, the owner decides whether it runs again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from clankie.core.errors import InvalidFieldError, RefusedError

if TYPE_CHECKING:
    from clankie.core.settings import WakeLimits

CREDENTIAL_REJECTED: Final = "model_credential_rejected"
STALLED: Final = "conversation_turn_stalled"
STOPPED: Final = "service_stopped"
EXHAUSTED: Final = "budget_exhausted"
ATTEMPTS: Final = "attempts_exhausted"
CREDENTIAL: Final = "credential_rejected"

SEAT_BINDS: Final = (ATTEMPTS, CREDENTIAL, EXHAUSTED)
"""Reasons to hold a wake that are gone when a seat binds. The others end only by its owner."""


class WakeLimitError(RefusedError):
    """One more wake would go beyond a bound of this conversation."""

    code = "wake_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """A wake that waits. `depth` counts the wakes that led to it without an owner's message."""

    id: str
    conversation: str
    due_at: datetime
    text: str
    depth: int
    created_at: datetime
    delivery_id: str | None = None
    held: str | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """Try the same input again, not before `at`."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep it until something changes."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How an attempt at a wake failed. `attempts` counts this one.

    `tool_started`: any tool ran; `effect_started`: one ran that may have changed something outside.
    """

    code: str
    settled_at: datetime
    attempts: int
    tool_started: bool
    effect_started: bool


def after_failure(failure: Failure, limits: WakeLimits) -> Again | Hold:
    """What becomes of a wake whose attempt failed in a known way.

    A run that was cut off (stalled, stopped) may have left a tool half way, and an effect that was
    started is never repeated without the owner: both are held.
    """
    if failure.code in {STALLED, STOPPED} and failure.tool_started:
        return Hold("cut_off_after_tool")
    if failure.effect_started:
        return Hold("failed_after_effect")
    if failure.code == CREDENTIAL_REJECTED:
        return Hold(CREDENTIAL)
    if failure.code == EXHAUSTED:
        return Hold(EXHAUSTED)
    if failure.attempts >= limits.attempts:
        return Hold(ATTEMPTS)
    wait = limits.first_backoff * 2 ** (failure.attempts - 1)
    return Again(failure.settled_at + timedelta(seconds=wait))


def check_new(wake: Wake, waiting: int, limits: WakeLimits) -> None:
    """Whether this wake may be set beside `waiting` others.

    Raises:
        InvalidFieldError: its text or time is out of bounds.
        WakeLimitError: too many wait, or wakes have set wakes for too long.
    """
    if not wake.text.strip() or len(wake.text) > limits.text:
        raise InvalidFieldError("text", f"1 to {limits.text} characters, not blank")
    if wake.due_at < wake.created_at + timedelta(seconds=limits.soonest):
        raise InvalidFieldError("due_at", f"at least {limits.soonest:g} seconds from now")
    if waiting >= limits.waiting:
        raise WakeLimitError(
            f"{waiting} wakes already wait in this conversation; remove one first."
        )
    if wake.depth > limits.depth:
        raise WakeLimitError(
            f"{limits.depth} wakes have set one another without a message from the owner; "
            "wait for one before setting another."
        )
