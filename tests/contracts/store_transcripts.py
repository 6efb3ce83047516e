"""Rows of transcripts and what they prove: what every store must do.

Whoever runs this gives the fixtures `world` and `store`.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest

from clankie.core.admission import Mode
from clankie.core.conversation import ToolPhase
from clankie.core.delivery import InputState, SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import (
    Activity,
    Entry,
    EntryKind,
    Evidence,
    Limited,
    Mishap,
    Proof,
    Report,
    SeatEvent,
    delivery_uuid,
)
from clankie.core.seat_errors import SessionConflictError
from clankie.host.seatstore import Synced
from clankie.host.storage import Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
    ESCALATION,
    LIMITS,
    given,
    occupant,
    offered,
    poll,
    seated,
    state,
    stored,
    taken,
)
from contracts.store_kit import World, admitted, log

SESSION = "n-s-1"


def row(entry: str, at: datetime, kind: EntryKind = EntryKind.USER, **more: Any) -> Entry:
    return Entry(id=entry, kind=kind, at=at, **more)


def proving(entry: str, at: datetime, event: SeatEvent, **more: Any) -> Entry:
    """A row that proves an event by the id we derived for it."""
    proof = more.pop("proof", Proof.UUID)
    value = more.pop("value", delivery_uuid(event.id, event.attempt))
    evidence = Evidence(event=event.id, attempt=event.attempt, proof=proof, value=value)
    return row(entry, at, text=more.pop("text", event.content), evidence=evidence, **more)


async def synced(
    store: Store, *entries: Entry, activity: Activity | None = None, **more: Any
) -> Synced:
    report = None if activity is None else Report(activity, more.get("at"))
    return await store.mail.sync("s-1", more.get("session", SESSION), entries, report, LIMITS)


async def said(store: Store, conversation: str = HEAD) -> list[tuple[str, str, str]]:
    """Role, author and text of the messages."""
    return [
        (one["role"], one["author"]["principal"], one["text"])
        for one in await log(store, conversation)
        if one["kind"] == "message"
    ]


async def test_each_row_is_taken_once_as_the_word_of_the_seat(store: Store, world: World) -> None:
    # proves: HAND-1
    await seated(store, world)
    now = world.clock.now()
    tool = {"call_id": "c-1", "name": "Bash", "phase": "failed", "detail": "rm -rf /"}
    rows = [
        row("r-1", now, text="Do it"),
        row("r-2", now, EntryKind.TOOL, tool=tool),
        row("r-3", now, EntryKind.ASSISTANT, text="Done"),
        row("r-4", now, EntryKind.ASSISTANT, text="  "),
        row("r-5", now, EntryKind.TOOL, tool={"phase": "odd"}),
    ]
    first = await synced(store, *rows)
    assert (first.accepted, first.duplicates) == (5, 0)
    again = await synced(store, rows[0], row("r-6", now, text="More"), rows[0])
    assert (again.accepted, again.duplicates) == (1, 2)
    assert await said(store) == [
        ("external", "seat", "Do it"),
        ("agent", "seat", "Done"),
        ("external", "seat", "More"),
    ]
    tools = [one for one in await log(store) if one["kind"] == "tool"]
    assert [(one["name"], one["phase"], one.get("detail")) for one in tools] == [
        ("Bash", ToolPhase.FAILED, "rm -rf /"),
        ("tool", ToolPhase.COMPLETED, ""),
    ]
    assert {one["source"] for one in await log(store) if one["kind"] == "message"} == {"claude"}


async def test_what_names_a_tools_call_is_one_short_clean_line(store: Store, world: World) -> None:
    # proves: SEC-4
    await seated(store, world)
    names = ("c\x1b[31m-1\n\u202eforged", "c" * 10_000)
    for n, name in enumerate(names):
        tool = {"call_id": name, "name": name, "phase": "started", "detail": name}
        await synced(store, row(f"r-{n}", world.clock.now(), EntryKind.TOOL, tool=tool))
    first, second = [one for one in await log(store) if one["kind"] == "tool"]
    assert first["call_id"] == first["name"] == first["detail"]
    assert not {"\x1b", "\n", "\u202e"} & set(first["call_id"])
    assert second["call_id"] == "c" * 200


async def test_a_row_that_proves_a_delivery_is_no_second_message(
    store: Store, world: World
) -> None:
    # proves: FENCE-7, FENCE-8
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    result = await synced(store, proving("r-1", world.clock.now(), event))
    assert list(result.proven) == ["m-1"]
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ACCEPTED)
    assert (await store.deliveries.get("m-1")).attempts[-1].proof == "uuid"
    assert await said(store) == [("owner", "operator", "Hello")]
    again = await synced(store, proving("r-2", world.clock.now(), event))
    assert list(again.proven) == []
    assert len(await said(store)) == 1


@pytest.mark.parametrize("lapses", [False, True])
async def test_a_row_proves_what_was_never_acknowledged(
    store: Store, world: World, lapses: bool
) -> None:
    # proves: FENCE-7, FENCE-8
    standing = await seated(store, world)
    event = await given(store, standing, "m-1")
    if lapses:
        await store.mail.lapse("s-1", "m-1", 1)
    proof = proving("r-1", world.clock.now(), event, proof=Proof.CLIENT_ID)
    assert list((await synced(store, proof)).proven) == ["m-1"]
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ACCEPTED)


@pytest.mark.parametrize("wrong", ["value", "attempt", "event", "none"])
async def test_what_is_not_exact_proves_nothing_and_is_the_word_of_the_seat(
    store: Store, world: World, wrong: str
) -> None:
    # proves: FENCE-7
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    now = world.clock.now()
    rows = {
        "value": proving("r-1", now, event, value=delivery_uuid("m-2", 1)),
        "attempt": row(
            "r-1",
            now,
            text="Hello",
            evidence=Evidence(
                event="m-1", attempt=2, proof=Proof.UUID, value=delivery_uuid("m-1", 2)
            ),
        ),
        "event": row(
            "r-1",
            now,
            text="Hello",
            evidence=Evidence(
                event="m-9", attempt=1, proof=Proof.UUID, value=delivery_uuid("m-9", 1)
            ),
        ),
        "none": row("r-1", now, text="Hello"),
    }
    assert list((await synced(store, rows[wrong])).proven) == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)
    assert (await said(store))[-1] == ("external", "seat", "Hello")


async def test_words_that_we_typed_are_proven_by_the_one_new_row_within_seconds(
    store: Store, world: World
) -> None:
    # proves: FENCE-7
    standing = await seated(store, world)
    event = await given(store, standing, "m-1")
    now = world.clock.now()
    late = proving(
        "r-1", now + timedelta(seconds=LIMITS.typed + 1), event, proof=Proof.TEXT, value=None
    )
    assert list((await synced(store, late)).proven) == []
    other = proving("r-2", now, event, proof=Proof.TEXT, value=None, text="Something else")
    assert list((await synced(store, other)).proven) == []
    two = [proving(f"r-{n}", now, event, proof=Proof.TEXT, value=None) for n in (3, 4)]
    assert list((await synced(store, *two)).proven) == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ATTEMPTING)
    one = proving("r-5", now, event, proof=Proof.TEXT, value=None)
    assert list((await synced(store, one)).proven) == ["m-1"]


async def test_the_same_words_twice_under_way_prove_neither(store: Store, world: World) -> None:
    # proves: FENCE-7
    standing = await seated(store, world)
    first = await given(store, standing, "m-1")
    await given(store, standing, "m-2")
    now = world.clock.now()
    claim = proving("r-1", now, first, proof=Proof.TEXT, value=None)
    assert list((await synced(store, claim)).proven) == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ATTEMPTING)


async def test_what_was_refused_is_proven_by_nothing(store: Store, world: World) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    event = await given(store, standing, "m-1")
    await store.mail.refuse("s-1", "m-1", 1, BRIDGE, "busy")
    await synced(store, proving("r-1", world.clock.now(), event))
    assert await state(store, "m-1") == (InputState.QUEUED, SeatState.REFUSED)
    assert len(await said(store)) == 2


async def test_a_proof_is_for_members_too(store: Store, world: World) -> None:
    # proves: SEAT-12
    standing = await seated(store, world)
    for n in range(2):
        await admitted(store, f"e-{n}", channel="discord-main", **ESCALATION)
    await stored(store, standing)
    (event,) = await poll(store)
    await synced(store, proving("r-1", world.clock.now(), event))
    for n in range(2):
        assert await state(store, f"e-{n}") == (InputState.RUNNING, SeatState.ACCEPTED)


async def test_a_row_may_prove_a_handoff(store: Store, world: World) -> None:
    # proves: HAND-6
    from contracts.store_handoff import driven, one_handoff, ran, spans

    await driven(store, world)
    await ran(store, "w-1", "Wake")
    event = await one_handoff(store)
    await synced(store, proving("r-1", world.clock.now(), event))
    assert await spans(store) == ["open", "attempting", "delivered"]
    assert event.content not in str(await said(store))


async def test_a_reset_retires_the_session_that_sits_there(store: Store, world: World) -> None:
    # proves: HAND-1
    standing = await seated(store, world)
    await offered(store, standing, "m-1")
    await store.conversations.reset(HEAD, None, BY)
    assert (await store.seats.get("s-1")).stale
    with pytest.raises(SessionConflictError):
        await synced(store, row("r-1", world.clock.now(), text="Late"))
    assert await poll(store) == []
    fresh = occupant("n-2")
    assert not (await store.seats.occupied("s-1", fresh)).stale
    await synced(store, row("r-1", world.clock.now(), text="Anew"), session="n-2")
    assert await state(store, "m-1") == (InputState.QUEUED, SeatState.RELEASED)


async def test_waiting_ends_what_wanted_no_reply_with_the_answer(
    store: Store, world: World
) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    await taken(store, standing, "e-1", **ESCALATION)
    now = world.clock.now()
    await synced(store, proving("r-1", now, event), activity=Activity.RESPONDING)
    seat = await store.seats.get("s-1")
    assert (seat.activity, seat.activity_session) == (Activity.RESPONDING, SESSION)
    await synced(store, row("r-2", now, EntryKind.ASSISTANT, text="First thoughts"))
    await synced(
        store,
        row("r-3", now, EntryKind.ASSISTANT, text="The answer"),
        activity=Activity.WAITING,
    )
    one = await store.deliveries.get("m-1")
    assert (one.state, one.attempts[-1].state) == (InputState.SETTLED, SeatState.DELIVERED)
    cursors = [at["cursor"] for at in await log(store) if at.get("text") == "The answer"]
    assert [one.reply_cursor] == cursors
    assert await state(store, "e-1") == (InputState.RUNNING, SeatState.TAKEN)
    assert (await store.seats.get("s-1")).activity is Activity.WAITING


async def test_an_answer_from_before_is_no_answer_to_it(store: Store, world: World) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    now = world.clock.now()
    await synced(store, row("r-1", now, EntryKind.ASSISTANT, text="Before"))
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-2", now, event), activity=Activity.WAITING)
    one = await store.deliveries.get("m-1")
    assert (one.state, one.reply_cursor) == (InputState.RUNNING, None)
    await store.mail.lapse("s-1", "m-1", 1)
    one = await store.deliveries.get("m-1")
    assert (one.state, one.reply_cursor) == (InputState.SETTLED, None)


async def test_only_the_session_that_holds_the_turn_may_end_it(store: Store, world: World) -> None:
    # proves: SEAT-15
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    now = world.clock.now()
    await synced(store, activity=Activity.RESPONDING, session=SESSION)
    await synced(store, proving("r-1", now, event), row("r-2", now, EntryKind.ASSISTANT, text="Hi"))
    await synced(store, activity=Activity.WAITING, session="n-0")
    await synced(store, activity=Activity.RESPONDING, session="n-0")
    seat = await store.seats.get("s-1")
    assert (seat.activity, seat.activity_session) == (Activity.RESPONDING, SESSION)
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ACCEPTED)
    await synced(store, activity=Activity.WAITING)
    assert await state(store, "m-1") == (InputState.SETTLED, SeatState.DELIVERED)


async def test_every_row_of_a_running_turn_is_a_sign_of_life(store: Store, world: World) -> None:
    # proves: SEAT-8, FENCE-11
    await seated(store, world)
    await synced(store, activity=Activity.RESPONDING)
    world.clock.shift(60)
    await synced(store, row("r-1", world.clock.now(), EntryKind.TOOL))
    assert (await store.seats.get("s-1")).activity_at == world.clock.now()
    world.clock.shift(60)
    await synced(store)
    assert (await store.seats.get("s-1")).activity_at != world.clock.now()


async def test_a_limit_ends_what_the_harness_had_and_leaves_what_it_may_not_have(
    store: Store, world: World
) -> None:
    # proves: LIMIT-1
    standing = await seated(store, world)
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", world.clock.now(), event))
    await taken(store, standing, "m-2")
    await given(store, standing, "m-3")
    resets = world.clock.now() + timedelta(hours=2)
    limited = Limited(window="session", occurred_at=world.clock.now(), resets_at=resets)
    result = await synced(
        store, row("r-2", world.clock.now(), EntryKind.LIMIT, limit=limited), row("r-3", resets)
    )
    assert result.limited == limited
    assert sorted(result.failed) == ["m-1", "m-2"]
    for name in ("m-1", "m-2"):
        one = await store.deliveries.get(name)
        assert (one.state, one.code) == (InputState.FAILED, "usage_limited")
        assert one.attempts[-1].state is SeatState.FAILED
    assert await state(store, "m-3") == (InputState.RUNNING, SeatState.ATTEMPTING)


async def test_an_old_limit_ends_nothing_that_came_after_it(store: Store, world: World) -> None:
    # proves: LIMIT-1
    standing = await seated(store, world)
    before = world.clock.now() - timedelta(minutes=1)
    await taken(store, standing, "m-1", mode=Mode.QUEUE)
    limited = Limited(window="weekly", occurred_at=before)
    result = await synced(store, row("r-1", before, EntryKind.LIMIT, limit=limited))
    assert (result.limited, list(result.failed)) == (limited, [])
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.TAKEN)
    nothing = await synced(store, row("r-2", before, EntryKind.LIMIT))
    assert nothing.limited is None


def broken(entry: str, at: datetime, how: Mishap = Mishap.INTERRUPTED, **more: Any) -> Entry:
    """A row by which the harness says that its turn ended without an answer."""
    return row(entry, at, EntryKind.ERROR, error=how, **more)


async def ended(store: Store, delivery: str) -> tuple[Any, ...]:
    one = await store.deliveries.get(delivery)
    return one.state, one.code, one.attempts[-1].state, one.attempts[-1].code


@pytest.mark.parametrize(
    ("how", "code"), [(Mishap.INTERRUPTED, "interrupted"), (Mishap.API_ERROR, "harness_error")]
)
async def test_an_end_that_the_harness_reports_fails_what_its_turn_has(
    store: Store, world: World, how: Mishap, code: str
) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    now = world.clock.now()
    event = await taken(store, standing, "m-1")
    await synced(store, activity=Activity.RESPONDING)
    await synced(store, proving("r-1", now, event), row("r-2", now, EntryKind.ASSISTANT, text="So"))
    await taken(store, standing, "m-2")
    await given(store, standing, "m-3")
    words = "" if how is Mishap.INTERRUPTED else "API Error: 500"
    end = broken("r-3", now, how, text=words)
    result = await synced(store, end, activity=Activity.WAITING)
    assert list(result.failed) == ["m-1"]
    assert await ended(store, "m-1") == (InputState.FAILED, code, SeatState.FAILED, code)
    assert (await store.deliveries.get("m-1")).detail == (words or None)
    # What no row shows it to have is left to its deadline.
    assert await state(store, "m-2") == (InputState.RUNNING, SeatState.TAKEN)
    assert await state(store, "m-3") == (InputState.RUNNING, SeatState.ATTEMPTING)
    told = [one for one in await log(store) if one["kind"] == "turn"]
    assert [(one["phase"], one["code"]) for one in told if one["phase"] == "failed"] == [
        ("failed", code)
    ]
    assert ("agent", "seat", "So") in await said(store)
    before = await log(store)
    again = await synced(store, end)
    assert (again.duplicates, list(again.failed)) == (1, [])
    assert await log(store) == before


async def test_an_end_that_the_owner_asked_for_is_a_cancelled_message(
    store: Store, world: World
) -> None:
    # proves: FENCE-8, FENCE-13
    standing = await seated(store, world)
    now = world.clock.now()
    for name in ("m-1", "m-2"):
        event = await taken(store, standing, name)
        await synced(store, proving(f"r-{name}", now, event), activity=Activity.RESPONDING)
    assert await store.deliveries.stop("m-1") == ("m-1", 1)
    result = await synced(store, broken("r-1", now))
    assert list(result.failed) == ["m-1", "m-2"]
    code = "interrupted"
    assert await ended(store, "m-1") == (InputState.CANCELLED, code, SeatState.FAILED, code)
    assert await ended(store, "m-2") == (InputState.FAILED, code, SeatState.FAILED, code)
    phases = [one["phase"] for one in await log(store) if one["kind"] == "turn"]
    assert phases[-2:] == ["cancelled", "failed"]


async def test_an_error_that_nobody_asked_for_is_no_cancellation(
    store: Store, world: World
) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    now = world.clock.now()
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, event))
    await store.deliveries.stop("m-1")
    await synced(store, broken("r-2", now, Mishap.API_ERROR))
    assert await state(store, "m-1") == (InputState.FAILED, SeatState.FAILED)


async def test_an_end_of_another_turn_ends_nothing_and_its_words_stand_in_the_log(
    store: Store, world: World
) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    now = world.clock.now()
    before = now - timedelta(minutes=1)
    nothing = await synced(store, broken("r-0", now, Mishap.API_ERROR, text="API Error: 529"))
    assert list(nothing.failed) == []
    assert await said(store) == [("agent", "seat", "API Error: 529")]
    event = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, event), activity=Activity.RESPONDING)
    for result in (
        await synced(store, broken("r-2", before)),
        await synced(store, broken("r-3", now), session="n-0"),
        await synced(store, row("r-4", now, EntryKind.ERROR)),
    ):
        assert list(result.failed) == []
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ACCEPTED)
    hi = row("r-6", now, EntryKind.ASSISTANT, text="Hi")
    await synced(store, hi, activity=Activity.WAITING)
    assert await state(store, "m-1") == (InputState.SETTLED, SeatState.DELIVERED)
    assert list((await synced(store, broken("r-5", now))).failed) == []
    assert await state(store, "m-1") == (InputState.SETTLED, SeatState.DELIVERED)


async def test_what_may_be_answered_after_its_turn_is_not_ended_by_a_later_one(
    store: Store, world: World
) -> None:
    # proves: FENCE-8
    standing = await seated(store, world)
    now = world.clock.now()
    first = await taken(store, standing, "e-1", **ESCALATION)
    await synced(store, proving("r-1", now, first), activity=Activity.WAITING)
    second = await taken(store, standing, "m-1")
    await synced(store, proving("r-2", now, second), activity=Activity.RESPONDING)
    assert list((await synced(store, broken("r-3", now))).failed) == ["m-1"]
    assert await state(store, "e-1") == (InputState.RUNNING, SeatState.ACCEPTED)
    assert list((await synced(store, broken("r-4", now))).failed) == ["e-1"]


@pytest.mark.parametrize(("value", "ends"), [(None, True), ("of another", False)])
async def test_an_end_that_names_an_attempt_is_for_that_one(
    store: Store, world: World, value: str | None, ends: bool
) -> None:
    # proves: FENCE-7, FENCE-8
    standing = await seated(store, world)
    now = world.clock.now()
    first = await taken(store, standing, "m-1")
    await synced(store, proving("r-1", now, first), activity=Activity.RESPONDING)
    await taken(store, standing, "m-2")
    evidence = Evidence(
        event="m-2",
        attempt=1,
        proof=Proof.CLIENT_ID,
        value=value or delivery_uuid("m-2", 1),
    )
    result = await synced(store, broken("r-2", now, Mishap.API_ERROR, evidence=evidence))
    assert list(result.failed) == (["m-2"] if ends else [])
    assert await state(store, "m-1") == (InputState.RUNNING, SeatState.ACCEPTED)
