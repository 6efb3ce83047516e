"""One transaction for many units: each in a savepoint, so that a refused one takes no other along.

What a unit raises is its own: its changes are undone and its neighbours stay. When the disk is full
or fails, nothing of the unit is there (`StorageUnavailableError`). A commit that fails leaves open
what is on disk, for every unit of the batch (`CommitUnknownError`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw

from clankie.core.errors import CommitUnknownError, StorageUnavailableError
from clankie.store.sqlite.unit import Done, Kind, Transaction, Unit
from clankie.store.sqlite.values import millis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.host.ports import Clock, CrashPoint, Ids
    from clankie.store.sqlite.sql import Database

UNAVAILABLE: Final = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.BusyError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.NoMemError,
)
"""What says that the disk cannot be written, whatever was asked."""


class Batches:
    """Runs batches on one connection; used from one thread at a time."""

    def __init__(self, connection: Database, clock: Clock, ids: Ids, crash: CrashPoint) -> None:
        self._connection = connection
        self._clock = clock
        self._crash = crash
        self._tx = Transaction(connection, ids)

    def run(self, units: Sequence[Unit]) -> Done:
        """Do them all in one transaction; each unit then holds its result or its error."""
        done = Done(list(units))
        try:
            self._run(done)
        except Exception as error:  # noqa: BLE001 - it belongs to the callers, who wait for it
            self._fail(done, error)
        return done

    def _run(self, done: Done) -> None:
        tx = self._tx
        tx.now = self._clock.now()
        tx.at = millis(tx.now)
        tx.events, tx.touched = [], []
        try:
            tx.run("BEGIN IMMEDIATE")
        except UNAVAILABLE as error:
            self._fail(done, StorageUnavailableError(str(error)))
            return
        if not all(self._one(unit) for unit in done.units):
            # SQLite itself rolled the whole transaction back, so nothing of any unit is there.
            self._fail(done, StorageUnavailableError("the transaction was rolled back"))
            return
        self._reach([unit.kind.before for unit in done.units if unit.error is None])
        if self._commit(done):
            done.events, done.touched = tx.events, frozenset(tx.touched)
            self._reach([unit.kind.after for unit in done.units if unit.error is None])

    def _one(self, unit: Unit) -> bool:
        """Run one unit in its savepoint; False when the whole transaction is gone."""
        tx = self._tx
        events, touched = len(tx.events), len(tx.touched)
        try:
            tx.run("SAVEPOINT unit")
            unit.result = unit.work(tx)
            tx.run("RELEASE unit")
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, who waits for it
            unit.error = StorageUnavailableError(str(error)) if _storage(error) else error
            del tx.events[events:], tx.touched[touched:]
            if not self._connection.in_transaction:
                return False
            tx.run("ROLLBACK TO unit")
            tx.run("RELEASE unit")
        return True

    def _commit(self, done: Done) -> bool:
        try:
            self._tx.run("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, the outcome is unknown
            if self._connection.in_transaction:
                self._tx.run("ROLLBACK")
            self._fail(done, CommitUnknownError(str(error)))
            return False
        return True

    def _reach(self, names: list[str]) -> None:
        for name in names:
            self._crash.reach(name)

    @staticmethod
    def _fail(done: Done, error: Exception) -> None:
        for unit in done.units:
            if unit.error is None:
                unit.error = error

    def abort(self) -> None:
        """Undo what an interrupted batch left open."""
        if self._connection.in_transaction:
            self._tx.run("ROLLBACK")


def _storage(error: Exception) -> bool:
    return isinstance(error, UNAVAILABLE)


__all__ = ["UNAVAILABLE", "Batches", "Kind"]
