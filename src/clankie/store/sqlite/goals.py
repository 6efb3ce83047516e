"""The objective of a conversation: one row, changed only from what it was read as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clankie.core.goal import Goal, GoalState
from clankie.store.sqlite import heads
from clankie.store.sqlite.sql import rows
from clankie.store.sqlite.values import millis, moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_READ: Final = """
SELECT conversation.id, goal.id, text, token_budget, goal.created_at, spent, step, counted, state,
  reason
FROM goal JOIN conversation ON conversation.n = goal.conversation"""
_OF: Final = f"{_READ} WHERE conversation.id = ?"
_ACTIVE: Final = f"{_READ} WHERE state = 'active' ORDER BY goal.conversation"
_PUT: Final = """
INSERT OR REPLACE INTO goal (id, text, token_budget, created_at, spent, step, counted, state,
  reason, conversation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_REMOVE: Final = """
DELETE FROM goal WHERE conversation = (SELECT n FROM conversation WHERE id = ?)"""


def get(connection: Database, conversation: str) -> Goal | None:
    """See GoalStore.get."""
    row = connection.execute(_OF, (conversation,)).fetchone()
    return None if row is None else _goal(row)


def active(connection: Database) -> Sequence[Goal]:
    """See GoalStore.active."""
    return [_goal(row) for row in rows(connection, _ACTIVE)]


def put(tx: Transaction, goal: Goal) -> None:
    """See GoalStore.put."""
    head = heads.read(tx, goal.conversation)
    tx.run(_PUT, (*_row(goal)[1:], head.n))


def advance(tx: Transaction, before: Goal, after: Goal) -> bool:
    """See GoalStore.advance."""
    if tx.row(_OF, (before.conversation,)) != _row(before):
        return False
    put(tx, after)
    return True


def remove(tx: Transaction, conversation: str) -> None:
    """See GoalStore.remove."""
    tx.run(_REMOVE, (conversation,))


def _row(goal: Goal) -> tuple[Any, ...]:
    return (
        goal.conversation,
        goal.id,
        goal.text,
        goal.token_budget,
        millis(goal.created_at),
        goal.spent,
        goal.step,
        int(goal.counted),
        goal.state,
        goal.reason,
    )


def _goal(row: tuple[Any, ...]) -> Goal:
    conversation, identity, text, budget, created_at, spent, step, counted, state, reason = row
    return Goal(
        id=identity,
        conversation=conversation,
        text=text,
        token_budget=budget,
        created_at=moment(created_at),
        spent=spent,
        step=step,
        counted=bool(counted),
        state=GoalState(state),
        reason=reason,
    )
