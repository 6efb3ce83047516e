"""Seats and where they sit: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

from datetime import timedelta

import pytest

from clankie.core.admission import Mode, Reach
from clankie.core.conversation import Kind
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.errors import ConversationClosedError, ConversationNotFoundError
from clankie.core.ids import HEAD
from clankie.core.seat import Capabilities, EventKind
from clankie.core.seat_errors import (
    AttachmentConflictError,
    GrantUnknownError,
    OccupantChangedError,
    SeatNotFoundError,
)
from clankie.host.seatstore import QueueEnd
from clankie.host.storage import Offered, Outcome, Reservation, Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
    given,
    grant_of,
    occupant,
    offered,
    poll,
    reserve,
    seat_of,
    seated,
    state,
    stored,
    taken,
    token_of,
)
from contracts.store_kit import World, admitted, log, made, started


async def codes(store: Store, conversation: str = HEAD) -> list[str]:
    return [one["code"] for one in await log(store, conversation) if one["kind"] == "notice"]


async def test_a_grant_makes_one_seat_once(store: Store, world: World) -> None:
    # proves: SEAT-1
    grant = grant_of(world)
    await store.seats.add_grant(grant)
    assert await store.seats.grant(grant.secret_sha256) == grant
    can = Capabilities(kinds=frozenset({EventKind.TURN}), steer=False, version="2.1")
    seat = seat_of(world, capabilities=can)
    kept, died = await store.seats.register(grant, seat, token_of(world, "s-1"), "sha")
    assert (kept.id, kept.conversation, kept.occupant, died) == ("s-1", HEAD, occupant(), None)
    assert (kept.capabilities, kept.granted, kept.attached_at) == (can, HEAD, world.clock.now())
    assert await store.seats.get("s-1") == kept
    assert await store.seats.all() == [kept]
    assert await store.seats.grant(grant.secret_sha256) is None
    with pytest.raises(GrantUnknownError):
        await store.seats.register(grant, seat, token_of(world, "s-1"), "sha")
    assert await codes(store) == ["seat_attached"]


async def test_the_same_occupant_again_is_the_same_seat_with_another_token(
    store: Store, world: World
) -> None:
    await seated(store, world, sits=occupant())
    again = grant_of(world, secret="b" * 64, expected="s-1")
    await store.seats.add_grant(again)
    seat = seat_of(world, "s-2", token="t-2")
    kept, died = await store.seats.register(again, seat, token_of(world, "s-1", "t-2"), "sha-2")
    assert (kept.id, kept.token, died) == ("s-1", "t-2", "t-s-1")
    revoked = {token.id: token.revoked for token, _ in await store.owner.tokens()}
    assert revoked == {"t-s-1": True, "t-2": False}
    assert len(await store.seats.all()) == 1


async def test_a_seat_that_came_too_late_is_not_made(store: Store, world: World) -> None:
    # proves: SEAT-1
    late = grant_of(world, secret="b" * 64)
    await store.seats.add_grant(late)
    await seated(store, world)
    with pytest.raises(AttachmentConflictError) as refused:
        await store.seats.register(
            late, seat_of(world, "s-2", occupant("n-2")), token_of(world, "s-2"), "sha-2"
        )
    assert refused.value.facts["current"] == "s-1"
    with pytest.raises(SeatNotFoundError):
        await store.seats.get("s-2")
    assert [token.id for token, _ in await store.owner.tokens()] == ["t-s-1"]


async def test_two_that_attach_at_once_have_one_winner(store: Store, world: World) -> None:
    # proves: SEAT-1, FENCE-3
    await made(store, "den")
    await seated(store, world, "s-1", "den")
    await seated(store, world, "s-2", sits=occupant("n-2"))
    await store.seats.detach("s-2", "moved", BY)
    await store.seats.attach("s-1", HEAD, None, BY)
    with pytest.raises(AttachmentConflictError):
        await store.seats.attach("s-2", HEAD, None, BY)
    seat, running = await store.seats.attach("s-2", HEAD, "s-1", BY)
    assert (seat.conversation, running) == (HEAD, False)
    assert (await store.seats.get("s-1")).conversation is None
    before = await log(store)
    assert (await store.seats.attach("s-2", HEAD, None, BY))[0] == seat
    assert await log(store) == before
    assert await codes(store, "den") == ["seat_attached", "seat_detached"]


async def test_attaching_says_that_a_run_is_open(store: Store, world: World) -> None:
    # proves: FENCE-3
    await made(store, "den")
    await seated(store, world, conversation="den")
    await admitted(store, "m-1")
    await started(store)
    assert (await store.seats.attach("s-1", HEAD, None, BY))[1] is True
    assert (await state(store, "m-1"))[0] == InputState.RUNNING


async def test_nothing_attaches_where_nothing_is_or_all_is_over(store: Store, world: World) -> None:
    await seated(store, world)
    await made(store, "den")
    await store.conversations.close("den", BY)
    with pytest.raises(ConversationClosedError):
        await store.seats.attach("s-1", "den", None, BY)
    with pytest.raises(ConversationNotFoundError):
        await store.seats.attach("s-1", "nowhere", None, BY)
    with pytest.raises(SeatNotFoundError):
        await store.seats.attach("s-9", HEAD, "s-1", BY)
    with pytest.raises(ConversationClosedError):
        await store.seats.add_grant(grant_of(world, "den"))
    with pytest.raises(ConversationNotFoundError):
        await store.seats.add_grant(grant_of(world, "nowhere"))
    assert (await store.seats.get("s-1")).conversation == HEAD


async def test_detaching_gives_back_what_was_stored_and_nothing_that_may_have_been_seen(
    store: Store, world: World
) -> None:
    # proves: FENCE-5, FENCE-6
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await offered(store, standing, "m-2")
    seat, left = await store.seats.detach("s-1", "detached", BY)
    assert (seat.conversation, left) == (None, HEAD)
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)
    assert await state(store, "m-2") == (InputState.QUEUED, SeatState.RELEASED)
    assert (await store.deliveries.get("m-2")).attempts[-1].code == "detached"
    assert await store.seats.detach("s-1", "detached", BY) == (seat, None)
    found = await reserve(store, standing)
    assert isinstance(found, Reservation)
    assert found.delivery.id == "m-2"
    assert await codes(store) == ["seat_attached", "seat_detached"]


async def test_a_retired_seat_is_gone_with_its_token(store: Store, world: World) -> None:
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    assert await store.seats.retire("s-1", "retired", BY) == HEAD
    assert await store.seats.all() == []
    for verb in (store.seats.get, store.seats.asked):
        with pytest.raises(SeatNotFoundError):
            await verb("s-1")
    assert [token.revoked for token, _ in await store.owner.tokens()] == [True]
    assert await state(store, "m-1") == (InputState.QUEUED, SeatState.RELEASED)
    again = await seated(store, world, "s-2", sits=occupant("n-s-1"))
    assert again.seat == "s-2"


async def test_another_session_of_the_process_is_another_occupant(
    store: Store, world: World
) -> None:
    # proves: SEAT-14
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await offered(store, standing, "m-2")
    anew = occupant("n-9")
    seat = await store.seats.occupied("s-1", anew)
    assert (seat.occupant, seat.conversation) == (anew, HEAD)
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)
    assert await state(store, "m-2") == (InputState.QUEUED, SeatState.RELEASED)
    assert await store.seats.occupied("s-1", anew) == seat
    await made(store, "den")
    await seated(store, world, "s-2", "den", sits=occupant("n-2"))
    with pytest.raises(OccupantChangedError):
        await store.seats.occupied("s-2", anew)


async def test_what_it_asked_is_kept(store: Store, world: World) -> None:
    await seated(store, world)
    world.clock.shift(5)
    await store.seats.asked("s-1")
    assert (await store.seats.get("s-1")).last_ask == world.clock.now()


async def test_parking_gives_back_what_was_stored_and_says_so_once(
    store: Store, world: World
) -> None:
    # proves: LIMIT-1
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await offered(store, standing, "m-2")
    until = world.clock.now() + timedelta(hours=1)
    for _ in range(2):
        assert await store.seats.park("s-1", until, "usage_limit") == HEAD
    seat = await store.seats.get("s-1")
    assert (seat.parked_until, seat.park_reason) == (until, "usage_limit")
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)
    assert await state(store, "m-2") == (InputState.QUEUED, SeatState.RELEASED)
    assert await codes(store) == ["seat_attached", "seat_parked"]
    await stored(store, standing)
    assert await poll(store, poll_id="p-9") == []
    await store.seats.park("s-1", None, "")
    assert (await store.seats.get("s-1")).parked_until is None
    assert [one.id for one in await poll(store, poll_id="p-9")] == ["m-2"]


async def test_a_held_queue_outlives_parking_but_not_its_bridge(store: Store, world: World) -> None:
    # proves: SEAT-8
    standing = await seated(store, world)
    for name in ("q-1", "q-2"):
        await admitted(
            store, name, mode=Mode.QUEUE, reach=Reach.HELD_QUEUE, occupant=standing.occupant
        )
    await reserve(store, standing)
    await store.seats.park("s-1", world.clock.now() + timedelta(hours=1), "usage_limit")
    assert await state(store, "q-1") == (InputState.QUEUED, SeatState.OFFERED)
    assert list((await store.mail.end_queue("s-1", "bridge_gone")).ended) == ["q-1", "q-2"]
    for name in ("q-1", "q-2"):
        one = await store.deliveries.get(name)
        assert (one.state, one.code) == (InputState.NOT_SENT, "bridge_gone")
    assert await store.mail.end_queue("s-1", "bridge_gone") == QueueEnd(ended=[], left=[])


async def test_a_held_queue_that_is_about_to_fail_is_not_ended_twice(
    store: Store, world: World
) -> None:
    # proves: FENCE-8, SEAT-8
    standing = await seated(store, world)
    held = {"mode": Mode.QUEUE, "reach": Reach.HELD_QUEUE, "occupant": standing.occupant}
    await given(store, standing, "q-1", **held)
    await store.mail.refuse("s-1", "q-1", 1, BRIDGE, "busy")
    found = await reserve(store, standing)
    assert isinstance(found, Reservation)
    assert await store.mail.end_queue("s-1", "bridge_gone") == QueueEnd(ended=[], left=["q-1"])
    assert await state(store, "q-1") == (InputState.QUEUED, ServiceState.RESERVED)
    await store.deliveries.refuse(found, Outcome(state=ServiceState.FAILED, code="refused"))
    assert await state(store, "q-1") == (InputState.FAILED, ServiceState.FAILED)
    assert await reserve(store, standing) is None


async def refused_queue(store: Store, world: World) -> Reservation:
    """A held Queue that its seat refused, on its way to be failed."""
    standing = await seated(store, world)
    held = {"mode": Mode.QUEUE, "reach": Reach.HELD_QUEUE, "occupant": standing.occupant}
    await given(store, standing, "q-1", **held)
    await store.mail.refuse("s-1", "q-1", 1, BRIDGE, "busy")
    found = await reserve(store, standing)
    assert isinstance(found, Reservation)
    return found


async def test_a_held_queue_that_is_given_back_after_its_bridge_left_is_ended_by_another_look(
    store: Store, world: World
) -> None:
    # proves: FENCE-8, SEAT-8
    found = await refused_queue(store, world)
    assert list((await store.mail.end_queue("s-1", "bridge_gone")).left) == ["q-1"]
    await store.deliveries.release(found, "recipient_absent")
    assert (await store.deliveries.get("q-1")).state is InputState.QUEUED
    assert list((await store.mail.end_queue("s-1", "bridge_gone")).ended) == ["q-1"]


@pytest.mark.parametrize("leaves", ["detached", "retired", "changed"])
async def test_a_held_queue_that_is_given_back_after_its_seat_left_was_not_sent(
    store: Store, world: World, leaves: str
) -> None:
    # proves: FENCE-8, SEAT-8
    found = await refused_queue(store, world)
    match leaves:
        case "detached":
            await store.seats.detach("s-1", "by_hand", None)
        case "retired":
            await store.seats.retire("s-1", "ended", None)
        case _:
            await store.seats.occupied("s-1", occupant("n-2"))
    assert await state(store, "q-1") == (InputState.QUEUED, ServiceState.RESERVED)
    for _ in range(2):
        await store.deliveries.release(found, "recipient_absent")
        one = await store.deliveries.get("q-1")
        assert (one.state, one.code) == (InputState.NOT_SENT, "seat_left")
    assert (await store.conversations.get(HEAD)).waiting == 0


async def test_no_held_queue_whose_occupant_sits_in_a_seat_is_ended_as_one_without(
    store: Store, world: World
) -> None:
    # proves: SEAT-8
    standing = await seated(store, world)
    held = {"mode": Mode.QUEUE, "reach": Reach.HELD_QUEUE}
    await admitted(store, "q-1", occupant=standing.occupant, **held)
    assert await store.mail.end_queue(None, "seat_left") == QueueEnd(ended=[], left=[])


async def test_a_takeover_releases_what_is_stored_and_never_a_held_queue(
    store: Store, world: World
) -> None:
    # proves: SEAT-7, SEAT-8
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await offered(store, standing, "m-2")
    await offered(
        store,
        standing,
        "q-1",
        mode=Mode.QUEUE,
        reach=Reach.HELD_QUEUE,
        occupant=standing.occupant,
    )
    assert list(await store.mail.take_over("s-1", "silent", "Silent for 45 s.")) == ["m-2"]
    assert list(await store.mail.take_over("s-1", "silent", None)) == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)
    assert await state(store, "q-1") == (InputState.QUEUED, SeatState.OFFERED)
    found = await reserve(store, None)
    assert isinstance(found, Reservation)
    assert found.delivery.id == "m-2"
    assert (await codes(store)).count("seat_silent") == 1


async def test_a_seat_that_is_not_there_any_more_is_no_destination(
    store: Store, world: World
) -> None:
    # proves: FENCE-2, FENCE-3
    standing = await seated(store, world)
    await store.seats.detach("s-1", "detached", BY)
    await admitted(store, "m-1")
    assert isinstance(await reserve(store, standing), Reservation)


async def test_what_waits_at_a_live_seat_is_stored_there(store: Store, world: World) -> None:
    # proves: FENCE-2
    standing = await seated(store, world)
    await admitted(store, "m-1")
    found = await reserve(store, standing)
    assert isinstance(found, Offered)
    assert (found.delivery.id, found.seat) == ("m-1", "s-1")
    assert await state(store, "m-1") == (InputState.QUEUED, SeatState.OFFERED)
    assert [one.id for one in await store.mail.offered("s-1")] == ["m-1"]
    assert await reserve(store, None) is None
    counts = await store.mail.counts("s-1")
    assert (counts.waiting, counts.in_flight) == (1, 0)


async def test_a_cancelled_input_is_taken_from_the_seat(store: Store, world: World) -> None:
    # proves: FENCE-13
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    assert await store.deliveries.cancel_waiting("m-1") is True
    assert await state(store, "m-1") == (InputState.CANCELLED, SeatState.RELEASED)
    assert await poll(store) == []
    await given(store, standing, "m-2")
    assert await store.deliveries.cancel_waiting("m-2") is False


async def test_closing_lets_the_seat_go_and_sends_nothing(store: Store, world: World) -> None:
    # proves: FENCE-6
    await made(store, "den", Kind.WORKSPACE)
    standing = await seated(store, world, conversation="den")
    await offered(store, standing, "m-1", conversation="den")
    await store.conversations.close("den", BY)
    assert await state(store, "m-1") == (InputState.NOT_SENT, SeatState.RELEASED)
    assert (await store.seats.get("s-1")).conversation is None
    assert await poll(store, binding=BRIDGE) == []
