"""What was purged is not in the file any more, whatever happened to the words before."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.errors import StorageUnavailableError
from clankie.core.seat import Entry, EntryKind
from clankie.host.seatstore import Watch
from clankie.host.storage import Store
from clankie.store.sqlite import connect, purge
from contracts.seat_kit import BRIDGE, ESCALATION, LIMITS, poll, seated, taken
from contracts.store_kit import World, admitted, answered, lost, made
from contracts.store_purge import WORDS, life
from fakes.crash import Crash, CrashAt
from store.invariants import violations


def left(path: Path, *words: str) -> set[str]:
    """Which of the words stand in any file of the state."""
    whole = b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    return {word for word in words if word.encode() in whole.lower()}


async def test_no_purged_word_is_in_any_file_of_the_state(
    store: Store, world: World, path: Path
) -> None:
    # proves: DAY-2
    await life(store, world)
    assert left(path, *WORDS) == set(WORDS)
    await store.conversations.purge("den")
    assert left(path, *WORDS) == set()
    assert violations(path) == []


async def test_words_that_lay_in_freed_space_are_gone_too(
    store: Store, world: World, path: Path
) -> None:
    await made(store, "den")
    for n in range(60):
        await answered(store, f"m-{n}", f"xylophone {n} " * 40, conversation="den")
    await world.clock.advance(60)
    await store.prune(world.clock.now())
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    assert left(path, "xylophone") == set()


async def test_what_a_harness_wrote_and_was_told_is_gone_too(
    store: Store, world: World, path: Path
) -> None:
    # proves: DAY-2
    await made(store, "den")
    standing = await seated(store, world, conversation="den")
    await store.seats.projected("s-1", "n-s-1", 0)
    now = world.clock.now()
    rows = [
        Entry(id="r-1", kind=EntryKind.USER, at=now, text="xylophone"),
        Entry(id="r-2", kind=EntryKind.ASSISTANT, at=now, text="marmalade"),
        Entry(id="r-3", kind=EntryKind.TOOL, at=now, tool={"name": "t", "detail": "doorbell"}),
    ]
    await store.mail.sync("s-1", "n-s-1", rows, None, LIMITS)
    to = {"conversation": "den", "channel": "labyrinth", **ESCALATION, "name": "trombone"}
    await taken(store, standing, "e-1", "quicksand", **to)
    await store.mail.reply("s-1", "e-1", 1, BRIDGE, "semaphore")
    await answered(store, "w-1", "xylophone", conversation="den")
    await poll(store, poll_id="p-9")
    watch = Watch(id="w", conversation="den", target="w-1", text="quicksand", created_at=now)
    await store.watches.add(watch)
    assert left(path, *WORDS) == set(WORDS)
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    assert left(path, *WORDS) == set()
    assert violations(path) == []


async def test_words_of_others_stay_in_the_file(store: Store, world: World, path: Path) -> None:
    await answered(store, "m-1", "kaleidoscope")
    await life(store, world)
    await store.conversations.purge("den")
    assert left(path, "kaleidoscope", *WORDS) == {"kaleidoscope"}


PASSES = [("purge", n) for n in range(1, 4)] + [("compact", 1), ("attachment", 4)]


async def a_day_with_a_purge(store: Store) -> None:
    await store.boot()
    await store.conversations.purge("den")
    await store.attachments.put(b"x", "text/plain")
    await store.attachments.put(b"y", "text/plain")


@pytest.mark.parametrize("when", ["before-commit", "after-commit"])
@pytest.mark.parametrize(("unit", "nth"), PASSES)
async def test_a_purge_that_was_interrupted_is_ended_by_the_next_start(
    world: World, path: Path, unit: str, nth: int, when: str
) -> None:
    async with world.open() as store:
        await store.boot()
        await life(store, world)
    async with world.open(CrashAt(f"{unit}.{when}", nth)) as store:
        with pytest.raises(Crash):
            await a_day_with_a_purge(store)
    begun = (unit, when, nth) != ("purge", "before-commit", 1)
    async with world.open() as store:
        await store.boot()
        assert (left(path, *WORDS) == set()) == begun
        await store.conversations.purge("den")
        assert left(path, *WORDS) == set()
    assert violations(path) == []


async def test_a_purge_says_when_somebody_still_reads_the_old_words_and_can_be_repeated(
    store: Store, world: World, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await life(store, world)
    monkeypatch.setattr(connect, "_BUSY_MS", 0)
    other = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM event").get

    def at_once(compact: Callable[..., bool]) -> Callable[..., bool]:
        def done(database: apsw.Connection) -> bool:
            database.set_busy_timeout(0)
            return compact(database)

        return done

    monkeypatch.setattr(purge, "compact", at_once(purge.compact))
    with pytest.raises(StorageUnavailableError):
        await store.conversations.purge("den")
    await store.boot()
    assert (await store.facts())["purges_unfinished"] == 1
    other.execute("COMMIT")
    other.close()
    await store.boot()
    assert (await store.facts())["purges_unfinished"] == 0
    assert left(path, *WORDS) == set()


async def test_a_log_cannot_be_changed_but_by_a_purge(path: Path, store: Store) -> None:
    await made(store, "den")
    await answered(store, "m-1", conversation="den")
    database = apsw.Connection(str(path))
    for change in (
        "UPDATE event SET body = '{}'",
        """UPDATE event SET body = '{"kind":"message","purged":true}'""",
        "UPDATE event SET cursor = cursor + 100",
    ):
        with pytest.raises(apsw.ConstraintError, match="a log only grows"):
            database.execute(change)
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    with pytest.raises(apsw.ConstraintError, match="a log only grows"):
        database.execute("""UPDATE event SET body = '{"text":"new","purged":true}'""")
    database.close()


async def test_an_uncertain_delivery_of_a_purged_conversation_is_not_counted_any_more(
    store: Store, path: Path
) -> None:
    await made(store, "den")
    await lost(store, "m-1", conversation="den")
    await admitted(store, "m-2", conversation="den")
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    assert (await store.facts())["inputs_uncertain"] == 0
    assert violations(path) == []
