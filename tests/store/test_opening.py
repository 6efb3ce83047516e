"""Opening a state: what is new, old, newer, damaged or not ours, and what is left untouched."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clankie.core.errors import StorageUnavailableError
from clankie.store.errors import (
    CorruptDatabaseError,
    EngineTooOldError,
    ForeignFileError,
    NewerDatabaseError,
    UnusableStateError,
)
from clankie.store.sqlite import connect, migrate
from contracts.store_kit import World, admitted, answered, log


def everything(home: Path) -> dict[str, str]:
    """Every file below a directory, by content."""
    return {
        file.relative_to(home).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in home.rglob("*")
        if file.is_file()
    }


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


async def refused(world: World, path: Path) -> UnusableStateError:
    """Open it, see it refused, and see that nothing changed."""
    before = everything(path.parent)
    with pytest.raises(UnusableStateError) as error:
        async with world.open():
            pass
    assert everything(path.parent) == before
    return error.value


@pytest.fixture
async def used(world: World, path: Path) -> Path:
    """A database with something in it, closed."""
    async with world.open() as store:
        await store.boot()
        for n in range(100):
            await admitted(store, f"m-{n}", "x" * 500)
    return path


async def test_a_new_database_is_readable_by_its_owner_only(world: World, path: Path) -> None:
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")
        modes = {file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        assert modes == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["clankie.db"]


async def test_what_was_written_is_there_after_opening_again(world: World) -> None:
    async with world.open() as store:
        await store.boot()
        receipt = await answered(store, "m-1")
        told = await log(store)
    async with world.open() as store:
        await store.boot()
        assert await store.deliveries.get("m-1") == receipt
        assert await log(store) == told


async def test_a_database_of_a_later_version_is_refused_and_names_the_backup(
    world: World, used: Path
) -> None:
    # proves: DAY-3
    known = migrate.migrations()[-1].n
    database = apsw.Connection(str(used))
    database.execute("INSERT INTO schema_version (n, at) VALUES (?, 0)", (known + 1,))
    database.close()
    error = await refused(world, used)
    assert isinstance(error, NewerDatabaseError)
    assert error.facts == {"found": known + 1, "known": known}
    kept = migrate.backup_name(used, known + 1)
    kept.parent.mkdir()
    kept.write_bytes(b"a backup")
    assert str(kept) in (await refused(world, used)).detail


@pytest.mark.parametrize("content", [b"not a database", b"x" * 5_000, b"SQLite format 3\0"])
async def test_a_file_that_is_no_database_is_refused(
    world: World, path: Path, content: bytes
) -> None:
    put(path, content)
    assert isinstance(await refused(world, path), ForeignFileError)


async def test_the_database_of_another_program_is_refused(world: World, path: Path) -> None:
    path.parent.mkdir(parents=True)
    database = apsw.Connection(str(path))
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    assert isinstance(await refused(world, path), ForeignFileError)


async def test_our_mark_on_foreign_tables_does_not_pass(world: World, path: Path) -> None:
    path.parent.mkdir(parents=True)
    database = apsw.Connection(str(path))
    database.execute(f"PRAGMA application_id = {connect.APPLICATION_ID}; CREATE TABLE theirs (x)")
    database.close()
    assert isinstance(await refused(world, path), ForeignFileError)


async def test_a_directory_in_its_place_is_refused(world: World, path: Path) -> None:
    put(path / "a file", b"")
    assert isinstance(await refused(world, path), ForeignFileError)


@pytest.mark.parametrize("at", [100, 4_096, 20_000])
async def test_a_damaged_database_is_refused(world: World, used: Path, at: int) -> None:
    with used.open("r+b") as file:
        file.seek(at)
        file.write(b"\xff" * 3_000)
    assert isinstance(await refused(world, used), CorruptDatabaseError)


async def test_a_database_cut_short_is_refused(world: World, used: Path) -> None:
    with used.open("r+b") as file:
        file.truncate(8_192)
    assert isinstance(await refused(world, used), CorruptDatabaseError)


async def test_a_start_that_died_before_its_first_table_is_taken_up(
    world: World, path: Path
) -> None:
    connect.writer(path).close()
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")


async def test_an_engine_that_can_lose_commits_is_refused(
    world: World, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(EngineTooOldError):
        async with world.open():
            pass
    assert everything(path.parent) == {}


async def test_a_place_where_nothing_can_be_written_is_refused_in_words(
    build: Callable[[bool], World], path: Path
) -> None:
    path.parent.parent.joinpath("home").write_text("a file where the directory should be")
    with pytest.raises(StorageUnavailableError):
        async with build(True).open():
            pass


async def test_facts_name_the_engine_the_schema_and_the_counts(world: World) -> None:
    # proves: BASE-4
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")
        facts = await store.facts()
    assert facts["sqlite"] == apsw.sqlite_lib_version()
    assert facts["schema"] == migrate.migrations()[-1].n
    assert (facts["conversations"], facts["events"], facts["inputs_waiting"]) == (1, 2, 1)
    assert str(facts["node"]).startswith("node-")
    assert isinstance(facts["bytes"], int)
    assert facts["backlog"] == store.backlog() == 0
