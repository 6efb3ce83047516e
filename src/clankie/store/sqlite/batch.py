"""One transaction for many units, in which a refused unit takes no other along.

Units run one after the other. One that raises before it changed anything simply has its error. One
that raises after a change spoils the transaction: it is rolled back and all units run again, each
in a savepoint now. Savepoints for all would be simpler, but cost as much as half of an admission:
each makes SQLite set aside every page that the unit touches. So the work of a unit must be
repeatable: it depends on the transaction alone and acts on nothing else.

What a unit raises is its own. When the disk is full or fails, nothing of the unit is there
(`StorageUnavailableError`); a full disk shows only at the commit, and is known all the same. A
commit that fails otherwise leaves open what is on disk, for every unit of the batch
(`CommitUnknownError`). A node that a later one has taken over writes nothing at all any more, not
even what its owner decides there: all its units are refused (`FencedError`), but for a new boot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw

from clankie.core.errors import ClankieError, CommitUnknownError, StorageUnavailableError
from clankie.host.storage import FencedError
from clankie.store.sqlite.unit import Done, Transaction, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.host.ports import Clock, CrashPoint, Ids
    from clankie.store.sqlite.sql import Database

DAMAGED: Final = (apsw.CorruptError, apsw.NotADBError)
UNAVAILABLE: Final = (
    *DAMAGED,
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.BusyError,
    apsw.NoMemError,
)
"""What says that the disk cannot be written, whatever was asked."""

_ALIVE: Final = "SELECT 1 FROM node WHERE id = ? AND dead = 0"


class Batches:
    """Runs batches on one connection; used from one thread at a time."""

    def __init__(self, connection: Database, clock: Clock, ids: Ids, crash: CrashPoint) -> None:
        self._connection = connection
        self._clock = clock
        self._crash = crash
        self._tx = Transaction(connection, ids)

    def run(self, units: Sequence[Unit]) -> Done:
        """Do them all in one transaction; each unit then holds its result or its error."""
        done = Done([unit for unit in units if not unit.kind.alone])
        if done.units:
            try:
                self._run(done)
            except FencedError as error:
                self.abort()
                self._fail(done, error)
                done.outlived = True
            except UNAVAILABLE as error:
                # Nothing is committed before the end, so nothing of any unit is there.
                self.abort()
                self._fail(done, StorageUnavailableError(str(error)))
        for unit in units:
            if unit.kind.alone:
                self._alone(unit)
                done.units.append(unit)
                done.outlived = done.outlived or isinstance(unit.error, FencedError)
        return done

    def _alone(self, unit: Unit) -> None:
        self._tx.begin(self._clock.now())
        self._crash.reach(unit.kind.before)
        try:
            self._require_alive([unit])
            unit.result = unit.work(self._tx)
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, who waits for it
            known = isinstance(error, UNAVAILABLE)
            unit.error = StorageUnavailableError(str(error)) if known else error
        self._crash.reach(unit.kind.after)

    def _run(self, done: Done) -> None:
        self._begin(done.units)
        if not (all(self._plain(unit) for unit in done.units) and self._written()):
            self._carefully(list(done.units))
        for unit in done.units:
            if unit.error is None:
                self._crash.reach(unit.kind.before)
        if self._commit(done):
            done.events, done.touched = self._tx.events, frozenset(self._tx.touched)
            for unit in done.units:
                if unit.error is None:
                    self._crash.reach(unit.kind.after)

    def _begin(self, units: Sequence[Unit]) -> None:
        """Raises FencedError. What it finds cannot change before the commit."""
        tx = self._tx
        tx.begin(self._clock.now())
        tx.run("BEGIN IMMEDIATE")
        self._require_alive(units)

    def _require_alive(self, units: Sequence[Unit]) -> None:
        """Raises FencedError: this node booted and is dead, and none of these is a new boot."""
        tx = self._tx
        if tx.node is None or any(unit.kind.boot for unit in units):
            return
        # All rows: a statement left half read would stand in the way of a VACUUM.
        if not tx.rows(_ALIVE, (tx.node,)):
            raise FencedError("A later node has taken over; nothing was written.")

    def _plain(self, unit: Unit) -> bool:
        """Run one unit as it is; False when it failed after it had changed something."""
        tx = self._tx
        changes, behind = self._connection.total_changes(), len(tx.behind)
        try:
            if not unit.kind.behind:
                # Also where nothing waits: what an admission only read, this unit may change.
                tx.behind.write(tx)
                changes, behind = self._connection.total_changes(), 0
            unit.result = unit.work(tx)
        except ClankieError as error:
            unit.error = error
            return self._connection.total_changes() == changes and len(tx.behind) == behind
        except Exception:  # noqa: BLE001 - the careful run meets it again and gives it to its caller
            return False
        return True

    def _written(self) -> bool:
        """Write what admissions left; False when that failed, and each must be tried alone."""
        try:
            self._tx.behind.write(self._tx)
        except Exception:  # noqa: BLE001 - the careful run meets it again and gives it to its caller
            return False
        return True

    def _carefully(self, units: list[Unit]) -> None:
        """Run each in a savepoint. One that takes the transaction with it is left out next time."""
        while True:
            self.abort()
            self._begin(units)
            lost = next((unit for unit in units if not self._careful(unit)), None)
            if lost is None:
                return
            units.remove(lost)

    def _careful(self, unit: Unit) -> bool:
        """Run one unit in a savepoint; False when the whole transaction went with it."""
        tx = self._tx
        unit.error = None
        events, touched = len(tx.events), len(tx.touched)
        tx.run("SAVEPOINT unit")
        try:
            unit.result = unit.work(tx)
            tx.behind.write(tx)
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, who waits for it
            tx.behind.clear()
            known = isinstance(error, UNAVAILABLE)
            unit.error = StorageUnavailableError(str(error)) if known else error
            del tx.events[events:], tx.touched[touched:]
            if not self._connection.in_transaction:
                # A full disk: SQLite rolled everything back by itself.
                return False
            tx.run("ROLLBACK TO unit")
        tx.run("RELEASE unit")
        return True

    def _commit(self, done: Done) -> bool:
        try:
            self._tx.run("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers must hear of it
            self.abort()
            kind = StorageUnavailableError if _unwritten(error) else CommitUnknownError
            self._fail(done, kind(str(error)))
            return False
        return True

    @staticmethod
    def _fail(done: Done, error: Exception) -> None:
        for unit in done.units:
            if unit.error is None:
                unit.error = error

    def abort(self) -> None:
        """Undo what an interrupted batch left open."""
        if self._connection.in_transaction:
            self._tx.run("ROLLBACK")


def _unwritten(error: Exception) -> bool:
    """Whether a commit failed before all of it was in the file, so that it certainly is not there.

    A commit ends with a frame that makes it one. When the disk is full or refuses a write, that
    frame is not there or not whole. When a later wait for the disk fails, it may be.
    """
    if isinstance(error, apsw.IOError):
        return bool(getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE)
    return isinstance(error, apsw.FullError)
