"""Who may write: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.admission import Mode
from clankie.core.delivery import InputState
from clankie.core.ids import HEAD
from clankie.core.receipt import explain
from clankie.host.storage import FencedError, Store
from contracts.store_kit import (
    BEFORE_START,
    CALL,
    WRITES,
    World,
    admitted,
    answered,
    elsewhere,
    log,
    made,
    reserved,
    started,
    turns,
    writes,
)


async def test_a_later_start_takes_over_and_settles_what_was_in_flight(world: World) -> None:
    # proves: FENCE-8
    async with world.open() as first:
        await first.boot()
        await made(first, "den")
        await admitted(first, "m-1")
        await admitted(first, "m-2", conversation="den")
        running = await started(first)
        await admitted(first, "m-3", mode=Mode.STEER)
        await first.deliveries.join(running)
        await first.deliveries.tool_started(running, CALL)
        await reserved(first, "den")
    async with world.open() as second:
        recovered = await second.boot()
        assert sorted(recovered.uncertain) == ["m-1", "m-3"]
        assert list(recovered.released) == ["m-2"]
        receipt = await second.deliveries.get("m-1")
        assert (receipt.state, receipt.code) == (InputState.UNCERTAIN, "interrupted")
        assert receipt.attempts[0].tools[0].state == "uncertain"
        told = explain(receipt) or ""
        assert told.endswith("died before an answer was stored; tools run: write (uncertain).")
        assert await turns(second, "m-1") == ["admitted", "started", "uncertain"]
        assert await turns(second, "m-3") == ["admitted", "started", "uncertain"]
        assert await turns(second, "m-2", "den") == ["admitted"]
        again = await reserved(second, "den")
        assert (again.delivery.id, again.delivery.tries) == ("m-2", 1)


async def test_what_was_in_flight_at_a_restart_is_never_run_again(world: World) -> None:
    # proves: FENCE-4
    async with world.open() as first:
        await first.boot()
        await admitted(first, "m-1")
        await started(first)
    async with world.open() as second:
        await second.boot()
        assert await second.deliveries.reserve(HEAD) is None
        assert (await second.boot()).uncertain == []


@pytest.mark.parametrize("write", WRITES)
async def test_a_dead_node_writes_nothing(world: World, write: str) -> None:
    # proves: FENCE-3
    async with world.open() as first, world.open() as second:
        await first.boot()
        await admitted(first, "m-1")
        reservation = await (reserved if write in BEFORE_START else started)(first)
        # The second has not met this conversation yet: token and owner are still the first's.
        await second.boot()
        before = await second.deliveries.get("m-1"), await log(second)
        with pytest.raises(FencedError):
            await writes(first, reservation)[write]()
        assert (await second.deliveries.get("m-1"), await log(second)) == before


async def test_a_dead_node_reserves_nothing(world: World) -> None:
    # proves: FENCE-3
    async with world.open() as first, world.open() as second:
        await first.boot()
        await answered(first, "m-1")
        await admitted(first, "m-2")
        await second.boot()
        with pytest.raises(FencedError):
            await first.deliveries.reserve(HEAD)
        assert (await reserved(second)).fence.token > 1


async def test_no_node_reserves_before_it_has_started(world: World) -> None:
    async with world.open() as first:
        await first.boot()
        await admitted(first, "m-1")
    async with world.open() as second:
        with pytest.raises(FencedError):
            await second.deliveries.reserve(HEAD)


@pytest.mark.parametrize("write", WRITES)
async def test_an_older_token_of_a_living_node_writes_nothing(store: Store, write: str) -> None:
    # proves: FENCE-3
    await admitted(store, "m-1")
    reservation = await (reserved if write in BEFORE_START else started)(store)
    before = await store.deliveries.get("m-1"), await log(store)
    with pytest.raises(FencedError):
        await writes(store, elsewhere(reservation))[write]()
    assert (await store.deliveries.get("m-1"), await log(store)) == before
