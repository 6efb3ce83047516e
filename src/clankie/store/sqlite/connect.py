"""Opening the database, and looking at a file before it is opened.

Rule: a file that is not ours, is damaged or is newer is refused before anything is written, to it
or beside it. So a file is first looked at as bytes, then read-only, and only then opened.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

import apsw

from clankie.store.errors import CorruptDatabaseError, EngineTooOldError, ForeignFileError
from clankie.store.sqlite.sql import value

if TYPE_CHECKING:
    from collections.abc import Generator

    from clankie.store.sqlite.sql import Database

APPLICATION_ID: Final = 0x436C6B79
OLDEST_ENGINE: Final = (3, 51, 3)
"""Before this a checkpoint could race with a reset of the write-ahead log and lose commits."""

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_CHECKED_WHOLE: Final = 32 * 1024 * 1024
"""Bytes up to which a file is checked page by page at each start; `doctor` checks larger ones."""

_READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_SCHEMA_VERSION: Final = "SELECT max(n) FROM schema_version"
_HAS_VERSIONS: Final = "SELECT 1 FROM sqlite_master WHERE name = 'schema_version'"
_TABLES: Final = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
_COLUMNS: Final = """
SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"""
_BUSY_MS: Final = 5_000


def require_engine() -> str:
    """The version of SQLite in use. Raises EngineTooOldError."""
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < OLDEST_ENGINE:
        raise EngineTooOldError(version, ".".join(map(str, OLDEST_ENGINE)))
    return version


def look(path: Path, *, whole: bool = False) -> int | None:
    """The schema version of the file; None when there is none yet. Writes nothing.

    `whole` checks every page and index whatever the size.

    Raises:
        ForeignFileError, CorruptDatabaseError: it cannot be used.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ForeignFileError(path, "it is not a plain file")
    if found.st_size == 0:
        return None
    _look_at_header(path)
    try:
        return _look_inside(path, found.st_size, whole=whole)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.CantOpenError) as error:
        raise CorruptDatabaseError(path, str(error)) from error


def _look_at_header(path: Path) -> None:
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise ForeignFileError(path, "it is no SQLite database")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise ForeignFileError(path, "another program made it")


def _look_inside(path: Path, size: int, *, whole: bool) -> int | None:
    with _reading(path) as connection:
        if whole or size <= _CHECKED_WHOLE:
            check = "integrity_check" if whole else "quick_check"
            said = value(connection, f"PRAGMA {check}(1)")
            if said != "ok":
                raise CorruptDatabaseError(path, str(said))
        if value(connection, _HAS_VERSIONS) is None:
            if value(connection, _TABLES):
                raise ForeignFileError(path, "it has no schema_version")
            return None
        version: object = value(connection, _SCHEMA_VERSION)
        if version is not None and not isinstance(version, int):
            raise ForeignFileError(path, "its schema_version is no number")
        return version


def columns_of(path: Path) -> frozenset[str]:
    """``table.column`` of all our tables in the file. Writes nothing."""
    with _reading(path) as connection:
        return columns(connection)


def columns(connection: Database) -> frozenset[str]:
    """``table.column`` of all our tables; those that SQLite keeps for itself are left out."""
    return frozenset(f"{table}.{column}" for table, column in connection.execute(_COLUMNS))


@contextmanager
def _reading(path: Path) -> Generator[Database]:
    # Without a write-ahead log the file is all there is, and `immutable` keeps SQLite from making
    # one beside it.
    wal = path.with_name(path.name + "-wal")
    alone = not wal.exists() or wal.stat().st_size == 0
    mode = "immutable=1" if alone else "mode=ro"
    connection = _open(f"file:{quote(str(path))}?{mode}", _READ_ONLY)
    try:
        yield connection
    finally:
        connection.close()


def _open(target: str, flags: int) -> Database:
    return cast("Database", apsw.Connection(target, flags))


def memory() -> Database:
    """A database of its own that is never on disk."""
    return _open(":memory:", _READ_WRITE)


def plain(path: Path) -> Database:
    """A connection to a file that exists, with nothing set."""
    return _open(str(path), apsw.SQLITE_OPEN_READWRITE)


def writer(path: Path, *, durable: bool = True) -> Database:
    """The one connection that writes; makes the file (mode 0600) when it is missing.

    `durable=False` leaves out the waits for the disk: for simulations only.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = _open(str(path), _READ_WRITE)
    try:
        _prepare(connection, durable=durable)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: Database, *, durable: bool) -> None:
    run = connection.execute
    connection.set_busy_timeout(_BUSY_MS)
    if value(connection, "PRAGMA application_id") == 0:
        # These two go into the header, and only while the file is empty.
        run(f"PRAGMA application_id = {APPLICATION_ID}")
        run("PRAGMA auto_vacuum = INCREMENTAL")
    run("PRAGMA journal_mode = WAL")
    run(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    run("PRAGMA foreign_keys = ON")
    run("PRAGMA trusted_schema = OFF")
    run("PRAGMA temp_store = MEMORY")
    run("PRAGMA cache_size = -16384")
    run("PRAGMA journal_size_limit = 67108864")


def reader(path: Path) -> Database:
    """A connection that only reads."""
    connection = _open(f"file:{quote(str(path))}?mode=ro", _READ_ONLY)
    connection.set_busy_timeout(_BUSY_MS)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cache_size = -4096")
    return connection
