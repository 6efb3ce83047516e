"""What doctor and status show of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw

from clankie.store.sqlite.sql import rows, value

if TYPE_CHECKING:
    from pathlib import Path

    from clankie.store.sqlite.sql import Database

_VERSION: Final = "SELECT max(n) FROM schema_version"
_COUNTS: Final = """
SELECT count(*), coalesce(sum(cursor), 0), coalesce(sum(waiting), 0), coalesce(sum(held), 0),
  coalesce(sum(running), 0), coalesce(sum(uncertain), 0) FROM conversation"""
_ATTACHED: Final = """
SELECT count(*), coalesce(sum(size), 0), coalesce(sum(state = 'damaged'), 0) FROM attachment"""
_UNINDEXED: Final = """
SELECT coalesce((SELECT max(n) FROM event), 0) - indexed FROM search_state"""
_PURGING: Final = "SELECT count(*) FROM conversation WHERE purged = 1"
_WAKES: Final = "SELECT count(*) FROM wake WHERE delivery IS NULL"


def facts(connection: Database, path: Path) -> dict[str, object]:
    """Engine, versions, sizes in bytes, counts. Its cost follows the number of conversations."""
    wal = path.with_name(path.name + "-wal")
    conversations, events, waiting, held, running, uncertain = rows(connection, _COUNTS)[0]
    attached, attached_bytes, damaged = rows(connection, _ATTACHED)[0]
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "schema": value(connection, _VERSION),
        "path": str(path),
        "bytes": path.stat().st_size,
        "wal_bytes": wal.stat().st_size if wal.exists() else 0,
        "free_pages": value(connection, "PRAGMA freelist_count"),
        "conversations": conversations,
        "events": events,
        "inputs_waiting": waiting,
        "inputs_held": held,
        "inputs_running": running,
        "inputs_uncertain": uncertain,
        "wakes_waiting": value(connection, _WAKES),
        "purges_unfinished": value(connection, _PURGING),
        "attachments": attached,
        "attachment_bytes": attached_bytes,
        "attachments_damaged": damaged,
        "events_unindexed": value(connection, _UNINDEXED),
    }
