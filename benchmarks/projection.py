"""The bounded view of a log of a thousand, a hundred thousand and a million events: flat."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import apsw
import uvloop

from clankie.core.settings import ProjectionLimits
from clankie.host.clock import NoCrash, SystemClock, SystemIds
from clankie.store.sqlite.store import SqliteStore
from shape import Rounds, Row, scratch

if TYPE_CHECKING:
    from pathlib import Path

SIZES = (1_000, 100_000, 1_000_000)
_ROUNDS = 60
_FLAT = 1.5

# Every second event is one that projections show, as in a log of turns.
_FILL = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO event (conversation, cursor, at, kind, ordinal, body)
SELECT 1, i, 1790000000000 + i,
  CASE i % 2 WHEN 0 THEN 'message' ELSE 'turn' END,
  CASE i % 2 WHEN 0 THEN i / 2 END,
  CASE i % 2 WHEN 0 THEN json_object('kind', 'message',
    'author', json_object('principal', 'operator', 'id', 'operator'),
    'at', '2026-11-30T12:00:00.000Z', 'role', CASE i % 4 WHEN 0 THEN 'owner' ELSE 'agent' END,
    'text', printf('%d ', i) || :text, 'delivery_id', 'm-' || i)
  ELSE json_object('kind', 'turn', 'author', json_object('principal', 'system', 'id', 'host'),
    'at', '2026-11-30T12:00:00.000Z', 'phase', 'started', 'delivery_id', 'm-' || i) END
FROM n WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.conversation = 1
  AND e.cursor = i)"""
_AT = "SELECT n, cursor FROM conversation WHERE id = 'global-default'"
_HEAD = "UPDATE conversation SET cursor = :count, ordinal = :count / 2 WHERE n = 1"
_ALL = """
SELECT ordinal, cursor, at, body FROM event INDEXED BY event_projectable
WHERE conversation = 1 AND ordinal > ? ORDER BY ordinal DESC LIMIT 24"""
_TEXT = "Would you look at the build that failed this morning, and tell me what changed? " * 6


def fill(path: Path, count: int) -> None:
    """Lengthen the head's log to so many events."""
    database = apsw.Connection(str(path))
    database.execute("PRAGMA synchronous = OFF")
    number, before = database.execute(_AT).fetchall()[0]
    database.execute(_FILL, {"n": number, "from": before, "count": count, "text": _TEXT})
    database.execute(_HEAD, {"count": count})
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def store(path: Path) -> SqliteStore:
    """The store, on the event loop itself."""
    # Inline: what is measured is the reading, not the way to another thread and back.
    return SqliteStore(
        path,
        clock=SystemClock(),
        ids=SystemIds(),
        crash=NoCrash(),
        committed=lambda _events, _touched: None,
        inline=True,
    )


async def make(path: Path) -> None:
    """A database with the head conversation."""
    async with store(path) as opened:
        await opened.boot()


async def _project(path: Path) -> Rounds:
    found: list[float] = []
    async with store(path) as opened:
        for _ in range(_ROUNDS):
            began = time.process_time()
            view = await opened.conversations.project("global-default", ProjectionLimits())
            found.append((time.process_time() - began) * 1e6)
            assert view.entries
    return Rounds.of(found[5:])


def _floor(path: Path) -> float:
    """The rows of one view, read twice 24 at a time and thrown away."""
    database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    number, _ = database.execute(_AT).fetchall()[0]
    found: list[float] = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        database.execute(_ALL, (number,)).fetchall()
        database.execute(_ALL, (number,)).fetchall()
        found.append((time.process_time() - began) * 1e6)
    database.close()
    return Rounds.of(found).median


def rows(*, quick: bool) -> list[Row]:
    """Processor time of a projection, and how much longer the longest log takes."""
    measured: list[Row] = []
    figures: list[float] = []
    with scratch() as directory:
        path = directory / "clankie.db"
        uvloop.run(make(path))
        for size in SIZES[: 2 if quick else 3]:
            fill(path, size)
            found = uvloop.run(_project(path))
            figures.append(found.median)
            measured.append(
                Row(
                    name=f"projection of {size:,} events",
                    figure=found.median,
                    unit="us",
                    floor=_floor(path),
                    floor_is="reading its rows",
                    spread=found.spread,
                )
            )
    flat = figures[-1] / figures[0]
    measured.append(
        Row(
            name="projection, longest against shortest log", figure=flat, unit="times", target=_FLAT
        )
    )
    return measured
