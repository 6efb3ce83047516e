"""What a harness is told of the turns that the service ran while it was away.

Rule 1: a span is opened by a run of the service lane in a conversation that a harness has driven.
        What it tells are the service's turns that ended above the harness cursor.
Rule 2: it is sealed, which fixes its upper end, before it is sent; what comes after the seal is the
        next span's. At most one is on its way.
Rule 3: it is sent once. Unproven, it moves the harness cursor all the same and the log says so.
Rule 4: whatever moves the harness cursor past it (a confirmed session start, a reset) empties it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core.conversation import (
    Handoff,
    Message,
    Notice,
    Reset,
    Tool,
    ToolPhase,
    Turn,
    TurnPhase,
    timestamp,
)
from clankie.core.errors import TransitionRefusedError
from clankie.core.projection import rendered

if TYPE_CHECKING:
    from clankie.core.conversation import Event

SOURCE: Final = "service-handoff"
"""The `source` of the event that carries it, whose kind is ``message``."""

BUDGET: Final = 24_000
"""Characters of the event's content, every marker included; the wire's bound."""


class SpanState(StrEnum):
    """Where a span is."""

    NONE = "none"  # nothing to tell
    OPEN = "open"  # there is something, or will be when the run ends
    ATTEMPTING = "attempting"  # sealed and on its way; it may have arrived
    UNRESOLVED = "unresolved"  # the service restarted meanwhile
    DELIVERED = "delivered"  # the harness has it
    UNCERTAIN = "uncertain"  # nobody can tell; said in the log, never sent again


class SpanEvent(StrEnum):
    """What can happen to a span."""

    RUN = "run"  # a run of the service lane began
    SEALED = "sealed"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"  # for certain before it was taken
    LAPSED = "lapsed"  # no acknowledgement in time, or none after a restart
    RESTARTED = "restarted"
    COVERED = "covered"  # a confirmed session start showed the log beyond it
    RESET = "reset"


_S, _E = SpanState, SpanEvent

SPAN: Final[Mapping[SpanState, Mapping[SpanEvent, SpanState]]] = {
    _S.NONE: {
        _E.RUN: _S.OPEN,
        _E.RESTARTED: _S.NONE,
        _E.COVERED: _S.NONE,
        _E.RESET: _S.NONE,
    },
    _S.OPEN: {
        _E.RUN: _S.OPEN,
        _E.SEALED: _S.ATTEMPTING,
        _E.RESTARTED: _S.OPEN,
        _E.COVERED: _S.DELIVERED,
        _E.RESET: _S.NONE,
    },
    _S.ATTEMPTING: {
        _E.RUN: _S.ATTEMPTING,
        _E.ACKNOWLEDGED: _S.DELIVERED,
        _E.REFUSED: _S.OPEN,
        _E.LAPSED: _S.UNCERTAIN,
        _E.RESTARTED: _S.UNRESOLVED,
        _E.COVERED: _S.DELIVERED,
        _E.RESET: _S.ATTEMPTING,
    },
    _S.UNRESOLVED: {
        _E.RUN: _S.UNRESOLVED,
        _E.ACKNOWLEDGED: _S.DELIVERED,
        _E.LAPSED: _S.UNCERTAIN,
        _E.RESTARTED: _S.UNRESOLVED,
        _E.COVERED: _S.DELIVERED,
        _E.RESET: _S.UNRESOLVED,
    },
    # Closed: a new span is a new record. An exact late acknowledgement still tells the truth.
    _S.DELIVERED: {_E.ACKNOWLEDGED: _S.DELIVERED},
    _S.UNCERTAIN: {_E.ACKNOWLEDGED: _S.DELIVERED},
}

IN_FLIGHT: Final = frozenset({_S.ATTEMPTING, _S.UNRESOLVED})
"""While a span is here, no other is sealed and nothing else is given to the seat."""

CLOSED: Final = frozenset({_S.DELIVERED, _S.UNCERTAIN})


def advance(span: str, state: SpanState, event: SpanEvent) -> SpanState:
    """One move of a span.

    Raises:
        TransitionRefusedError: the table has no such cell; nothing changes.
    """
    after = SPAN[state].get(event)
    if after is None:
        raise TransitionRefusedError(f"The handoff {span!r}", state, event)
    return after


def moves_cursor(before: SpanState, after: SpanState) -> bool:
    """Whether the harness cursor moves to the sealed end: known or not, it is not sent again."""
    return after in CLOSED and before in IN_FLIGHT


def to_be_said(before: SpanState, after: SpanState) -> bool:
    """Whether the log gets its one message that a handoff may not have reached the harness."""
    return after is SpanState.UNCERTAIN and before is not SpanState.UNCERTAIN


def unproven(first: int, last: int) -> str:
    """The words of that message."""
    return (
        f"The handoff of what the service lane did here (cursors {first} to {last}) may not have "
        "reached the harness. It is not sent again; read_conversation shows it."
    )


@dataclass(frozen=True, slots=True)
class ServiceTurn:
    """A turn of the service lane that ended: the cursors of its first and last event, its text."""

    first: int
    last: int
    text: str


_HEADER: Final = (
    "While this session was away, the service lane ran these turns here. They are done: take them "
    "as read, do not do them again."
)
_OMITTED: Final = (
    "[{count} earlier turns left out, cursors {first} to {last}: read_conversation shows them, "
    "and the report inbox has the reports]"
)
_CUT: Final = "[the first {count} characters of this turn, cursors {first} to {last}, are cut]\n"


def turn_of(events: Sequence[Event]) -> ServiceTurn:
    """One turn of the service lane from its events in the log, verbatim; at least one event.

    How it ended is said where it did not end well: without it a message would read as unanswered.
    """
    lines = filter(None, map(_line, events))
    return ServiceTurn(events[0].cursor, events[-1].cursor, "\n".join(lines))


_ENDS: Final = {TurnPhase.FAILED, TurnPhase.CANCELLED, TurnPhase.UNCERTAIN}


def _line(event: Event) -> str | None:
    match event.body:
        case Message() | Tool() as body:
            started = isinstance(body, Tool) and body.phase is ToolPhase.STARTED
            return None if started else rendered(event.at, event.author, body, None)
        case Turn(phase=phase, code=code):
            if phase not in _ENDS:
                return None
            when = timestamp(event.at)[:16].replace("T", " ")
            return f"[{when}] turn {phase}" + ("" if code is None else f": {code}")
        case Notice() | Handoff() | Reset():
            return None
        case _:
            assert_never(event.body)


def compose(turns: Sequence[ServiceTurn], budget: int = BUDGET) -> str:
    """The handoff of these turns, oldest first, within `budget` characters.

    The newest stand verbatim; whole older ones that do not fit are named by their cursors. When
    even the newest does not fit alone, its beginning is cut and the cut is said. Without turns: "".
    """
    if not turns:
        return ""
    kept: list[str] = []
    for n in range(len(turns), 0, -1):
        longer = [turns[n - 1].text, *kept]
        if _length(turns[: n - 1], longer) > budget:
            break
        kept = longer
    left = turns[: len(turns) - len(kept)]
    if not kept:
        left, newest = turns[:-1], turns[-1]
        kept = [_cut(newest, budget - _length(left, [""]))]
    return _joined(left, kept)[: max(0, budget)]


def _joined(left: Sequence[ServiceTurn], texts: Sequence[str]) -> str:
    marker = (
        [_OMITTED.format(count=len(left), first=left[0].first, last=left[-1].last)] if left else []
    )
    return "\n\n".join([_HEADER, *marker, *texts])


def _length(left: Sequence[ServiceTurn], texts: Sequence[str]) -> int:
    return len(_joined(left, texts))


def _cut(turn: ServiceTurn, room: int) -> str:
    """The end of a turn within `room` characters, and how much of its beginning is missing."""
    worst = _CUT.format(count=len(turn.text), first=turn.first, last=turn.last)
    kept = max(0, room - len(worst))
    missing = len(turn.text) - kept
    marker = _CUT.format(count=missing, first=turn.first, last=turn.last)
    return marker + turn.text[missing:]
