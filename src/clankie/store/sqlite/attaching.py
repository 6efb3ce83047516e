"""Seats come and go at conversations; what was stored at one that goes waits for a driver again.

What it may have seen stays with it, whatever happens to the seat.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from clankie.core.admission import Reach
from clankie.core.conversation import SYSTEM, Author, Notice, Principal
from clankie.core.delivery import InputState
from clankie.core.errors import ConversationClosedError
from clankie.core.seat_errors import (
    AttachmentConflictError,
    GrantUnknownError,
    OccupantChangedError,
)
from clankie.host.seatstore import Grant, QueueEnd
from clankie.store.sqlite import attempts, events, given, heads, inputs, owner, seats
from clankie.store.sqlite.inputs import Input
from clankie.store.sqlite.values import millis, moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.core.seat import Occupant
    from clankie.host.bearer import Token
    from clankie.host.seatstore import Seat
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

REPLACED: Final = "seat_replaced"
CHANGED: Final = "occupant_changed"
_ADD_GRANT: Final = """
INSERT OR IGNORE INTO seat_grant (sha256, conversation, harness, uid, expected, expires_at)
VALUES (?, ?, ?, ?, ?, ?)"""
_GRANT: Final = """
SELECT sha256, (SELECT id FROM conversation WHERE n = seat_grant.conversation), harness, uid,
  expected, expires_at
FROM seat_grant WHERE sha256 = ?"""
_USE: Final = "DELETE FROM seat_grant WHERE sha256 = ?"
_OLD_GRANTS: Final = "DELETE FROM seat_grant WHERE expires_at < ?"
_HELD: Final = f"""
SELECT {inputs.COLUMNS} FROM input
WHERE occupant = ? AND settled_at IS NULL AND state = 'queued' AND reach = 'held_queue'
ORDER BY message_cursor"""
_UNSEATED: Final = """
SELECT DISTINCT occupant FROM input
WHERE settled_at IS NULL AND state = 'queued' AND reach = 'held_queue'
  AND NOT EXISTS (SELECT 1 FROM seat WHERE seat.occupant = input.occupant AND retired = 0)"""


def add_grant(tx: Transaction, grant: Grant) -> None:
    """See SeatStore.add_grant. Those that are long too old go."""
    head = heads.read(tx, grant.conversation)
    if head.closed:
        raise ConversationClosedError(head.id)
    tx.run(_OLD_GRANTS, (tx.at - 86_400_000,))
    values = (
        grant.secret_sha256,
        head.n,
        grant.harness,
        grant.uid,
        grant.expected,
        millis(grant.expires_at),
    )
    tx.run(_ADD_GRANT, values)


def grant(connection: Database, secret_sha256: str) -> Grant | None:
    """See SeatStore.grant."""
    row = connection.execute(_GRANT, (secret_sha256,)).fetchone()
    if row is None:
        return None
    sha256, conversation, harness, uid, expected, expires_at = row
    return Grant(
        secret_sha256=sha256,
        conversation=conversation,
        harness=harness,
        uid=uid,
        expected=expected,
        expires_at=moment(expires_at),
    )


def register(
    tx: Transaction, used: Grant, seat: Seat, token: Token, token_sha256: str
) -> tuple[Seat, str | None]:
    """See SeatStore.register."""
    if not tx.changed(_USE, (used.secret_sha256,)):
        raise GrantUnknownError
    owner.add_token(tx, token, token_sha256)
    known = seats.by_occupant(tx.run, seat.occupant.id)
    dead = None
    if known is None:
        seats.add(tx, seat)
    else:
        dead = known.token
        owner.revoke_token(tx, dead)
        seats.renew(tx, known.id, seat)
    identity = seat.id if known is None else known.id
    by = Author(Principal.SEAT, identity)
    return attach(tx, identity, used.conversation, used.expected, by)[0], dead


def attach(
    tx: Transaction, seat: str, conversation: str, expected: str | None, by: Author
) -> tuple[Seat, bool]:
    """See SeatStore.attach."""
    one = seats.read(tx.run, seat)
    head, _ = heads.claim(tx, conversation)
    if head.closed:
        raise ConversationClosedError(conversation)
    running = attempts.run_in(tx, head) is not None
    there = seats.attached_to(tx.run, head)
    if there is not None and there.id == seat:
        return one, running
    if expected != (None if there is None else there.id):
        raise AttachmentConflictError(conversation, None if there is None else there.id)
    if there is not None:
        _leave(tx, head, there, REPLACED)
        heads.save(tx, head)
    former = seats.conversation_of(tx, one)
    if former is not None:
        _leave(tx, former, one, REPLACED)
        _say(tx, former, by, "seat_detached", f"{one.harness} drives another conversation now.")
        heads.save(tx, former)
    head = heads.read(tx, conversation)  # what was to be only theirs may have waited here
    seats.place(tx, seat, head)
    _say(tx, head, by, "seat_attached", f"{one.harness} drives this conversation now.")
    heads.save(tx, head)
    return seats.read(tx.run, seat), running


def detach(tx: Transaction, seat: str, reason: str, by: Author | None) -> tuple[Seat, str | None]:
    """See SeatStore.detach."""
    one = seats.read(tx.run, seat)
    head = seats.conversation_of(tx, one)
    if head is None:
        return one, None
    let_go(tx, head, one, reason, by)
    heads.save(tx, head)
    return seats.read(tx.run, seat), head.id


def let_go(tx: Transaction, head: Head, one: Seat, reason: str, by: Author | None) -> None:
    """Detach a seat from the conversation it is at. The caller saves the head."""
    _leave(tx, head, one, reason)
    text = f"{one.harness} does not drive this conversation any more: {reason}."
    _say(tx, head, by or SYSTEM, "seat_detached", text)


def retire(tx: Transaction, seat: str, reason: str, by: Author | None) -> str | None:
    """See SeatStore.retire."""
    one, left = detach(tx, seat, reason, by)
    owner.revoke_token(tx, one.token)
    seats.set_retired(tx, seat)
    return left


def occupied(tx: Transaction, seat: str, occupant: Occupant) -> Seat:
    """See SeatStore.occupied. The same occupant again changes nothing.

    Raises OccupantChangedError: this occupant sits in another seat.
    """
    one = seats.read(tx.run, seat)
    if one.occupant.id == occupant.id:
        return one
    if seats.by_occupant(tx.run, occupant.id) is not None:
        raise OccupantChangedError(seat)
    head = seats.conversation_of(tx, one)
    if head is not None:
        _empty(tx, head, one, CHANGED)
        heads.save(tx, head)
    seats.occupy(tx, seat, occupant)
    return seats.read(tx.run, seat)


def park(tx: Transaction, seat: str, until: datetime | None, reason: str) -> str | None:
    """See SeatStore.park."""
    one = seats.read(tx.run, seat)
    head = seats.conversation_of(tx, one)
    if until is None:
        seats.set_parked(tx, seat, None, None)
    else:
        seats.set_parked(tx, seat, millis(until), reason)
    if head is not None and until is not None:
        _release(tx, head, one, reason)
        if one.parked_until is None or one.parked_until <= tx.now:
            _say(tx, head, SYSTEM, "seat_parked", f"{one.harness} takes no input now: {reason}.")
    if head is not None:
        heads.save(tx, head)
    return one.conversation


def take_over(tx: Transaction, seat: str, reason: str, notice: str | None) -> Sequence[str]:
    """See MailStore.take_over."""
    one = seats.read(tx.run, seat)
    head = seats.conversation_of(tx, one)
    if head is None:
        return ()
    released = _release(tx, head, one, reason)
    if notice is not None and (released or head.waiting > head.held):
        _say(tx, head, SYSTEM, "seat_silent", notice)
    heads.save(tx, head)
    return released


def end_queue(tx: Transaction, seat: str | None, reason: str) -> QueueEnd:
    """See MailStore.end_queue."""
    if seat is not None:
        one = seats.read(tx.run, seat)
        return _end_queue(tx, one.occupant.id, reason, seats.conversation_of(tx, one))
    every = [_end_queue(tx, occupant, reason, None) for (occupant,) in tx.rows(_UNSEATED)]
    ended, left = [one.ended for one in every], [one.left for one in every]
    return QueueEnd(ended=[*chain(*ended)], left=[*chain(*left)])


def _leave(tx: Transaction, head: Head, one: Seat, reason: str) -> None:
    _empty(tx, head, one, reason)
    seats.place(tx, one.id, None)


def _empty(tx: Transaction, head: Head, one: Seat, reason: str) -> None:
    """Nothing is stored at it any more; what may go nowhere else was never sent."""
    _end_queue(tx, one.occupant.id, reason, head)
    _release(tx, head, one, reason)


def _release(tx: Transaction, head: Head, one: Seat, reason: str) -> list[str]:
    released: list[str] = []
    for attempt in given.offered(tx.run, one.id):
        if inputs.read(tx, attempt.delivery).reach == Reach.HELD_QUEUE:
            continue
        given.release(tx, head, attempt, reason)
        released.append(attempt.delivery)
    return released


def _end_queue(tx: Transaction, occupant: str, reason: str, head: Head | None) -> QueueEnd:
    """Those that its occupant was to have; all of them wait in one conversation, if at all."""
    ended: list[str] = []
    left: list[str] = []
    for row in tx.rows(_HELD, (occupant,)):
        one = Input(*row)
        there = head if head is not None and head.id == one.conversation else None
        place = there or heads.claim(tx, one.conversation)[0]
        stored = given.open_of(tx.run, one.id)
        if stored is None and attempts.open_for(tx, one.id):
            left.append(one.id)  # it was refused; whoever took it up fails it, or gives it back
            continue
        if stored is not None:
            given.release(tx, place, stored, reason)
            one = inputs.read(tx, one.id)
        if one.state == InputState.QUEUED:
            given.undelivered(tx, place, one, reason)
            ended.append(one.id)
        heads.save(tx, place)
    return QueueEnd(ended=ended, left=left)


def _say(tx: Transaction, head: Head, by: Author, code: str, text: str) -> None:
    events.append(tx, head, by, Notice(code=code, text=text))
