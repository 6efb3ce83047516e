"""What a write is made of: a named unit of work, and the transaction it runs in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from clankie.core.conversation import timestamp
from clankie.store.sqlite.behind import Behind
from clankie.store.sqlite.values import millis

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from datetime import datetime

    from clankie.core.conversation import Author
    from clankie.host.ports import Ids
    from clankie.host.storage import Stored
    from clankie.store.sqlite.sql import Bindings, Database, Row


class Kind:
    """A kind of unit, with the crash points it passes.

    `bounded`: refused when too much waits. What ends a run is never refused for that reason.
    `behind`: its work may leave rows in `Transaction.behind`; others find none there.
    `alone`: its work is no transaction, and runs between those of the others.
    `boot`: it makes a node live, so one that is dead may do it too.
    """

    __slots__ = ("after", "alone", "before", "behind", "boot", "bounded")

    def __init__(
        self,
        name: str,
        *,
        bounded: bool = False,
        behind: bool = False,
        alone: bool = False,
        boot: bool = False,
    ) -> None:
        self.before: Final = f"{name}.before-commit"
        self.after: Final = f"{name}.after-commit"
        self.bounded: Final = bounded
        self.behind: Final = behind
        self.alone: Final = alone
        self.boot: Final = boot


class Transaction:
    """What the work of a unit has: statements, time, its node, and what it leaves behind.

    `events` and `touched` are told to the host after the commit. `node` is None before the boot.
    `starts` are beginnings of events, encoded once for all of a kind and author.
    """

    __slots__ = (
        "at",
        "behind",
        "connection",
        "cursor",
        "events",
        "ids",
        "node",
        "now",
        "run",
        "stamp",
        "starts",
        "touched",
    )

    def __init__(self, connection: Database, ids: Ids) -> None:
        self.connection: Final = connection
        self.ids: Final = ids
        self.cursor: Final = connection.cursor()
        self.run: Final = self.cursor.execute
        self.behind: Final = Behind()
        self.node: str | None = None
        self.now: datetime
        self.at: int
        self.stamp: str
        self.starts: dict[tuple[str, int], tuple[bytes, Author]]
        self.events: list[Stored]
        self.touched: list[str]

    def begin(self, now: datetime) -> None:
        """A transaction begins: everything in it happens at this moment."""
        self.now = now
        self.at = millis(now)
        self.stamp = timestamp(now)
        self.starts = {}
        self.behind.clear()
        self.events, self.touched = [], []

    def row(self, statement: str, values: Bindings = ()) -> Row | None:
        """The first row of a statement, or None."""
        return self.run(statement, values).fetchone()

    def value(self, statement: str, values: Bindings = ()) -> Any:  # noqa: ANN401 - any column
        """The first column of the first row; None when there is no row."""
        row = self.row(statement, values)
        return None if row is None else row[0]

    def rows(self, statement: str, values: Bindings = ()) -> list[Row]:
        """All rows of a statement."""
        return self.run(statement, values).fetchall()

    def changed(self, statement: str, values: Bindings) -> bool:
        """Run a statement; whether it changed exactly one row."""
        self.run(statement, values)
        return self.connection.changes() == 1


@dataclass(slots=True, eq=False)
class Unit:
    """A unit that waits or is done. `error` is set when it did not succeed."""

    kind: Kind
    work: Callable[[Transaction], Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class Done:
    """A batch after its commit. `outlived`: it was refused, since a later node has taken over."""

    units: list[Unit]
    events: list[Stored] = field(default_factory=list["Stored"])
    touched: frozenset[str] = frozenset()
    outlived: bool = False
