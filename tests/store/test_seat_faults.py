"""A disk or a node that fails: nothing goes to a seat of which nobody could tell later."""

import asyncio
from collections.abc import Awaitable, Callable

import apsw
import pytest

from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import CommitUnknownError, ReceiptsUnreadableError, StorageUnavailableError
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, Report
from clankie.host.storage import FencedError, Store
from clankie.store.sqlite import given as rows
from contracts.seat_kit import (
    BRIDGE,
    BY,
    ESCALATION,
    LIMITS,
    given,
    occupant,
    offered,
    poll,
    reserve,
    seated,
    state,
)
from contracts.store_kit import World, admitted, log, offer


def unreadable(*_: object) -> None:
    message = "database disk image is malformed"
    raise apsw.CorruptError(message)


async def test_rows_that_cannot_be_read_give_nothing_out_and_believe_nothing(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: FENCE-10
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await offered(store, standing, "m-2")
    before = await log(store)
    with monkeypatch.context() as broken:
        for name in ("page", "read", "in_flight", "offered"):
            broken.setattr(rows, name, unreadable)
        with pytest.raises(StorageUnavailableError):
            await poll(store)
        with pytest.raises(StorageUnavailableError):
            await store.mail.ack("s-1", "m-1", 1, BRIDGE)
        with pytest.raises(StorageUnavailableError):
            await store.mail.take_over("s-1", "silent", None)
        with pytest.raises(ReceiptsUnreadableError):
            await store.mail.in_flight()
    assert await log(store) == before
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ATTEMPTING)
    assert await state(store, "m-2") == (InputState.QUEUED, SeatState.OFFERED)


async def test_a_take_whose_commit_is_unknown_is_asked_again_under_its_poll_id(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: FENCE-9
    fails = [False]

    def hook(database: apsw.Connection) -> None:
        database.set_commit_hook(lambda: fails[0])

    monkeypatch.setattr(apsw, "connection_hooks", [hook])
    async with world.open() as store:
        await store.boot()
        standing = await seated(store, world)
        await offered(store, standing, "m-1")
        fails[0] = True
        with pytest.raises(CommitUnknownError):
            await poll(store)
        fails[0] = False
        first = await poll(store)
        assert [one.id for one in first] == ["m-1"]
        assert await poll(store) == first


Verb = Callable[[Store], Awaitable[object]]
VERBS: dict[str, Verb] = {
    "take": lambda store: poll(store, poll_id="p-9"),
    "ack": lambda store: store.mail.ack("s-1", "e-1", 1, BRIDGE),
    "refuse": lambda store: store.mail.refuse("s-1", "e-1", 1, BRIDGE, "busy"),
    "reply": lambda store: store.mail.reply("s-1", "e-1", 1, BRIDGE, "Here"),
    "withdraw": lambda store: store.mail.withdraw("s-1", "m-2", "gone", "Gone."),
    "sync": lambda store: store.mail.sync("s-1", "n-1", [], Report(Activity.WAITING), LIMITS),
    "take over": lambda store: store.mail.take_over("s-1", "silent", "Silent."),
    "queue": lambda store: store.mail.end_queue("s-1", "gone"),
    "attach": lambda store: store.seats.attach("s-1", HEAD, "s-1", BY),
    "detach": lambda store: store.seats.detach("s-1", "gone", BY),
    "retire": lambda store: store.seats.retire("s-1", "gone", BY),
    "occupied": lambda store: store.seats.occupied("s-1", occupant("n-9")),
    "projected": lambda store: store.seats.projected("s-1", "n-1", 1),
    "park": lambda store: store.seats.park("s-1", None, ""),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_dead_node_gives_nothing_out_and_believes_nothing(world: World, verb: str) -> None:
    # proves: FENCE-3
    async with world.open() as first, world.open() as second:
        await first.boot()
        standing = await seated(first, world)
        await given(first, standing, "e-1", **ESCALATION)
        await offered(first, standing, "m-2")
        await second.boot()
        await admitted(second, "m-3")
        await reserve(second, standing)  # the second has the conversation from now on
        before = await second.deliveries.list(), await log(second), await second.seats.all()
        with pytest.raises(FencedError):
            await VERBS[verb](first)
        assert (
            await second.deliveries.list(),
            await log(second),
            await second.seats.all(),
        ) == before


async def test_the_same_delivery_ten_times_at_once_is_stored_at_the_seat_once(
    store: Store, world: World
) -> None:
    # proves: FENCE-1, FENCE-2
    standing = await seated(store, world)

    async def once() -> None:
        await store.deliveries.admit(offer("m-1"), 1_000)
        await reserve(store, standing)

    await asyncio.gather(*(once() for _ in range(10)))
    pages = await asyncio.gather(*(poll(store, poll_id=f"p-{n}") for n in range(10)))
    assert [one.id for page in pages for one in page] == ["m-1"]
    assert len((await store.deliveries.get("m-1")).attempts) == 1
