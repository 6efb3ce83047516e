"""The native turn of a seat, and which deliveries end with it: what every store must do.

Whoever runs this gives the fixtures `world` and `store`.
"""

from datetime import timedelta

import pytest

from clankie.core.delivery import InputState, SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, EntryKind, Report
from clankie.host.seatstore import Synced
from clankie.host.storage import Store
from contracts.seat_kit import BRIDGE, LIMITS, occupant, seated, state, taken
from contracts.store_handoff import one_handoff, ran
from contracts.store_kit import World, log
from contracts.store_transcripts import proving, row, said, synced

TAKEN = (InputState.RUNNING, SeatState.TAKEN)
ACCEPTED = (InputState.RUNNING, SeatState.ACCEPTED)
ENDED = (InputState.SETTLED, SeatState.DELIVERED)


async def answer(store: Store, delivery: str) -> str | None:
    """The words at the place that the receipt names as the answer."""
    at = (await store.deliveries.get(delivery)).reply_cursor
    return next((one["text"] for one in await log(store) if one["cursor"] == at), None)


async def says(store: Store, world: World, entry: str, text: str) -> Synced:
    """The turn that runs has said its last, and is over."""
    said = row(entry, world.clock.now(), EntryKind.ASSISTANT, text=text)
    return await synced(store, said, activity=Activity.WAITING)


@pytest.mark.parametrize("reported", [False, True])
async def test_the_turn_of_a_handoff_is_no_answer_to_a_message_that_came_meanwhile(
    store: Store, world: World, reported: bool
) -> None:
    # proves: SEAT-15, FENCE-7, HAND-6
    standing = await seated(store, world)
    head = await store.conversations.get(HEAD)
    await store.seats.projected("s-1", "n-s-1", head.cursor)
    await ran(store, "w-1", "Look at the build.")
    handoff = await one_handoff(store)
    await store.mail.ack("s-1", handoff.id, 1, BRIDGE)
    event = await taken(store, standing, "m-1")
    world.clock.shift(1)
    now = world.clock.now()
    if reported:
        await synced(store, proving("r-1", now, handoff), activity=Activity.RESPONDING)
    await synced(
        store,
        proving("r-1", now, handoff),
        row("r-2", now, EntryKind.ASSISTANT, text="I know of the build now"),
        activity=Activity.WAITING,
    )
    assert await state(store, "m-1") == TAKEN
    await synced(
        store,
        proving("r-3", now, event),
        row("r-4", now, EntryKind.ASSISTANT, text="Hello to you"),
        activity=Activity.WAITING,
    )
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") == "Hello to you"


async def test_what_a_person_typed_is_no_turn_of_a_message_that_waits_behind_it(
    store: Store, world: World
) -> None:
    # proves: SEAT-15, FENCE-7
    standing = await seated(store, world)
    await synced(store, activity=Activity.RESPONDING)
    event = await taken(store, standing, "m-1")
    world.clock.shift(1)
    now = world.clock.now()
    await synced(store, row("r-1", now, text="By hand"))
    await says(store, world, "r-2", "To the person")
    assert await state(store, "m-1") == TAKEN
    # Nor is a turn that began after it was taken, as long as no row shows its words.
    await synced(store, row("r-3", now, text="And again"), activity=Activity.RESPONDING)
    await says(store, world, "r-4", "To the person again")
    assert await state(store, "m-1") == TAKEN
    await synced(store, proving("r-5", now, event), activity=Activity.RESPONDING)
    await says(store, world, "r-6", "To the owner")
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") == "To the owner"


async def test_what_no_row_ever_shows_is_over_when_its_time_is(store: Store, world: World) -> None:
    # proves: SEAT-15, FENCE-11
    standing = await seated(store, world)
    await taken(store, standing, "m-1")
    await synced(store, activity=Activity.RESPONDING)
    await says(store, world, "r-1", "Of whom, nobody knows")
    assert await state(store, "m-1") == TAKEN
    await store.mail.lapse("s-1", "m-1", 1)
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") is None


async def test_a_message_that_joins_a_turn_is_answered_by_what_that_turn_says_then(
    store: Store, world: World
) -> None:
    # proves: SEAT-11, SEAT-15
    standing = await seated(store, world)
    now = world.clock.now()
    first = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, first), activity=Activity.RESPONDING)
    await synced(store, row("r-2", now, EntryKind.ASSISTANT, text="Let me see"))
    second = await taken(store, standing, "m-2")
    await synced(store, proving("r-3", now, second))
    await says(store, world, "r-4", "Both are done")
    assert [await state(store, name) for name in ("m-1", "m-2")] == [ENDED, ENDED]
    assert [await answer(store, name) for name in ("m-1", "m-2")] == ["Both are done"] * 2


async def test_words_before_those_of_a_message_are_no_answer_to_it(
    store: Store, world: World
) -> None:
    # proves: SEAT-15, FENCE-7
    standing = await seated(store, world)
    now = world.clock.now()
    first = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, first), activity=Activity.RESPONDING)
    second = await taken(store, standing, "m-2")
    # The end of the first turn is told late: the row of the second is there already.
    await synced(
        store,
        row("r-2", now, EntryKind.ASSISTANT, text="The first answer"),
        proving("r-3", now, second),
        activity=Activity.WAITING,
    )
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") == "The first answer"
    assert await state(store, "m-2") == ACCEPTED
    await says(store, world, "r-4", "The second answer")
    assert await state(store, "m-2") == ENDED
    assert await answer(store, "m-2") == "The second answer"


@pytest.mark.parametrize("known", [True, False])
async def test_an_end_that_is_told_late_is_none_of_a_turn_that_began_meanwhile(
    store: Store, world: World, known: bool
) -> None:
    # proves: SEAT-15, FENCE-7
    standing = await seated(store, world)
    first = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", world.clock.now(), first), activity=Activity.RESPONDING)
    reply = row("r-2", world.clock.now(), EntryKind.ASSISTANT, text="The first answer")
    over = world.clock.now()
    # One of those who tell of the end may be in time; another is not.
    await synced(store, reply, activity=Activity.WAITING if known else None, at=over)
    second = await taken(store, standing, "m-2")
    world.clock.shift(1)
    begun = proving("r-3", world.clock.now(), second)
    await synced(store, begun, activity=Activity.RESPONDING)
    await synced(store, row("r-4", world.clock.now(), EntryKind.ASSISTANT, text="Let me see"))
    await synced(store, activity=Activity.WAITING, at=over)
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") == "The first answer"
    assert await state(store, "m-2") == ACCEPTED
    assert (await store.seats.get("s-1")).activity is Activity.RESPONDING
    # What steers that turn does not end it, as nobody told its end.
    third = await taken(store, standing, "m-3")
    world.clock.shift(1)
    await synced(store, proving("r-5", world.clock.now(), third))
    assert await state(store, "m-2") == ACCEPTED
    last = row("r-6", world.clock.now(), EntryKind.ASSISTANT, text="Both are done")
    await synced(store, last, activity=Activity.WAITING, at=world.clock.now())
    assert [await state(store, name) for name in ("m-2", "m-3")] == [ENDED, ENDED]
    assert [await answer(store, name) for name in ("m-2", "m-3")] == ["Both are done"] * 2


async def test_a_silent_turn_whose_end_is_told_late_gets_no_later_turns_answer(
    store: Store, world: World
) -> None:
    # proves: SEAT-15, FENCE-7
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    over = world.clock.now()
    await synced(store, proving("r-1", over, event), activity=Activity.RESPONDING)
    world.clock.shift(1)
    await synced(store, row("r-2", world.clock.now(), text="By hand"))
    await synced(store, row("r-3", world.clock.now(), EntryKind.ASSISTANT, text="To the person"))
    await synced(store, activity=Activity.WAITING, at=over)
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") is None
    await synced(store, activity=Activity.WAITING, at=world.clock.now())
    assert (await store.seats.get("s-1")).activity is Activity.WAITING


@pytest.mark.parametrize("strange", [True, False])
async def test_words_of_a_clock_that_was_ahead_keep_no_turn_from_ending(
    store: Store, world: World, strange: bool
) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    at = world.clock.now() + timedelta(days=9) if strange else world.clock.now()
    await synced(store, proving("r-1", at, event), activity=Activity.RESPONDING)
    # The clock of the machine is set back, or it was only the row's.
    world.clock.shift(1 if strange else -3_600)
    reply = row("r-2", world.clock.now(), EntryKind.ASSISTANT, text="The answer")
    await synced(store, reply, activity=Activity.WAITING, at=world.clock.now())
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") == "The answer"
    assert (await store.seats.get("s-1")).activity is Activity.WAITING


async def test_of_very_many_words_in_one_turn_the_newest_are_told_from_a_late_end(
    store: Store, world: World
) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    await synced(store, activity=Activity.RESPONDING)
    now, over = world.clock.now(), world.clock.now() - timedelta(seconds=1)
    await synced(store, *(row(f"r-{n}", now, text=f"Typed {n}") for n in range(100)))
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-m", now, event))
    await synced(store, row("r-s", now, EntryKind.ASSISTANT, text="Let me see"))
    await synced(store, activity=Activity.WAITING, at=over)
    assert await state(store, "m-1") == ACCEPTED
    await says(store, world, "r-a", "Done")
    assert await answer(store, "m-1") == "Done"


async def test_a_turn_that_said_nothing_gets_no_later_turns_answer(
    store: Store, world: World
) -> None:
    # proves: SEAT-15, FENCE-7
    standing = await seated(store, world)
    now = world.clock.now()
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, event), activity=Activity.RESPONDING)
    await synced(store, activity=Activity.WAITING)
    assert await state(store, "m-1") == ACCEPTED
    await synced(store, row("r-2", now, text="By hand"), activity=Activity.RESPONDING)
    assert await state(store, "m-1") == ENDED
    await says(store, world, "r-3", "To the person")
    assert await answer(store, "m-1") is None


async def test_an_answer_that_is_written_after_the_end_of_its_turn_is_told_counts(
    store: Store, world: World
) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    now = world.clock.now()
    first = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, first), activity=Activity.WAITING)
    await synced(store, row("r-2", now, EntryKind.ASSISTANT, text="The first answer"))
    assert await state(store, "m-1") == ACCEPTED
    second = await taken(store, standing, "m-2")
    await synced(store, proving("r-3", now, second), activity=Activity.RESPONDING)
    await says(store, world, "r-4", "The second answer")
    assert [await answer(store, name) for name in ("m-1", "m-2")] == [
        "The first answer",
        "The second answer",
    ]


async def test_another_session_of_a_seat_answers_nothing_that_the_one_before_was_given(
    store: Store, world: World
) -> None:
    # proves: SEAT-15, FENCE-7
    standing = await seated(store, world)
    now = world.clock.now()
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, event), activity=Activity.RESPONDING)
    await store.seats.occupied("s-1", occupant("n-2"))
    for n, text in enumerate(("Anew", "And on")):
        typed = row(f"r-{n}", now, text="By hand")
        said = row(f"r-{n}-a", now, EntryKind.ASSISTANT, text=text)
        await synced(store, typed, said, activity=Activity.WAITING, session="n-2")
    assert await state(store, "m-1") == ACCEPTED
    await store.mail.lapse("s-1", "m-1", 1)
    assert await answer(store, "m-1") is None


@pytest.mark.parametrize("same", [True, False])
async def test_what_an_earlier_seat_of_the_session_was_given_is_no_second_message(
    store: Store, world: World, same: bool
) -> None:
    # proves: CONV-3, FENCE-7
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    # Its process died before the row was sent; the session is resumed, in another seat.
    session = "n-s-1" if same else "n-other"
    await seated(store, world, "s-2", sits=occupant(session, pid=8), expected="s-1")
    proof = proving("r-1", world.clock.now(), event)
    synced = await store.mail.sync("s-2", session, [proof], None, LIMITS)
    assert (synced.accepted, list(synced.proven)) == (1, [])
    words = [("owner", "Hello")] if same else [("owner", "Hello"), ("external", "Hello")]
    assert [(role, text) for role, _, text in await said(store)] == words
    assert await state(store, "m-1") == TAKEN


async def test_what_a_session_says_in_another_seat_is_no_answer_to_what_the_first_was_given(
    store: Store, world: World
) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    now = world.clock.now()
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, event), activity=Activity.RESPONDING)
    await seated(store, world, "s-2", sits=occupant("n-s-1", pid=8), expected="s-1")
    said = [row("r-2", now), row("r-3", now, EntryKind.ASSISTANT, text="To the person")]
    await store.mail.sync("s-2", "n-s-1", said, Report(Activity.WAITING), LIMITS)
    await store.mail.sync("s-1", "n-s-1", [], Report(Activity.WAITING), LIMITS)
    assert await state(store, "m-1") == ACCEPTED
    await store.mail.sync("s-1", "n-s-1", [row("r-4", now)], None, LIMITS)
    assert await state(store, "m-1") == ENDED
    assert await answer(store, "m-1") is None


async def test_a_handoff_that_an_earlier_seat_of_the_session_was_given_is_no_message(
    store: Store, world: World
) -> None:
    # proves: HAND-6
    await seated(store, world)
    head = await store.conversations.get(HEAD)
    await store.seats.projected("s-1", "n-s-1", head.cursor)
    await ran(store, "w-1", "Look at the build.")
    handoff = await one_handoff(store)
    before = await said(store)
    await seated(store, world, "s-2", sits=occupant("n-s-1", pid=8), expected="s-1")
    proof = proving("r-1", world.clock.now(), handoff)
    await store.mail.sync("s-2", "n-s-1", [proof], None, LIMITS)
    assert await said(store) == before
