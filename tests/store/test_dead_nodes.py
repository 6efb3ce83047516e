"""A node that was declared dead writes nothing, even where nobody has taken its conversations."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.ids import HEAD
from clankie.core.settings import DEFAULTS
from clankie.host.storage import FencedError, Store
from contracts.store_kit import (
    BEFORE_START,
    WRITES,
    World,
    admitted,
    log,
    made,
    reserved,
    started,
    writes,
)


@pytest.mark.parametrize("write", WRITES)
async def test_a_node_that_is_only_declared_dead_writes_nothing(
    world: World, path: Path, write: str
) -> None:
    # proves: FENCE-3
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")
        reservation = await (reserved if write in BEFORE_START else started)(store)
        before = await store.deliveries.get("m-1"), await log(store)
        other = apsw.Connection(str(path))
        other.execute("UPDATE node SET dead = 1")
        other.close()
        with pytest.raises(FencedError):
            await writes(store, reservation)[write]()
        assert (await store.deliveries.get("m-1"), await log(store)) == before


DECISIONS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "cancel": lambda store: store.deliveries.cancel_waiting("m-1"),
    "abandon": lambda store: store.deliveries.abandon("m-1"),
    "reset": lambda store: store.conversations.reset(HEAD, None, OPERATOR),
    "close": lambda store: store.conversations.close("den", OPERATOR),
    "rename": lambda store: store.conversations.rename("den", "lair", 0),
    "model": lambda store: store.conversations.set_model("den", "practice", 0),
    "send": lambda store: admitted(store, "m-2"),
    "settings": lambda store: store.owner.save_settings(DEFAULTS, 0),
    "release": lambda store: store.deliveries.release_held(None),
    "forget a goal": lambda store: store.goals.remove("den"),
    "take a token back": lambda store: store.owner.revoke_token("token-1"),
}


@pytest.mark.parametrize("decision", DECISIONS)
async def test_a_dead_node_writes_down_nothing_that_the_owner_decides(
    world: World, path: Path, decision: str
) -> None:
    # proves: FENCE-3
    async with world.open() as store:
        await store.boot()
        await made(store, "den")
        await admitted(store, "m-1")
        before = await store.deliveries.get("m-1"), await log(store)
        other = apsw.Connection(str(path))
        other.execute("UPDATE node SET dead = 1")
        other.close()
        with pytest.raises(FencedError):
            await DECISIONS[decision](store)
        assert (await store.deliveries.get("m-1"), await log(store)) == before
        den = await store.conversations.get("den")
        assert (den.closed, den.name, den.model) == (False, "den", None)
        assert (await store.owner.settings())[0] == 0


async def test_a_node_that_is_dead_may_begin_anew(world: World, path: Path) -> None:
    # proves: FENCE-3
    async with world.open() as store:
        await store.boot()
        other = apsw.Connection(str(path))
        other.execute("UPDATE node SET dead = 1")
        other.close()
        with pytest.raises(FencedError):
            await admitted(store, "m-1")
        await store.boot()
        await admitted(store, "m-1")


async def test_a_conversation_of_another_node_that_lives_is_not_claimed(
    world: World, path: Path
) -> None:
    # proves: FENCE-3
    async with world.open() as first, world.open() as second:
        await first.boot()
        await admitted(first, "m-1")
        await first.deliveries.release(await reserved(first), "elsewhere")
        await second.boot()
        other = apsw.Connection(str(path))
        other.execute("UPDATE node SET dead = 0")
        other.close()
        with pytest.raises(FencedError):
            await second.deliveries.reserve(HEAD)
        assert await first.deliveries.reserve(HEAD)


async def test_a_node_that_was_taken_over_says_so_to_whoever_waits_for_it(
    world: World, path: Path
) -> None:
    # proves: FENCE-3
    async with world.open() as store:
        await store.boot()
        async with asyncio.TaskGroup() as tasks:
            outlived = tasks.create_task(store.outlived())
            await admitted(store, "m-1")
            assert not outlived.done()
            other = apsw.Connection(str(path))
            other.execute("UPDATE node SET dead = 1")
            other.close()
            with pytest.raises(FencedError):
                await admitted(store, "m-2")
            await outlived


class TakesOver:
    """Another node boots just before the file is compacted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reach(self, name: str) -> None:
        if name == "compact.before-commit":
            other = apsw.Connection(str(self.path))
            other.execute("UPDATE node SET dead = 1")
            other.close()


async def test_a_dead_node_does_not_compact_the_file_either(world: World, path: Path) -> None:
    async with world.open(TakesOver(path)) as store:
        await store.boot()
        await made(store, "den")
        for n in range(20):
            await admitted(store, f"m-{n}", "long " * 2_000, conversation="den")
        await store.conversations.close("den", OPERATOR)
        with pytest.raises(FencedError):
            await store.conversations.purge("den")
        file = apsw.Connection(str(path))
        assert file.pragma("freelist_count") > 0
        file.close()
