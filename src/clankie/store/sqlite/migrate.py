"""Bringing the schema up to date: numbered files, forward only, one transaction each."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from clankie.store.errors import NewerDatabaseError, UnreleasedDatabaseError
from clankie.store.sqlite.connect import columns, columns_of, look, memory
from clankie.store.sqlite.sql import value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from clankie.store.sqlite.sql import Database

_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS schema_version (n INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT"""
_CURRENT: Final = "SELECT coalesce(max(n), 0) FROM schema_version"
_APPLIED: Final = "INSERT INTO schema_version (n, at) VALUES (?, ?)"
_BACKUPS: Final = "backups"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its number, its words, its statements."""

    n: int
    name: str
    sql: str


def migrations() -> Sequence[Migration]:
    """Every step there is, in order."""
    folder = resources.files("clankie.store.sqlite") / "migrations"
    steps = [_read(file) for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(steps, key=lambda step: step.n)


def _read(file: Traversable) -> Migration:
    number, _, words = file.name.removesuffix(".sql").partition("_")
    return Migration(int(number), words, file.read_text(encoding="utf-8"))


def check(path: Path, steps: Sequence[Migration]) -> int:
    """The version of the file, 0 when it is new. Writes nothing.

    Raises:
        NewerDatabaseError, UnreleasedDatabaseError, ForeignFileError, CorruptDatabaseError: it
            cannot be used.
    """
    found = look(path) or 0
    if found > steps[-1].n:
        raise NewerDatabaseError(path, found, steps[-1].n, _older_backup(path, steps[-1].n))
    if found:
        _require_columns(path, [step for step in steps if step.n <= found])
    return found


def _require_columns(path: Path, steps: Sequence[Migration]) -> None:
    """The number alone does not say it: a step is edited until it is released.

    A whole table besides is another program's, which watches or copies the file, and no difference.
    """
    wanted, there = _columns_after(tuple(steps)), columns_of(path)
    ours = {_table_of(one) for one in wanted}
    missing = sorted(wanted - there)
    strange = sorted(one for one in there - wanted if _table_of(one) in ours)
    if not missing and not strange:
        return
    difference = f"it lacks {missing[0]}" if missing else f"it has {strange[0]} besides"
    raise UnreleasedDatabaseError(path, steps[-1].n, difference)


def _table_of(column: str) -> str:
    return column.partition(".")[0]


@functools.cache
def _columns_after(steps: tuple[Migration, ...]) -> frozenset[str]:
    model = memory()
    try:
        migrate(model, steps, 0)
        return columns(model)
    finally:
        model.close()


def backup_name(path: Path, step: int) -> Path:
    """Where the copy goes that is made before a step."""
    return path.parent / _BACKUPS / f"before-{step:04d}.db"


def _older_backup(path: Path, known: int) -> Path | None:
    """The newest copy that this version can read."""
    names = [backup_name(path, n) for n in range(known + 1, 0, -1)]
    return next((name for name in names if name.exists()), None)


def migrate(connection: Database, steps: Sequence[Migration], at: int) -> int:
    """Apply what is missing and return the version. `at` is milliseconds.

    A step that cannot be applied raises and leaves the database as it was before that step.
    """
    for step in steps:
        _apply(connection, step, at)
    return steps[-1].n


def _apply(connection: Database, step: Migration, at: int) -> None:
    run = connection.execute
    # A table that is made anew must not take along what refers to it; it is checked at the end.
    run("PRAGMA foreign_keys = OFF")
    run("BEGIN IMMEDIATE")
    try:
        run(_VERSIONS)
        if value(connection, _CURRENT) < step.n:
            run(step.sql)
            run(_APPLIED, (step.n, at))
            _require_whole(connection)
        run("COMMIT")
    except BaseException:
        if connection.in_transaction:
            run("ROLLBACK")
        raise
    finally:
        run("PRAGMA foreign_keys = ON")


def _require_whole(connection: Database) -> None:
    broken = connection.execute("PRAGMA foreign_key_check").fetchone()
    if broken is not None:
        message = f"a migration broke a reference: {broken}"
        raise ValueError(message)
