"""Dropping old evidence. What stays of a delivery is its id, its fingerprint and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.store.sqlite import attachments

if TYPE_CHECKING:
    from clankie.store.sqlite.unit import Transaction

SLICE: Final = 200
"""Deliveries of one transaction, so that admissions do not wait for all of it."""
ROWS: Final = 2_000
"""Rows of transcripts of one transaction."""

_OLD: Final = """
SELECT id FROM input WHERE settled_at < ? AND settled_at IS NOT NULL AND pruned = 0
ORDER BY settled_at LIMIT ?"""
_SPANS: Final = f"SELECT id FROM span WHERE ended_at < ? LIMIT {SLICE}"
_SPAN_GOES: Final = "DELETE FROM span WHERE id = ?"
_ATTEMPTS: Final = "SELECT id FROM attempt WHERE delivery = ?"
_CALLS_GO: Final = "DELETE FROM tool_call WHERE attempt = ?"
_MOVES_GO: Final = "DELETE FROM transition WHERE record = ?"
_ATTEMPTS_GO: Final = "DELETE FROM attempt WHERE delivery = ?"
_TOMBSTONE: Final = """
UPDATE input SET pruned = 1, text = NULL, detail = NULL, attachments = NULL, channel = NULL,
  name = NULL
WHERE id = ?"""
# A session that a reset retired writes nowhere for good, and is refused before its rows are looked
# at. Any other one is known by its own id, not by its seat's: it may be resumed in another seat,
# and then what was taken of it must still be known.
_ROWS_GO: Final = """
DELETE FROM native_entry WHERE (session, id) IN (
  SELECT session, id FROM native_entry
  WHERE session IN (SELECT n FROM native_session WHERE retired_at < ?) LIMIT ?)"""
# Bounded as well: moving pages takes time.
_SHRINK: Final = "PRAGMA incremental_vacuum(256)"


def prune(tx: Transaction, before: int) -> int:
    """Prune up to `SLICE` deliveries that ended before; how many it were."""
    old: list[str] = [row[0] for row in tx.rows(_OLD, (before, SLICE))]
    for delivery in old:
        forget(tx, delivery)
    attachments.prune(tx, before)
    for (span,) in tx.rows(_SPANS, (before,)):
        tx.run(_MOVES_GO, (span,))
        tx.run(_SPAN_GOES, (span,))
    tx.rows(_SHRINK)
    return len(old)


def rows(tx: Transaction, before: int) -> int:
    """Forget up to `ROWS` transcript rows of sessions that were retired before; how many."""
    tx.run(_ROWS_GO, (before, ROWS))
    return tx.connection.changes()


def forget(tx: Transaction, delivery: str) -> None:
    """Leave a tombstone of a delivery that has ended."""
    for (attempt,) in tx.rows(_ATTEMPTS, (delivery,)):
        tx.run(_CALLS_GO, (attempt,))
        tx.run(_MOVES_GO, (attempt,))
    tx.run(_ATTEMPTS_GO, (delivery,))
    tx.run(_MOVES_GO, (delivery,))
    tx.run(_TOMBSTONE, (delivery,))
