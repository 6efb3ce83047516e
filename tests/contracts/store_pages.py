"""What polls are given: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.conversation import Kind
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import (
    DeliveryNotFoundError,
    UnconfirmedError,
)
from clankie.core.ids import HEAD
from clankie.core.seat import EventKind
from clankie.core.seat_errors import (
    SeatNotFoundError,
)
from clankie.core.settings import SeatLimits
from clankie.host.storage import Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
    ESCALATION,
    LIMITS,
    OTHER,
    given,
    offered,
    poll,
    reserve,
    seated,
    state,
    stored,
)
from contracts.store_kit import (
    BOUND,
    DONE,
    World,
    admitted,
    from_room,
    log,
    made,
    offer,
    started,
    turns,
)

ATTEMPTING = (InputState.RUNNING, SeatState.ATTEMPTING)
TAKEN = (InputState.RUNNING, SeatState.TAKEN)
UNCERTAIN = (InputState.UNCERTAIN, SeatState.UNCERTAIN)


async def messages(store: Store, conversation: str = HEAD) -> list[str]:
    return [one["text"] for one in await log(store, conversation) if one["kind"] == "message"]


async def test_what_a_poll_is_given_is_on_its_way_before_anybody_hears_of_it(
    store: Store, world: World
) -> None:
    # proves: FENCE-9, SEAT-4
    standing = await seated(store, world)
    await offered(store, standing, "m-1", "Look")
    (event,) = await poll(store)
    assert await state(store, "m-1") == ATTEMPTING
    assert (event.id, event.kind, event.source) == ("m-1", EventKind.TURN, "owner")
    assert (event.content, event.reply, event.steer) == ("Look", False, False)
    assert (event.attempt, event.generation, event.conversation) == (1, 1, HEAD)
    assert (event.deadline - world.clock.now()).total_seconds() == LIMITS.acknowledge
    assert event.attribution == {"principal": "operator", "id": "operator"}
    attempt = (await store.deliveries.get("m-1")).attempts[-1].to_wire()
    there = {"kind": "seat", "seat": "s-1", "occupant": standing.occupant}
    assert attempt["destination"] == there
    assert await turns(store, "m-1") == ["admitted", "started"]


async def test_a_poll_that_is_repeated_reads_its_page_again_and_nothing_stands_in_two(
    store: Store, world: World
) -> None:
    # proves: FENCE-9, SEAT-4
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    await offered(store, standing, "m-2", origin=Origin.WAKE)
    first = await poll(store, poll_id="p-1")
    await offered(store, standing, "m-3")
    before = await log(store)
    assert await poll(store, poll_id="p-1") == first
    assert await log(store) == before
    assert [one.id for one in await poll(store, poll_id="p-2")] == ["m-3"]
    await store.mail.ack("s-1", "m-1", 1, BRIDGE)
    assert await poll(store, poll_id="p-1") == first
    assert await poll(store, poll_id="p-3") == []


async def test_a_poll_id_is_free_again_once_its_page_is_settled(store: Store, world: World) -> None:
    # proves: SEAT-4
    standing = await seated(store, world)
    first, second = [await offered(store, standing, f"e-{n}", **ESCALATION) for n in (1, 2)]
    page = await poll(store, poll_id="p-1")
    assert [one.id for one in page] == [first, second]
    await store.mail.reply("s-1", first, 1, BRIDGE, "Yes.")
    await offered(store, standing, "m-3")
    assert [one.id for one in await poll(store, poll_id="p-1")] == [second]
    await store.mail.refuse("s-1", second, 1, BRIDGE, "busy")
    assert [one.id for one in await poll(store, poll_id="p-1")] == ["m-3"]


async def test_the_same_poll_id_of_another_bridge_is_another_poll(
    store: Store, world: World
) -> None:
    # proves: SEAT-4
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    assert await poll(store, poll_id="p-m-1", binding=OTHER) == []


async def test_a_page_is_not_sent_again_once_nobody_knows_what_became_of_it(
    store: Store, world: World
) -> None:
    # proves: FENCE-4
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await store.mail.lapse("s-1", "m-1", 1)
    assert await poll(store, poll_id="p-m-1") == []
    # And what comes next does not wait until that poll has ended.
    await offered(store, standing, "m-2")
    assert [one.id for one in await poll(store, poll_id="p-m-1")] == ["m-2"]


async def test_owner_turns_and_escalations_come_before_the_rest(store: Store, world: World) -> None:
    # proves: SEAT-10, SEAT-9
    standing = await seated(store, world)
    await admitted(store, "w-1", origin=Origin.WAKE)
    await admitted(store, "m-1", mode=Mode.QUEUE)
    await admitted(store, "i-1", origin=Origin.INTERNAL)
    await admitted(store, "e-1", **ESCALATION)
    await stored(store, standing)
    page = await poll(store)
    assert [one.id for one in page] == ["m-1", "e-1", "w-1", "i-1"]
    kinds = [EventKind.TURN, EventKind.ESCALATION, EventKind.WAKE, EventKind.WAKE]
    assert [one.kind for one in page] == kinds
    assert [one.reply for one in page] == [False, True, False, False]


async def test_a_page_holds_as_much_as_it_may_and_the_rest_waits(
    store: Store, world: World
) -> None:
    # proves: SEAT-10
    standing = await seated(store, world)
    few = SeatLimits(page_events=2)
    for n in range(3):
        await offered(store, standing, f"m-{n}")
    assert [one.id for one in await poll(store, limits=few)] == ["m-0", "m-1"]
    assert await state(store, "m-2") == (InputState.QUEUED, SeatState.OFFERED)
    assert [one.id for one in await poll(store, poll_id="p-2", limits=few)] == ["m-2"]


async def test_escalations_of_one_channel_go_together_under_the_newest(
    store: Store, world: World
) -> None:
    # proves: SEAT-12
    standing = await seated(store, world)
    for n in range(3):
        await admitted(store, f"e-{n}", f"Text {n}", channel="discord-main", **ESCALATION)
    await admitted(store, "x-1", channel="discord-other", **ESCALATION)
    await stored(store, standing)
    together, other = await poll(store)
    assert (together.id, together.members, together.source) == (
        "e-2",
        ("e-0", "e-1"),
        "discord-main",
    )
    assert [(piece.delivery, piece.text) for piece in together.pieces] == [
        ("e-0", "Text 0"),
        ("e-1", "Text 1"),
        ("e-2", "Text 2"),
    ]
    assert (other.id, other.members) == ("x-1", ())
    assert together.attribution == {"principal": "room", "id": "ada", "name": "Ada"}
    assert await poll(store) == [together, other]
    for n in range(3):
        assert await state(store, f"e-{n}") == ATTEMPTING
    into = [(await store.deliveries.get(f"e-{n}")).attempts[-1].into for n in range(3)]
    assert into == ["e-2", "e-2", None]


async def test_steering_is_marked_while_the_native_turn_runs(store: Store, world: World) -> None:
    # proves: SEAT-11
    standing = await seated(store, world)
    await admitted(store, "e-1", channel="discord-main", **ESCALATION)
    await stored(store, standing)
    first = await poll(store, responding=True)
    assert [one.steer for one in first] == [True]
    assert await poll(store) == first


async def test_a_held_queue_waits_for_the_native_turn(store: Store, world: World) -> None:
    # proves: SEAT-8
    standing = await seated(store, world)
    queue = {
        "mode": Mode.QUEUE,
        "reach": Reach.HELD_QUEUE,
        "occupant": standing.occupant,
    }
    await offered(store, standing, "q-1", **queue)
    await offered(store, standing, "m-1")
    assert [one.id for one in await poll(store, responding=True)] == ["m-1"]
    assert [one.id for one in await poll(store, poll_id="p-2")] == ["q-1"]
    assert (await store.deliveries.get("q-1")).reach is Reach.HELD_QUEUE


async def test_nothing_is_given_while_a_run_of_the_service_is_open(
    store: Store, world: World
) -> None:
    # proves: HAND-4
    standing = await seated(store, world)
    await admitted(store, "m-1")
    await started(store)
    await admitted(store, "m-2")
    assert await reserve(store, standing) is None
    assert await poll(store) == []
    assert (await store.deliveries.get("m-2")).attempts == ()


async def test_what_was_stored_before_a_run_began_waits_for_its_end(
    store: Store, world: World
) -> None:
    # proves: HAND-4
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    await admitted(store, "m-2")
    run = await started(store)
    assert run.delivery.id == "m-2"
    assert await poll(store) == []
    assert await state(store, "m-1") == (InputState.QUEUED, SeatState.OFFERED)
    await store.deliveries.settle(run, DONE)
    assert [one.id for one in await poll(store)] == ["m-1"]


async def test_a_room_is_given_what_was_checked_and_nothing_else(
    store: Store, world: World
) -> None:
    # proves: SEAT-2, SEAT-3
    await made(store, "room", Kind.ROOM)
    standing = await seated(store, world, conversation="room")
    for name in ("r-1", "r-2"):
        await store.deliveries.admit(from_room(name, conversation="room"), BOUND)
    await stored(store, standing, "room")
    page = await poll(store, cleared=frozenset({"r-2"}))
    assert [(one.id, one.kind, one.reply) for one in page] == [("r-2", EventKind.MESSAGE, True)]


async def test_what_may_not_go_out_fails_and_says_why(store: Store, world: World) -> None:
    # proves: SEAT-2
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    assert await store.mail.withdraw("s-1", "m-1", "not_allowed", "The grant is gone.")
    one = await store.deliveries.get("m-1")
    assert (one.state, one.code, one.detail) == (
        InputState.FAILED,
        "not_allowed",
        "The grant is gone.",
    )
    assert one.attempts[-1].state is SeatState.RELEASED
    assert not await store.mail.withdraw("s-1", "m-1", "not_allowed", "")
    await given(store, standing, "m-2")
    assert not await store.mail.withdraw("s-1", "m-2", "not_allowed", "")
    assert await state(store, "m-2") == ATTEMPTING


async def test_a_seat_that_sits_nowhere_is_given_nothing(store: Store, world: World) -> None:
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    await store.seats.detach("s-1", "detached", BY)
    assert await poll(store) == []
    with pytest.raises(SeatNotFoundError):
        await poll(store, "s-9")


# ── addressed to one occupant ────────────────────────────────────────────────────────────────────


async def test_unresolved_mail_for_one_occupant_keeps_all_other_such_mail_away(
    store: Store, world: World
) -> None:
    # proves: FENCE-10
    standing = await seated(store, world)
    to = {"reach": Reach.OCCUPANT, "occupant": standing.occupant, "origin": Origin.REPORT}
    await admitted(store, "p-1", **to)
    await admitted(store, "p-2", **to)
    await stored(store, standing)
    assert [one.id for one in await poll(store)] == ["p-1"]
    assert await poll(store, poll_id="p-2") == []
    for text in ("Hello", "Something else"):
        with pytest.raises(UnconfirmedError) as refused:
            await store.deliveries.admit(offer("p-3", text, **to), BOUND)
        assert "p-1" in refused.value.detail
    await store.mail.lapse("s-1", "p-1", 1)
    with pytest.raises(UnconfirmedError):
        await store.deliveries.admit(offer("p-3", **to), BOUND)
    with pytest.raises(DeliveryNotFoundError):
        await store.deliveries.get("p-3")
    # Everything else goes on.
    await offered(store, standing, "m-1")
    assert [one.id for one in await poll(store, poll_id="p-3")] == ["m-1"]
    await store.mail.ack("s-1", "p-1", 1, BRIDGE)
    await admitted(store, "p-3", **to)
    assert [one.id for one in await poll(store, poll_id="p-4")] == ["p-2"]


async def test_mail_for_one_occupant_reaches_no_other_and_no_service(
    store: Store, world: World
) -> None:
    # proves: FENCE-2
    standing = await seated(store, world)
    await admitted(store, "p-1", reach=Reach.OCCUPANT, occupant="o-somebody", origin=Origin.REPORT)
    await admitted(store, "l-1", origin=Origin.LINEAR)
    assert await reserve(store, None) is None
    assert await stored(store, standing) == ["l-1"]
    one = await store.deliveries.get("p-1")
    assert (one.state, one.reach, one.occupant) == (
        InputState.QUEUED,
        Reach.OCCUPANT,
        "o-somebody",
    )


async def test_in_a_conversation_an_unresolved_delivery_blocks_itself_alone(
    store: Store, world: World
) -> None:
    # proves: FENCE-10
    standing = await seated(store, world)
    await given(store, standing, "m-1")
    await store.mail.lapse("s-1", "m-1", 1)
    with pytest.raises(UnconfirmedError):
        await store.deliveries.admit(offer("m-1", automatic=True), BOUND)
    with pytest.raises(UnconfirmedError):
        await store.deliveries.admit(offer("m-2", automatic=True), BOUND)
    await given(store, standing, "m-3")
    assert await state(store, "m-3") == ATTEMPTING


async def test_what_a_seat_may_not_have_joins_no_run_either(store: Store, world: World) -> None:
    # proves: FENCE-2
    await seated(store, world)
    await admitted(store, "m-1")
    run = await started(store)
    await admitted(store, "l-1", origin=Origin.LINEAR, mode=Mode.STEER)
    assert list(await store.deliveries.join(run)) == []
    await admitted(store, "m-2", mode=Mode.STEER)
    assert [one.id for one in await store.deliveries.join(run)] == ["m-2"]
