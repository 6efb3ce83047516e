"""The turns of the service lane above a cursor, as a handoff tells them.

Their cost follows what is told: events are read for the newest turns only, until the budget is
used; of older ones only the cursors are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.core.conversation import Author, Event, Turn, TurnPhase
from clankie.core.handoff import ServiceTurn, turn_of
from clankie.store.sqlite import events
from clankie.store.sqlite.values import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

_ENDED: Final = """
SELECT attempt.id, attempt.delivery, input.message_cursor, attempt.start_cursor, attempt.end_cursor
FROM attempt JOIN input ON input.id = attempt.delivery
WHERE attempt.conversation = ? AND attempt.end_cursor > ? ORDER BY attempt.end_cursor DESC"""
_MEMBERS: Final = """
SELECT input.id, input.message_cursor FROM attempt JOIN input ON input.id = attempt.delivery
WHERE attempt.joined = ?"""
_ONE: Final = "SELECT cursor, at, body FROM event WHERE conversation = ? AND cursor = ?"
_BETWEEN: Final = """
SELECT cursor, at, body FROM event
WHERE conversation = ? AND cursor > ? AND cursor < ? AND ordinal IS NOT NULL ORDER BY cursor"""

_decode: Final = msgspec.json.Decoder().decode


def ended_above(tx: Transaction, head: Head, cursor: int, budget: int) -> Sequence[ServiceTurn]:
    """Those that ended above a cursor, oldest first; what does not fit has cursors only."""
    turns: list[ServiceTurn] = []
    room = budget
    for attempt, delivery, said_at, began, ended in tx.rows(_ENDED, (head.n, cursor)):
        if room <= 0:
            turns.append(ServiceTurn(said_at, ended, ""))
            continue
        turn = _turn(tx, head, (attempt, delivery), (said_at, began or said_at, ended))
        room -= len(turn.text)
        turns.append(turn)
    turns.reverse()
    return turns


def _turn(
    tx: Transaction, head: Head, it: tuple[str, str], cursors: tuple[int, int, int]
) -> ServiceTurn:
    """What was said, in the order of the log: inputs, tools, the answer, and how it ended."""
    attempt, delivery = it
    said_at, began, ended = cursors
    said = {said_at: delivery}
    said |= {cursor: member for member, cursor in tx.rows(_MEMBERS, (attempt,))}
    mine = set(said.values())
    found: dict[int, Event] = {}
    for at in said:
        found |= _events(tx.rows(_ONE, (head.n, at)), mine)
    found |= _events(tx.rows(_BETWEEN, (head.n, began, ended)), mine)
    found |= {cursor: _end(cursor, *row) for cursor, *row in tx.rows(_ONE, (head.n, ended))}
    return turn_of([found[at] for at in sorted(found)])


def _events(rows: Sequence[tuple[Any, ...]], mine: set[str]) -> dict[int, Event]:
    shown: dict[int, Event] = {}
    for cursor, at, body in rows:
        author, said = events.shown(body)
        if said.delivery_id in mine:
            shown[cursor] = Event(cursor, moment(at), author, said)
    return shown


def _end(cursor: int, at: int, body: str) -> Event:
    """The turn that ended it."""
    fields: dict[str, Any] = _decode(body)
    turn = Turn(
        phase=TurnPhase(fields["phase"]),
        delivery_id=fields["delivery_id"],
        code=fields.get("code"),
        detail=fields.get("detail"),
    )
    return Event(cursor, moment(at), Author(**fields["author"]), turn)
