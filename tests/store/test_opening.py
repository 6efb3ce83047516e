"""Opening a state: what is new, old, newer, damaged or not ours, and what is left untouched."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from clankie.core.errors import CursorGoneError, StorageUnavailableError, TransitionRefusedError
from clankie.core.ids import HEAD
from clankie.core.settings import DEFAULTS, merge
from clankie.store.errors import (
    CorruptDatabaseError,
    EngineTooOldError,
    ForeignFileError,
    NewerDatabaseError,
    UnreleasedDatabaseError,
    UnusableStateError,
)
from clankie.store.sqlite import connect, migrate
from contracts.store_kit import World, admitted, answered, log, reserved


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


async def test_settings_that_no_longer_fit_fall_back_and_the_start_goes_on(
    world: World, path: Path
) -> None:
    # proves: BASE-1
    async with world.open() as store:
        await store.boot()
    body = """{"wakes": {"attempts": 5, "waiting": -1}, "gone": {"x": 1}, "models": {"gone": 1}}"""
    database = apsw.Connection(str(path))
    database.execute("INSERT INTO setting (id, revision, body, at) VALUES (1, 7, ?, 0)", (body,))
    database.close()
    async with world.open() as store:
        revision, settings = await store.owner.settings()
    assert (revision, settings.wakes.attempts) == (7, 5)
    assert settings == merge(DEFAULTS, {"wakes": {"attempts": 5}})


async def test_a_server_of_tools_that_no_longer_fits_takes_no_other_with_it(
    world: World, path: Path
) -> None:
    # proves: BASE-1
    async with world.open() as store:
        await store.boot()
    body = """{"mcp": {"servers": {"bad": {"timeout": -1}, "good": {"command": "tools"}}}}"""
    database = apsw.Connection(str(path))
    database.execute("INSERT INTO setting (id, revision, body, at) VALUES (1, 7, ?, 0)", (body,))
    database.close()
    async with world.open() as store:
        _, settings = await store.owner.settings()
    assert settings == merge(DEFAULTS, {"mcp": {"servers": {"good": {"command": "tools"}}}})


async def test_a_cursor_below_what_is_kept_is_gone_and_says_what_is_there(
    world: World, path: Path
) -> None:
    # proves: CONV-4
    async with world.open() as store:
        await store.boot()
        for n in range(5):
            await admitted(store, f"m-{n}")
    database = apsw.Connection(str(path))
    database.execute("UPDATE conversation SET oldest = 5; DELETE FROM event WHERE cursor < 5")
    database.close()
    async with world.open() as store:
        for cursor in (0, 3):
            with pytest.raises(CursorGoneError) as refused:
                await store.conversations.events_after(HEAD, cursor, 10)
            assert refused.value.facts == {"oldest_cursor": 5}
        with pytest.raises(CursorGoneError):
            await store.conversations.events_before(HEAD, 5, 10)
        page = await store.conversations.events_before(HEAD, 11, 10)
        assert [event.cursor for event in page.events] == [5, 6, 7, 8, 9, 10]
        assert not page.has_more
        assert (await store.conversations.events_after(HEAD, 4, 10)).events == page.events


async def test_a_reservation_of_an_attempt_that_never_was_is_refused(world: World) -> None:
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")
        held = await reserved(store)
        with pytest.raises(TransitionRefusedError):
            await store.deliveries.start(replace(held, attempt="m-1#9"))


async def test_a_database_between_two_releases_is_refused_and_named(
    world: World, used: Path
) -> None:
    # proves: DAY-3
    for change, difference in (
        ("ALTER TABLE attempt ADD COLUMN mood TEXT", "it has attempt.mood besides"),
        ("ALTER TABLE attempt RENAME COLUMN mood TO stop", "it has attempt.stop besides"),
        ("DROP TABLE watch", "it lacks watch."),
    ):
        database = apsw.Connection(str(used))
        database.execute(change)
        database.close()
        error = await refused(world, used)
        assert isinstance(error, UnreleasedDatabaseError)
        assert difference in error.detail


async def test_what_sqlite_and_other_programs_keep_beside_our_tables_is_no_difference(
    world: World, used: Path
) -> None:
    database = apsw.Connection(str(used))
    database.execute("ANALYZE; CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
    database.close()
    async with world.open() as store:
        await store.boot()
