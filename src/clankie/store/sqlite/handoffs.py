"""Spans: what the service did that the harness of a conversation has not been told yet.

At most one of a conversation is not closed, and what it tells is read from the log when it is
sealed: the turns of the service lane that ended above the harness cursor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import SYSTEM, Handoff, Message, Role
from clankie.core.delivery import SeatState
from clankie.core.errors import TransitionRefusedError
from clankie.core.handoff import (
    CLOSED,
    SOURCE,
    SpanEvent,
    SpanState,
    advance,
    compose,
    moves_cursor,
    to_be_said,
    unproven,
)
from clankie.core.seat import EventKind
from clankie.store.sqlite import events, service_turns
from clankie.store.sqlite.inputs import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.host.seatstore import Ask, Seat
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.receipts import Run
    from clankie.store.sqlite.unit import Transaction

_COLUMNS: Final = (
    "id, (SELECT id FROM conversation WHERE n = span.conversation), state, from_cursor, to_cursor, "
    "opened_at, asked_at, ended_at, tries, content, seat, occupant, binding, poll_id"
)
_BY_ID: Final = f"SELECT {_COLUMNS} FROM span WHERE id = ?"
_CURRENT: Final = f"SELECT {_COLUMNS} FROM span WHERE conversation = ? AND ended_at IS NULL"
_UNDER_WAY: Final = f"SELECT {_COLUMNS} FROM span WHERE content IS NOT NULL ORDER BY asked_at"
_OF_POLL: Final = f"""
SELECT {_COLUMNS} FROM span WHERE seat = ? AND poll_id = ? AND binding = ?"""
_INSERT: Final = """
INSERT INTO span (id, conversation, state, from_cursor, opened_at) VALUES (?, ?, ?, ?, ?)"""
_SAVE: Final = """
UPDATE span SET state = ?, from_cursor = ?, to_cursor = ?, asked_at = ?, ended_at = ?, tries = ?,
  content = ?, seat = ?, occupant = ?, binding = ?, poll_id = ?
WHERE id = ? AND state = ?"""
_AT_SEAT: Final = {
    SpanState.OPEN: SeatState.REFUSED,
    SpanState.NONE: SeatState.RELEASED,
    SpanState.ATTEMPTING: SeatState.ATTEMPTING,
    SpanState.UNRESOLVED: SeatState.UNCERTAIN,
    SpanState.DELIVERED: SeatState.DELIVERED,
    SpanState.UNCERTAIN: SeatState.UNCERTAIN,
}
PATIENCE: Final = 3
"""Refusals of one handoff after which it is not given out again at once."""
PAUSE: Final = 60_000
"""Milliseconds until it is tried once more then."""
_ENDED: Final = CLOSED | {SpanState.NONE}


@dataclass(slots=True)
class Span:
    """A span's row. `tries` is the number of its last attempt."""

    id: str
    conversation: str
    state: str
    from_cursor: int
    to_cursor: int | None = None
    opened_at: int = 0
    asked_at: int | None = None
    ended_at: int | None = None
    tries: int = 0
    content: str | None = None
    seat: str | None = None
    occupant: str | None = None
    binding: str | None = None
    poll_id: str | None = None

    @property
    def at_seat(self) -> SeatState:
        """As the attempt that it is to its seat."""
        return _AT_SEAT[SpanState(self.state)]


def read(run: Run, span: str) -> Span | None:
    """One by its id."""
    row = run(_BY_ID, (span,)).fetchone()
    return None if row is None else Span(*row)


def current(tx: Transaction, head: Head) -> Span | None:
    """The one that is not closed."""
    row = tx.row(_CURRENT, (head.n,))
    return None if row is None else Span(*row)


def of_poll(run: Run, seat: str, ask: Ask) -> Span | None:
    """The one that this poll was given."""
    row = run(_OF_POLL, (seat, ask.poll_id, ask.binding)).fetchone()
    return None if row is None else Span(*row)


def under_way(run: Run) -> Sequence[Span]:
    """Those that were sealed and are not closed, anywhere."""
    return [Span(*row) for row in run(_UNDER_WAY, ()).fetchall()]


def ran(tx: Transaction, head: Head) -> None:
    """A run of the service lane began, or ended. The caller saves the head."""
    if head.harness_cursor is None:
        return
    span = current(tx, head)
    if span is not None:
        advance(span.id, SpanState(span.state), SpanEvent.RUN)
    elif head.service_cursor > head.harness_cursor:
        _open(tx, head, head.harness_cursor)


def _open(tx: Transaction, head: Head, cursor: int) -> None:
    span = Span(tx.ids.new("h"), head.id, SpanState.OPEN, cursor, opened_at=tx.at)
    tx.run(_INSERT, (span.id, head.n, span.state, span.from_cursor, span.opened_at))
    record(tx, span.id, None, span.state)
    _tell(tx, head, span)


def seal(tx: Transaction, head: Head, seat: Seat, ask: Ask, budget: int) -> Span | None:
    """Seal the open span for this poll; None when there is nothing to tell, or not to this seat."""
    span = current(tx, head)
    if span is None or span.state != SpanState.OPEN or head.harness_cursor is None:
        return None
    if EventKind.MESSAGE not in seat.capabilities.kinds or _declined(tx, span, seat):
        return None
    turns = service_turns.ended_above(tx, head, head.harness_cursor, budget)
    if not turns:
        return None
    span.from_cursor, span.to_cursor = head.harness_cursor, head.cursor
    span.content = compose(turns, budget)
    span.seat, span.occupant = seat.id, seat.occupant.id
    span.binding, span.poll_id = ask.binding, ask.poll_id
    span.asked_at, span.tries = tx.at, span.tries + 1
    move(tx, head, span, SpanEvent.SEALED)
    return span


def _declined(tx: Transaction, span: Span, seat: Seat) -> bool:
    """Whether this session refused it again and again, and a moment ago.

    Then what waits behind it goes out: else nothing would reach the seat, nor any other driver.
    """
    same = span.tries >= PATIENCE and span.occupant == seat.occupant.id
    return same and tx.at < (span.asked_at or 0) + PAUSE


def move(tx: Transaction, head: Head, span: Span, event: SpanEvent) -> SpanState:
    """One move of a span with all that follows from it. Saves nothing but the span's own row.

    Raises:
        TransitionRefusedError: core has no such move, or the row is not what was read.
    """
    before = SpanState(span.state)
    after = advance(span.id, before, event)
    if after is before:
        return after
    first, last = span.from_cursor + 1, span.to_cursor or head.cursor
    _write(tx, span, before, after)
    if to_be_said(before, after):
        said = Message(role=Role.EXTERNAL, text=unproven(first, last), source=SOURCE)
        events.append(tx, head, SYSTEM, said)
    _tell(tx, head, span)
    if moves_cursor(before, after):
        move_cursor(head, last)
    if before not in _ENDED and after in _ENDED:
        # What the service did since the seal is the next span's.
        ran(tx, head)
    return after


def _write(tx: Transaction, span: Span, before: SpanState, after: SpanState) -> None:
    span.state = after
    span.ended_at = tx.at if after in _ENDED else None
    if after not in {SpanState.ATTEMPTING, SpanState.UNRESOLVED}:
        # The words stand in the log; a second copy is kept only while it may be asked for.
        span.content = None
    if after is SpanState.OPEN:
        span.to_cursor = None
    values = (
        after,
        span.from_cursor,
        span.to_cursor,
        span.asked_at,
        span.ended_at,
        span.tries,
        span.content,
        span.seat,
        span.occupant,
        span.binding,
        span.poll_id,
        span.id,
        before,
    )
    if not tx.changed(_SAVE, values):
        raise TransitionRefusedError(f"The handoff {span.id!r}", before, after)
    record(tx, span.id, before, after)


def _tell(tx: Transaction, head: Head, span: Span) -> None:
    told = Handoff(
        span=span.id,
        phase=span.state,
        from_cursor=span.from_cursor,
        to_cursor=span.to_cursor,
    )
    events.append(tx, head, SYSTEM, told)


def move_cursor(head: Head, cursor: int) -> None:
    """The harness has the log up to here. It never goes back, not behind a reset either."""
    head.harness_cursor = max(head.harness_cursor or 0, head.reset_cursor, cursor)


def drives(tx: Transaction, head: Head, cursor: int) -> None:
    """A harness drives here; if it is the first, it is told nothing of what came before."""
    if head.harness_cursor is None:
        # What it shows may be about words that it was given before a reset.
        head.harness_cursor = max(cursor, head.reset_cursor)
        ran(tx, head)


def covered(tx: Transaction, head: Head, cursor: int) -> None:
    """The harness was shown the log up to a cursor. The caller saves the head."""
    move_cursor(head, cursor)
    span = current(tx, head)
    if span is None:
        ran(tx, head)
        return
    until = span.to_cursor if span.to_cursor is not None else head.service_cursor
    if until <= cursor:
        span.to_cursor = until
        move(tx, head, span, SpanEvent.COVERED)


def reset(tx: Transaction, head: Head) -> None:
    """What came before the marker is told no harness. The caller saves the head."""
    if head.harness_cursor is not None:
        move_cursor(head, head.reset_cursor)
    span = current(tx, head)
    if span is not None:
        move(tx, head, span, SpanEvent.RESET)


def close(tx: Transaction, head: Head) -> None:
    """Its conversation is closed: nothing is told any more."""
    span = current(tx, head)
    head.service_cursor = 0  # so that none follows
    if span is None:
        return
    is_open = span.state == SpanState.OPEN
    move(tx, head, span, SpanEvent.RESET if is_open else SpanEvent.LAPSED)
