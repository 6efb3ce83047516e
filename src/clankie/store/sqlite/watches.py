"""What conversations watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clankie.core.errors import ConversationClosedError
from clankie.host.seatstore import Watch
from clankie.store.sqlite import heads
from clankie.store.sqlite.sql import rows
from clankie.store.sqlite.values import millis, moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_ADD: Final = """
INSERT OR IGNORE INTO watch (id, conversation, target, text, created_at, since, depth)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_ALL: Final = """
SELECT watch.id, conversation.id, target, text, watch.created_at, since, depth
FROM watch JOIN conversation ON conversation.n = watch.conversation ORDER BY watch.n"""
_REMOVE: Final = "DELETE FROM watch WHERE id = ?"


def add(tx: Transaction, watch: Watch) -> None:
    """See WatchStore.add."""
    head = heads.read(tx, watch.conversation)
    if head.closed:
        raise ConversationClosedError(head.id)
    about = watch.target, watch.text, millis(watch.created_at)
    tx.run(_ADD, (watch.id, head.n, *about, watch.since, watch.depth))


def everyone(connection: Database) -> Sequence[Watch]:
    """See WatchStore.all."""
    return [_watch(row) for row in rows(connection, _ALL)]


def remove(tx: Transaction, watch: str) -> None:
    """See WatchStore.remove."""
    tx.run(_REMOVE, (watch,))


def _watch(row: tuple[Any, ...]) -> Watch:
    identity, conversation, target, text, created_at, since, depth = row
    return Watch(
        id=identity,
        conversation=conversation,
        target=target,
        text=text,
        created_at=moment(created_at),
        since=since,
        depth=depth,
    )
