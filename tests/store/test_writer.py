"""The one writer: batches, bounds, what a failure takes along and what not."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState
from clankie.core.errors import (
    BackpressureError,
    CommitUnknownError,
    DeliveryConflictError,
    DeliveryNotFoundError,
    ReceiptsUnreadableError,
    ShuttingDownError,
    StorageUnavailableError,
)
from clankie.core.ids import HEAD
from clankie.core.settings import DEFAULTS, merge
from clankie.host.storage import Admitted, Store, Stored
from contracts.store_kit import (
    BOUND,
    DONE,
    Told,
    World,
    admitted,
    log,
    made,
    offer,
    reserved,
    started,
    workspace,
)
from fakes.crash import NoCrash
from store.invariants import violations


class Faults:
    """Faults of the engine, switched on and off; for connections opened while it is installed."""

    def __init__(self) -> None:
        self.commits_fail = False
        self.pages: int | None = None
        self._connections: list[apsw.Connection] = []

    def __call__(self, database: apsw.Connection) -> None:
        database.set_commit_hook(lambda: self.commits_fail)
        self._connections.append(database)

    def no_more_pages(self) -> None:
        """The disk is full from now on."""
        for database in self._connections:
            database.execute("PRAGMA max_page_count = 1")

    def wait_for_nobody(self) -> None:
        """A locked database is refused at once."""
        for database in self._connections:
            database.set_busy_timeout(0)

    def room_again(self) -> None:
        """There is room again."""
        for database in self._connections:
            database.execute("PRAGMA max_page_count = 1000000")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    found = Faults()
    monkeypatch.setattr(apsw, "connection_hooks", [found])
    return found


async def together(store: Store, count: int, first: int = 0) -> list[Admitted | BaseException]:
    """Offer so many at once."""
    offers = [offer(f"m-{n}") for n in range(first, first + count)]
    return await asyncio.gather(
        *(store.deliveries.admit(one, BOUND) for one in offers), return_exceptions=True
    )


async def test_units_that_wait_together_share_a_commit_and_keep_their_order(world: World) -> None:
    crash = NoCrash()
    async with world.open(crash) as store:
        await store.boot()
        crash.passed.clear()
        heard = len(world.told.touched)
        answers = await together(store, 100)
    cursors = [one.cursor for one in answers if isinstance(one, Admitted)]
    assert cursors == list(range(2, 202, 2))
    assert crash.passed.count("admit.before-commit") == 100
    assert len(world.told.touched) - heard < 100
    assert [event.cursor for event in world.told.events] == list(range(1, 201))


async def test_a_unit_that_fails_half_way_takes_no_neighbour_along(
    world: World, path: Path
) -> None:
    async with world.open() as store:
        await store.boot()
        # The second has the id of the first but another request: refused by the database itself,
        # after others of the batch have written.
        clash = workspace("other")
        clash = clash.__class__(
            id="den", request_id="x", name="den", kind=clash.kind, directory=None
        )
        results = await asyncio.gather(
            store.deliveries.admit(offer("m-1"), BOUND),
            store.conversations.create(workspace("den"), OPERATOR),
            store.conversations.create(clash, OPERATOR),
            store.deliveries.admit(offer("m-2"), BOUND),
            store.deliveries.admit(offer("m-1", "Other words"), BOUND),
            return_exceptions=True,
        )
        assert isinstance(results[2], apsw.ConstraintError)
        assert isinstance(results[4], DeliveryConflictError)
        assert [one.id for one in await store.deliveries.list()] == ["m-1", "m-2"]
        assert [one.id for one in await store.conversations.list()] == [HEAD, "den"]
        page = await store.conversations.events_after(HEAD, 0, 100)
        assert world.told.events == list(page.events)
    assert violations(path) == []


async def test_a_unit_that_fails_after_it_wrote_leaves_nothing_behind(
    build: Callable[[bool], World], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clankie.store.sqlite import heads

    world = build(True)
    async with world.open() as store:
        await store.boot()
        save, failing = heads.save, True

        def broken(tx: object, head: heads.Head) -> None:
            if failing and head.id == "den":
                message = "a defect, after the events were written"
                raise RuntimeError(message)
            save(tx, head)  # type: ignore[arg-type]  # passed through

        await made(store, "den")
        monkeypatch.setattr(heads, "save", broken)
        results = await asyncio.gather(
            store.deliveries.admit(offer("m-1"), BOUND),
            store.deliveries.admit(offer("m-2", conversation="den"), BOUND),
            store.deliveries.admit(offer("m-3"), BOUND),
            return_exceptions=True,
        )
        failing = False
        assert isinstance(results[1], RuntimeError)
        assert [isinstance(one, Admitted) for one in results] == [True, False, True]
        assert await log(store, "den") == []
        assert len(world.told.events) == 4
        await admitted(store, "m-2", conversation="den")
    assert violations(path) == []


async def test_more_than_the_bound_is_refused_and_what_ends_a_run_is_not(world: World) -> None:
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-0")
        reservation = await started(store)
        few = merge(DEFAULTS, {"queue": {"store": 10}})
        await store.owner.save_settings(few, 0)
        offers = [
            asyncio.ensure_future(store.deliveries.admit(offer(f"m-{n}"), BOUND))  # noqa: TID251 - awaited below
            for n in range(1, 51)
        ]
        await asyncio.sleep(0)
        assert store.backlog() <= 10
        cancelled = store.deliveries.cancel_waiting("m-99")
        settled = store.deliveries.settle(reservation, DONE)
        results = await asyncio.gather(*offers, settled, cancelled, return_exceptions=True)
        refused = [one for one in results if isinstance(one, BackpressureError)]
        assert len(refused) == 40
        assert isinstance(results[-1], DeliveryNotFoundError)
        assert store.backlog() == 0
        assert len(await store.deliveries.list()) == 11
        assert (await store.deliveries.get("m-0")).state is InputState.SETTLED
        await admitted(store, "m-60")


async def test_the_bound_is_known_again_after_a_restart(world: World) -> None:
    async with world.open() as store:
        await store.owner.save_settings(merge(DEFAULTS, {"queue": {"store": 3}}), 0)
    async with world.open() as store:
        await store.boot()
        results = await together(store, 10)
        assert sum(isinstance(one, BackpressureError) for one in results) == 7


async def test_a_full_disk_refuses_and_what_was_accepted_stays(
    world: World, path: Path, faults: Faults
) -> None:
    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")
        faults.no_more_pages()
        with pytest.raises(StorageUnavailableError):
            await admitted(store, "m-2", "x" * 60_000)
        told = len(world.told.events)
        with pytest.raises(DeliveryNotFoundError):
            await store.deliveries.get("m-2")
        results = await asyncio.gather(
            *(store.deliveries.admit(offer(f"big-{n}", "x" * 60_000), BOUND) for n in range(3)),
            store.deliveries.cancel_waiting("m-1"),
            return_exceptions=True,
        )
        assert [type(one) for one in results[:3]] == [StorageUnavailableError] * 3
        assert results[3] is True
        assert len(world.told.events) == told + 1
        faults.room_again()
        await admitted(store, "m-2", "x" * 60_000)
    async with world.open() as store:
        await store.boot()
        assert [one.id for one in await store.deliveries.list()] == ["m-1", "m-2"]
    assert violations(path) == []


async def test_a_database_that_somebody_else_writes_refuses_and_goes_on(
    world: World, path: Path, faults: Faults
) -> None:
    async with world.open() as store:
        await store.boot()
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        faults.wait_for_nobody()
        with pytest.raises(StorageUnavailableError):
            await admitted(store, "m-1")
        other.execute("ROLLBACK")
        other.close()
        await admitted(store, "m-1")


async def test_a_commit_that_fails_is_unknown_and_can_be_repeated(
    world: World, path: Path, faults: Faults
) -> None:
    async with world.open() as store:
        await store.boot()
        faults.commits_fail = True
        results = await together(store, 5)
        assert [type(one) for one in results] == [CommitUnknownError] * 5
        assert world.told.events == []
        faults.commits_fail = False
        again = await together(store, 5)
        assert all(isinstance(one, Admitted) and one.fresh for one in again)
        await started(store)
    assert violations(path) == []


async def test_a_file_that_cannot_be_read_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: FENCE-10
    from clankie.store.sqlite import receipts

    def unreadable(*_: object) -> None:
        message = "disk I/O error"
        raise apsw.IOError(message)

    async with world.open() as store:
        await store.boot()
        await admitted(store, "m-1")
        monkeypatch.setattr(receipts, "read", unreadable)
        with pytest.raises(ReceiptsUnreadableError):
            await store.deliveries.get("m-1")


async def test_closing_writes_what_was_accepted_and_takes_nothing_more(world: World) -> None:
    async with asyncio.TaskGroup() as tasks, world.open() as store:
        await store.boot()
        offers = [
            tasks.create_task(store.deliveries.admit(offer(f"m-{n}"), BOUND)) for n in range(20)
        ]
        await asyncio.sleep(0)
    assert all(task.result().fresh for task in offers)
    with pytest.raises(ShuttingDownError):
        await admitted(store, "m-20")
    with pytest.raises(ShuttingDownError):
        await store.deliveries.list()
    async with world.open() as store:
        assert len(await store.deliveries.list()) == 20


async def test_a_caller_that_gives_up_does_not_undo_its_unit(world: World) -> None:
    async with world.open() as store:
        await store.boot()
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(store.deliveries.admit(offer("m-1"), BOUND))
            await asyncio.sleep(0)
            task.cancel()
        await admitted(store, "m-2")
        assert [one.id for one in await store.deliveries.list()] == ["m-1", "m-2"]


async def test_callers_are_answered_even_if_the_listener_fails(
    build: Callable[[bool], World],
) -> None:
    class Broken(Told):
        def __call__(self, events: Sequence[Stored], touched: frozenset[str]) -> None:
            message = f"a defect of the listener, {len(events)} {len(touched)}"
            raise RuntimeError(message)

    caught: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: caught.append(context))
    world = build(False)
    world.told = Broken()
    async with world.open() as store:
        await store.boot()
        assert (await store.deliveries.admit(offer("m-1"), BOUND)).fresh
        assert (await reserved(store)).delivery.state is InputState.QUEUED
    assert caught
