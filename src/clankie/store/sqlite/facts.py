"""What doctor and status show of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw

if TYPE_CHECKING:
    from pathlib import Path

_VERSION: Final = "SELECT max(n) FROM schema_version"
_COUNTS: Final = """
SELECT count(*), coalesce(sum(cursor), 0), coalesce(sum(waiting), 0), coalesce(sum(held), 0),
  coalesce(sum(running), 0), coalesce(sum(uncertain), 0) FROM conversation"""
_WAKES: Final = "SELECT count(*) FROM wake WHERE delivery IS NULL"


def facts(connection: apsw.Connection, path: Path) -> dict[str, object]:
    """Engine, versions, sizes in bytes, counts. Its cost follows the number of conversations."""
    run = connection.execute
    conversations, events, waiting, held, running, uncertain = run(_COUNTS).fetchall()[0]
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "schema": run(_VERSION).get,
        "path": str(path),
        "bytes": size(path),
        "wal_bytes": size(path.with_name(path.name + "-wal")),
        "free_pages": run("PRAGMA freelist_count").get,
        "conversations": conversations,
        "events": events,
        "inputs_waiting": waiting,
        "inputs_held": held,
        "inputs_running": running,
        "inputs_uncertain": uncertain,
        "wakes_waiting": run(_WAKES).get,
    }


def size(path: Path) -> int:
    """Bytes of a file, 0 when there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
