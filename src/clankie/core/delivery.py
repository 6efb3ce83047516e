"""The life of an input and of the attempts to have it answered.

Rule 1: every move is a cell of a table here; a cell that is absent is refused and changes nothing.
Rule 2: at most one attempt of an input is open.
Rule 3: what a driver may have seen never becomes available to another: no path leads from
        `uncertain`, `taken` or `accepted` back to `queued`.
Rule 4: an input follows its attempt (`consequence`), never the other way round.

A failed wake is tried again as the same input. Its failure is known, so the move is the one from
`running` back to `queued`; an owner's input never takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar, assert_never

from clankie.core.errors import TransitionRefusedError


class InputState(StrEnum):
    """Where an input is."""

    QUEUED = "queued"  # waits; no driver has it
    RUNNING = "running"  # a driver has it
    UNCERTAIN = "uncertain"  # nobody can tell; shown, never resent
    SETTLED = "settled"
    FAILED = "failed"
    ABSORBED = "absorbed"  # answered together with another
    CANCELLED = "cancelled"
    NOT_SENT = "not_sent"
    ABANDONED = "abandoned"  # closed by the owner as unknown


class ServiceState(StrEnum):
    """Where an attempt on the service lane is."""

    RESERVED = "reserved"  # prepared, the model was not asked
    RUNNING = "running"  # the model may have been asked
    RELEASED = "released"
    COMPLETED = "completed"
    FAILED = "failed"
    STALLED = "stalled"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"


class SeatState(StrEnum):
    """Where an attempt at a seat is."""

    OFFERED = "offered"  # stored at the seat
    ATTEMPTING = "attempting"  # on its way; it may have arrived
    TAKEN = "taken"  # in the harness's own queue
    ACCEPTED = "accepted"  # its transcript shows the words
    REPLIED = "replied"
    DELIVERED = "delivered"  # no reply was wanted, or none came in time
    REFUSED = "refused"
    RELEASED = "released"
    FAILED = "failed"
    UNCERTAIN = "uncertain"


AttemptState = ServiceState | SeatState
_Any = TypeVar("_Any", InputState, ServiceState, SeatState)
Table = Mapping[_Any, frozenset[_Any]]

_I, _V, _S = InputState, ServiceState, SeatState

INPUT: Final[Table[InputState]] = {
    _I.QUEUED: frozenset({_I.RUNNING, _I.NOT_SENT, _I.CANCELLED, _I.FAILED}),
    _I.RUNNING: frozenset(
        {_I.SETTLED, _I.FAILED, _I.ABSORBED, _I.CANCELLED, _I.UNCERTAIN, _I.QUEUED}
    ),
    _I.UNCERTAIN: frozenset({_I.RUNNING, _I.SETTLED, _I.FAILED, _I.ABANDONED}),
    _I.SETTLED: frozenset(),
    _I.FAILED: frozenset(),
    _I.ABSORBED: frozenset(),
    _I.CANCELLED: frozenset(),
    _I.NOT_SENT: frozenset(),
    _I.ABANDONED: frozenset(),
}

SERVICE: Final[Table[ServiceState]] = {
    _V.RESERVED: frozenset({_V.RUNNING, _V.RELEASED, _V.FAILED, _V.STALLED}),
    _V.RUNNING: frozenset({_V.COMPLETED, _V.FAILED, _V.STALLED, _V.CANCELLED, _V.UNCERTAIN}),
    _V.RELEASED: frozenset(),
    _V.COMPLETED: frozenset(),
    _V.FAILED: frozenset(),
    _V.STALLED: frozenset(),
    _V.CANCELLED: frozenset(),
    _V.UNCERTAIN: frozenset(),
}

SEAT: Final[Table[SeatState]] = {
    _S.OFFERED: frozenset({_S.ATTEMPTING, _S.RELEASED}),
    _S.ATTEMPTING: frozenset({_S.TAKEN, _S.REFUSED, _S.UNCERTAIN, _S.ACCEPTED, _S.REPLIED}),
    _S.TAKEN: frozenset({_S.ACCEPTED, _S.REPLIED, _S.DELIVERED, _S.FAILED, _S.UNCERTAIN}),
    _S.ACCEPTED: frozenset({_S.REPLIED, _S.DELIVERED, _S.FAILED, _S.UNCERTAIN}),
    _S.UNCERTAIN: frozenset({_S.TAKEN, _S.ACCEPTED, _S.REPLIED, _S.DELIVERED, _S.FAILED}),
    _S.REPLIED: frozenset(),
    _S.DELIVERED: frozenset(),
    _S.REFUSED: frozenset(),
    _S.RELEASED: frozenset(),
    _S.FAILED: frozenset(),
}

OPEN_SERVICE: Final = frozenset({_V.RESERVED, _V.RUNNING})
OPEN_SEAT: Final = frozenset({_S.OFFERED, _S.ATTEMPTING, _S.TAKEN, _S.ACCEPTED})
FINAL: Final = frozenset(state for state, after in INPUT.items() if not after)
RETRYABLE: Final = frozenset({_I.UNCERTAIN, _I.FAILED, _I.NOT_SENT, _I.ABANDONED})
"""States an explicit new delivery may name as the one it tries again."""


def move_input(delivery: str, before: InputState, after: InputState) -> InputState:
    """Check one move of an input.

    Raises:
        TransitionRefusedError: the table has no such cell.
    """
    if after not in INPUT[before]:
        raise TransitionRefusedError(f"The delivery {delivery!r}", before, after)
    return after


def move_service(attempt: str, before: ServiceState, after: ServiceState) -> ServiceState:
    """Check one move of an attempt on the service lane."""
    if after not in SERVICE[before]:
        raise TransitionRefusedError(f"The attempt {attempt!r}", before, after)
    return after


def move_seat(attempt: str, before: SeatState, after: SeatState) -> SeatState:
    """Check one move of an attempt at a seat."""
    if after not in SEAT[before]:
        raise TransitionRefusedError(f"The attempt {attempt!r}", before, after)
    return after


def after_restart(state: ServiceState) -> ServiceState | None:
    """What a new owner of the log finds of an open service attempt; None when it was closed."""
    match state:
        case ServiceState.RESERVED:
            return ServiceState.RELEASED
        case ServiceState.RUNNING:
            return ServiceState.UNCERTAIN
        case (
            ServiceState.RELEASED
            | ServiceState.COMPLETED
            | ServiceState.FAILED
            | ServiceState.STALLED
            | ServiceState.CANCELLED
            | ServiceState.UNCERTAIN
        ):
            return None
        case _:
            assert_never(state)


def consequence(state: ServiceState, *, joined: bool, again: bool) -> InputState:
    """Where an input is when its service attempt is `state`.

    `joined`: it was steered into another's run. `again`: the failure is known and a wake retries.
    """
    match state:
        case ServiceState.RESERVED | ServiceState.RELEASED:
            return InputState.QUEUED
        case ServiceState.RUNNING:
            return InputState.RUNNING
        case ServiceState.COMPLETED:
            return InputState.ABSORBED if joined else InputState.SETTLED
        case ServiceState.FAILED | ServiceState.STALLED:
            return InputState.QUEUED if again else InputState.FAILED
        case ServiceState.CANCELLED:
            return InputState.CANCELLED
        case ServiceState.UNCERTAIN:
            return InputState.UNCERTAIN
        case _:
            assert_never(state)


def seat_after_restart(state: SeatState) -> SeatState | None:
    """What a new owner of the log makes of an attempt at a seat; None when it stays as it is.

    What is taken or accepted goes on, its deadline counted from stored times.
    """
    match state:
        case SeatState.ATTEMPTING:
            return SeatState.UNCERTAIN
        case (
            SeatState.OFFERED
            | SeatState.TAKEN
            | SeatState.ACCEPTED
            | SeatState.REPLIED
            | SeatState.DELIVERED
            | SeatState.REFUSED
            | SeatState.RELEASED
            | SeatState.FAILED
            | SeatState.UNCERTAIN
        ):
            return None
        case _:
            assert_never(state)


def seat_consequence(state: SeatState, *, member: bool, cancelled: bool = False) -> InputState:
    """Where an input is when its attempt at a seat is `state`.

    `member`: it went with a newer one, whose reply answers both. `cancelled`: the owner asked to
    stop it and the harness reports that it did.
    """
    match state:
        case SeatState.OFFERED | SeatState.RELEASED | SeatState.REFUSED:
            return InputState.QUEUED
        case SeatState.ATTEMPTING | SeatState.TAKEN | SeatState.ACCEPTED:
            return InputState.RUNNING
        case SeatState.REPLIED:
            return InputState.ABSORBED if member else InputState.SETTLED
        case SeatState.DELIVERED:
            # No reply names it: each settles for itself.
            return InputState.SETTLED
        case SeatState.FAILED:
            return InputState.CANCELLED if cancelled else InputState.FAILED
        case SeatState.UNCERTAIN:
            return InputState.UNCERTAIN
        case _:
            assert_never(state)


def follow(delivery: str, before: InputState, after: InputState) -> tuple[InputState, ...]:
    """The moves by which an input follows its attempt, in order; empty when it is there already.

    Late evidence may take two: what was uncertain ran after all, and then was absorbed or stopped.
    What the owner closed as unknown stays closed; the attempt alone records what came to be known.

    Raises:
        TransitionRefusedError: it cannot come there.
    """
    if before is after or before is InputState.ABANDONED:
        return ()
    late = {InputState.ABSORBED, InputState.CANCELLED}
    if before is InputState.UNCERTAIN and after in late:
        ran = move_input(delivery, before, InputState.RUNNING)
        return ran, move_input(delivery, ran, after)
    return (move_input(delivery, before, after),)


@dataclass(frozen=True, slots=True)
class SeatStep:
    """One move of an attempt at a seat, with the moves of its input that follow from it."""

    attempt: SeatState
    inputs: tuple[InputState, ...]


def seat_step(
    attempt: str,
    moved: tuple[SeatState, SeatState],
    delivery: str,
    before: InputState,
    *,
    member: bool = False,
    cancelled: bool = False,
) -> SeatStep:
    """Check a move of an attempt at a seat together with what follows for its input.

    Raises:
        TransitionRefusedError: either of them is not in its table; nothing may be written then.
    """
    state = move_seat(attempt, *moved)
    after = seat_consequence(state, member=member, cancelled=cancelled)
    return SeatStep(state, follow(delivery, before, after))


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the append-only record of moves; `record` is a delivery or an attempt."""

    record: str
    before: str | None
    after: str


def replay(moves: list[Transition]) -> dict[str, str]:
    """Add the moves up; each must start where the one before ended.

    Raises:
        TransitionRefusedError: the record of moves contradicts itself.
    """
    states: dict[str, str] = {}
    for one in moves:
        if states.get(one.record) != one.before:
            raise TransitionRefusedError(one.record, str(states.get(one.record)), one.after)
        states[one.record] = one.after
    return states
