"""Whose log a native session writes to, and when its turn is over: what every store must do.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.delivery import InputState, SeatState
from clankie.core.driver import Presence, Standing
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, Capabilities, EntryKind
from clankie.core.seat_errors import SeatNotFoundError, SessionConflictError
from clankie.host.seatstore import Synced
from clankie.host.storage import Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
    ESCALATION,
    LIMITS,
    given,
    grant_of,
    occupant,
    offered,
    poll,
    seat_of,
    seated,
    state,
    taken,
    token_of,
)
from contracts.store_handoff import driven, one_handoff, ran
from contracts.store_kit import World, made
from contracts.store_transcripts import SESSION, broken, proving, row, said, synced


async def wrote(
    store: Store, world: World, entry: str, text: str, session: str = SESSION
) -> Synced:
    """The session writes an answer."""
    answer = row(entry, world.clock.now(), EntryKind.ASSISTANT, text=text)
    return await synced(store, answer, session=session)


async def test_a_session_stays_with_the_conversation_it_wrote_to(
    store: Store, world: World
) -> None:
    # proves: SEAT-14
    await seated(store, world)
    assert (await wrote(store, world, "r-1", "Here")).conversation == HEAD
    await made(store, "den")
    seat, _ = await store.seats.attach("s-1", "den", None, BY)
    assert seat.stale
    with pytest.raises(SessionConflictError):
        await wrote(store, world, "r-2", "There")
    assert await said(store, "den") == []
    assert not (await store.seats.occupied("s-1", occupant("n-2"))).stale
    assert (await wrote(store, world, "r-2", "There", session="n-2")).conversation == "den"
    assert await said(store, "den") == [("agent", "seat", "There")]
    await store.seats.detach("s-1", "away", BY)
    with pytest.raises(SeatNotFoundError):
        await wrote(store, world, "r-3", "Late", session="n-2")


@pytest.mark.parametrize("shown", ["given", "handoff", "session start"])
async def test_a_session_stays_where_it_was_first_shown_something(
    store: Store, world: World, shown: str
) -> None:
    # proves: SEAT-14, SEAT-2
    if shown == "given":
        await taken(store, await seated(store, world), "m-1")
    elif shown == "handoff":
        await driven(store, world)
        await ran(store, "w-1", "Wake")
        await one_handoff(store)
    else:
        await seated(store, world)
        await store.seats.projected("s-1", "n-s-1", 0)
    await made(store, "den")
    assert (await store.seats.attach("s-1", "den", None, BY))[0].stale
    if shown == "given":
        # What it answers to the head's message is no word of the den's.
        assert (await wrote(store, world, "r-1", "The answer")).conversation == HEAD
        assert (await said(store))[-1] == ("agent", "seat", "The answer")
    else:
        with pytest.raises(SessionConflictError):
            await wrote(store, world, "r-1", "Words")
    assert await said(store, "den") == []


async def test_a_session_of_another_conversation_is_given_nothing(
    store: Store, world: World
) -> None:
    # proves: SEAT-2
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await made(store, "den")
    await store.seats.attach("s-1", "den", None, BY)
    await offered(store, standing, "m-2", conversation="den")
    assert await poll(store, "s-1", "p-9") == []
    assert await state(store, "m-2") == (InputState.QUEUED, SeatState.OFFERED)


async def test_a_seat_that_was_let_go_still_shows_what_became_of_what_it_had(
    store: Store, world: World
) -> None:
    # proves: FENCE-6, SEAT-15
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    await store.seats.detach("s-1", "away", BY)
    result = await synced(store, proving("r-1", world.clock.now(), event))
    assert (list(result.proven), result.conversation) == (["m-1"], HEAD)
    await synced(store, activity=Activity.RESPONDING)
    answer = row("r-2", world.clock.now(), EntryKind.ASSISTANT, text="The answer")
    await synced(store, answer, activity=Activity.WAITING)
    one = await store.deliveries.get("m-1")
    assert (one.state, one.attempts[-1].state) == (InputState.SETTLED, SeatState.DELIVERED)
    assert one.reply_cursor is not None
    with pytest.raises(SeatNotFoundError):
        await wrote(store, world, "r-3", "More")


async def test_a_seat_that_was_replaced_shows_what_was_lost_and_settles_only_its_own(
    store: Store, world: World
) -> None:
    # proves: FENCE-7, FENCE-6
    lost = await given(store, await seated(store, world), "m-1")
    await store.mail.lapse("s-1", "m-1", 1)
    other = await seated(store, world, "s-2", expected="s-1")
    await offered(store, other, "m-2")
    await poll(store, "s-2", "p-2")
    await store.mail.ack("s-2", "m-2", 1, BRIDGE)
    now = world.clock.now()
    answer = row("r-2", now, EntryKind.ASSISTANT, text="Here it is, late")
    result = await synced(store, proving("r-1", now, lost), answer, activity=Activity.WAITING)
    assert list(result.proven) == ["m-1"]
    assert await state(store, "m-1") == (InputState.SETTLED, SeatState.DELIVERED)
    assert await state(store, "m-2") == (InputState.RUNNING, SeatState.TAKEN)


async def test_words_of_another_conversation_settle_nothing_and_are_not_repeated(
    store: Store, world: World
) -> None:
    # proves: SEAT-2, FENCE-7
    event = await taken(store, await seated(store, world), "m-1", "A secret of the head")
    await made(store, "den")
    await store.seats.occupied("s-1", occupant("n-2"))
    await store.seats.attach("s-1", "den", None, BY)
    result = await synced(store, proving("r-1", world.clock.now(), event), session="n-2")
    assert (list(result.proven), result.conversation) == ([], "den")
    assert await said(store, "den") == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)


async def test_a_row_that_only_names_what_another_conversation_gave_is_kept(
    store: Store, world: World
) -> None:
    # proves: SEC-4, CONV-3
    standing = await seated(store, world)
    await store.seats.projected("s-1", SESSION, 0)
    await ran(store, "w-1", "Look at the build.", "It is green.")
    handoff = await one_handoff(store)
    await store.mail.ack("s-1", handoff.id, 1, BRIDGE)
    event = await taken(store, standing, "m-1", "A secret of the head")
    await made(store, "den")
    await store.seats.occupied("s-1", occupant("n-2"))
    await store.seats.attach("s-1", "den", None, BY)
    for n, it in enumerate((event, handoff)):
        wrong = proving(f"r-{n}", world.clock.now(), it, text=f"words {n}", value="invented")
        await synced(store, wrong, session="n-2")
    assert [text for _, _, text in await said(store, "den")] == ["words 0", "words 1"]
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)


async def test_what_steers_and_was_only_taken_does_not_end_with_the_turn_before(
    store: Store, world: World
) -> None:
    # proves: SEAT-15, SEAT-11
    standing = await seated(store, world)
    first = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", world.clock.now(), first), activity=Activity.RESPONDING)
    second = await taken(store, standing, "m-2", "And that")
    answer = row("r-2", world.clock.now(), EntryKind.ASSISTANT, text="To the first")
    await synced(store, answer, activity=Activity.WAITING)
    assert await state(store, "m-1") == (InputState.SETTLED, SeatState.DELIVERED)
    assert await state(store, "m-2") == (InputState.RUNNING, SeatState.TAKEN)
    later = row("r-4", world.clock.now(), EntryKind.ASSISTANT, text="To the second")
    await synced(store, proving("r-3", world.clock.now(), second), later, activity=Activity.WAITING)
    two, one = await store.deliveries.get("m-2"), await store.deliveries.get("m-1")
    assert two.state is InputState.SETTLED
    assert two.reply_cursor is not None
    assert one.reply_cursor is not None
    assert two.reply_cursor > one.reply_cursor


@pytest.mark.parametrize("transcript", [True, False])
async def test_what_only_the_queue_of_a_harness_had_that_is_gone_is_not_known(
    store: Store, world: World, transcript: bool
) -> None:
    # proves: FENCE-7
    grant = grant_of(world)
    await store.seats.add_grant(grant)
    can = Capabilities(transcript=transcript)
    seat = seat_of(world, sits=occupant("n-s-1"), capabilities=can)
    await store.seats.register(grant, seat, token_of(world, "s-1"), "sha")
    here = Standing(seat="s-1", occupant=occupant("n-s-1").id, presence=Presence.LIVE)
    await taken(store, here, "m-1")
    await taken(store, here, "e-1", **ESCALATION)
    shown = await taken(store, here, "m-2")
    await synced(store, proving("r-1", world.clock.now(), shown))
    ends = SeatState.UNCERTAIN if transcript else SeatState.DELIVERED
    for name, end in (("m-1", ends), ("e-1", ends), ("m-2", SeatState.DELIVERED)):
        assert await store.mail.lapse("s-1", name, 1, gone=True) is end
    one = await store.deliveries.get("m-1")
    assert one.code == ("harness_gone" if transcript else "no_reply")


async def test_an_end_is_for_what_that_very_session_was_given(store: Store, world: World) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    now = world.clock.now()
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, event))
    assert list((await synced(store, broken("r-2", now), session="n-0")).failed) == []
    await store.seats.occupied("s-1", occupant("n-2"))
    assert list((await synced(store, broken("r-3", now), session="n-2")).failed) == []
    assert list((await synced(store, broken("r-4", now))).failed) == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ACCEPTED)


async def test_after_a_pruning_a_retired_session_writes_nowhere_and_others_write_nothing_twice(
    store: Store, world: World
) -> None:
    # proves: HAND-1, FENCE-7
    await seated(store, world)
    old = row("r-1", world.clock.now(), EntryKind.ASSISTANT, text="Before the reset")
    await synced(store, old)
    await store.conversations.reset(HEAD, None, BY)
    await store.seats.occupied("s-1", occupant("n-2"))
    new = row("r-1", world.clock.now(), EntryKind.ASSISTANT, text="After it")
    await synced(store, new, session="n-2")
    await store.seats.retire("s-1", "gone", BY)
    world.clock.shift(1)
    await store.prune(world.clock.now())
    # The session goes on in another seat; what was taken of it is known.
    await seated(store, world, "s-2", sits=occupant("n-2", pid=8))
    again = await store.mail.sync("s-2", "n-2", [new], None, LIMITS)
    assert (again.accepted, again.duplicates) == (0, 1)
    with pytest.raises(SessionConflictError):
        await store.mail.sync("s-2", SESSION, [old], None, LIMITS)
    assert [text for _, _, text in await said(store)] == ["Before the reset", "After it"]
