"""The log: appending to it, and reading pages of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.core.admission import Origin
from clankie.core.conversation import (
    SYSTEM,
    Author,
    Body,
    Message,
    Role,
    Tool,
    ToolPhase,
    TurnPhase,
    body_to_wire,
    kind_name,
    projectable,
)
from clankie.core.errors import ConversationNotFoundError, CursorAheadError, CursorGoneError
from clankie.host.storage import EventPage, Stored
from clankie.store.sqlite import attachments

if TYPE_CHECKING:
    from clankie.core.admission import Offer
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sql import Database, Row
    from clankie.store.sqlite.unit import Transaction

PAGE_BYTES: Final = 1024 * 1024 - 1024
"""A page and what frames it stay within 1 MiB; a single larger event is a page of its own."""

INSERT: Final = """
INSERT INTO event (conversation, cursor, at, kind, ordinal, body) VALUES (?, ?, ?, ?, ?, ?)"""
_BOUNDS: Final = "SELECT n, cursor, oldest FROM conversation WHERE id = ?"
_TEXT: Final = """
SELECT body FROM event
WHERE conversation = (SELECT n FROM conversation WHERE id = ?) AND cursor = ?"""
_AFTER: Final = """
SELECT cursor, body FROM event WHERE conversation = ? AND cursor > ? ORDER BY cursor LIMIT ?"""
_BEFORE: Final = """
SELECT cursor, body FROM event WHERE conversation = ? AND cursor < ? ORDER BY cursor DESC LIMIT ?"""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def wire(cursor: int, body: bytes) -> bytes:
    """The event as it is sent: what is on disk begins with ``{"kind"``, the cursor goes before."""
    return b'{"cursor":%d,' % cursor + body[1:]


def append(tx: Transaction, head: Head, author: Author, body: Body) -> int:
    """Add an event at the end of the log; its cursor. The caller saves the head."""
    tx.run(INSERT, row(tx, head, author, body))
    return head.cursor


def row(tx: Transaction, head: Head, author: Author, body: Body) -> Row:
    """The next event of the log as a row; whoever asks for it also writes it."""
    return _row(tx, head, author, kind_name(body), body_to_wire(body), shown=projectable(body))


def message(tx: Transaction, head: Head, offer: Offer) -> Row:
    """The message that an offer is admitted as: what `row` would make of it, in half the time."""
    fields: dict[str, Any] = {
        "role": offer.origin.role,
        "text": offer.text,
        "delivery_id": offer.delivery_id,
    }
    if offer.origin is not Origin.OWNER:
        fields["source"] = offer.origin
    if offer.attachments:
        fields["attachments"] = [one.to_wire() for one in offer.attachments]
    return _row(tx, head, offer.author, "message", fields, shown=True)


def admitted(tx: Transaction, head: Head, delivery: str) -> Row:
    """The turn that tells of it: what `row` would make of it, in half the time."""
    fields = {"phase": TurnPhase.ADMITTED, "delivery_id": delivery}
    return _row(tx, head, SYSTEM, "turn", fields, shown=False)


def _row(
    tx: Transaction, head: Head, author: Author, kind: str, fields: dict[str, Any], *, shown: bool
) -> Row:
    start = tx.starts.get((kind, id(author))) or _start(tx, kind, author)
    data = b"%b,%b" % (start[0], _encode(fields)[1:]) if fields else start[0] + b"}"
    head.cursor = cursor = head.cursor + 1
    ordinal = None
    if shown:
        head.ordinal = ordinal = head.ordinal + 1
    tx.events.append(Stored(head.id, cursor, wire(cursor, data)))
    return head.n, cursor, tx.at, kind, ordinal, data.decode()


def _start(tx: Transaction, kind: str, author: Author) -> tuple[bytes, Author]:
    encoded = _encode({"kind": kind, "author": author.to_wire(), "at": tx.stamp})[:-1]
    # By identity: a hash of the author costs as much as the rest. So it must not go away.
    tx.starts[kind, id(author)] = start = encoded, author
    return start


def shown(body: str) -> tuple[Author, Message | Tool]:
    """A projectable event of the log: who, and what."""
    fields: dict[str, Any] = _decode(body)
    author = Author(**fields["author"])
    if fields["kind"] == "tool":
        return author, Tool(
            call_id=fields["call_id"],
            name=fields["name"],
            phase=ToolPhase(fields["phase"]),
            delivery_id=fields.get("delivery_id"),
            detail=fields["detail"],
        )
    return author, Message(
        role=Role(fields["role"]),
        text=fields["text"],
        delivery_id=fields.get("delivery_id"),
        source=fields.get("source"),
        attachments=attachments.from_wire(fields),
    )


def text_at(tx: Transaction, conversation: str, cursor: int | None) -> str | None:
    """The words of the message that stands there."""
    body = tx.value(_TEXT, (conversation, cursor))
    return None if body is None else _decode(body).get("text")


def said_by(tx: Transaction, conversation: str, cursor: int) -> str | None:
    """The id of who said what stands there."""
    body = tx.value(_TEXT, (conversation, cursor))
    return None if body is None else _decode(body)["author"]["id"]


def after(connection: Database, conversation: str, cursor: int, limit: int) -> EventPage:
    """The page above a cursor. Raises CursorAheadError, CursorGoneError."""
    n, head, oldest = _bounds(connection, conversation)
    if cursor > head:
        raise CursorAheadError(head)
    if cursor < oldest - 1:
        raise CursorGoneError(oldest)
    events = _page(connection, conversation, _AFTER, (n, cursor, limit))
    last = events[-1].cursor if events else cursor
    return EventPage(events, head, oldest, last < head)


def before(connection: Database, conversation: str, cursor: int, limit: int) -> EventPage:
    """The page below a cursor, in order. Raises CursorAheadError, CursorGoneError."""
    n, head, oldest = _bounds(connection, conversation)
    if cursor > head + 1:
        raise CursorAheadError(head)
    if cursor <= oldest > 1:
        raise CursorGoneError(oldest)
    events = _page(connection, conversation, _BEFORE, (n, cursor, limit))
    events.reverse()
    first = events[0].cursor if events else cursor
    return EventPage(events, head, oldest, first > oldest)


def _bounds(connection: Database, conversation: str) -> tuple[int, int, int]:
    row = connection.execute(_BOUNDS, (conversation,)).fetchone()
    if row is None:
        raise ConversationNotFoundError(conversation)
    n, head, oldest = row
    return n, head, oldest


def _page(
    connection: Database, conversation: str, statement: str, values: tuple[int, int, int]
) -> list[Stored]:
    events: list[Stored] = []
    size = 0
    for cursor, body in connection.execute(statement, values):
        data = wire(cursor, body.encode())
        size += len(data) + 1
        if events and size > PAGE_BYTES:
            break
        events.append(Stored(conversation, cursor, data))
    return events
