"""The schema is the sum of its migrations, and what was released can still be opened."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clankie.core.delivery import InputState
from clankie.core.errors import StorageUnavailableError
from clankie.core.ids import HEAD
from clankie.store.sqlite import connect, migrate
from contracts.store_kit import World, answered
from store.make_fixtures import schema

HERE = Path(__file__).parent
SNAPSHOT = HERE / "schema.sql"
RELEASED = HERE / "released.sql"
BREAKS = """
CREATE TABLE one (id INTEGER PRIMARY KEY);
CREATE TABLE other (one INTEGER REFERENCES one (id));
INSERT INTO other VALUES (7);
"""


def test_migrations_are_numbered_without_gaps() -> None:
    assert [step.n for step in migrate.migrations()] == list(
        range(1, len(migrate.migrations()) + 1)
    )


def test_the_schema_is_the_sum_of_the_migrations(path: Path) -> None:
    database = connect.writer(path)
    migrate.migrate(database, migrate.migrations(), 0)
    database.close()
    opened = apsw.Connection(str(path))
    found = schema(opened)
    opened.close()
    assert found == SNAPSHOT.read_text(encoding="utf-8"), (
        "The schema changed. If it is released already, write a new migration; then renew "
        "tests/store/schema.sql with tests/store/make_fixtures.py."
    )


async def test_the_last_released_database_opens_and_keeps_what_it_holds(
    world: World, path: Path
) -> None:
    # proves: DAY-3
    path.parent.mkdir()
    database = apsw.Connection(str(path))
    database.execute(RELEASED.read_text(encoding="utf-8"))
    database.close()
    async with world.open() as store:
        recovered = await store.boot()
        states = {one.id: one.state for one in await store.deliveries.list()}
        assert states == {
            "m-1": InputState.SETTLED,
            "m-2": InputState.UNCERTAIN,
            "m-3": InputState.QUEUED,
        }
        assert recovered.uncertain == ["m-2"]
        assert (await store.conversations.get(HEAD)).cursor > 0
        await answered(store, "m-9", conversation="den")


def with_one_more(sql: str) -> tuple[migrate.Migration, ...]:
    """The steps there are, and one of a version to come."""
    steps = migrate.migrations()
    return (*steps, migrate.Migration(len(steps) + 1, "more", sql))


async def test_an_older_database_is_copied_before_it_is_changed(
    world: World, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: DAY-3
    async with world.open() as store:
        await store.boot()
        await answered(store, "m-1")
    steps = with_one_more("CREATE TABLE more (x INT) STRICT")
    monkeypatch.setattr(migrate, "migrations", lambda: steps)
    for _ in range(2):
        async with world.open() as store:
            assert (await store.facts())["schema"] == steps[-1].n
    kept = migrate.backup_name(path, steps[-1].n)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert connect.look(kept) == steps[-1].n - 1


async def test_a_step_that_fails_leaves_the_database_as_it_was(
    world: World, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.open() as store:
        await store.boot()
    steps = with_one_more("CREATE TABLE more (x INT) STRICT; CREATE TABLE more (y INT) STRICT")
    monkeypatch.setattr(migrate, "migrations", lambda: steps)
    with pytest.raises(apsw.SQLError):
        async with world.open():
            pass
    assert connect.look(path) == steps[-1].n - 1
    database = apsw.Connection(str(path))
    assert database.execute("SELECT 1 FROM sqlite_master WHERE name = 'more'").get is None
    database.close()


async def test_no_room_for_the_first_schema_is_said_in_words(
    build: Callable[[bool], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(database: apsw.Connection) -> None:
        database.execute("PRAGMA max_page_count = 3")

    monkeypatch.setattr(apsw, "connection_hooks", [full])
    with pytest.raises(StorageUnavailableError):
        async with build(True).open():
            pass


def test_a_step_that_breaks_a_reference_is_not_applied(path: Path) -> None:
    # proves: DAY-3
    database = connect.writer(path)
    steps = migrate.migrations()
    migrate.migrate(database, steps, 0)
    before = database.execute("SELECT max(n) FROM schema_version").fetchone()
    wrong = migrate.Migration(steps[-1].n + 1, "breaks a reference", BREAKS)
    with pytest.raises(ValueError, match="broke a reference"):
        migrate.migrate(database, [*steps, wrong], 0)
    assert database.execute("SELECT max(n) FROM schema_version").fetchone() == before
    database.close()
