"""Making, naming, resetting and closing conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.conversation import (
    SYSTEM,
    Author,
    Conversation,
    Kind,
    Notice,
    Reset,
    Turn,
    TurnPhase,
)
from clankie.core.delivery import InputState
from clankie.core.errors import (
    ConversationClosedError,
    ConversationNotFoundError,
    ConversationReadOnlyError,
    DeliveryConflictError,
    NotAllowedError,
    RevisionConflictError,
    RunInProgressError,
)
from clankie.core.ids import HEAD
from clankie.host.storage import NewConversation
from clankie.store.sqlite import (
    attaching,
    attempts,
    events,
    given,
    handoffs,
    heads,
    inputs,
    seats,
    sessions,
)
from clankie.store.sqlite.heads import Head
from clankie.store.sqlite.inputs import Input
from clankie.store.sqlite.sql import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

CLOSED: Final = "conversation_closed"
_BY_REQUEST: Final = f"SELECT {heads.COLUMNS} FROM conversation WHERE request_id = ?"
_INSERT: Final = """
INSERT INTO conversation (id, request_id, name, kind, directory, created_at)
VALUES (?, ?, ?, ?, ?, ?)"""
_WAITING: Final = f"""
SELECT {inputs.COLUMNS} FROM input WHERE conversation = ? AND state = 'queued'
ORDER BY message_cursor"""
_WAKES_END: Final = "DELETE FROM wake WHERE conversation = ? AND delivery IS NULL"
_GRANTS_END: Final = "DELETE FROM seat_grant WHERE conversation = ?"
_WATCHES_END: Final = "DELETE FROM watch WHERE conversation = ?"
_THE_HEAD: Final = NewConversation(
    id=HEAD, request_id=HEAD, name="Clankie", kind=Kind.GLOBAL, directory=None
)


def get(connection: Database, conversation: str) -> Conversation:
    """See ConversationStore.get."""
    row = connection.execute(heads.BY_ID, (conversation,)).fetchone()
    if row is None:
        raise ConversationNotFoundError(conversation)
    return Head(*row).value()


def everyone(connection: Database) -> Sequence[Conversation]:
    """See ConversationStore.list."""
    return [Head(*row).value() for row in rows(connection, heads.ALL)]


def create(tx: Transaction, new: NewConversation) -> tuple[Conversation, bool]:
    """See ConversationStore.create."""
    row = tx.row(_BY_REQUEST, (new.request_id,))
    if row is not None:
        made = Head(*row)
        name = made.name if new.any_name else new.name
        if (made.name, made.kind, made.directory) != (name, new.kind, new.directory):
            raise DeliveryConflictError(new.request_id)
        return made.value(), False
    tx.run(_INSERT, (new.id, new.request_id, new.name, new.kind, new.directory, tx.at))
    tx.touched.append(new.id)
    return heads.read(tx, new.id).value(), True


def ensure_head(tx: Transaction) -> None:
    """Make the head conversation when it is missing."""
    if tx.row(heads.BY_ID, (HEAD,)) is None:
        create(tx, _THE_HEAD)


def rename(tx: Transaction, conversation: str, name: str, expected_revision: int) -> Conversation:
    """See ConversationStore.rename."""
    head = heads.read(tx, conversation)
    _not_closed(head)
    _unchanged(head, expected_revision)
    head.name = name
    head.revision += 1
    events.append(tx, head, SYSTEM, Notice(code="renamed", text=name))
    heads.save(tx, head)
    return head.value()


def set_model(
    tx: Transaction, conversation: str, model: str | None, expected_revision: int
) -> Conversation:
    """See ConversationStore.set_model."""
    head = heads.read(tx, conversation)
    _not_closed(head)
    _unchanged(head, expected_revision)
    head.model = model
    head.revision += 1
    events.append(tx, head, SYSTEM, Notice(code="model", text=model or "the model of the settings"))
    heads.save(tx, head)
    return head.value()


def reset(
    tx: Transaction, conversation: str, expected_revision: int | None, by: Author
) -> Conversation:
    """See ConversationStore.reset."""
    head = heads.decided(tx, conversation)
    if head.kind == Kind.ROOM:
        raise ConversationReadOnlyError(conversation)
    _not_closed(head)
    _unchanged(head, expected_revision)
    _not_running(tx, head)
    head.reset_cursor = events.append(tx, head, by, Reset())
    head.reset_ordinal = head.ordinal
    handoffs.reset(tx, head)
    sessions.retire(tx, head)
    head.revision += 1
    heads.save(tx, head)
    return head.value()


def close(tx: Transaction, conversation: str, by: Author) -> Conversation:
    """See ConversationStore.close. Closing it again changes nothing."""
    if conversation == HEAD:
        raise NotAllowedError("The head conversation cannot be closed. Reset it instead.")
    head = heads.decided(tx, conversation)
    if head.closed:
        return head.value()
    _not_running(tx, head)
    if head.running:
        raise RunInProgressError(conversation)
    for row in tx.rows(_WAITING, (head.n,)):
        one = Input(*row)
        stored = given.open_of(tx.run, one.id)
        if stored is not None:
            given.release(tx, head, stored, CLOSED)
        one.code = CLOSED
        inputs.move(tx, head, one, InputState.NOT_SENT)
        turn = Turn(phase=TurnPhase.CANCELLED, delivery_id=one.id, code=CLOSED)
        events.append(tx, head, SYSTEM, turn)
    tx.run(_WAKES_END, (head.n,))
    _seats_go(tx, head, by)
    events.append(tx, head, by, Notice(code="closed", text="This conversation was closed."))
    head.closed = 1
    head.revision += 1
    heads.save(tx, head)
    return head.value()


def _seats_go(tx: Transaction, head: Head, by: Author) -> None:
    seat = seats.attached_to(tx.run, head)
    if seat is not None:
        attaching.let_go(tx, head, seat, CLOSED, by)
    handoffs.close(tx, head)
    tx.run(_GRANTS_END, (head.n,))
    tx.run(_WATCHES_END, (head.n,))


def notice(tx: Transaction, conversation: str, code: str, text: str) -> None:
    """See ConversationStore.notice."""
    head = heads.read(tx, conversation)
    events.append(tx, head, SYSTEM, Notice(code=code, text=text))
    heads.save(tx, head)


def _not_closed(head: Head) -> None:
    if head.closed:
        raise ConversationClosedError(head.id)


def _unchanged(head: Head, expected_revision: int | None) -> None:
    if expected_revision is not None and expected_revision != head.revision:
        raise RevisionConflictError(head.revision, head.cursor)


def _not_running(tx: Transaction, head: Head) -> None:
    if attempts.run_in(tx, head) is not None:
        raise RunInProgressError(head.id)
