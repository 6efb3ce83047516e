"""Goals: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import asyncio
from dataclasses import replace

import pytest

from clankie.core.delivery import InputState
from clankie.core.errors import ConversationNotFoundError
from clankie.core.goal import Goal, GoalState, after_step, stepped
from clankie.core.ids import HEAD
from clankie.host.storage import Store
from contracts.store_kit import World, made


def goal(world: World, name: str = "goal-1", conversation: str = HEAD) -> Goal:
    return Goal(
        id=name,
        conversation=conversation,
        text="Tidy the attic",
        token_budget=1_000,
        created_at=world.clock.now(),
    )


async def test_a_goal_is_kept_whole(store: Store, world: World) -> None:
    # proves: SERV-5
    assert await store.goals.get(HEAD) is None
    one = replace(
        goal(world),
        spent=7,
        step=3,
        counted=False,
        state=GoalState.PAUSED,
        reason="model_down",
    )
    await store.goals.put(one)
    assert await store.goals.get(HEAD) == one


async def test_a_new_goal_takes_the_place_of_the_one_before(store: Store, world: World) -> None:
    await store.goals.put(replace(goal(world), state=GoalState.DONE))
    await store.goals.put(goal(world, "goal-2"))
    assert await store.goals.get(HEAD) == goal(world, "goal-2")


async def test_a_goal_needs_its_conversation(store: Store, world: World) -> None:
    with pytest.raises(ConversationNotFoundError):
        await store.goals.put(goal(world, conversation="nowhere"))
    assert await store.goals.get("nowhere") is None


async def test_only_active_goals_are_listed(store: Store, world: World) -> None:
    for name in ("den", "lair"):
        await made(store, name)
        await store.goals.put(goal(world, f"goal-{name}", name))
    await store.goals.put(replace(goal(world), state=GoalState.EXHAUSTED))
    assert [one.conversation for one in await store.goals.active()] == ["den", "lair"]


async def test_a_goal_advances_from_what_it_was_read_as_only(store: Store, world: World) -> None:
    # proves: SERV-5
    first = goal(world)
    await store.goals.put(first)
    second = stepped(first)
    assert await store.goals.advance(first, second)
    assert not await store.goals.advance(first, second)
    assert not await store.goals.advance(replace(second, spent=1), replace(second, spent=2))
    assert await store.goals.get(HEAD) == second
    third = after_step(second, InputState.SETTLED, 40, None)
    assert await store.goals.advance(second, third)
    assert await store.goals.get(HEAD) == third


async def test_what_is_not_there_does_not_advance(store: Store, world: World) -> None:
    first = goal(world)
    assert not await store.goals.advance(first, stepped(first))
    await store.goals.put(first)
    await store.goals.remove(HEAD)
    await store.goals.remove(HEAD)
    assert await store.goals.get(HEAD) is None
    assert not await store.goals.advance(first, stepped(first))


async def test_of_many_at_once_one_advances(store: Store, world: World) -> None:
    # proves: SERV-5
    first = goal(world)
    await store.goals.put(first)
    tries = [store.goals.advance(first, replace(first, spent=n)) for n in range(1, 20)]
    assert sum(await asyncio.gather(*tries)) == 1


async def test_a_goal_outlives_the_process(world: World) -> None:
    async with world.open() as store:
        await store.boot()
        await store.goals.put(goal(world))
    async with world.open() as store:
        await store.boot()
        assert await store.goals.active() == [goal(world)]
