"""What pruning takes out of the file, and what it has to leave there."""

from pathlib import Path

import apsw
import pytest

from clankie.core.ids import HEAD
from clankie.core.seat import Entry, EntryKind
from clankie.host.storage import Store
from clankie.store.sqlite import prune
from contracts.seat_kit import BY, LIMITS, occupant, seated
from contracts.store_kit import World
from store.invariants import violations


def rows(path: Path) -> list[tuple[str, int]]:
    """How many rows of each session's transcript are known."""
    database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found: list[tuple[str, int]] = database.execute(
        "SELECT native_session.session, count(native_entry.id) FROM native_session"
        " LEFT JOIN native_entry ON native_entry.session = native_session.n GROUP BY 1 ORDER BY 1"
    ).get
    database.close()
    return found


async def test_rows_of_retired_sessions_go_and_those_of_sessions_that_may_go_on_stay(
    store: Store, world: World, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "ROWS", 2)
    await seated(store, world)
    for session in ("n-s-1", "n-2"):
        at = world.clock.now()
        entries = [Entry(id=f"r-{n}", kind=EntryKind.USER, at=at, text="Hi") for n in range(5)]
        await store.mail.sync("s-1", session, entries, None, LIMITS)
        if session == "n-s-1":
            await store.conversations.reset(HEAD, None, BY)
            await store.seats.occupied("s-1", occupant("n-2"))
    await store.seats.retire("s-1", "gone", BY)
    await store.prune(world.clock.now())
    assert rows(path) == [("n-2", 5), ("n-s-1", 5)]
    world.clock.shift(1)
    await store.prune(world.clock.now())
    assert rows(path) == [("n-2", 5), ("n-s-1", 0)]
    assert violations(path) == []
