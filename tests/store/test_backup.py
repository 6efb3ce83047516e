"""Backups are whole and private; a restore begins a new epoch and loses nothing that was there."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState
from clankie.core.errors import InvalidFieldError, StorageUnavailableError
from clankie.core.ids import HEAD
from clankie.core.receipt import explain
from clankie.core.settings import WakeLimits
from clankie.host.bearer import Token
from clankie.host.storage import Store
from clankie.store.errors import RestoreRefusedError, StateHeldError
from clankie.store.lock import Lock
from clankie.store.sqlite import connect, migrate
from clankie.store.sqlite.restore import restore
from contracts.seat_kit import given, grant_of, occupant, offered, poll, seated, taken
from contracts.store_handoff import one_handoff, ran, spans
from contracts.store_kit import (
    BOUND,
    CALL,
    World,
    admitted,
    answered,
    lost,
    made,
    offer,
    reserved,
    started,
    wake,
    woken,
)
from store.invariants import violations

SECRET = "5e" * 32


def files(home: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in home.iterdir()
        if file.is_file() and file.name != "lock"
    }


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def content(file: Path) -> bytes:
    return file.read_bytes()


def damage(path: Path) -> None:
    path.write_bytes(b"damaged" * 1_000)
    path.with_name("clankie.db-wal").write_bytes(b"a log that nobody can read")


async def busy(store: Store, world: World) -> None:
    """A state with something of everything."""
    await store.boot()
    await made(store, "den")
    await answered(store, "done")
    await lost(store, "unsure")
    await admitted(store, "runs")
    run = await started(store)
    await store.deliveries.tool_started(run, CALL)
    await admitted(store, "waits")
    await admitted(store, "reserved", conversation="den")
    await reserved(store, "den")
    await store.wakes.add(wake("w-1", world), WakeLimits())
    for n in range(20):
        secret = f"{n:02}" + SECRET[2:]
        one = Token(id=f"t-{n}", principal=OPERATOR, label="x", created_at=world.clock.now())
        await store.owner.add_token(one, secret)


@pytest.fixture
async def archive(world: World, path: Path) -> Path:
    """A backup of a busy state, whose service then went on and ended everything."""
    async with world.open() as store:
        await busy(store, world)
        await store.backup("backup.db")
        await store.boot()
        await answered(store, "later")
    return path.with_name("backup.db")


async def test_a_backup_is_whole_private_and_without_credentials(archive: Path) -> None:
    # proves: SEC-12
    assert mode(archive) == 0o600
    assert violations(archive) == []
    assert SECRET[2:].encode() not in content(archive)
    database = apsw.Connection(str(archive), apsw.SQLITE_OPEN_READONLY)
    assert set(database.execute("SELECT revoked, sha256 FROM token")) == {(1, None)}
    database.close()
    assert [file.name for file in archive.parent.glob("*part*")] == []


async def test_a_backup_is_made_while_others_write(world: World, path: Path) -> None:
    import asyncio

    async with world.open() as store:
        await store.boot()
        offers = [store.deliveries.admit(offer(f"m-{n}"), BOUND) for n in range(50)]
        await asyncio.gather(store.backup("backup.db"), *offers)
    assert violations(path.with_name("backup.db")) == []


async def test_no_file_is_overwritten_by_a_backup(world: World, path: Path) -> None:
    async with world.open() as store:
        await store.boot()
        path.with_name("backup.db").write_bytes(b"something")
        with pytest.raises(InvalidFieldError):
            await store.backup("backup.db")
        with pytest.raises(StorageUnavailableError):
            await store.backup("backup.db/inside.db")
    assert path.with_name("backup.db").read_bytes() == b"something"


async def test_a_restore_shows_what_may_have_run_meanwhile_as_uncertain(
    world: World, path: Path, archive: Path
) -> None:
    # proves: SEC-12
    with Lock.acquire(path.parent) as lock:
        aside = restore(archive, path, lock, world.clock, world.ids)
    async with world.open() as store:
        recovered = await store.boot()
        states = {one.id: one.state for one in await store.deliveries.list()}
        assert states == {
            "done": InputState.SETTLED,
            "unsure": InputState.UNCERTAIN,
            "runs": InputState.UNCERTAIN,
            "waits": InputState.UNCERTAIN,
            "reserved": InputState.UNCERTAIN,
        }
        assert (recovered.uncertain, recovered.released) == ([], [])
        waits = await store.deliveries.get("waits")
        assert (waits.code, explain(waits)) == ("restored", "Nothing is known of how it ended.")
        runs = await store.deliveries.get("runs")
        assert runs.attempts[0].tools[0].state == "uncertain"
        for conversation in (HEAD, "den"):
            assert await store.deliveries.reserve(conversation) is None
        (held,) = await store.wakes.list()
        assert held.held == "restored"
        assert await store.wakes.due(held.due_at, 10) == []
        assert await store.wakes.next_due(world.clock.now()) is None
        assert {(one.revoked, secret) for one, secret in await store.owner.tokens()} == {(True, "")}
        assert await store.deliveries.release_held(None) == 1
        assert await store.wakes.due(held.due_at, 10) == [replace(held, held=None)]
        await store.deliveries.admit(woken(held), BOUND)
    assert violations(path) == []
    assert aside is not None
    assert violations(aside) == []


async def test_no_seat_drives_in_a_new_epoch_and_what_one_may_have_seen_is_uncertain(
    world: World, path: Path
) -> None:
    # proves: SEC-12, FENCE-4
    async with world.open() as store:
        await store.boot()
        standing = await seated(store, world)
        await store.seats.projected("s-1", "n-s-1", 0)
        await given(store, standing, "gone")
        await taken(store, standing, "taken")
        await ran(store, "w-1", "Wake")
        await one_handoff(store)
        await offered(store, standing, "stored")
        await store.seats.add_grant(grant_of(world, secret="g-2", expected="s-1"))
        await store.backup("backup.db")
    with Lock.acquire(path.parent) as lock:
        restore(path.with_name("backup.db"), path, lock, world.clock, world.ids)
    async with world.open() as store:
        await store.boot()
        for name in ("gone", "taken", "stored"):
            assert (await store.deliveries.get(name)).state is InputState.UNCERTAIN
        (seat,) = await store.seats.all()
        assert seat.conversation is None
        assert await store.seats.grant("g-2") is None
        assert await spans(store) == ["open", "attempting", "uncertain"]
        again = await seated(store, world, "s-2", sits=occupant("n-s-1"))
        assert [one.id for one in await store.seats.all()] == ["s-1"]
        assert await poll(store, "s-1", "p-9") == []
        assert again.occupant == seat.occupant.id
    assert violations(path) == []


async def test_the_old_state_is_kept_beside_the_new_one(
    world: World, path: Path, archive: Path
) -> None:
    # proves: SEC-12
    with Lock.acquire(path.parent) as lock:
        aside = restore(archive, path, lock, world.clock, world.ids)
    assert aside == path.with_name("clankie.db.before-restore-20261130T120000Z")
    left = sorted(file.name for file in path.parent.iterdir())
    assert left == ["backup.db", "clankie.db", aside.name, "lock"]
    database = apsw.Connection(str(aside), apsw.SQLITE_OPEN_READONLY)
    assert database.execute("SELECT 1 FROM input WHERE id = 'later'").get == 1
    database.close()


async def test_a_damaged_state_is_replaced_with_its_log_kept(
    world: World, path: Path, archive: Path
) -> None:
    damage(path)
    with Lock.acquire(path.parent) as lock:
        aside = restore(archive, path, lock, world.clock, world.ids)
    assert aside is not None
    assert aside.read_bytes() == b"damaged" * 1_000
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"a log that nobody can read"
    async with world.open() as store:
        await store.boot()
        assert len(await store.deliveries.list()) == 5


async def test_a_restore_into_an_empty_place_works(
    world: World, path: Path, archive: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "new" / path.name
    with Lock.acquire(elsewhere.parent) as lock:
        assert restore(archive, elsewhere, lock, world.clock, world.ids) is None
    assert violations(elsewhere) == []


def _link(archive: Path) -> Path:
    link = archive.with_name("link.db")
    link.symlink_to(archive)
    return link


def _pipe(archive: Path) -> Path:
    pipe = archive.with_name("pipe.db")
    os.mkfifo(pipe)
    return pipe


def _text(archive: Path) -> Path:
    text = archive.with_name("text.db")
    text.write_text("not a backup")
    return text


def _empty(archive: Path) -> Path:
    empty = archive.with_name("empty.db")
    empty.touch()
    return empty


def _foreign(archive: Path) -> Path:
    foreign = archive.with_name("foreign.db")
    database = apsw.Connection(str(foreign))
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    return foreign


def _damaged(archive: Path) -> Path:
    with archive.open("r+b") as file:
        file.seek(5_000)
        file.write(b"\xff" * 5_000)
    return archive


def _newer(archive: Path) -> Path:
    database = apsw.Connection(str(archive))
    database.execute("INSERT INTO schema_version VALUES (?, 0)", (len(migrate.migrations()) + 1,))
    database.close()
    return archive


def _changed(archive: Path, statement: str) -> Path:
    database = apsw.Connection(str(archive))
    database.execute(statement)
    database.close()
    return archive


def _with_a_trigger(archive: Path) -> Path:
    return _changed(
        archive,
        "CREATE TRIGGER revive AFTER UPDATE ON token BEGIN"
        " UPDATE token SET revoked = 0, sha256 = 'theirs' WHERE id = new.id; END",
    )


def _without_a_trigger(archive: Path) -> Path:
    return _changed(archive, "DROP TRIGGER event_stays")


def _without_a_table(archive: Path) -> Path:
    return _changed(archive, "DROP TABLE setting")


def _unnumbered(archive: Path) -> Path:
    return _changed(
        archive,
        "DROP TABLE schema_version; CREATE TABLE schema_version (n, at);"
        " INSERT INTO schema_version VALUES ('first', 0)",
    )


def _missing(archive: Path) -> Path:
    return archive.with_name("missing.db")


@pytest.mark.parametrize(
    "offered",
    [
        _link,
        _pipe,
        _text,
        _empty,
        _foreign,
        _damaged,
        _newer,
        _with_a_trigger,
        _without_a_trigger,
        _without_a_table,
        _unnumbered,
        _missing,
    ],
)
async def test_what_is_no_backup_of_ours_is_refused_and_changes_nothing(
    world: World, path: Path, archive: Path, offered: Callable[[Path], Path]
) -> None:
    # proves: SEC-12
    given = offered(archive)
    kept = content(path)
    names = sorted(file.name for file in path.parent.iterdir())
    with Lock.acquire(path.parent) as lock, pytest.raises(RestoreRefusedError):
        restore(given, path, lock, world.clock, world.ids)
    assert content(path) == kept
    assert sorted(file.name for file in path.parent.iterdir()) == sorted({*names, "lock"})


async def test_a_restore_needs_a_stopped_service(world: World, path: Path, archive: Path) -> None:
    # proves: SEC-12
    lock = Lock.acquire(path.parent)
    lock.release()
    before = files(path.parent)
    with pytest.raises(StateHeldError):
        restore(archive, path, lock, world.clock, world.ids)
    assert files(path.parent) == before


async def test_a_restore_without_room_leaves_the_state_as_it_was(
    world: World, path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(path.parent)

    def full(_: int) -> None:
        message = "No space left on device"
        raise OSError(message)

    monkeypatch.setattr(os, "fsync", full)
    with Lock.acquire(path.parent) as lock, pytest.raises(StorageUnavailableError):
        restore(archive, path, lock, world.clock, world.ids)
    assert files(path.parent) == before
    assert connect.look(path) == migrate.migrations()[-1].n


async def test_a_plain_copy_of_a_state_is_no_way_around_the_new_epoch(
    world: World, path: Path, archive: Path
) -> None:
    # proves: SEC-12
    copy = archive.with_name("copy.db")
    copy.write_bytes(content(path))
    with Lock.acquire(path.parent) as lock:
        restore(copy, path, lock, world.clock, world.ids)
    assert SECRET[2:].encode() not in content(path)
    async with world.open() as store:
        assert {(one.revoked, secret) for one, secret in await store.owner.tokens()} == {(True, "")}
