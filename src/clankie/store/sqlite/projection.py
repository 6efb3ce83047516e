"""The bounded view of a log: pages from the newest down until the budget is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Message, Role
from clankie.core.delivery import InputState
from clankie.core.errors import ConversationNotFoundError
from clankie.core.projection import Projecting, Projection
from clankie.store.sqlite.events import shown
from clankie.store.sqlite.sql import rows, value
from clankie.store.sqlite.values import moment

if TYPE_CHECKING:
    from clankie.core.conversation import Tool
    from clankie.core.settings import ProjectionLimits
    from clankie.store.sqlite.sql import Database

_PAGE: Final = 24
_BOUNDS: Final = "SELECT n, ordinal, reset_ordinal, reset_cursor FROM conversation WHERE id = ?"
_WAITING: Final = """
SELECT message_cursor FROM input
WHERE conversation = ? AND state = 'queued' AND message_cursor > ?"""
_STATE: Final = "SELECT state FROM input WHERE id = ?"
_ONE: Final = "SELECT message_cursor FROM input WHERE conversation = ? AND id = ?"
# By ordinal, not by cursor: a long stretch of turns between two messages is not even read.
_DOWN: Final = f"""
SELECT ordinal, cursor, at, body FROM event
WHERE conversation = ? AND ordinal < ? AND ordinal > ? ORDER BY ordinal DESC LIMIT {_PAGE}"""


def project(
    connection: Database, conversation: str, limits: ProjectionLimits, without: str | None
) -> Projection:
    """See ConversationStore.project."""
    row = connection.execute(_BOUNDS, (conversation,)).fetchone()
    if row is None:
        raise ConversationNotFoundError(conversation)
    n, newest, reset_ordinal, reset_cursor = row
    excluded = _excluded(connection, n, reset_cursor, without)
    projecting = Projecting(limits)
    below, more = newest + 1, True
    while more:
        more = False
        for ordinal, cursor, at, body in rows(connection, _DOWN, (n, below, reset_ordinal)):
            below, more = ordinal, True
            if cursor in excluded:
                continue
            author, said = shown(body)
            state = _state(connection, said)
            if not projecting.add(cursor, moment(at), author, said, state):
                more = False
                break
    return projecting.done(newest - reset_ordinal - len(excluded))


def _state(connection: Database, said: Message | Tool) -> InputState | None:
    """Of the input whose words it holds, if it holds any."""
    if not isinstance(said, Message) or said.role is Role.AGENT or said.delivery_id is None:
        return None
    state = value(connection, _STATE, (said.delivery_id,))
    return None if state is None else InputState(state)


def _excluded(connection: Database, n: int, reset_cursor: int, without: str | None) -> set[int]:
    values = (n, reset_cursor)
    excluded: set[int] = {cursor for (cursor,) in rows(connection, _WAITING, values)}
    if without is not None:
        cursor = value(connection, _ONE, (n, without))
        if cursor is not None and cursor > reset_cursor:
            excluded.add(cursor)
    return excluded
