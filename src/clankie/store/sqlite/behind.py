"""Rows of admissions, kept back for a moment so that a batch writes them together.

One statement for many rows costs half of what the same rows cost one by one, with everything else
done in between, and the row of a conversation is written once for all its inputs. Only admissions
leave rows here. Whatever else looks at the database has them written first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.store.sqlite import events, heads, inputs

if TYPE_CHECKING:
    from clankie.core.receipt import Delivery
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sql import Row
    from clankie.store.sqlite.unit import Transaction


class Behind:
    """What is not written yet. A head that was read here is as it will be written."""

    __slots__ = ("_changed", "_events", "_heads", "_ids", "_inputs", "_moves")

    def __init__(self) -> None:
        self._events: list[Row] = []
        self._inputs: list[Row] = []
        self._moves: list[Row] = []
        self._ids: set[str] = set()
        self._heads: dict[str, Head] = {}
        self._changed: dict[str, Head] = {}

    def __len__(self) -> int:
        return len(self._inputs)

    def head(self, tx: Transaction, conversation: str) -> Head:
        """The row of a conversation. Raises ConversationNotFoundError."""
        found = self._heads.get(conversation)
        if found is None:
            found = self._heads[conversation] = heads.read(tx, conversation)
        return found

    def holds(self, delivery: str) -> bool:
        """Whether an input of this id is among what is not written."""
        return delivery in self._ids

    def add(self, tx: Transaction, head: Head, delivery: Delivery, said: tuple[Row, Row]) -> None:
        """Keep an admitted input back, and the two events that tell of it."""
        self._events += said
        self._inputs.append(inputs.row(tx, head, delivery))
        self._moves.append((delivery.id, None, delivery.state, tx.at))
        self._ids.add(delivery.id)
        self._changed[head.id] = head
        head.waiting += 1

    def clear(self) -> None:
        """Forget everything: its transaction was rolled back."""
        self._events.clear()
        self._inputs.clear()
        self._moves.clear()
        self._ids.clear()
        self._heads.clear()
        self._changed.clear()

    def write(self, tx: Transaction) -> None:
        """Write it all."""
        if self._inputs:
            tx.cursor.executemany(events.INSERT, self._events)
            tx.cursor.executemany(inputs.INSERT, self._inputs)
            tx.cursor.executemany(inputs.RECORD, self._moves)
            for head in self._changed.values():
                heads.save(tx, head)
        self.clear()
