"""Purging: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import json

import pytest

from clankie.core.conversation import OPERATOR, Attachment, Kind
from clankie.core.delivery import ServiceState
from clankie.core.errors import (
    ConversationNotFoundError,
    DeliveryConflictError,
    NotAllowedError,
    ReceiptExpiredError,
    RunInProgressError,
)
from clankie.core.goal import Goal
from clankie.core.ids import HEAD
from clankie.host.storage import Call, NewConversation, Outcome, Store
from contracts.store_kit import (
    World,
    admitted,
    answered,
    log,
    lost,
    made,
    started,
)

WORDS = ("xylophone", "marmalade", "quicksand", "doorbell", "semaphore", "labyrinth", "trombone")


async def life(store: Store, world: World, name: str = "den") -> None:
    """A closed conversation with words everywhere."""
    await store.conversations.create(
        NewConversation(id=name, request_id=f"make-{name}", name="labyrinth", kind=Kind.WORKSPACE),
        OPERATOR,
    )
    digest = await store.attachments.put(b"trombone" * 50, "text/plain")
    file = Attachment(digest=digest, name="semaphore.txt", media_type="text/plain", size=400)
    await admitted(store, "p-1", "the xylophone", conversation=name, attachments=(file,))
    run = await started(store, name)
    call = Call(call_id="c", name="ring", effect=True, arguments_sha256="0" * 64, detail="doorbell")
    await store.deliveries.tool_started(run, call)
    await store.deliveries.tool_ended(run, call, ok=True, detail="a doorbell rang")
    await store.deliveries.settle(
        run, Outcome(state=ServiceState.COMPLETED, text="quicksand and marmalade")
    )
    await admitted(store, "p-2", "more xylophone", conversation=name)
    failed = Outcome(
        state=ServiceState.FAILED, code="model_down", detail="doorbell", text="half a marmalade"
    )
    await store.deliveries.settle(await started(store, name), failed)
    await lost(store, "p-3", text="lost xylophone", conversation=name)
    await store.goals.put(
        Goal(
            id="g",
            conversation=name,
            text="quicksand",
            token_budget=1,
            created_at=world.clock.now(),
        )
    )
    while await store.conversations.index(100):
        pass
    await store.conversations.close(name, OPERATOR)


async def found(store: Store, word: str, conversation: str = "den") -> int:
    page = await store.conversations.search(conversation, word, before=None, limit=50)
    return len(page.results)


async def test_a_purge_takes_the_words_and_leaves_the_log_without_gaps(
    store: Store, world: World
) -> None:
    # proves: DAY-2
    await life(store, world)
    before = await log(store, "den")
    assert await found(store, "xylophone") == 3
    await store.conversations.purge("den")
    after = await log(store, "den")
    assert [one["cursor"] for one in after] == list(range(1, len(after) + 1))
    kept = ("cursor", "kind", "at", "author")
    assert [[one[name] for name in kept] for one in after[:-1]] == [
        [one[name] for name in kept] for one in before
    ]
    assert all(one["purged"] for one in after[:-1])
    assert (after[-1]["kind"], after[-1]["code"]) == ("notice", "purged")
    said = json.dumps(after)
    for word in WORDS:
        assert word not in said
        assert await found(store, word) == 0
    conversation = await store.conversations.get("den")
    assert (conversation.name, conversation.directory) == ("(purged)", None)
    assert conversation.uncertain == 0
    assert await store.goals.get("den") is None


async def test_ids_and_fingerprints_stand_in_the_way_after_a_purge(
    store: Store, world: World
) -> None:
    # proves: FENCE-7
    await life(store, world)
    await store.conversations.purge("den")
    for one in ("p-1", "p-2", "p-3"):
        with pytest.raises(ReceiptExpiredError):
            await store.deliveries.get(one)
        with pytest.raises(DeliveryConflictError):
            await admitted(store, one, "Other words", conversation="den")
    with pytest.raises(ReceiptExpiredError):
        await admitted(store, "p-2", "more xylophone", conversation="den")
    assert await store.deliveries.list(conversation="den") == []


async def test_a_second_purge_changes_nothing(store: Store, world: World) -> None:
    await life(store, world)
    await store.conversations.purge("den")
    before = await log(store, "den")
    await store.conversations.purge("den")
    assert await log(store, "den") == before


async def test_other_conversations_keep_their_words(store: Store, world: World) -> None:
    await made(store, "lair")
    await answered(store, "m-1", "a xylophone", conversation="lair")
    await life(store, world)
    await store.conversations.purge("den")
    assert await found(store, "xylophone", "lair") == 1
    assert (await store.deliveries.get("m-1")).text == "a xylophone"


async def test_words_that_were_not_indexed_yet_are_never_found(store: Store) -> None:
    await made(store, "den")
    for n in range(3):
        await answered(store, f"m-{n}", f"xylophone {n}", conversation="den")
    await store.conversations.index(6)
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    while await store.conversations.index(100):
        pass
    assert await found(store, "xylophone") == 0


async def test_only_a_closed_conversation_is_purged(store: Store) -> None:
    await made(store, "den")
    await answered(store, "m-1", "xylophone", conversation="den")
    before = await log(store, "den")
    with pytest.raises(RunInProgressError):
        await store.conversations.purge("den")
    with pytest.raises(NotAllowedError):
        await store.conversations.purge(HEAD)
    with pytest.raises(ConversationNotFoundError):
        await store.conversations.purge("nowhere")
    assert await log(store, "den") == before


async def test_a_long_log_is_purged_to_its_end(store: Store) -> None:
    await made(store, "den")
    for n in range(120):
        await answered(store, f"m-{n}", f"xylophone {n}", conversation="den")
    await store.conversations.index(10_000)
    await store.conversations.close("den", OPERATOR)
    await store.conversations.purge("den")
    page = await store.conversations.events_after("den", 0, 1_000)
    assert len(page.events) == page.head > 480
    assert not any(b"xylophone" in event.data for event in page.events)
    assert await store.deliveries.list(conversation="den") == []
