"""Wakes: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import ConversationClosedError, WakeNotFoundError
from clankie.core.ids import HEAD
from clankie.core.settings import WakeLimits
from clankie.core.wake import Again, Hold, WakeLimitError
from clankie.host.storage import Outcome, Store
from contracts.store_kit import (
    BOUND,
    DONE,
    World,
    made,
    reserved,
    started,
    turns,
    wake,
    woken,
)

LIMITS = WakeLimits()


async def test_a_wake_waits_until_it_is_due(store: Store, world: World) -> None:
    soon, late = wake("w-1", world, 60), wake("w-2", world, 90)
    for one in (late, soon, soon):
        await store.wakes.add(one, LIMITS)
    now = world.clock.now()
    assert await store.wakes.list() == [soon, late]
    assert await store.wakes.due(now, 10) == []
    assert await store.wakes.next_due(now) == soon.due_at
    assert await store.wakes.next_due(soon.due_at) == late.due_at
    assert await store.wakes.next_due(late.due_at) is None
    assert await store.wakes.due(soon.due_at, 10) == [soon]
    assert await store.wakes.due(late.due_at, 1) == [soon]


async def test_wakes_are_bounded_in_each_conversation(store: Store, world: World) -> None:
    await made(store, "den")
    few = replace(LIMITS, waiting=1)
    await store.wakes.add(wake("w-1", world), few)
    with pytest.raises(WakeLimitError):
        await store.wakes.add(wake("w-2", world), few)
    await store.wakes.add(wake("w-3", world, conversation="den"), few)
    assert [one.id for one in await store.wakes.list("den")] == ["w-3"]


async def test_a_waiting_wake_is_removed_once(store: Store, world: World) -> None:
    await store.wakes.add(wake("w-1", world), LIMITS)
    await store.wakes.remove("w-1")
    assert await store.wakes.list() == []
    with pytest.raises(WakeNotFoundError):
        await store.wakes.remove("w-1")


async def test_a_due_wake_is_admitted_once_and_goes_when_it_has_ended(
    store: Store, world: World
) -> None:
    one = wake("w-1", world, 60, depth=3)
    await store.wakes.add(one, LIMITS)
    await world.clock.advance(60)
    first = await store.deliveries.admit(woken(one), BOUND)
    again = await store.deliveries.admit(woken(one), BOUND)
    other = await store.deliveries.admit(replace(woken(one), delivery_id="x/w-1"), BOUND)
    assert (first.fresh, again.fresh, other.fresh) == (True, False, False)
    assert first.delivery == again.delivery == other.delivery
    assert (first.delivery.depth, first.revision) == (3, 0)
    assert await store.wakes.due(world.clock.now(), 10) == []
    with pytest.raises(WakeNotFoundError):
        await store.wakes.remove("w-1")
    await store.deliveries.settle(await started(store), DONE)
    assert await store.wakes.list() == []
    gone = replace(woken(one), delivery_id="y/w-1")
    with pytest.raises(WakeNotFoundError):
        await store.deliveries.admit(gone, BOUND)


async def test_a_failed_wake_is_tried_again_as_the_same_input(store: Store, world: World) -> None:
    # proves: FENCE-12
    one = wake("w-1", world, 60)
    await store.wakes.add(one, LIMITS)
    await world.clock.advance(60)
    admitted = (await store.deliveries.admit(woken(one), BOUND)).delivery
    now = world.clock.now()
    later = now + timedelta(seconds=5)
    again = Outcome(state=ServiceState.FAILED, code="model_down", wake=Again(later))
    await store.deliveries.settle(await started(store), again)
    (listed,) = await store.wakes.list(HEAD)
    assert (listed.delivery_id, listed.due_at, listed.held) == (admitted.id, one.due_at, None)
    assert await store.wakes.next_due(now) == later
    assert await store.wakes.conversations_due(now) == []
    assert await store.wakes.conversations_due(later) == [HEAD]
    await world.clock.advance(5)
    second = await started(store)
    assert second.delivery.tries == 2
    assert await store.wakes.list(HEAD) == []
    await store.deliveries.settle(second, DONE)
    assert (await store.deliveries.get(admitted.id)).state is InputState.SETTLED
    assert await turns(store, admitted.id) == [
        "admitted",
        "started",
        "failed",
        "started",
        "completed",
    ]


@pytest.mark.parametrize("asked", [False, True])
async def test_a_held_wake_waits_for_a_change_and_starts_its_count_anew(
    store: Store, world: World, asked: bool
) -> None:
    # proves: FENCE-12
    one = wake("w-1", world, 60)
    await store.wakes.add(one, LIMITS)
    await world.clock.advance(60)
    await store.deliveries.admit(woken(one), BOUND)
    reservation = await reserved(store)
    hold = Outcome(
        state=ServiceState.FAILED,
        code="model_credential_rejected",
        wake=Hold("credential_rejected"),
    )
    if asked:
        await store.deliveries.start(reservation)
        await store.deliveries.settle(reservation, hold)
    else:
        await store.deliveries.refuse(reservation, hold)
    (listed,) = await store.wakes.list()
    assert listed.held == "credential_rejected"
    assert await store.deliveries.reserve(HEAD) is None
    assert await store.wakes.next_due(world.clock.now()) is None
    assert await store.deliveries.release_held(None) == 1
    assert (await started(store)).delivery.tries == 1


async def test_an_uncertain_wake_is_no_longer_listed_as_waiting(store: Store, world: World) -> None:
    # proves: FENCE-12
    one = wake("w-1", world, 60)
    await store.wakes.add(one, LIMITS)
    await store.deliveries.admit(woken(one), BOUND)
    await started(store)
    await store.boot()
    assert await store.wakes.list() == []
    assert await store.deliveries.reserve(HEAD) is None


async def test_a_closed_conversation_keeps_no_wakes(store: Store, world: World) -> None:
    await made(store, "den")
    await store.wakes.add(wake("w-1", world, conversation="den"), LIMITS)
    await store.conversations.close("den", OPERATOR)
    assert await store.wakes.list() == []
    with pytest.raises(ConversationClosedError):
        await store.wakes.add(wake("w-2", world, conversation="den"), LIMITS)
