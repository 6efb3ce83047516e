"""Attachments on disk: private, whole or not there, mended by the same bytes, gone with a row."""

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clankie.core.conversation import OPERATOR, Attachment
from clankie.core.errors import AttachmentNotFoundError, StorageUnavailableError
from clankie.host.storage import Store
from clankie.store.lock import Lock
from clankie.store.sqlite import migrate
from clankie.store.sqlite.restore import restore
from contracts.store_kit import World, admitted, made
from fakes.crash import Crash, CrashAt
from store.invariants import violations

CAT = b"\x89PNG a cat" * 100


def file_of(path: Path, digest: str) -> Path:
    return path.parent / "attachments" / digest[:2] / digest


def files(path: Path) -> list[Path]:
    return [file for file in path.parent.glob("attachments/*/*") if file.is_file()]


def cat(digest: str) -> Attachment:
    return Attachment(digest=digest, name="cat.png", media_type="image/png", size=len(CAT))


async def test_only_the_owner_can_read_the_bytes(store: Store, path: Path) -> None:
    # proves: DAY-2
    file = file_of(path, await store.attachments.put(CAT, "image/png"))
    assert file.read_bytes() == CAT
    modes = [place.stat().st_mode & 0o777 for place in (file, file.parent, file.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    assert files(path) == [file]


def gone(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_bytes(CAT[:-1])


def changed(file: Path) -> None:
    file.write_bytes(CAT[:-1] + b"!")


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


@pytest.mark.parametrize("harm", [gone, cut, changed, a_pipe])
async def test_bytes_that_are_not_what_they_were_are_not_there_and_doctor_can_see_it(
    store: Store, path: Path, harm: Callable[[Path], None]
) -> None:
    digest = await store.attachments.put(CAT, "image/png")
    await admitted(store, "m-1", "Look", attachments=(cat(digest),))
    harm(file_of(path, digest))
    with pytest.raises(AttachmentNotFoundError):
        await store.attachments.get(digest)
    assert (await store.facts())["attachments_damaged"] == 1
    with pytest.raises(AttachmentNotFoundError):
        await admitted(store, "m-2", "Look", attachments=(cat(digest),))
    assert await store.attachments.put(CAT, "image/png") == digest
    assert await store.attachments.get(digest) == ("image/png", CAT)
    assert (await store.facts())["attachments_damaged"] == 0


async def test_bytes_that_cannot_be_written_are_not_kept(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        message = "No space left on device"
        raise OSError(message)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageUnavailableError):
            await store.attachments.put(CAT, "image/png")
    assert files(path) == []
    digest = await store.attachments.put(CAT, "image/png")
    assert await store.attachments.get(digest) == ("image/png", CAT)


async def uploads(store: Store) -> None:
    await store.boot()
    await store.attachments.put(CAT, "image/png")
    await store.attachments.put(b"another", "image/png")


@pytest.mark.parametrize("nth", [2, 3, 4])
@pytest.mark.parametrize("when", ["before-commit", "after-commit"])
async def test_a_start_clears_away_what_an_interrupted_upload_left(
    world: World, path: Path, when: str, nth: int
) -> None:
    # The first passing is the start itself.
    async with world.open(CrashAt(f"attachment.{when}", nth)) as store:
        with pytest.raises(Crash):
            await uploads(store)
    async with world.open() as store:
        await store.boot()
        assert len(files(path)) == (await store.facts())["attachments"]
        digest = await store.attachments.put(CAT, "image/png")
        assert await store.attachments.get(digest) == ("image/png", CAT)
    assert violations(path) == []


async def test_a_file_that_cannot_be_removed_is_removed_later(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made(store, "den")
    digest = await store.attachments.put(CAT, "image/png")
    await admitted(store, "m-1", conversation="den", attachments=(cat(digest),))
    await store.conversations.close("den", OPERATOR)

    def refused(_: Path, *, missing_ok: bool = False) -> None:
        message = f"Operation not permitted ({missing_ok})"
        raise OSError(message)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refused)
        with pytest.raises(StorageUnavailableError):
            await store.conversations.purge("den")
    assert len(files(path)) == 1
    await store.conversations.purge("den")
    assert files(path) == []
    assert violations(path) == []


async def test_a_backup_carries_the_bytes_and_a_restore_brings_them_back(
    world: World, path: Path, tmp_path: Path
) -> None:
    # proves: SEC-12
    async with world.open() as store:
        await store.boot()
        digest = await store.attachments.put(CAT, "image/png")
        await admitted(store, "m-1", "Look", attachments=(cat(digest),))
        lost = await store.attachments.put(b"lost", "text/plain")
        file_of(path, lost).unlink()
        await store.backup("backup.db")
    archive = path.with_name("backup.db")
    assert CAT[:64] in archive.read_bytes()
    elsewhere = tmp_path / "new" / path.name
    with Lock.acquire(elsewhere.parent) as lock:
        restore(archive, elsewhere, lock, world.clock, world.ids)
    assert CAT[:64] not in elsewhere.read_bytes()
    assert file_of(elsewhere, digest).read_bytes() == CAT
    assert file_of(elsewhere, digest).stat().st_mode & 0o777 == 0o600
    database = apsw.Connection(str(elsewhere), apsw.SQLITE_OPEN_READONLY)
    states = dict(database.execute("SELECT digest, state FROM attachment"))
    database.close()
    assert states == {digest: "kept", lost: "damaged"}


async def test_a_backup_of_before_attachments_can_be_restored(world: World, path: Path) -> None:
    # proves: SEC-12
    path.parent.mkdir()
    archive = path.with_name("old.db")
    database = apsw.Connection(str(archive))
    released = Path(__file__).with_name("released.sql")
    database.execute(released.read_text(encoding="utf-8"))
    database.close()
    with Lock.acquire(path.parent) as lock:
        restore(archive, path, lock, world.clock, world.ids)
    async with world.open() as store:
        await store.boot()
        assert (await store.facts())["schema"] == migrate.migrations()[-1].n
        assert len(await store.deliveries.list()) == 3
        digest = await store.attachments.put(CAT, "image/png")
        assert (await store.attachments.get(digest))[1] == CAT
    assert violations(path) == []
