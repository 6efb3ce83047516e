"""Attempts on the service lane: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import asyncio

import pytest

from clankie.core.admission import Mode
from clankie.core.conversation import State
from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import (
    BackpressureError,
    DeliveryConflictError,
    DeliveryNotFoundError,
    RevisionConflictError,
    TransitionRefusedError,
)
from clankie.core.ids import HEAD
from clankie.core.receipt import explain
from clankie.core.wake import Again, Hold
from clankie.host.storage import Admitted, Outcome, Reservation, Store
from contracts.store_kit import (
    BOUND,
    CALL,
    DONE,
    World,
    admitted,
    answered,
    log,
    lost,
    made,
    offer,
    reserved,
    started,
    turns,
)


async def test_an_input_is_reserved_started_and_settled(store: Store, world: World) -> None:
    # proves: FENCE-8
    await admitted(store, "m-1")
    reservation = await reserved(store)
    waiting = await store.deliveries.get("m-1")
    assert waiting.state is InputState.QUEUED
    assert [one.state for one in waiting.attempts] == [ServiceState.RESERVED]
    await world.clock.advance(1)
    await store.deliveries.start(reservation)
    running = await store.deliveries.get("m-1")
    assert running.state is InputState.RUNNING
    assert running.attempts[0].asked_at == world.clock.now()
    await world.clock.advance(1)
    receipt = await store.deliveries.settle(reservation, DONE)
    assert receipt.state is InputState.SETTLED
    assert receipt.settled_at == receipt.attempts[0].ended_at == world.clock.now()
    assert receipt == await store.deliveries.get("m-1")
    answer = (await log(store))[receipt.reply_cursor or 0]
    said = (await log(store))[(receipt.reply_cursor or 0) - 1]
    assert (said["role"], said["text"], said["delivery_id"]) == ("agent", DONE.text, "m-1")
    assert said["author"] == {"principal": "captain", "id": "captain"}
    assert answer["phase"] == "completed"
    assert await turns(store, "m-1") == ["admitted", "started", "completed"]


async def test_a_conversation_runs_one_input_at_a_time_in_order(store: Store) -> None:
    # proves: CONV-5
    for name in ("m-1", "m-2"):
        await admitted(store, name)
    first = await started(store)
    assert await store.deliveries.reserve(HEAD) is None
    await store.deliveries.settle(first, DONE)
    assert (await reserved(store)).delivery.id == "m-2"


async def test_conversations_run_beside_each_other(store: Store) -> None:
    # proves: CONV-5
    await made(store, "den")
    await admitted(store, "m-1")
    await admitted(store, "m-2", conversation="den")
    assert (await started(store)).delivery.id == "m-1"
    assert (await started(store, "den")).delivery.id == "m-2"


async def test_steering_inputs_come_first_and_some_are_passed_over(store: Store) -> None:
    await admitted(store, "m-1")
    await admitted(store, "m-2", mode=Mode.STEER)
    first = await reserved(store)
    assert first.delivery.id == "m-2"
    await store.deliveries.release(first, "elsewhere")
    second = await store.deliveries.reserve(HEAD, frozenset({"m-2"}))
    assert isinstance(second, Reservation)
    assert second.delivery.id == "m-1"
    await store.deliveries.release(second, "elsewhere")
    assert await store.deliveries.reserve(HEAD, frozenset({"m-1", "m-2"})) is None


async def test_a_reservation_whose_answer_was_lost_is_given_again(store: Store) -> None:
    await admitted(store, "m-1")
    first = await reserved(store)
    again = await reserved(store)
    assert (again.attempt, again.fence) == (first.attempt, first.fence)


async def test_a_released_attempt_gives_its_input_back_and_does_not_count(store: Store) -> None:
    # proves: FENCE-5
    await admitted(store, "m-1")
    first = await reserved(store)
    await store.deliveries.release(first, "for_the_seat")
    await store.deliveries.release(first, "for_the_seat")
    second = await reserved(store)
    assert second.attempt != first.attempt
    assert second.delivery.tries == 1
    states = [(one.n, one.state, one.code) for one in second.delivery.attempts]
    assert states == [
        (1, ServiceState.RELEASED, "for_the_seat"),
        (2, ServiceState.RESERVED, None),
    ]
    assert await turns(store, "m-1") == ["admitted"]


async def test_the_same_step_twice_is_one_step(store: Store) -> None:
    await admitted(store, "m-1")
    reservation = await started(store)
    await store.deliveries.start(reservation)
    for _ in range(2):
        await store.deliveries.tool_started(reservation, CALL)
    for _ in range(2):
        await store.deliveries.tool_ended(reservation, CALL, ok=True, detail="done")
    assert await turns(store, "m-1") == ["admitted", "started"]
    tools = [event["phase"] for event in await log(store) if event["kind"] == "tool"]
    assert tools == ["started", "completed"]


async def test_a_refused_preparation_fails_its_input_without_a_start(store: Store) -> None:
    await admitted(store, "m-1")
    reservation = await reserved(store)
    failed = Outcome(state=ServiceState.STALLED, code="conversation_turn_stalled", detail="No.")
    await store.deliveries.refuse(reservation, failed)
    await store.deliveries.refuse(reservation, failed)
    receipt = await store.deliveries.get("m-1")
    assert (receipt.state, receipt.code) == (InputState.FAILED, "conversation_turn_stalled")
    assert explain(receipt) == "No."
    assert receipt.attempts[0].asked_at is None
    assert await turns(store, "m-1") == ["admitted", "failed"]
    assert await store.deliveries.reserve(HEAD) is None


async def test_what_runs_is_not_refused_and_what_is_reserved_is_not_settled(store: Store) -> None:
    # proves: FENCE-8
    await admitted(store, "m-1")
    reservation = await reserved(store)
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.settle(reservation, DONE)
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.tool_started(reservation, CALL)
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.join(reservation)
    await store.deliveries.start(reservation)
    failed = Outcome(state=ServiceState.FAILED, code="no_driver")
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.refuse(reservation, failed)
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.release(reservation, "late")
    await store.deliveries.settle(reservation, DONE)
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.settle(reservation, DONE)
    assert len(await log(store)) == 5


@pytest.mark.parametrize(
    ("state", "after", "phase"),
    [
        (ServiceState.FAILED, InputState.FAILED, "failed"),
        (ServiceState.STALLED, InputState.FAILED, "failed"),
        (ServiceState.CANCELLED, InputState.CANCELLED, "cancelled"),
        (ServiceState.UNCERTAIN, InputState.UNCERTAIN, "uncertain"),
    ],
)
async def test_a_run_that_did_not_complete_says_so_and_keeps_what_was_written(
    store: Store, state: ServiceState, after: InputState, phase: str
) -> None:
    await admitted(store, "m-1")
    cut = Outcome(state=state, text="It is", code="cut", detail="It was cut.")
    receipt = await store.deliveries.settle(await started(store), cut)
    turn = (await log(store))[-1]
    assert (receipt.state, receipt.code, receipt.reply_cursor) == (after, "cut", None)
    assert (turn["phase"], turn["code"], turn["partial"]) == (phase, "cut", "It is")
    assert [event for event in await log(store) if event.get("role") == "agent"] == []


async def test_an_answer_without_words_settles_without_a_message(store: Store) -> None:
    await admitted(store, "m-1")
    silent = Outcome(state=ServiceState.COMPLETED)
    receipt = await store.deliveries.settle(await started(store), silent)
    assert (receipt.state, receipt.reply_cursor) == (InputState.SETTLED, None)


async def test_steering_inputs_join_a_run_and_are_absorbed_by_its_answer(store: Store) -> None:
    # proves: FENCE-8
    await admitted(store, "m-1")
    reservation = await started(store)
    assert await store.deliveries.join(reservation) == ()
    await admitted(store, "m-2", "Queued")
    await admitted(store, "m-3", "And this", mode=Mode.STEER)
    await admitted(store, "m-4", "And that", mode=Mode.STEER)
    joined = await store.deliveries.join(reservation)
    assert [one.id for one in joined] == ["m-3", "m-4"]
    assert {one.state for one in joined} == {InputState.RUNNING}
    host = await store.deliveries.settle(reservation, DONE)
    for name in ("m-3", "m-4"):
        member = await store.deliveries.get(name)
        assert member.state is InputState.ABSORBED
        assert (member.absorbed_by, member.reply_delivery_id) == ("steer", "m-1")
        assert member.reply_cursor == host.reply_cursor
        assert member.attempts[0].into == "m-1"
        assert await turns(store, name) == ["admitted", "started", "completed"]
    answers = [event for event in await log(store) if event.get("role") == "agent"]
    assert len(answers) == 1
    assert (await reserved(store)).delivery.id == "m-2"


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (ServiceState.FAILED, InputState.FAILED),
        (ServiceState.CANCELLED, InputState.CANCELLED),
        (ServiceState.UNCERTAIN, InputState.UNCERTAIN),
    ],
)
async def test_members_share_the_end_of_the_run_they_joined(
    store: Store, state: ServiceState, after: InputState
) -> None:
    await admitted(store, "m-1")
    reservation = await started(store)
    await admitted(store, "m-2", mode=Mode.STEER)
    await store.deliveries.join(reservation)
    await store.deliveries.settle(reservation, Outcome(state=state, code="cut"))
    member = await store.deliveries.get("m-2")
    assert (member.state, member.code, member.absorbed_by) == (after, "cut", None)


async def test_a_tool_call_is_evidence_before_it_runs_and_after(store: Store) -> None:
    # proves: SERV-7, BASE-5
    await admitted(store, "m-1")
    reservation = await started(store)
    await store.deliveries.tool_started(reservation, CALL)
    (attempt,) = (await store.deliveries.get("m-1")).attempts
    assert [(t.call_id, t.name, t.effect, t.state) for t in attempt.tools] == [
        ("c-1", "write", True, "attempting")
    ]
    await store.deliveries.tool_ended(reservation, CALL, ok=False, detail="no such file")
    (attempt,) = (await store.deliveries.get("m-1")).attempts
    assert attempt.tools[0].state == "failed"
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.tool_ended(reservation, CALL, ok=True, detail="done")
    unknown = CALL.__class__(call_id="c-2", name="x", effect=False, arguments_sha256="", detail="")
    with pytest.raises(TransitionRefusedError):
        await store.deliveries.tool_ended(reservation, unknown, ok=True, detail="done")


async def test_a_tool_that_ran_when_its_run_was_cut_is_unknown(store: Store) -> None:
    # proves: SERV-7
    await admitted(store, "m-1")
    reservation = await started(store)
    await store.deliveries.tool_started(reservation, CALL)
    cut = Outcome(state=ServiceState.STALLED, code="conversation_turn_stalled")
    receipt = await store.deliveries.settle(reservation, cut)
    assert receipt.attempts[0].tools[0].state == "uncertain"


async def test_waiting_inputs_are_cancelled_and_others_are_not(store: Store) -> None:
    # proves: FENCE-13
    await admitted(store, "m-1")
    await admitted(store, "m-2")
    reservation = await reserved(store)
    assert not await store.deliveries.cancel_waiting("m-1")
    assert await store.deliveries.cancel_waiting("m-2")
    assert not await store.deliveries.cancel_waiting("m-2")
    await store.deliveries.start(reservation)
    assert not await store.deliveries.cancel_waiting("m-1")
    assert (await store.deliveries.get("m-2")).state is InputState.CANCELLED
    assert await turns(store, "m-2") == ["admitted", "cancelled"]
    await store.deliveries.settle(reservation, DONE)
    assert await store.deliveries.reserve(HEAD) is None
    with pytest.raises(DeliveryNotFoundError):
        await store.deliveries.cancel_waiting("m-9")


async def test_only_the_uncertain_is_closed_as_unknown(store: Store) -> None:
    await lost(store, "m-1")
    closed = await store.deliveries.abandon("m-1")
    assert closed.state is InputState.ABANDONED
    assert "closed as unknown" in (explain(closed) or "")
    for name in ("m-1", (await answered(store, "m-2")).id):
        with pytest.raises(TransitionRefusedError):
            await store.deliveries.abandon(name)


async def test_lists_show_what_a_conversation_holds(store: Store) -> None:
    await lost(store, "m-1")
    await admitted(store, "m-2")
    await started(store)
    await admitted(store, "m-3")
    seen = await store.conversations.get(HEAD)
    assert (seen.running, seen.waiting, seen.held, seen.uncertain) == (1, 1, 0, 1)
    assert seen.state is State.RUNNING
    assert [seen] == list(await store.conversations.list())


async def test_receipts_are_listed_by_conversation_state_and_page(store: Store) -> None:
    await made(store, "den")
    await answered(store, "m-1")
    await lost(store, "m-2")
    await admitted(store, "m-3", conversation="den")
    await admitted(store, "m-4")
    names = [one.id for one in await store.deliveries.list()]
    assert names == ["m-1", "m-2", "m-3", "m-4"]
    there = await store.deliveries.list(conversation="den")
    assert [one.id for one in there] == ["m-3"]
    open_ones = frozenset({InputState.UNCERTAIN, InputState.QUEUED})
    listed = await store.deliveries.list(conversation=HEAD, states=open_ones)
    assert [one.id for one in listed] == ["m-2", "m-4"]
    page = await store.deliveries.list(after="m-1", limit=2)
    assert [one.id for one in page] == ["m-2", "m-3"]
    with pytest.raises(DeliveryNotFoundError):
        await store.deliveries.list(after="m-9")


async def test_an_input_whose_retry_is_not_due_waits(store: Store, world: World) -> None:
    await admitted(store, "m-1")
    later = world.clock.now().replace(minute=30)
    again = Outcome(state=ServiceState.FAILED, code="model_down", wake=Again(later))
    await store.deliveries.settle(await started(store), again)
    waiting = await store.deliveries.get("m-1")
    assert (waiting.state, waiting.not_before) == (InputState.QUEUED, later)
    assert await store.deliveries.reserve(HEAD) is None
    await world.clock.advance(30 * 60)
    assert (await reserved(store)).delivery.tries == 2


async def test_a_held_input_waits_until_it_is_released(store: Store) -> None:
    await admitted(store, "m-1")
    hold = Outcome(state=ServiceState.FAILED, code="model_down", wake=Hold("attempts_exhausted"))
    await store.deliveries.settle(await started(store), hold)
    seen = await store.conversations.get(HEAD)
    assert (seen.state, seen.waiting, seen.held) == (State.HELD, 1, 1)
    assert await store.deliveries.reserve(HEAD) is None
    assert await store.deliveries.release_held(HEAD, "credential_rejected") == 0
    assert await store.deliveries.release_held(HEAD, "attempts_exhausted") == 1
    reservation = await reserved(store)
    assert reservation.delivery.tries == 1
    assert (await store.conversations.get(HEAD)).held == 0


async def test_a_held_input_does_not_stand_in_the_way_of_the_next(store: Store) -> None:
    await admitted(store, "m-1")
    hold = Outcome(state=ServiceState.FAILED, code="model_down", wake=Hold("attempts_exhausted"))
    await store.deliveries.settle(await started(store), hold)
    await admitted(store, "m-2")
    assert (await reserved(store)).delivery.id == "m-2"


async def test_inputs_offered_together_are_each_told_from_the_others(store: Store) -> None:
    # proves: FENCE-1, CONV-5
    await made(store, "den")
    answers = await asyncio.gather(
        store.deliveries.admit(offer("m-1", expected_revision=0), BOUND),
        store.deliveries.admit(offer("m-1"), BOUND),
        store.deliveries.admit(offer("m-1", "Other words"), BOUND),
        store.deliveries.admit(offer("m-2", expected_revision=0), BOUND),
        store.deliveries.admit(offer("m-3", conversation="den"), BOUND),
        store.deliveries.admit(offer("m-4", expected_revision=1), BOUND),
        store.deliveries.cancel_waiting("m-4"),
        store.deliveries.admit(offer("m-5"), 1),
        store.deliveries.reserve(HEAD),
        return_exceptions=True,
    )
    first, again, other, stale, there, fourth, cancelled, full, run = answers
    assert isinstance(first, Admitted)
    assert isinstance(again, Admitted)
    assert (first.fresh, again.fresh, again.cursor) == (True, False, 2)
    assert isinstance(other, DeliveryConflictError)
    assert isinstance(stale, RevisionConflictError)
    assert isinstance(there, Admitted)
    assert isinstance(fourth, Admitted)
    assert (there.cursor, fourth.revision, cancelled) == (2, 2, True)
    assert isinstance(full, BackpressureError)
    assert isinstance(run, Reservation)
    assert run.delivery.id == "m-1"
    assert [one.id for one in await store.deliveries.list()] == ["m-1", "m-3", "m-4"]
