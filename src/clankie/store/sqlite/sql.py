"""As much of a database connection as this package uses, with types of our own.

The driver's own types are partly unknown to type checkers. Connections are made by `connect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]
Bindings = Sequence[Any] | Mapping[str, Any]


class Cursor(Protocol):
    """What a statement gives back, row by row."""

    def execute(self, statements: str, bindings: Bindings | None = None) -> Cursor:
        """Run a statement."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Bindings]) -> Cursor:
        """Run a statement once for each."""
        ...

    def fetchone(self) -> Row | None:
        """The next row."""
        ...

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Row]: ...


class Database(Protocol):
    """A connection."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Bindings | None = None) -> Cursor:
        """Run a statement."""
        ...

    def cursor(self) -> Cursor:
        """A cursor that can be used again and again."""
        ...

    def changes(self) -> int:
        """Rows that the last statement changed."""
        ...

    def total_changes(self) -> int:
        """Rows changed since the connection was opened, undone ones too."""
        ...

    def set_busy_timeout(self, milliseconds: int) -> None:
        """How long to wait for another connection's lock."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def rows(connection: Database, statement: str, values: Bindings = ()) -> list[Row]:
    """All rows of a statement."""
    return connection.execute(statement, values).fetchall()


def value(connection: Database, statement: str, values: Bindings = ()) -> Any:  # noqa: ANN401 - any column
    """The first column of the first row; None when there is no row."""
    row = connection.execute(statement, values).fetchone()
    return None if row is None else row[0]
