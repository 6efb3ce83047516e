"""The worlds that the suites of the store run in: SQLite with its thread, and without."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from clankie.host.ports import CrashPoint
from clankie.host.storage import Committed, Store
from clankie.store.sqlite import SqliteStore
from contracts.store_kit import World
from fakes.clock import FakeClock, FakeIds

pytest.register_assert_rewrite(
    "contracts.seat_kit",
    *(
        f"contracts.store_{part}"
        for part in (
            "admission",
            "attachments",
            "conversations",
            "fence",
            "goals",
            "handoff",
            "mail",
            "owner",
            "pages",
            "projection",
            "purge",
            "runs",
            "search",
            "seats",
            "sessions",
            "transcripts",
            "turns",
            "wakes",
        )
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "clankie.db"


@pytest.fixture
def build(path: Path) -> Callable[[bool], World]:
    """Make a world on `path`; the argument says whether the store runs inline."""

    def built(inline: bool) -> World:
        def make(
            clock: FakeClock, ids: FakeIds, crash: CrashPoint, committed: Committed
        ) -> AbstractAsyncContextManager[Store]:
            return SqliteStore(
                path, clock=clock, ids=ids, crash=crash, committed=committed, inline=inline
            )

        return World(make)

    return built


@pytest.fixture(params=[False, True], ids=["thread", "inline"])
def world(request: pytest.FixtureRequest, build: Callable[[bool], World]) -> World:
    return build(request.param)


@pytest.fixture
async def store(world: World) -> AsyncIterator[Store]:
    async with world.open() as opened:
        await opened.boot()
        yield opened
