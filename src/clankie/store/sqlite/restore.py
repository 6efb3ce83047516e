"""Putting a backup in place of the state: a new epoch, in which nothing is taken for granted.

After the backup was made, what waited in it may have run. So what is not final becomes uncertain,
wakes are held until somebody lets them go, and tokens no longer count.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import TYPE_CHECKING, Final

import apsw

from clankie.core.conversation import SYSTEM, Notice, Turn, TurnPhase
from clankie.core.delivery import InputState, SeatState, ServiceState, after_restart
from clankie.core.errors import StorageUnavailableError
from clankie.core.handoff import SpanEvent
from clankie.core.ids import HEAD
from clankie.host.storage import Outcome
from clankie.store.errors import RestoreRefusedError, UnusableStateError
from clankie.store.sqlite import (
    attempts,
    connect,
    conversations,
    events,
    given,
    handoffs,
    heads,
    inputs,
    migrate,
    seats,
)
from clankie.store.sqlite.backup import sync
from clankie.store.sqlite.files import Files, sha256
from clankie.store.sqlite.inputs import Input
from clankie.store.sqlite.settle import finish
from clankie.store.sqlite.sql import rows, value
from clankie.store.sqlite.unit import Transaction
from clankie.store.sqlite.values import millis

if TYPE_CHECKING:
    from pathlib import Path

    from clankie.host.ports import Clock, Ids
    from clankie.store.lock import Lock
    from clankie.store.sqlite.sql import Database

RESTORED: Final = "restored"
_QUEUED: Final = f"SELECT {inputs.COLUMNS} FROM input WHERE state = 'queued' ORDER BY n"
_NODES_DIE: Final = "UPDATE node SET dead = 1 WHERE dead = 0"
_NOBODY_OWNS: Final = "UPDATE conversation SET owner = NULL, token = token + 1"
_WAKES_HELD: Final = "UPDATE wake SET held = ? WHERE delivery IS NULL"
_TOKENS_REVOKED: Final = "UPDATE token SET revoked = 1, sha256 = NULL"
_PROGRAMS: Final = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table'"
_HAS_DATA: Final = "SELECT 1 FROM sqlite_master WHERE name = 'attachment_data'"
_DATA: Final = "SELECT digest, data FROM attachment_data"
_SEATED: Final = "SELECT id FROM seat WHERE conversation IS NOT NULL"
_GRANTS_GO: Final = "DELETE FROM seat_grant"
_DATA_GOES: Final = "DROP TABLE attachment_data"
_NOT_OURS: Final = "it is damaged, or not a backup of Clankie"
_TEXT: Final = (
    "The state was restored from a backup. What had not ended in it is shown as uncertain, "
    "wakes are held, and every token was revoked."
)


def restore(archive: Path, database: Path, lock: Lock, clock: Clock, ids: Ids) -> Path | None:
    """Put a backup in place of the database; where the old state lies now, None without one.

    `lock` proves that the service is stopped. The old files stay beside the new ones under a name
    with the time. A process that dies half-way leaves either the old state or the new one.

    Raises:
        RestoreRefusedError: the file is a link, no backup of ours, newer or damaged.
        StorageUnavailableError: the copy could not be written; the state is as it was.
    """
    lock.require()
    part = database.with_name(f"{database.name}.{ids.new('restore')}")
    try:
        _copy(archive, part)
        _check(archive, part)
        _begin_epoch(archive, part, clock, ids)
        _unpack(part, Files(database))
        sync(part)
        aside = _set_aside(database, f"{clock.now():%Y%m%dT%H%M%SZ}")
        part.replace(database)
        sync(database.parent)
    except (OSError, apsw.Error) as error:
        raise StorageUnavailableError(str(error)) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            part.with_name(part.name + suffix).unlink(missing_ok=True)
    return aside


def _copy(archive: Path, part: Path) -> None:
    try:
        source = os.open(archive, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise RestoreRefusedError(archive, "it is a link, or cannot be read") from error
    with os.fdopen(source, "rb") as file:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            raise RestoreRefusedError(archive, "it is not a plain file")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as copy:
            shutil.copyfileobj(file, copy, 1024 * 1024)


def _check(archive: Path, part: Path) -> None:
    steps = migrate.migrations()
    try:
        found = connect.look(part, whole=True)
    except UnusableStateError as error:
        raise RestoreRefusedError(archive, _NOT_OURS) from error
    if found is None:
        raise RestoreRefusedError(archive, "there is nothing in it")
    if found > steps[-1].n:
        raise RestoreRefusedError(archive, f"a later version wrote it (schema {found})")


def _begin_epoch(archive: Path, part: Path, clock: Clock, ids: Ids) -> None:
    connection = connect.writer(part)
    try:
        # Revoked hashes must not stay readable in the freed bytes of their pages.
        connection.execute("PRAGMA secure_delete = ON")
        _bring_up_to_date(archive, connection, millis(clock.now()))
        tx = Transaction(connection, ids)
        tx.begin(clock.now())
        tx.run("BEGIN IMMEDIATE")
        _new_epoch(tx)
        tx.run("COMMIT")
        # The file must stand alone before it is renamed.
        tx.run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()


def _bring_up_to_date(archive: Path, connection: Database, at: int) -> None:
    """Migrate it, then let nothing in that acts by itself: a trigger could undo what follows."""
    steps = migrate.migrations()
    pattern = connect.memory()
    try:
        migrate.migrate(connection, steps, at)
        migrate.migrate(pattern, steps, at)
        alike = set(rows(connection, _PROGRAMS)) == set(rows(pattern, _PROGRAMS))
        complete = set(rows(connection, _TABLES)) >= set(rows(pattern, _TABLES))
    except apsw.SQLError as error:
        raise RestoreRefusedError(archive, _NOT_OURS) from error
    finally:
        pattern.close()
    if not (alike and complete):
        raise RestoreRefusedError(archive, _NOT_OURS)


def _unpack(part: Path, files: Files) -> None:
    """Bytes of attachments become files again. Those are named by content: none is replaced."""
    connection = connect.plain(part)
    try:
        if value(connection, _HAS_DATA) is None:
            return
        for digest, data in connection.execute(_DATA):
            if sha256(data) == digest and files.read(digest) is None:
                files.write(digest, data)
        connection.execute(_DATA_GOES)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()


def _new_epoch(tx: Transaction) -> None:
    tx.run(_NODES_DIE)
    for attempt in attempts.open_runs(tx):
        head = heads.read(tx, attempt.conversation)
        if after_restart(ServiceState(attempt.state)) is ServiceState.UNCERTAIN:
            finish(tx, head, attempt, Outcome(state=ServiceState.UNCERTAIN, code=RESTORED))
        else:
            attempts.move(tx, attempt, ServiceState.RELEASED, RESTORED)
        heads.save(tx, head)
    _seats_go(tx)
    for row in tx.rows(_QUEUED):
        _may_have_run(tx, Input(*row))
    tx.run(_NOBODY_OWNS)
    tx.run(_WAKES_HELD, (RESTORED,))
    tx.run(_TOKENS_REVOKED)
    conversations.ensure_head(tx)
    head = heads.read(tx, HEAD)
    events.append(tx, head, SYSTEM, Notice(code=RESTORED, text=_TEXT))
    heads.save(tx, head)


def _seats_go(tx: Transaction) -> None:
    """No seat is attached in the new epoch; what any may have seen is not known."""
    for attempt in given.in_flight(tx.run, None):
        head = heads.read(tx, attempt.conversation)
        given.move(tx, head, attempt, SeatState.UNCERTAIN, RESTORED)
        heads.save(tx, head)
    for span in handoffs.under_way(tx.run):
        head = heads.read(tx, span.conversation)
        handoffs.move(tx, head, span, SpanEvent.LAPSED)
        heads.save(tx, head)
    for attempt in given.stored_anywhere(tx.run):
        head = heads.read(tx, attempt.conversation)
        given.release(tx, head, attempt, RESTORED)
        heads.save(tx, head)
    for row in tx.rows(_SEATED):
        seats.place(tx, row[0], None)
    tx.run(_GRANTS_GO)


def _may_have_run(tx: Transaction, one: Input) -> None:
    """It waited in the backup. What happened to it afterwards is not in there."""
    head = heads.read(tx, one.conversation)
    inputs.move(tx, head, one, InputState.RUNNING)
    one.code = RESTORED
    inputs.move(tx, head, one, InputState.UNCERTAIN)
    turn = Turn(phase=TurnPhase.UNCERTAIN, delivery_id=one.id, code=RESTORED)
    events.append(tx, head, SYSTEM, turn)
    heads.save(tx, head)


def _set_aside(database: Path, when: str) -> Path | None:
    if not database.exists():
        return None
    with contextlib.suppress(apsw.Error):
        # Folds the write-ahead log into the file, so that one rename is enough. A damaged database
        # may not allow it; then its log is set aside with it.
        connect.plain(database).close()
    aside = database.with_name(f"{database.name}.before-restore-{when}")
    os.link(database, aside)
    for suffix in ("-wal", "-shm"):
        beside = database.with_name(database.name + suffix)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + suffix))
    return aside
