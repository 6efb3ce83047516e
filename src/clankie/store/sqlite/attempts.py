"""The row of an attempt on the service lane and its moves; those at seats are in `given`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clankie.core.delivery import OPEN_SERVICE, ServiceState, move_service
from clankie.core.errors import TransitionRefusedError
from clankie.store.sqlite import usage
from clankie.store.sqlite.inputs import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.conversation import Usage
    from clankie.core.driver import Fence
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

_COLUMNS: Final = (
    "id, delivery, (SELECT id FROM conversation WHERE n = attempt.conversation), n, state, node, "
    "token, started_at, asked_at, ended_at, code, joined, start_cursor, "
    "end_cursor"
)
_BY_ID: Final = f"SELECT {_COLUMNS} FROM attempt WHERE id = ?"
_MEMBERS: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE joined = ? AND state IN ('reserved', 'running') ORDER BY id"""
_OPEN: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE state IN ('reserved', 'running') AND joined IS NULL"""
_RUN: Final = f"""
SELECT {_COLUMNS} FROM attempt
WHERE conversation = ? AND state IN ('reserved', 'running') AND joined IS NULL"""
OPEN: Final = "state IN ('reserved', 'running', 'offered', 'attempting', 'taken', 'accepted')"
_OF_INPUT: Final = f"SELECT 1 FROM attempt WHERE delivery = ? AND {OPEN}"
_LAST: Final = "SELECT coalesce(max(n), 0) FROM attempt WHERE delivery = ?"
_INSERT: Final = """
INSERT INTO attempt (id, delivery, conversation, n, state, node, token, started_at, asked_at,
  joined) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_MOVE: Final = """
UPDATE attempt SET state = ?, asked_at = ?, ended_at = ?, code = ?, usage = ?, start_cursor = ?,
  end_cursor = ?
WHERE id = ? AND state = ?"""


@dataclass(slots=True)
class Try:
    """An attempt's row."""

    id: str
    delivery: str
    conversation: str
    n: int
    state: str
    node: str
    token: int
    started_at: int
    asked_at: int | None = None
    ended_at: int | None = None
    code: str | None = None
    joined: str | None = None
    start_cursor: int | None = None
    end_cursor: int | None = None

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.state in OPEN_SERVICE


def identity(delivery: str, n: int) -> str:
    """The id of an attempt; ``#`` stands in no delivery id."""
    return f"{delivery}#{n}"


def delivery_of(attempt: str) -> str:
    """The delivery that an attempt's id names."""
    return attempt.rpartition("#")[0]


def read(tx: Transaction, attempt: str) -> Try:
    """Read the row of an attempt that a reservation names."""
    row = tx.row(_BY_ID, (attempt,))
    if row is None:
        raise TransitionRefusedError(f"The attempt {attempt!r}", "unknown", "used")
    return Try(*row)


def members(tx: Transaction, attempt: str) -> Sequence[Try]:
    """Open attempts that joined this run."""
    return [Try(*row) for row in tx.rows(_MEMBERS, (attempt,))]


def open_runs(tx: Transaction) -> Sequence[Try]:
    """Every open attempt that is not a member of another's run."""
    return [Try(*row) for row in tx.rows(_OPEN)]


def run_in(tx: Transaction, head: Head) -> Try | None:
    """The run that is open in a conversation, reserved ones included."""
    row = tx.row(_RUN, (head.n,))
    return None if row is None else Try(*row)


def open_for(tx: Transaction, delivery: str) -> bool:
    """Whether an input has an open attempt, wherever."""
    return tx.row(_OF_INPUT, (delivery,)) is not None


def last(tx: Transaction, delivery: str) -> int:
    """The number of an input's last attempt, 0 when there was none."""
    row = tx.row(_LAST, (delivery,))
    return 0 if row is None else row[0]


def add(tx: Transaction, head: Head, delivery: str, fence: Fence, joined: str | None = None) -> Try:
    """Open the next attempt of an input: reserved, or running when it joins another's run."""
    n = last(tx, delivery) + 1
    state = ServiceState.RESERVED if joined is None else ServiceState.RUNNING
    one = Try(
        id=identity(delivery, n),
        delivery=delivery,
        conversation=head.id,
        n=n,
        state=state,
        node=fence.node,
        token=fence.token,
        started_at=tx.at,
        asked_at=None if joined is None else tx.at,
        joined=joined,
    )
    values: tuple[Any, ...] = (
        one.id,
        delivery,
        head.n,
        n,
        state,
        one.node,
        one.token,
        one.started_at,
        one.asked_at,
        joined,
    )
    tx.run(_INSERT, values)
    record(tx, one.id, None, state)
    return one


def move(
    tx: Transaction,
    one: Try,
    after: ServiceState,
    code: str | None = None,
    cost: Usage | None = None,
) -> None:
    """Move an attempt and write its row, with what it cost, which is added up as well.

    Raises:
        TransitionRefusedError: core has no such move, or the row is not what was read.
    """
    before = ServiceState(one.state)
    move_service(one.id, before, after)
    one.state = after
    one.code = code
    if after is ServiceState.RUNNING:
        one.asked_at = tx.at
    if not one.open:
        one.ended_at = tx.at
    spent = None if cost is None else usage.encode(cost)
    cursors = one.start_cursor, one.end_cursor
    values = (after, one.asked_at, one.ended_at, code, spent, *cursors, one.id, before)
    if not tx.changed(_MOVE, values):
        raise TransitionRefusedError(f"The attempt {one.id!r}", before, after)
    if cost is not None:
        usage.add(tx, cost)
    record(tx, one.id, before, after)
