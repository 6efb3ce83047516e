"""The row of an input, its moves, and the counts of its conversation that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.core.admission import Origin, Reach
from clankie.core.delivery import FINAL, InputState, move_input
from clankie.core.driver import Addressed
from clankie.core.errors import DeliveryNotFoundError, TransitionRefusedError
from clankie.store.sqlite import attachments

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sql import Row
    from clankie.store.sqlite.unit import Transaction

COLUMNS: Final = (
    "id, (SELECT id FROM conversation WHERE n = input.conversation), origin, principal, author, "
    "text, mode, fingerprint, state, admitted_at, "
    "message_cursor, settled_at, code, detail, reply_cursor, reply_delivery_id, absorbed_by, "
    "retry_of, not_before, held, depth, tries_base, pruned, attachments, reach, occupant, "
    "channel, name"
)
BY_ID: Final = f"SELECT {COLUMNS} FROM input WHERE id = ?"
INSERT: Final = """
INSERT INTO input (id, conversation, origin, principal, author, text, mode, fingerprint, state,
  admitted_at, message_cursor, retry_of, depth, attachments, reach, occupant, channel, name)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_MOVE: Final = """
UPDATE input SET state = ?, settled_at = ?, code = ?, detail = ?, reply_cursor = ?,
  reply_delivery_id = ?, absorbed_by = ?, not_before = ?, held = ?, tries_base = ?
WHERE id = ? AND state = ?"""
RECORD: Final = "INSERT INTO transition (record, before, after, at) VALUES (?, ?, ?, ?)"
_WAKE_ENDS: Final = "DELETE FROM wake WHERE delivery = ?"

_KEPT: Final = frozenset({InputState.QUEUED, InputState.RUNNING})
"""While an input is one of these its wake is still listed."""


@dataclass(slots=True)
class Input:
    """An input's row."""

    id: str
    conversation: str
    origin: str
    principal: str
    author: str
    text: str | None
    mode: str
    fingerprint: str
    state: str
    admitted_at: int
    message_cursor: int
    settled_at: int | None = None
    code: str | None = None
    detail: str | None = None
    reply_cursor: int | None = None
    reply_delivery_id: str | None = None
    absorbed_by: str | None = None
    retry_of: str | None = None
    not_before: int | None = None
    held: str | None = None
    depth: int = 0
    tries_base: int = 0
    pruned: int = 0
    attachments: str | None = None
    reach: str = Reach.CONVERSATION
    occupant: str | None = None
    channel: str | None = None
    name: str | None = None

    @property
    def addressed(self) -> Addressed:
        """What decides where it may go."""
        return Addressed(
            origin=Origin(self.origin), reach=Reach(self.reach), occupant=self.occupant
        )


def read(tx: Transaction, delivery: str) -> Input:
    """Read the row. Raises DeliveryNotFoundError."""
    found = tx.row(BY_ID, (delivery,))
    if found is None:
        raise DeliveryNotFoundError(delivery)
    return Input(*found)


def row(tx: Transaction, head: Head, one: Delivery) -> Row:
    """An input that is admitted now, as a row: it waits."""
    return (
        one.id,
        head.n,
        one.origin,
        one.author.principal,
        one.author.id,
        one.text,
        one.mode,
        one.fingerprint,
        tx.at,
        one.message_cursor,
        one.retry_of,
        one.depth,
        attachments.encode(one.attachments),
        one.reach,
        one.occupant,
        one.channel,
        one.name or None,
    )


def record(tx: Transaction, record_id: str, before: str | None, after: str) -> None:
    """Add a move to the record of moves."""
    tx.run(RECORD, (record_id, before, after, tx.at))


def count(head: Head, one: Input, step: int) -> None:
    """Count an input in, or out again."""
    match one.state:
        case InputState.QUEUED:
            head.waiting += step
            head.held += step * (one.held is not None)
        case InputState.RUNNING:
            head.running += step
        case InputState.UNCERTAIN:
            head.uncertain += step
        case _:
            pass  # what has ended is not counted


def move(tx: Transaction, head: Head, one: Input, after: InputState) -> None:
    """Move an input and write its row; the caller has set what else changes, and saves the head.

    Raises:
        TransitionRefusedError: core has no such move, or the row is not what was read.
    """
    before = InputState(one.state)
    move_input(one.id, before, after)
    count(head, one, -1)
    one.state = after
    if after is not InputState.QUEUED:
        one.held = one.not_before = None
    one.settled_at = tx.at if after in FINAL else None
    write(tx, one, before)
    record(tx, one.id, before, after)
    count(head, one, 1)
    if after not in _KEPT:
        tx.run(_WAKE_ENDS, (one.id,))


def write(tx: Transaction, one: Input, before: InputState) -> None:
    """Write the row if it is still as it was read. Raises TransitionRefusedError."""
    values = (
        one.state,
        one.settled_at,
        one.code,
        one.detail,
        one.reply_cursor,
        one.reply_delivery_id,
        one.absorbed_by,
        one.not_before,
        one.held,
        one.tries_base,
        one.id,
        before,
    )
    if not tx.changed(_MOVE, values):
        raise TransitionRefusedError(f"The delivery {one.id!r}", before, one.state)


def hold_back(
    tx: Transaction, head: Head, one: Input, not_before: int | None, held: str | None
) -> None:
    """Keep a waiting input back, or let it go; its state stays `queued`."""
    count(head, one, -1)
    one.not_before, one.held = not_before, held
    write(tx, one, InputState.QUEUED)
    count(head, one, 1)
