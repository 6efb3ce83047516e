"""A node that was declared dead writes nothing, even where nobody has taken its conversations."""

from pathlib import Path

import apsw
import pytest

from clankie.core.ids import HEAD
from clankie.host.storage import FencedError
from contracts.store_kit import (
    BEFORE_START,
    WRITES,
    World,
    admitted,
    log,
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
