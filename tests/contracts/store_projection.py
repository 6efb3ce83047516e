"""The bounded view: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

from clankie.core.conversation import OPERATOR, Message, Role
from clankie.core.delivery import ServiceState
from clankie.core.ids import HEAD
from clankie.core.settings import ProjectionLimits
from clankie.host.storage import Outcome, Store
from contracts.store_kit import CALL, DONE, admitted, answered, log, lost, made, started

SMALL = ProjectionLimits(budget=1_000, message=200)


async def test_messages_and_ended_tools_are_shown_oldest_first(store: Store) -> None:
    # proves: CONV-6
    await admitted(store, "m-1", "Write it down")
    reservation = await started(store)
    await store.deliveries.tool_started(reservation, CALL)
    await store.deliveries.tool_ended(reservation, CALL, ok=True, detail="written")
    await store.deliveries.settle(reservation, DONE)
    seen = await store.conversations.project(HEAD, ProjectionLimits())
    shown = [
        one.body.text if isinstance(one.body, Message) else one.body.detail for one in seen.entries
    ]
    assert shown == ["Write it down", "written", DONE.text]
    assert (seen.omitted, seen.through) == (0, 6)


async def test_words_that_still_wait_are_not_shown_nor_counted(store: Store) -> None:
    # proves: CONV-6
    await answered(store, "m-1", "Answered")
    for n in range(30):
        await admitted(store, f"q-{n}", "Waiting")
    seen = await store.conversations.project(HEAD, ProjectionLimits())
    assert [one.body.text for one in seen.entries if isinstance(one.body, Message)] == [
        "Answered",
        DONE.text,
    ]
    assert seen.omitted == 0


async def test_words_that_ended_without_an_answer_say_how_they_ended(store: Store) -> None:
    # proves: FENCE-13
    await lost(store, "m-1")
    await store.deliveries.abandon("m-1")
    await lost(store, "m-2")
    await admitted(store, "m-3", "Delete it")
    assert await store.deliveries.cancel_waiting("m-3")
    await admitted(store, "m-4")
    await store.deliveries.settle(
        await started(store), Outcome(state=ServiceState.FAILED, code="model_error", text="Half")
    )
    await answered(store, "m-5", "Answered")
    seen = await store.conversations.project(HEAD, ProjectionLimits())
    unknown = "outcome unknown, it may have been done"
    ends = [one.end for one in seen.entries]
    assert ends == [unknown, unknown, "cancelled", "failed", None, None]
    assert "owner (cancelled): Delete it" in seen.text


async def test_the_words_of_one_delivery_can_be_left_out(store: Store) -> None:
    await answered(store, "m-1", "First")
    await admitted(store, "m-2", "Second")
    await started(store)
    whole = await store.conversations.project(HEAD, ProjectionLimits())
    seen = await store.conversations.project(HEAD, ProjectionLimits(), without="m-2")
    assert "Second" in whole.text
    assert "Second" not in seen.text
    assert (len(whole.entries), len(seen.entries), seen.omitted) == (3, 2, 0)
    for other in ("m-9", "m-2"):
        await made(store, f"den-{other}")
        there = await store.conversations.project(f"den-{other}", ProjectionLimits(), without=other)
        assert there.entries == ()


async def test_a_marker_counts_everything_that_was_left_out(store: Store) -> None:
    # proves: CONV-6
    for n in range(20):
        await answered(store, f"m-{n}", f"Question {n}")
    await admitted(store, "q-1", "Waiting")
    messages = [one for one in await log(store) if one["kind"] == "message"]
    seen = await store.conversations.project(HEAD, SMALL)
    assert len(seen.text) <= SMALL.budget
    assert seen.omitted == len(messages) - 1 - len(seen.entries) > 0
    assert seen.text.startswith(f"[{seen.omitted} earlier events omitted]")
    assert seen.entries[-1].body.delivery_id == "m-19"


async def test_what_waited_through_a_reset_is_shown_by_its_run_alone(store: Store) -> None:
    # proves: CONV-7
    await admitted(store, "m-1", "Before the reset")
    await store.conversations.reset(HEAD, None, OPERATOR)
    await store.deliveries.settle(await started(store), DONE)
    seen = await store.conversations.project(HEAD, ProjectionLimits(), without="m-1")
    answer = Message(role=Role.AGENT, text=DONE.text, delivery_id="m-1")
    assert ([one.body for one in seen.entries], seen.omitted) == ([answer], 0)
