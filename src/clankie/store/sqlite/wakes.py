"""Wakes: those that wait, and those admitted whose input is held or tried again."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from clankie.core.errors import ConversationClosedError, WakeNotFoundError
from clankie.core.wake import Wake, check_new
from clankie.store.sqlite import heads
from clankie.store.sqlite.sql import rows, value
from clankie.store.sqlite.values import millis, moment, moment_or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.settings import WakeLimits
    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_COLUMNS: Final = """wake.id, conversation.id, wake.due_at, wake.text, wake.depth,
  wake.created_at, wake.delivery, coalesce(wake.held, input.held)"""
_FROM: Final = """FROM wake JOIN conversation ON conversation.n = wake.conversation
  LEFT JOIN input ON input.id = wake.delivery"""
_LIST: Final = f"""
SELECT {_COLUMNS} {_FROM} WHERE conversation.id = coalesce(?, conversation.id)
  AND (wake.delivery IS NULL OR (input.state = 'queued'
    AND (input.held IS NOT NULL OR input.not_before IS NOT NULL)))
ORDER BY wake.delivery IS NOT NULL, wake.due_at, wake.id"""
_DUE: Final = f"""
SELECT {_COLUMNS} {_FROM} WHERE wake.delivery IS NULL AND wake.held IS NULL AND wake.due_at <= ?
ORDER BY wake.due_at, wake.id LIMIT ?"""
_NEXT_WAKE: Final = """
SELECT min(due_at) FROM wake WHERE delivery IS NULL AND held IS NULL AND due_at > ?"""
_NEXT_RETRY: Final = """
SELECT min(not_before) FROM input
WHERE state = 'queued' AND not_before IS NOT NULL AND not_before > ? AND held IS NULL"""
_CONVERSATIONS: Final = """
SELECT DISTINCT conversation.id FROM input JOIN conversation ON conversation.n = input.conversation
WHERE input.state = 'queued' AND input.not_before IS NOT NULL AND input.not_before <= ?
  AND input.held IS NULL
ORDER BY conversation.id"""
_KNOWN: Final = "SELECT 1 FROM wake WHERE id = ?"
_WAITING: Final = "SELECT count(*) FROM wake WHERE conversation = ? AND delivery IS NULL"
_INSERT: Final = """
INSERT INTO wake (id, conversation, due_at, text, depth, created_at) VALUES (?, ?, ?, ?, ?, ?)"""
_REMOVE: Final = "DELETE FROM wake WHERE id = ? AND delivery IS NULL"


def add(tx: Transaction, wake: Wake, limits: WakeLimits) -> None:
    """See WakeStore.add."""
    head = heads.read(tx, wake.conversation)
    if head.closed:
        raise ConversationClosedError(head.id)
    if tx.row(_KNOWN, (wake.id,)) is not None:
        return
    check_new(wake, tx.value(_WAITING, (head.n,)), limits)
    values = (
        wake.id,
        head.n,
        millis(wake.due_at),
        wake.text,
        wake.depth,
        millis(wake.created_at),
    )
    tx.run(_INSERT, values)


def remove(tx: Transaction, wake: str) -> None:
    """See WakeStore.remove."""
    if not tx.changed(_REMOVE, (wake,)):
        raise WakeNotFoundError(wake)


def everyone(connection: Database, conversation: str | None) -> Sequence[Wake]:
    """See WakeStore.list."""
    return [_wake(row) for row in rows(connection, _LIST, (conversation,))]


def due(connection: Database, now: datetime, limit: int) -> Sequence[Wake]:
    """See WakeStore.due."""
    return [_wake(row) for row in rows(connection, _DUE, (millis(now), limit))]


def next_due(connection: Database, after: datetime) -> datetime | None:
    """See WakeStore.next_due."""
    at = (millis(after),)
    times = [value(connection, statement, at) for statement in (_NEXT_WAKE, _NEXT_RETRY)]
    return moment_or_none(min((at for at in times if at is not None), default=None))


def conversations_due(connection: Database, now: datetime) -> Sequence[str]:
    """See WakeStore.conversations_due."""
    return [row[0] for row in rows(connection, _CONVERSATIONS, (millis(now),))]


def _wake(row: tuple[Any, ...]) -> Wake:
    identity, conversation, due_at, text, depth, created_at, delivery, held = row
    return Wake(
        id=identity,
        conversation=conversation,
        due_at=moment(due_at),
        text=text,
        depth=depth,
        created_at=moment(created_at),
        delivery_id=delivery,
        held=held,
    )
