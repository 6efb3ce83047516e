"""What seats say of their events: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import (
    DeliveryConflictError,
    TransitionRefusedError,
)
from clankie.core.ids import HEAD
from clankie.core.seat_errors import (
    EventNotFoundError,
    OccupantChangedError,
    SeatSupersededError,
)
from clankie.host.storage import Offered, Reservation, Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
    ESCALATION,
    OTHER,
    given,
    occupant,
    offered,
    poll,
    reserve,
    seated,
    state,
    stored,
    taken,
)
from contracts.store_kit import World, admitted, log, made, turns

ATTEMPTING = (InputState.RUNNING, SeatState.ATTEMPTING)
TAKEN = (InputState.RUNNING, SeatState.TAKEN)
UNCERTAIN = (InputState.UNCERTAIN, SeatState.UNCERTAIN)


async def messages(store: Store, conversation: str = HEAD) -> list[str]:
    return [one["text"] for one in await log(store, conversation) if one["kind"] == "message"]


# ── acknowledging ────────────────────────────────────────────────────────────────────────────────


async def test_what_the_owner_stopped_and_the_seat_refuses_goes_to_nobody_else(
    store: Store, world: World
) -> None:
    # proves: FENCE-13
    standing = await seated(store, world)
    event = await given(store, standing, "m-2")
    older = await given(store, standing, "m-3")
    assert await store.deliveries.stop(await offered(store, standing, "m-1")) is None
    for _ in range(2):
        assert await store.deliveries.stop("m-2") == ("m-2", 1)
    (told, *_) = [one for one in await store.mail.in_flight("s-1") if one.event.id == "m-2"]
    assert told.stop_asked
    for one in (event, older):
        await store.mail.refuse("s-1", one.id, one.attempt, BRIDGE, "busy")
    assert await state(store, "m-2") == (InputState.CANCELLED, SeatState.REFUSED)
    assert await state(store, "m-3") == (InputState.QUEUED, SeatState.REFUSED)
    assert await store.deliveries.stop("m-2") is None


async def test_only_the_binding_that_took_it_may_acknowledge_and_only_once(
    store: Store, world: World
) -> None:
    # proves: SEAT-4, FENCE-7
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    before = await log(store)
    with pytest.raises(SeatSupersededError):
        await store.mail.ack("s-1", "m-1", 1, OTHER)
    for event, attempt in (("m-2", 1), ("m-1", 2), ("m-1", 0), ("Hello", 1)):
        with pytest.raises(EventNotFoundError):
            await store.mail.ack("s-1", event, attempt, BRIDGE)
    assert await state(store, "m-1") == ATTEMPTING
    for _ in range(2):
        assert await store.mail.ack("s-1", "m-1", 1, BRIDGE) is SeatState.TAKEN
    assert await state(store, "m-1") == TAKEN
    assert await log(store) == before
    evidence = (await store.deliveries.get("m-1")).attempts[-1].to_wire()["evidence"]
    assert set(evidence) == {"acknowledged_at"}


async def test_no_later_poll_acknowledges_by_implication(store: Store, world: World) -> None:
    # proves: SEAT-4
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    assert await poll(store, poll_id="p-2") == []
    assert await poll(store, poll_id="p-3", binding=OTHER) == []
    assert await state(store, "m-1") == ATTEMPTING


async def test_what_is_only_stored_cannot_be_acknowledged(store: Store, world: World) -> None:
    # proves: SEAT-4
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    with pytest.raises(EventNotFoundError):
        await store.mail.ack("s-1", "m-1", 1, BRIDGE)


async def test_another_seat_acknowledges_nothing(store: Store, world: World) -> None:
    # proves: FENCE-7
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await made(store, "den")
    await seated(store, world, "s-2", "den")
    with pytest.raises(EventNotFoundError):
        await store.mail.ack("s-2", "m-1", 1, BRIDGE)
    assert await state(store, "m-1") == ATTEMPTING


async def test_a_deadline_that_an_acknowledgement_has_just_met_ends_nothing(
    store: Store, world: World
) -> None:
    # proves: FENCE-11
    standing = await seated(store, world)
    await given(store, standing, "e-1", **ESCALATION)
    await store.mail.ack("s-1", "e-1", 1, BRIDGE)
    assert await store.mail.lapse("s-1", "e-1", 1, unacknowledged=True) is SeatState.TAKEN
    assert await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Yes.") is SeatState.REPLIED


async def test_a_late_acknowledgement_settles_without_a_second_dispatch(
    store: Store, world: World
) -> None:
    # proves: FENCE-7, FENCE-11
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    assert await store.mail.lapse("s-1", "m-1", 1) is SeatState.UNCERTAIN
    assert await state(store, "m-1") == UNCERTAIN
    assert (await store.deliveries.get("m-1")).code == "unacknowledged"
    assert await reserve(store, None) is None
    with pytest.raises(SeatSupersededError):
        await store.mail.ack("s-1", "m-1", 1, OTHER)
    assert await state(store, "m-1") == UNCERTAIN
    assert await store.mail.ack("s-1", "m-1", 1, BRIDGE) is SeatState.TAKEN
    assert await state(store, "m-1") == TAKEN
    assert (await store.deliveries.get("m-1")).code is None
    assert await reserve(store, None) is None
    assert await turns(store, "m-1") == ["admitted", "started", "uncertain", "started"]


async def test_a_late_acknowledgement_after_another_sat_down_changes_nothing(
    store: Store, world: World
) -> None:
    # proves: FENCE-7, SEAT-14
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await store.mail.lapse("s-1", "m-1", 1)
    await store.seats.occupied("s-1", occupant("n-9"))
    with pytest.raises(OccupantChangedError):
        await store.mail.ack("s-1", "m-1", 1, BRIDGE)
    assert await state(store, "m-1") == UNCERTAIN


async def test_what_the_owner_closed_as_unknown_stays_closed(store: Store, world: World) -> None:
    # proves: FENCE-7
    standing = await seated(store, world)
    await given(store, standing, "e-1", **ESCALATION)
    await store.mail.lapse("s-1", "e-1", 1)
    await store.deliveries.abandon("e-1")
    await store.mail.ack("s-1", "e-1", 1, BRIDGE)
    assert (await store.deliveries.get("e-1")).state is InputState.ABANDONED
    with pytest.raises(TransitionRefusedError):
        await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Here")
    assert await messages(store) == ["Hello"]


async def test_a_taken_delivery_stays_with_its_seat_whoever_comes_after(
    store: Store, world: World
) -> None:
    # proves: FENCE-4, FENCE-6
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await seated(store, world, "s-2", expected="s-1")
    assert await poll(store, "s-2") == []
    assert await store.mail.lapse("s-1", "m-1", 1) is SeatState.UNCERTAIN
    assert await reserve(store, None) is None
    assert await store.mail.ack("s-1", "m-1", 1, BRIDGE) is SeatState.TAKEN


# ── refusing ─────────────────────────────────────────────────────────────────────────────────────


async def test_what_was_refused_goes_to_the_service_and_not_to_that_seat_again(
    store: Store, world: World
) -> None:
    # proves: FENCE-5, FENCE-8
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    for _ in range(2):
        assert await store.mail.refuse("s-1", "m-1", 1, BRIDGE, "busy") is SeatState.REFUSED
    assert await state(store, "m-1") == (InputState.QUEUED, SeatState.REFUSED)
    found = await reserve(store, standing)
    assert isinstance(found, Reservation)
    assert [(one.n, one.state, one.code) for one in found.delivery.attempts[:1]] == [
        (1, SeatState.REFUSED, "busy")
    ]
    told = [one for one in await log(store) if one.get("routing_reason")]
    assert [(one["phase"], one["routing_reason"]) for one in told] == [("admitted", "busy")]


async def test_only_what_is_on_its_way_can_be_refused(store: Store, world: World) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    with pytest.raises(TransitionRefusedError):
        await store.mail.refuse("s-1", "m-1", 1, BRIDGE, "busy")
    assert await state(store, "m-1") == TAKEN
    await given(store, standing, "m-2")
    with pytest.raises(SeatSupersededError):
        await store.mail.refuse("s-1", "m-2", 1, OTHER, "busy")
    with pytest.raises(EventNotFoundError):
        await store.mail.refuse("s-1", "m-9", 1, BRIDGE, "busy")
    await store.mail.lapse("s-1", "m-2", 1)
    with pytest.raises(TransitionRefusedError):
        await store.mail.refuse("s-1", "m-2", 1, BRIDGE, "busy")
    assert await state(store, "m-2") == UNCERTAIN


async def test_a_refusal_is_for_every_member(store: Store, world: World) -> None:
    # proves: SEAT-12
    standing = await seated(store, world)
    for n in range(2):
        await admitted(store, f"e-{n}", channel="discord-main", **ESCALATION)
    await stored(store, standing)
    await poll(store)
    with pytest.raises(EventNotFoundError):
        await store.mail.ack("s-1", "e-0", 1, BRIDGE)
    await store.mail.refuse("s-1", "e-1", 1, BRIDGE, "no_channel")
    for n in range(2):
        assert await state(store, f"e-{n}") == (InputState.QUEUED, SeatState.REFUSED)


async def test_signed_activity_that_was_refused_waits_for_the_seat_again(
    store: Store, world: World
) -> None:
    # proves: FENCE-2
    standing = await seated(store, world)
    await given(store, standing, "l-1", origin=Origin.LINEAR)
    await store.mail.refuse("s-1", "l-1", 1, BRIDGE, "busy")
    assert await reserve(store, None) is None
    assert isinstance(await reserve(store, standing), Offered)


async def test_a_refused_wake_has_its_tries_yet(store: Store, world: World) -> None:
    # proves: FENCE-12
    standing = await seated(store, world)
    await given(store, standing, "w-1", origin=Origin.WAKE)
    await store.mail.refuse("s-1", "w-1", 1, BRIDGE, "busy")
    found = await reserve(store, None)
    assert isinstance(found, Reservation)
    assert found.delivery.tries == 1


# ── answering ────────────────────────────────────────────────────────────────────────────────────


async def test_one_answer_is_published_once_by_the_seat(store: Store, world: World) -> None:
    # proves: SEAT-3, SEAT-4
    standing = await seated(store, world)
    await taken(store, standing, "e-1", **ESCALATION)
    for _ in range(2):
        assert await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Here") is SeatState.REPLIED
    assert await state(store, "e-1") == (InputState.SETTLED, SeatState.REPLIED)
    said = [one for one in await log(store) if one["kind"] == "message"]
    assert len(said) == 2
    answer = said[-1]
    assert (answer["text"], answer["role"], answer["delivery_id"]) == ("Here", "agent", "e-1")
    assert (answer["author"], answer["source"]) == ({"principal": "seat", "id": "s-1"}, "claude")
    assert (await store.deliveries.get("e-1")).reply_cursor == answer["cursor"]
    assert await turns(store, "e-1") == ["admitted", "started", "completed"]


async def test_another_answer_to_the_same_is_a_conflict(store: Store, world: World) -> None:
    # proves: SEAT-4
    standing = await seated(store, world)
    await taken(store, standing, "e-1", **ESCALATION)
    await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Here")
    with pytest.raises(DeliveryConflictError):
        await store.mail.reply("s-1", "e-1", 1, BRIDGE, "There")
    assert await messages(store) == ["Hello", "Here"]


async def test_an_answer_implies_that_it_was_taken(store: Store, world: World) -> None:
    # proves: SEAT-4
    standing = await seated(store, world)
    await given(store, standing, "e-1", **ESCALATION)
    await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Here")
    assert (await store.deliveries.get("e-1")).attempts[-1].acknowledged_at is not None
    await given(store, standing, "e-2", **ESCALATION)
    await store.mail.lapse("s-1", "e-2", 1)
    await store.mail.reply("s-1", "e-2", 1, BRIDGE, "Late")
    assert await state(store, "e-2") == (InputState.SETTLED, SeatState.REPLIED)


async def test_an_answer_that_matches_no_waiting_event_publishes_nothing(
    store: Store, world: World
) -> None:
    # proves: SEAT-3
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await taken(store, standing, "e-1", **ESCALATION)
    await offered(store, standing, "e-2", **ESCALATION)
    before = await log(store)
    with pytest.raises(TransitionRefusedError):
        await store.mail.reply("s-1", "m-1", 1, BRIDGE, "Here")
    with pytest.raises(SeatSupersededError):
        await store.mail.reply("s-1", "e-1", 1, OTHER, "Here")
    for event in ("e-2", "e-9"):
        with pytest.raises(EventNotFoundError):
            await store.mail.reply("s-1", event, 1, BRIDGE, "Here")
    assert await log(store) == before
    await store.mail.lapse("s-1", "e-1", 1)
    assert await state(store, "e-1") == (InputState.SETTLED, SeatState.DELIVERED)
    with pytest.raises(TransitionRefusedError):
        await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Too late")
    assert await messages(store) == ["Hello"] * 3


async def test_the_tools_of_the_seat_answer_without_a_binding(store: Store, world: World) -> None:
    # proves: SEAT-3
    standing = await seated(store, world)
    await taken(store, standing, "e-1", **ESCALATION)
    assert await store.mail.reply("s-1", "e-1", 1, None, "Here") is SeatState.REPLIED
    await made(store, "den")
    await seated(store, world, "s-2", "den")
    with pytest.raises(EventNotFoundError):
        await store.mail.reply("s-2", "e-1", 1, None, "Here")


async def test_one_answer_is_for_the_whole_batch_and_stands_on_the_newest(
    store: Store, world: World
) -> None:
    # proves: SEAT-12
    standing = await seated(store, world)
    await taken(store, standing, "e-0", channel="discord-main", **ESCALATION)
    for n in range(1, 4):
        await admitted(store, f"e-{n}", channel="discord-main", **ESCALATION)
    await stored(store, standing)
    (event,) = await poll(store)
    assert (event.id, event.members) == ("e-3", ("e-1", "e-2"))
    await store.mail.ack("s-1", "e-3", 1, BRIDGE)
    await store.mail.reply("s-1", "e-3", 1, BRIDGE, "All of you")
    assert await state(store, "e-3") == (InputState.SETTLED, SeatState.REPLIED)
    cursor = (await store.deliveries.get("e-3")).reply_cursor
    for n in (1, 2):
        one = await store.deliveries.get(f"e-{n}")
        assert (one.state, one.absorbed_by) == (InputState.ABSORBED, "reply")
        assert (one.reply_delivery_id, one.reply_cursor) == ("e-3", cursor)
    # What was delivered before, on its own, is closed by its own answer alone.
    assert await state(store, "e-0") == TAKEN
    assert (await messages(store)).count("All of you") == 1
    await store.mail.reply("s-1", "e-0", 1, BRIDGE, "And you")
    assert await state(store, "e-0") == (InputState.SETTLED, SeatState.REPLIED)


async def test_a_late_answer_is_for_members_that_were_uncertain_too(
    store: Store, world: World
) -> None:
    # proves: SEAT-12, FENCE-7
    standing = await seated(store, world)
    for n in range(2):
        await admitted(store, f"e-{n}", channel="discord-main", **ESCALATION)
    await stored(store, standing)
    await poll(store)
    await store.mail.lapse("s-1", "e-1", 1)
    for n in range(2):
        assert await state(store, f"e-{n}") == UNCERTAIN
    await store.mail.reply("s-1", "e-1", 1, BRIDGE, "Late")
    assert await state(store, "e-0") == (InputState.ABSORBED, SeatState.REPLIED)
    assert await state(store, "e-1") == (InputState.SETTLED, SeatState.REPLIED)


async def test_the_time_for_an_answer_ends_without_a_failure(store: Store, world: World) -> None:
    # proves: FENCE-11
    standing = await seated(store, world)
    await taken(store, standing, "e-1", **ESCALATION)
    for _ in range(2):
        assert await store.mail.lapse("s-1", "e-1", 1) is SeatState.DELIVERED
    one = await store.deliveries.get("e-1")
    assert (one.state, one.code, one.reply_cursor) == (InputState.SETTLED, "no_reply", None)
    assert (await turns(store, "e-1"))[-1] == "completed"


async def test_time_ends_nothing_that_was_not_given(store: Store, world: World) -> None:
    # proves: FENCE-11
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    with pytest.raises(EventNotFoundError):
        await store.mail.lapse("s-1", "m-1", 1)
    await poll(store)
    await store.mail.refuse("s-1", "m-1", 1, BRIDGE, "busy")
    assert await store.mail.lapse("s-1", "m-1", 1) is SeatState.REFUSED


async def test_what_is_in_flight_is_known_everywhere(store: Store, world: World) -> None:
    # proves: FENCE-11
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await taken(store, standing, "e-1", **ESCALATION)
    await offered(store, standing, "m-2")
    flying = await store.mail.in_flight("s-1")
    assert [(one.event.id, one.state) for one in flying] == [
        ("m-1", SeatState.ATTEMPTING),
        ("e-1", SeatState.TAKEN),
    ]
    assert await store.mail.in_flight() == flying
    counts = await store.mail.counts("s-1")
    assert (counts.waiting, counts.in_flight) == (1, 2)
    await store.seats.retire("s-1", "retired", BY)
    assert [one.event.id for one in await store.mail.in_flight()] == ["m-1", "e-1"]
    await store.mail.lapse("s-1", "m-1", 1)
    assert [one.event.id for one in await store.mail.in_flight()] == ["e-1"]
