"""Admission: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import asyncio

import pytest

from clankie.core.conversation import Kind
from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import (
    BackpressureError,
    DeliveryConflictError,
    DeliveryNotFoundError,
    ReceiptExpiredError,
    RevisionConflictError,
    TransitionRefusedError,
    UnconfirmedError,
)
from clankie.core.ids import HEAD
from clankie.host.storage import Outcome, Store
from contracts.store_kit import (
    BOUND,
    DONE,
    SOMEBODY,
    World,
    admitted,
    answered,
    from_room,
    log,
    lost,
    made,
    offer,
    started,
)


async def test_an_admitted_input_stands_in_the_log_with_its_author(store: Store) -> None:
    # proves: FENCE-1
    answer = await store.deliveries.admit(offer("m-1", "Hello"), BOUND)
    message, turn = await log(store)
    assert answer.fresh
    assert (answer.revision, answer.cursor) == (1, 2)
    assert answer.delivery == await store.deliveries.get("m-1")
    assert message["author"] == {"principal": "operator", "id": "operator"}
    assert (message["role"], message["text"], message["delivery_id"]) == (
        "owner",
        "Hello",
        "m-1",
    )
    assert "source" not in message
    assert (turn["phase"], turn["delivery_id"]) == ("admitted", "m-1")


async def test_what_others_say_names_its_source_and_leaves_the_revision(store: Store) -> None:
    await made(store, "room", Kind.ROOM)
    answer = await store.deliveries.admit(from_room("d-1", conversation="room"), BOUND)
    message = (await log(store, "room"))[0]
    assert answer.revision == 0
    assert (message["role"], message["source"]) == ("room", "room")
    assert message["author"] == {"principal": "room", "id": "ada"}
    assert answer.delivery.author == SOMEBODY


async def test_the_same_again_is_answered_with_the_receipt_and_adds_nothing(store: Store) -> None:
    # proves: FENCE-1, FENCE-7
    await admitted(store, "m-1", "Hello")
    again = await store.deliveries.admit(offer("m-1", "  Hello\r\n", expected_revision=77), BOUND)
    assert not again.fresh
    assert again.delivery.text == "Hello"
    assert (await store.conversations.get(HEAD)).cursor == 2
    await store.deliveries.settle(await started(store), DONE)
    later = await store.deliveries.admit(offer("m-1", "Hello"), BOUND)
    assert later.delivery.state is InputState.SETTLED


async def test_an_id_is_not_used_for_other_words(store: Store) -> None:
    # proves: FENCE-1
    await admitted(store, "m-1", "Hello")
    with pytest.raises(DeliveryConflictError):
        await admitted(store, "m-1", "Goodbye")
    await made(store, "den")
    with pytest.raises(DeliveryConflictError):
        await admitted(store, "m-1", "Hello", conversation="den")


async def test_equal_words_under_a_new_id_are_a_new_input(store: Store) -> None:
    # proves: FENCE-1
    await admitted(store, "m-1", "Hello")
    assert (await store.deliveries.admit(offer("m-2", "Hello"), BOUND)).fresh


async def test_a_stale_revision_is_refused_and_records_nothing(store: Store) -> None:
    # proves: CONV-5
    await admitted(store, "m-1")
    with pytest.raises(RevisionConflictError) as refused:
        await admitted(store, "m-2", expected_revision=0)
    assert refused.value.facts == {"revision": 1, "cursor": 2}
    with pytest.raises(DeliveryNotFoundError):
        await store.deliveries.get("m-2")
    assert (await store.conversations.get(HEAD)).cursor == 2
    await admitted(store, "m-2", expected_revision=1)


async def test_no_more_wait_than_the_bound(store: Store) -> None:
    await store.deliveries.admit(offer("m-1"), 1)
    with pytest.raises(BackpressureError):
        await store.deliveries.admit(offer("m-2"), 1)
    await store.deliveries.settle(await started(store), DONE)
    assert (await store.deliveries.admit(offer("m-2"), 1)).fresh


async def test_trying_again_needs_an_input_of_this_conversation_that_ended_badly(
    store: Store,
) -> None:
    await made(store, "den")
    await answered(store, "m-1")
    with pytest.raises(TransitionRefusedError):
        await admitted(store, "m-2", retry_of="m-1")
    with pytest.raises(DeliveryNotFoundError):
        await admitted(store, "m-2", retry_of="m-9")
    with pytest.raises(DeliveryNotFoundError):
        await admitted(store, "m-2", retry_of="m-1", conversation="den")
    await admitted(store, "m-3")
    failed = Outcome(state=ServiceState.FAILED, code="model_down", detail="It was down.")
    await store.deliveries.settle(await started(store), failed)
    assert (await admitted(store, "m-4", retry_of="m-3")).retry_of == "m-3"


async def test_an_uncertain_input_blocks_its_own_repetition_only(store: Store) -> None:
    # proves: FENCE-10
    await lost(store, "m-1", text="Pay the bill")
    with pytest.raises(UnconfirmedError) as refused:
        await admitted(store, "m-2", "Pay the bill", automatic=True)
    assert refused.value.facts == {"blocker": "m-1"}
    await admitted(store, "m-3", "Pay the bill")
    await admitted(store, "m-4", "Something else", automatic=True)


async def test_an_admission_sees_what_others_did_since_one_that_was_only_read(store: Store) -> None:
    # proves: CONV-2, FENCE-7
    await lost(store, "m-1")
    # All in one batch: a repetition, which writes nothing, a close, and something new.
    await asyncio.gather(
        admitted(store, "m-1"), store.deliveries.abandon("m-1"), admitted(store, "m-2")
    )
    seen = await store.conversations.get(HEAD)
    assert (seen.waiting, seen.uncertain) == (1, 0)


async def test_a_pruned_receipt_still_stands_in_the_way_of_its_id(
    store: Store, world: World
) -> None:
    # proves: FENCE-7
    await answered(store, "m-1")
    await world.clock.advance(60)
    assert await store.prune(world.clock.now()) == 1
    cursor = (await store.conversations.get(HEAD)).cursor
    with pytest.raises(ReceiptExpiredError):
        await store.deliveries.get("m-1")
    with pytest.raises(ReceiptExpiredError):
        await admitted(store, "m-1")
    with pytest.raises(DeliveryConflictError):
        await admitted(store, "m-1", "Other words")
    assert (await store.conversations.get(HEAD)).cursor == cursor
    assert await store.deliveries.reserve(HEAD) is None


async def test_pruning_leaves_what_is_younger_or_unsettled(store: Store, world: World) -> None:
    await answered(store, "m-1")
    await lost(store, "m-2")
    await admitted(store, "m-3")
    await world.clock.advance(60)
    limit = world.clock.now()
    await answered(store, "m-4", conversation=await made(store, "den"))
    assert await store.prune(limit) == 1
    assert await store.prune(limit) == 0
    kept = [one.id for one in await store.deliveries.list()]
    assert kept == ["m-2", "m-3", "m-4"]
