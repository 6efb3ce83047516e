"""Who may take from a seat, and for how long its silence is waited out.

Rule 1: two clocks over the same asks. The *binding* says who may take: it lives while a poll
        waits and for the grace after a completed one; an aborted poll ends it at once. The *hold*
        says who is the destination: at the head, a seat that asked less than the hold ago still is.
Rule 2: only detaching, parking or another occupant end a hold early.
Rule 3: a poll that waits is an ask for as long as it waits, whatever it waits for.
        ``wait=0`` is no ask: it binds nobody and prolongs nothing.
Rule 4: a newer poll takes the place of an older one; how that one ends says nothing any more.
Rule 5: a held Queue outlives its bridge by the grace, and a parking too. It is never taken over.

Times are seconds of one monotonic clock of the service; nothing here reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from clankie.core.driver import Presence
from clankie.core.errors import TransitionRefusedError

if TYPE_CHECKING:
    from clankie.core.mailbox import Policy
    from clankie.core.settings import SeatLimits


class Phase(StrEnum):
    """Where a binding is."""

    NEVER = "never"  # no poll since the service started, or since it was detached
    ASKING = "asking"  # a poll waits
    GRACE = "grace"  # the last poll completed; its bridge may still take and acknowledge
    UNBOUND = "unbound"


class Signal(StrEnum):
    """What can happen to a binding."""

    ASK = "ask"
    COMPLETE = "complete"
    ABORT = "abort"
    LAPSE = "lapse"  # the grace has passed
    DETACH = "detach"  # also: another occupant


_P, _S = Phase, Signal

TABLE: Final[Mapping[Phase, Mapping[Signal, Phase]]] = {
    _P.NEVER: {_S.ASK: _P.ASKING, _S.DETACH: _P.NEVER},
    _P.ASKING: {
        _S.ASK: _P.ASKING,
        _S.COMPLETE: _P.GRACE,
        _S.ABORT: _P.UNBOUND,
        _S.DETACH: _P.NEVER,
    },
    _P.GRACE: {_S.ASK: _P.ASKING, _S.LAPSE: _P.UNBOUND, _S.DETACH: _P.NEVER},
    _P.UNBOUND: {_S.ASK: _P.ASKING, _S.DETACH: _P.NEVER},
}


def move(phase: Phase, signal: Signal) -> Phase:
    """One move of a binding.

    Raises:
        TransitionRefusedError: the table has no such cell.
    """
    after = TABLE[phase].get(signal)
    if after is None:
        raise TransitionRefusedError("The binding", phase, signal)
    return after


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a seat's polls have been so far.

    `ask` names the request that waits (one connection, not its poll id: a poll repeated under its
    id is another request). `binding` is the bridge of the newest ask. `last_ask` is when the newest
    ask ended; while one waits it is not over. `presumed_until`: until then a seat that asked
    shortly before the service started counts as there.
    """

    phase: Phase = Phase.NEVER
    ask: str | None = None
    binding: str | None = None
    last_ask: float | None = None
    presumed_until: float | None = None


NOBODY: Final = Asking()
"""A seat that has not asked."""


def restarted(age: float | None, now: float, limits: SeatLimits) -> Asking:
    """What a start of the service knows of a seat that asked `age` seconds before it."""
    if age is None:
        return NOBODY
    presumed = now + limits.hold if age <= limits.presumed else None
    return Asking(last_ask=now - max(0.0, age), presumed_until=presumed)


def asked(asking: Asking, *, ask: str, binding: str, wait: float) -> Asking:
    """A poll began to wait; the one before it, if it still waits, is superseded."""
    if wait <= 0:
        return asking
    phase = move(asking.phase, Signal.ASK)
    return Asking(phase=phase, ask=ask, binding=binding, last_ask=asking.last_ask)


def completed(asking: Asking, *, ask: str, now: float) -> Asking:
    """A poll returned its page, an empty one too. Of a superseded one it says nothing."""
    if asking.ask != ask:
        return asking
    return replace(asking, phase=move(asking.phase, Signal.COMPLETE), ask=None, last_ask=now)


def aborted(asking: Asking, *, ask: str, now: float) -> Asking:
    """The bridge went away while its poll waited. The hold runs from here all the same."""
    if asking.ask != ask:
        return asking
    phase = move(asking.phase, Signal.ABORT)
    return replace(asking, phase=phase, ask=None, binding=None, last_ask=now)


def superseded(asking: Asking, *, ask: str) -> bool:
    """Whether this poll has to return empty, since a newer one waits or the seat was let go."""
    return asking.ask != ask


def detached(asking: Asking) -> Asking:
    """The seat was let go, or another occupant sits there: neither binding nor hold remain."""
    return replace(NOBODY, phase=move(asking.phase, Signal.DETACH))


def at(asking: Asking, limits: SeatLimits, now: float) -> Asking:
    """The same at `now`: a grace that has passed has lapsed."""
    ends = grace_ends(asking, limits)
    if ends is None or now < ends:
        return asking
    return replace(asking, phase=move(asking.phase, Signal.LAPSE), binding=None)


def bound(asking: Asking, limits: SeatLimits, now: float) -> str | None:
    """The bridge that may take; None when there is none."""
    return at(asking, limits, now).binding


def grace_ends(asking: Asking, limits: SeatLimits) -> float | None:
    """When the binding of a completed poll ends; None when no grace runs."""
    if asking.phase is not Phase.GRACE or asking.last_ask is None:
        return None
    return asking.last_ask + limits.grace


def hold_ends(asking: Asking, policy: Policy, limits: SeatLimits) -> float | None:
    """When the seat is no destination any more unless it asks; None while it asks, or long ago.

    A presumption after a start can outlast what was seen before it.
    """
    if asking.ask is not None:
        return None
    seen = asking.last_ask
    if not policy.holds:
        seen_until = grace_ends(asking, limits)
    else:
        seen_until = None if seen is None else seen + limits.hold
    known = [one for one in (seen_until, asking.presumed_until) if one is not None]
    return max(known, default=None)


def presence(
    asking: Asking, policy: Policy, limits: SeatLimits, now: float, *, parked: bool
) -> Presence:
    """How the seat stands to input that arrives now."""
    if parked:
        return Presence.ABSENT
    if asking.ask is not None:
        return Presence.LIVE
    ends = hold_ends(asking, policy, limits)
    if ends is None or now >= ends:
        return Presence.ABSENT
    return Presence.LIVE if bound(asking, limits, now) is not None else Presence.HOLDING


def queue_ends(
    asking: Asking, limits: SeatLimits, *, parked_at: float | None = None
) -> float | None:
    """When a held Queue that nobody took ends as not sent; None while its seat asks unparked."""
    ends: list[float] = []
    if parked_at is not None:
        ends.append(parked_at + limits.grace)
    if asking.ask is None:
        left = 0.0 if asking.last_ask is None else asking.last_ask + limits.grace
        ends.append(max(left, asking.presumed_until or left))
    return min(ends, default=None)


def silent_since(asking: Asking) -> float | None:
    """Since when the seat has not asked; None while it asks, and when it never did."""
    return asking.last_ask if asking.ask is None else None


def next_change(
    asking: Asking,
    policy: Policy,
    limits: SeatLimits,
    now: float,
    *,
    parked_at: float | None = None,
) -> float | None:
    """The next moment after `now` at which time alone changes an answer given here."""
    moments = (
        grace_ends(asking, limits),
        hold_ends(asking, policy, limits),
        queue_ends(asking, limits, parked_at=parked_at),
    )
    return min((one for one in moments if one is not None and one > now), default=None)
