"""Conversations and their logs: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.conversation import OPERATOR, Kind, State
from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import (
    ConversationClosedError,
    ConversationNotFoundError,
    ConversationReadOnlyError,
    CursorAheadError,
    DeliveryConflictError,
    NotAllowedError,
    RevisionConflictError,
    RunInProgressError,
)
from clankie.core.ids import HEAD
from clankie.core.settings import ProjectionLimits
from clankie.host.storage import NewConversation, Outcome, Store
from contracts.store_kit import (
    DONE,
    World,
    admitted,
    answered,
    log,
    made,
    reserved,
    started,
    turns,
    workspace,
)


async def test_the_head_is_there_after_the_first_start_and_is_made_once(world: World) -> None:
    # proves: CONV-1
    for _ in range(2):
        async with world.open() as store:
            await store.boot()
            assert [one.id for one in await store.conversations.list()] == [HEAD]


async def test_the_same_request_makes_one_conversation(store: Store) -> None:
    first, fresh = await store.conversations.create(workspace("den"), OPERATOR)
    again = NewConversation(id="other", request_id="make-den", name="den", kind=Kind.WORKSPACE)
    second, repeated = await store.conversations.create(again, OPERATOR)
    assert (fresh, repeated) == (True, False)
    assert first == second == await store.conversations.get("den")


async def test_a_request_id_is_not_used_for_something_else(store: Store) -> None:
    await made(store, "den")
    other = NewConversation(id="x", request_id="make-den", name="x", kind=Kind.WORKSPACE)
    with pytest.raises(DeliveryConflictError):
        await store.conversations.create(other, OPERATOR)


async def test_conversations_are_listed_in_the_order_they_were_made(store: Store) -> None:
    for name in ("zoo", "den", "inn"):
        await made(store, name)
    listed = [one.id for one in await store.conversations.list()]
    assert listed == [HEAD, "zoo", "den", "inn"]


async def test_what_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(ConversationNotFoundError):
        await store.conversations.get("nowhere")
    with pytest.raises(ConversationNotFoundError):
        await store.conversations.events_after("nowhere", 0, 10)
    with pytest.raises(ConversationNotFoundError):
        await store.conversations.project("nowhere", ProjectionLimits())
    with pytest.raises(ConversationNotFoundError):
        await admitted(store, "m-1", conversation="nowhere")


async def test_a_rename_is_the_owners_and_needs_the_revision_seen(store: Store) -> None:
    await made(store, "den")
    renamed = await store.conversations.rename("den", "Den", expected_revision=0)
    assert (renamed.name, renamed.revision) == ("Den", 1)
    with pytest.raises(RevisionConflictError) as refused:
        await store.conversations.rename("den", "Lair", expected_revision=0)
    assert refused.value.facts == {"revision": 1, "cursor": renamed.cursor}
    assert (await store.conversations.get("den")).name == "Den"


async def test_a_reset_starts_the_projection_anew_and_keeps_the_log(store: Store) -> None:
    # proves: CONV-7
    await answered(store, "m-1", "Before")
    before = await store.conversations.get(HEAD)
    after = await store.conversations.reset(HEAD, before.revision, OPERATOR)
    await answered(store, "m-2", "After")
    seen = await store.conversations.project(HEAD, ProjectionLimits())
    assert after.revision == before.revision + 1
    assert "Before" not in seen.text
    assert "After" in seen.text
    assert seen.omitted == 0
    assert "Before" in [event.get("text") for event in await log(store)]


async def test_what_waits_survives_a_reset_and_runs_after_it(store: Store) -> None:
    # proves: CONV-7
    await admitted(store, "m-1", "Before")
    await store.conversations.reset(HEAD, None, OPERATOR)
    receipt = await store.deliveries.settle(await started(store), DONE)
    assert (receipt.id, receipt.state) == ("m-1", InputState.SETTLED)


@pytest.mark.parametrize("asked", [False, True])
async def test_a_run_in_progress_stands_against_reset_and_close(store: Store, asked: bool) -> None:
    await made(store, "den")
    await admitted(store, "m-1", conversation="den")
    await (started if asked else reserved)(store, "den")
    with pytest.raises(RunInProgressError):
        await store.conversations.reset("den", None, OPERATOR)
    with pytest.raises(RunInProgressError):
        await store.conversations.close("den", OPERATOR)


async def test_a_room_is_not_reset_from_outside(store: Store) -> None:
    # proves: CONV-2
    await made(store, "room", Kind.ROOM)
    with pytest.raises(ConversationReadOnlyError):
        await store.conversations.reset("room", None, OPERATOR)


async def test_the_head_is_never_closed(store: Store) -> None:
    with pytest.raises(NotAllowedError):
        await store.conversations.close(HEAD, OPERATOR)


async def test_closing_ends_what_waits_and_takes_nothing_more(store: Store) -> None:
    await made(store, "den")
    await admitted(store, "m-1", conversation="den")
    closed = await store.conversations.close("den", OPERATOR)
    receipt = await store.deliveries.get("m-1")
    assert (closed.state, closed.waiting, closed.revision) == (State.CLOSED, 0, 2)
    assert (receipt.state, receipt.code) == (InputState.NOT_SENT, "conversation_closed")
    assert await turns(store, "m-1", "den") == ["admitted", "cancelled"]
    assert await store.conversations.close("den", OPERATOR) == closed
    with pytest.raises(ConversationClosedError):
        await admitted(store, "m-2", conversation="den")
    with pytest.raises(ConversationClosedError):
        await store.conversations.reset("den", None, OPERATOR)
    with pytest.raises(ConversationClosedError):
        await store.conversations.rename("den", "Den", 2)


async def test_a_notice_stands_in_the_log_and_not_in_the_projection(store: Store) -> None:
    await store.conversations.notice(HEAD, "disk_low", "The disk is nearly full.")
    assert (await log(store))[-1]["code"] == "disk_low"
    assert (await store.conversations.project(HEAD, ProjectionLimits())).entries == ()


async def test_pages_upwards_and_downwards_hold_every_event_once(store: Store) -> None:
    # proves: CONV-4
    for n in range(7):
        await admitted(store, f"m-{n}")
    up: list[int] = []
    more = True
    while more:
        page = await store.conversations.events_after(HEAD, up[-1] if up else 0, 3)
        up += [event.cursor for event in page.events]
        more = page.has_more
    down: list[int] = []
    more = True
    while more:
        page = await store.conversations.events_before(HEAD, down[0] if down else 15, 4)
        down = [event.cursor for event in page.events] + down
        more = page.has_more
    assert up == down == list(range(1, 15))


async def test_a_cursor_beyond_the_log_is_refused_with_its_end(store: Store) -> None:
    # proves: CONV-4
    await admitted(store, "m-1")
    with pytest.raises(CursorAheadError) as refused:
        await store.conversations.events_after(HEAD, 3, 10)
    assert refused.value.facts == {"head_cursor": 2}
    with pytest.raises(CursorAheadError):
        await store.conversations.events_before(HEAD, 4, 10)
    assert (await store.conversations.events_after(HEAD, 2, 10)).events == []


async def test_a_page_stays_within_a_mebibyte_and_a_larger_event_comes_alone(store: Store) -> None:
    for n in range(20):
        await admitted(store, f"m-{n}", "x" * 60_000)
    page = await store.conversations.events_after(HEAD, 0, 500)
    assert sum(len(event.data) for event in page.events) <= 1024 * 1024
    assert page.has_more
    reservation = await started(store)
    long = Outcome(state=ServiceState.COMPLETED, text="y" * 2_000_000)
    receipt = await store.deliveries.settle(reservation, long)
    assert receipt.reply_cursor is not None
    page = await store.conversations.events_after(HEAD, receipt.reply_cursor - 1, 500)
    assert [event.cursor for event in page.events] == [receipt.reply_cursor]


async def test_the_host_hears_of_each_event_once_in_order_as_it_is_read_later(
    store: Store, world: World
) -> None:
    await answered(store, "m-1")
    await answered(store, "m-2")
    page = await store.conversations.events_after(HEAD, 0, 500)
    assert world.told.events == list(page.events)
    assert frozenset({HEAD}) in world.told.touched


async def test_two_conversations_have_logs_of_their_own(store: Store) -> None:
    await made(store, "den")
    await admitted(store, "m-1", "here", conversation="den")
    await admitted(store, "m-2", "there")
    assert [event["cursor"] for event in await log(store, "den")] == [1, 2]
    assert [event["cursor"] for event in await log(store)] == [1, 2]


async def test_another_model_may_answer_in_one_conversation(store: Store) -> None:
    # proves: DAY-2
    await made(store, "den")
    changed = await store.conversations.set_model("den", "openai-chat:big", 0)
    assert (changed.model, changed.revision) == ("openai-chat:big", 1)
    assert await store.conversations.get("den") == changed
    assert (await store.conversations.get(HEAD)).model is None
    with pytest.raises(RevisionConflictError):
        await store.conversations.set_model("den", None, 0)
    back = await store.conversations.set_model("den", None, 1)
    assert (back.model, back.revision) == (None, 2)
    assert [one["text"] for one in await log(store, "den")] == [
        "openai-chat:big",
        "the model of the settings",
    ]
    await store.conversations.close("den", OPERATOR)
    with pytest.raises(ConversationClosedError):
        await store.conversations.set_model("den", "x", 3)
