"""The process dies before or after each commit: nothing is half there, nothing runs twice."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clankie.core.admission import Mode
from clankie.core.conversation import OPERATOR, Attachment
from clankie.core.delivery import FINAL, InputState, ServiceState
from clankie.core.errors import ShuttingDownError
from clankie.core.goal import Goal, stepped
from clankie.core.ids import HEAD
from clankie.core.settings import WakeLimits
from clankie.host.storage import Outcome, Store
from contracts.store_kit import (
    BOUND,
    CALL,
    DONE,
    World,
    admitted,
    lost,
    made,
    offer,
    reserved,
    started,
    wake,
)
from fakes.crash import Crash, CrashAt
from store.invariants import violations

FAILED = Outcome(state=ServiceState.FAILED, code="no_driver")


async def everything(store: Store, world: World) -> None:
    """Each kind of unit once, in a life that a service might have."""
    await store.boot()
    await made(store, "den")
    await lost(store, "u-1", conversation="den")
    await store.deliveries.abandon("u-1")
    await admitted(store, "m-1")
    first = await reserved(store)
    await store.deliveries.release(first, "elsewhere")
    run = await started(store)
    await admitted(store, "m-2", mode=Mode.STEER)
    await store.deliveries.join(run)
    await store.deliveries.tool_started(run, CALL)
    await store.deliveries.tool_ended(run, CALL, ok=True, detail="done")
    await store.deliveries.settle(run, DONE)
    await admitted(store, "m-3")
    await store.deliveries.refuse(await reserved(store), FAILED)
    await admitted(store, "m-4")
    await store.deliveries.cancel_waiting("m-4")
    await store.wakes.add(wake("w-1", world), WakeLimits())
    goal = Goal(
        id="g-1", conversation=HEAD, text="Go on", token_budget=9, created_at=world.clock.now()
    )
    await store.goals.put(goal)
    await store.goals.advance(goal, stepped(goal))
    digest = await store.attachments.put(b"a picture", "image/png")
    await store.deliveries.admit(
        offer("m-5", conversation="den", attachments=(picture(digest),)), BOUND
    )
    await store.conversations.index(2)
    await store.conversations.index(100)
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")


def picture(digest: str) -> Attachment:
    return Attachment(digest=digest, name="cat.png", media_type="image/png", size=9)


# How often each passes in `everything`, where more than once matters.
TIMES = {"goal": 2, "attachment": 4, "index": 2, "purge": 4}
UNITS = (
    "boot",
    "admit",
    "reserve",
    "release",
    "start",
    "join",
    "tool_started",
    "tool_ended",
    "settle",
    "refuse",
    "cancel",
    "abandon",
    "wake",
    "goal",
    "attachment",
    "index",
    "purge",
    "compact",
)
PLACES = [(unit, nth) for unit in UNITS for nth in range(1, TIMES.get(unit, 1) + 1)]


@pytest.mark.parametrize("when", ["before-commit", "after-commit"])
@pytest.mark.parametrize(("unit", "nth"), PLACES)
async def test_whenever_it_dies_the_state_is_whole_and_nothing_is_in_flight(
    world: World, path: Path, unit: str, nth: int, when: str
) -> None:
    # proves: FENCE-7, FENCE-8
    async with world.open(CrashAt(f"{unit}.{when}", nth)) as store:
        with pytest.raises(Crash):
            await everything(store, world)
    async with world.open() as store:
        await store.boot()
        assert violations(path) == []
        for one in await store.deliveries.list():
            assert one.state in FINAL | {InputState.QUEUED, InputState.UNCERTAIN}
            asked = any(attempt.asked_at is not None for attempt in one.attempts)
            assert not (asked and one.state is InputState.QUEUED)
            assert asked or one.state is not InputState.UNCERTAIN


async def test_a_dead_store_answers_nobody_and_writes_no_more(world: World, path: Path) -> None:
    async with world.open(CrashAt("admit.before-commit")) as store:
        await store.boot()
        for _ in range(2):
            with pytest.raises(Crash):
                await admitted(store, "m-1")
        with pytest.raises(Crash):
            await store.conversations.notice(HEAD, "x", "x")
    async with world.open() as store:
        await store.boot()
        assert await store.deliveries.list() == []
    assert violations(path) == []


async def test_what_waited_behind_the_crash_is_not_written(world: World) -> None:
    async with world.open(CrashAt("admit.after-commit")) as store:
        await store.boot()
        offers = [store.deliveries.admit(offer(f"m-{n}"), BOUND) for n in range(300)]
        answers = await asyncio.gather(*offers, return_exceptions=True)
        assert {type(one) for one in answers} == {Crash}
    async with world.open() as store:
        await store.boot()
        written = [one.id for one in await store.deliveries.list(limit=1_000)]
    # Whole batches, in order: the first one at least, and not all.
    assert written == [f"m-{n}" for n in range(len(written))]
    assert 0 < len(written) < 300


@pytest.mark.parametrize(
    "again",
    [
        lambda store: admitted(store, "m-1"),
        reserved,
    ],
    ids=["admit", "reserve"],
)
async def test_a_commit_whose_answer_was_lost_is_repeated_without_harm(
    world: World, again: Callable[[Store], Awaitable[object]]
) -> None:
    # proves: FENCE-1
    async with world.open(CrashAt("admit.after-commit")) as store:
        await store.boot()
        with pytest.raises(Crash):
            await admitted(store, "m-1")
    async with world.open() as store:
        await store.boot()
        await again(store)
        await again(store)
        assert [one.id for one in await store.deliveries.list()] == ["m-1"]
        assert len((await store.deliveries.get("m-1")).attempts) <= 1


async def test_the_closed_store_of_a_dead_process_stays_closed(world: World) -> None:
    async with world.open() as store:
        await store.boot()
    with pytest.raises(ShuttingDownError):
        await store.boot()
