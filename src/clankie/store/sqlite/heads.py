"""The row of a conversation: read at the start of a unit, changed in memory, written at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Conversation, Kind
from clankie.core.driver import Fence
from clankie.core.errors import ConversationNotFoundError
from clankie.host.storage import FencedError
from clankie.store.sqlite.values import moment

if TYPE_CHECKING:
    from clankie.store.sqlite.unit import Transaction

COLUMNS: Final = (
    "n, id, name, kind, directory, created_at, closed, revision, cursor, ordinal, oldest, "
    "reset_cursor, reset_ordinal, owner, token, running, waiting, held, uncertain, model, "
    "harness_cursor, service_cursor"
)
BY_ID: Final = f"SELECT {COLUMNS} FROM conversation WHERE id = ?"
ALL: Final = f"SELECT {COLUMNS} FROM conversation ORDER BY n"
_FENCED: Final = f"""
SELECT {COLUMNS} FROM conversation WHERE id = ? AND owner = ? AND token = ?
  AND EXISTS (SELECT 1 FROM node WHERE node.id = conversation.owner AND node.dead = 0)"""
_SAVE: Final = """
UPDATE conversation SET name = ?, closed = ?, revision = ?, cursor = ?, ordinal = ?,
  reset_cursor = ?, reset_ordinal = ?, running = ?, waiting = ?, held = ?, uncertain = ?,
  model = ?, harness_cursor = ?, service_cursor = ?
WHERE n = ?"""
_CLAIM: Final = """
UPDATE conversation SET owner = ?, token = token + 1 WHERE n = ?
  AND NOT EXISTS (SELECT 1 FROM node WHERE id = conversation.owner AND dead = 0)"""
_ALIVE: Final = "SELECT 1 FROM node WHERE id = ? AND dead = 0"


@dataclass(slots=True)
class Head:
    """A conversation's row. `owner` and `token` change only in `claim`."""

    n: int
    id: str
    name: str
    kind: str
    directory: str | None
    created_at: int
    closed: int
    revision: int
    cursor: int
    ordinal: int
    oldest: int
    reset_cursor: int
    reset_ordinal: int
    owner: str | None
    token: int
    running: int
    waiting: int
    held: int
    uncertain: int
    model: str | None
    harness_cursor: int | None
    service_cursor: int

    @property
    def read_only(self) -> bool:
        """See core.conversation."""
        return self.kind == Kind.ROOM

    def value(self) -> Conversation:
        """As the host sees it."""
        return Conversation(
            id=self.id,
            name=self.name,
            kind=Kind(self.kind),
            revision=self.revision,
            cursor=self.cursor,
            created_at=moment(self.created_at),
            closed=bool(self.closed),
            oldest=self.oldest,
            directory=self.directory,
            model=self.model,
            running=self.running,
            waiting=self.waiting,
            held=self.held,
            uncertain=self.uncertain,
        )


def read(tx: Transaction, conversation: str) -> Head:
    """Take the row. Raises ConversationNotFoundError."""
    row = tx.row(BY_ID, (conversation,))
    if row is None:
        raise ConversationNotFoundError(conversation)
    return Head(*row)


def decided(tx: Transaction, conversation: str) -> Head:
    """Take the row for what the owner decides there; any node that lives may write it down.

    Raises:
        FencedError: this node has not booted, or is dead.
    """
    _living(tx)
    return read(tx, conversation)


def _living(tx: Transaction) -> str:
    if tx.node is None or tx.row(_ALIVE, (tx.node,)) is None:
        raise FencedError("This node is not alive: a later one has taken over.")
    return tx.node


def take(tx: Transaction, conversation: str, fence: Fence) -> Head:
    """Take the row under a fence: the check of every executor's write. Raises FencedError."""
    row = tx.row(_FENCED, (conversation, fence.node, fence.token))
    if row is None:
        raise FencedError(f"The conversation {conversation!r} was taken over; nothing was written.")
    return Head(*row)


def claim(tx: Transaction, conversation: str) -> tuple[Head, Fence]:
    """Take the row for this node, with the next token when it was not this node's already.

    Raises:
        FencedError: this node has not booted, is dead, or another one that lives has it.
    """
    node, head = _living(tx), read(tx, conversation)
    if head.owner != node:
        if not tx.changed(_CLAIM, (node, head.n)):
            raise FencedError(f"The conversation {conversation!r} belongs to another node.")
        head.owner, head.token = node, head.token + 1
    return head, Fence(node, head.token)


def save(tx: Transaction, head: Head) -> None:
    """Write the row back."""
    tx.run(
        _SAVE,
        (
            head.name,
            head.closed,
            head.revision,
            head.cursor,
            head.ordinal,
            head.reset_cursor,
            head.reset_ordinal,
            head.running,
            head.waiting,
            head.held,
            head.uncertain,
            head.model,
            head.harness_cursor,
            head.service_cursor,
            head.n,
        ),
    )
    tx.touched.append(head.id)
