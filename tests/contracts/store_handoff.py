"""What a harness is told of the service's turns: what every store must do.

Whoever runs this gives the fixtures `world` and `store`.
"""

from typing import Any

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.errors import TransitionRefusedError
from clankie.core.handoff import SOURCE
from clankie.core.ids import HEAD
from clankie.core.seat import Activity, Capabilities, Entry, EntryKind, EventKind, Report, SeatEvent
from clankie.core.seat_errors import (
    EventNotFoundError,
    SeatNotFoundError,
    SeatSupersededError,
    SessionConflictError,
)
from clankie.host.seatstore import Ask
from clankie.host.storage import Outcome, Store
from contracts.seat_kit import (
    BRIDGE,
    BY,
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
from contracts.store_kit import CALL, DONE, World, admitted, log, made, started

WAKE: dict[str, Any] = {"origin": Origin.WAKE}


async def spans(store: Store, conversation: str = HEAD) -> list[str]:
    """The phases of handoffs, as the log tells them."""
    return [one["phase"] for one in await log(store, conversation) if one["kind"] == "handoff"]


async def ran(store: Store, delivery: str, text: str, answer: str = "Done.", **more: Any) -> None:
    """A turn of the service lane, from admission to answer."""
    await admitted(store, delivery, text, **(more or WAKE))
    run = await started(store)
    outcome = Outcome(state=ServiceState.COMPLETED, text=answer)
    await store.deliveries.settle(run, outcome)


async def driven(store: Store, world: World, seat: str = "s-1") -> None:
    """A harness drives the head: its session began with the log in its context."""
    await seated(store, world, seat)
    head = await store.conversations.get(HEAD)
    await store.seats.projected(seat, f"n-{seat}", head.cursor)


async def one_handoff(store: Store, poll_id: str = "p-1", **more: Any) -> SeatEvent:
    (event,) = await poll(store, poll_id=poll_id, **more)
    assert (event.source, event.kind) == (SOURCE, "message")
    return event


async def test_a_seat_that_returns_is_told_once_what_the_service_did(
    store: Store, world: World
) -> None:
    # proves: HAND-3, HAND-6
    await driven(store, world)
    await ran(store, "w-1", "Look at the build.", "It is green.")
    await admitted(store, "m-1")
    event = await one_handoff(store)
    assert event.id.startswith("h-")
    assert (event.attempt, event.reply, event.members, event.pieces) == (1, False, (), ())
    assert "external (wake): Look at the build." in event.content
    assert "It is green." in event.content
    assert await poll(store) == [event]
    assert await poll(store, poll_id="p-2") == []
    for _ in range(2):
        assert await store.mail.ack("s-1", event.id, 1, BRIDGE) is SeatState.DELIVERED
    assert await spans(store) == ["open", "attempting", "delivered"]
    assert await poll(store, poll_id="p-3") == []
    assert await state(store, "w-1") == (InputState.SETTLED, ServiceState.COMPLETED)


async def test_a_handoff_that_ended_long_ago_leaves_its_lines_in_the_log_only(
    store: Store, world: World
) -> None:
    # proves: FENCE-7, HAND-6
    await driven(store, world)
    await ran(store, "w-1", "Look at the build.", "It is green.")
    event = await one_handoff(store)
    await store.mail.ack("s-1", event.id, 1, BRIDGE)
    await world.clock.advance(1)
    await store.prune(world.clock.now())
    with pytest.raises(EventNotFoundError):
        await store.mail.ack("s-1", event.id, 1, BRIDGE)
    assert await spans(store) == ["open", "attempting", "delivered"]


async def test_the_handoff_comes_first_and_alone(store: Store, world: World) -> None:
    # proves: HAND-3, HAND-4, SEAT-10
    standing = await seated(store, world)
    await store.seats.projected("s-1", "n-s-1", 0)
    await admitted(store, "w-a", "Wake A", **WAKE)
    run = await started(store)
    await admitted(store, "w-b", "Wake B", **WAKE)
    assert await reserve(store, standing) is None
    assert await poll(store) == []
    await store.deliveries.settle(run, DONE)
    await stored(store, standing)
    event = await one_handoff(store)
    assert "Wake A" in event.content
    assert "Wake B" not in event.content
    assert await poll(store, poll_id="p-2") == []
    await store.mail.ack("s-1", event.id, 1, BRIDGE)
    assert [one.id for one in await poll(store, poll_id="p-3")] == ["w-b"]


async def test_what_the_harness_wrote_itself_is_no_part_of_it(store: Store, world: World) -> None:
    # proves: HAND-3
    await seated(store, world)
    row = Entry(id="r-1", kind=EntryKind.ASSISTANT, at=world.clock.now(), text="My own words")
    await store.mail.sync("s-1", "n-s-1", [row], None, LIMITS)
    await ran(store, "w-1", "Wake")
    event = await one_handoff(store)
    assert "My own words" not in event.content
    assert "Wake" in event.content


async def test_nothing_is_handed_off_where_no_harness_ever_drove(
    store: Store, world: World
) -> None:
    # proves: HAND-5
    await seated(store, world)
    await ran(store, "w-1", "Wake")
    assert await poll(store) == []
    assert await spans(store) == []


async def test_a_session_start_that_shows_it_all_leaves_nothing_to_tell(
    store: Store, world: World
) -> None:
    # proves: HAND-5, HAND-2
    await driven(store, world)
    await ran(store, "w-1", "Wake")
    head = await store.conversations.get(HEAD)
    await store.seats.projected("s-1", "n-s-1", head.cursor)
    assert await spans(store) == ["open", "delivered"]
    assert await poll(store) == []
    await ran(store, "w-2", "Another")
    event = await one_handoff(store, "p-2")
    assert "Another" in event.content
    assert "Wake" not in event.content


async def test_a_session_start_that_shows_a_part_leaves_the_rest(
    store: Store, world: World
) -> None:
    # proves: HAND-3, HAND-5
    await driven(store, world)
    await ran(store, "w-1", "First")
    head = await store.conversations.get(HEAD)
    await ran(store, "w-2", "Second")
    await store.seats.projected("s-1", "n-s-1", head.cursor)
    event = await one_handoff(store)
    assert "Second" in event.content
    assert "First" not in event.content


async def test_a_run_that_outlasts_the_first_session_start_is_told(
    store: Store, world: World
) -> None:
    # proves: HAND-3, HAND-4
    await admitted(store, "w-1", "Long work", **WAKE)
    run = await started(store)
    await driven(store, world)
    await store.deliveries.settle(run, DONE)
    event = await one_handoff(store)
    assert "Long work" in event.content
    assert "Here you are." in event.content


async def test_a_second_bind_with_nothing_new_is_told_nothing(store: Store, world: World) -> None:
    # proves: HAND-5
    await driven(store, world)
    await ran(store, "w-1", "Wake")
    event = await one_handoff(store)
    await store.mail.ack("s-1", event.id, 1, BRIDGE)
    assert await poll(store, poll_id="p-2", binding=OTHER) == []


async def test_a_refused_handoff_is_open_again_and_is_sealed_anew(
    store: Store, world: World
) -> None:
    # proves: HAND-6
    await driven(store, world)
    await ran(store, "w-1", "First")
    event = await one_handoff(store)
    for _ in range(2):
        assert await store.mail.refuse("s-1", event.id, 1, BRIDGE, "busy") is SeatState.REFUSED
    await ran(store, "w-2", "Second")
    again = await one_handoff(store, "p-2")
    assert (again.id, again.attempt) == (event.id, 2)
    assert "First" in again.content
    assert "Second" in again.content
    assert await store.mail.ack("s-1", event.id, 1, BRIDGE) is SeatState.REFUSED
    assert await store.mail.ack("s-1", event.id, 2, BRIDGE) is SeatState.DELIVERED
    with pytest.raises(TransitionRefusedError):
        await store.mail.refuse("s-1", event.id, 2, BRIDGE, "busy")


async def test_a_handoff_that_is_always_refused_holds_nothing_back_for_ever(
    store: Store, world: World
) -> None:
    # proves: HAND-6, SEAT-3
    standing = await seated(store, world)
    await store.seats.projected("s-1", "n-s-1", (await store.conversations.get(HEAD)).cursor)
    await ran(store, "w-1", "Wake")
    await offered(store, standing, "m-1")
    for n in (1, 2, 3):
        event = await one_handoff(store, f"p-{n}")
        assert event.attempt == n
        await store.mail.refuse("s-1", event.id, n, BRIDGE, "busy")
    assert [one.id for one in await poll(store, poll_id="p-4")] == ["m-1"]
    assert await poll(store, poll_id="p-5") == []
    await world.clock.advance(60)
    assert (await one_handoff(store, "p-6")).attempt == 4


async def test_a_harness_that_takes_no_messages_is_given_no_handoff(
    store: Store, world: World
) -> None:
    # proves: HAND-3, SEAT-3
    can = Capabilities(kinds=frozenset({EventKind.TURN}))
    standing = await seated(store, world, capabilities=can)
    await store.seats.projected("s-1", "n-s-1", (await store.conversations.get(HEAD)).cursor)
    await ran(store, "w-1", "Wake")
    await offered(store, standing, "m-1")
    assert [one.id for one in await poll(store)] == ["m-1"]
    assert await spans(store) == ["open"]


async def test_only_who_was_given_it_acknowledges_a_handoff(store: Store, world: World) -> None:
    # proves: HAND-6, FENCE-7
    await driven(store, world)
    await ran(store, "w-1", "Wake")
    event = await one_handoff(store)
    with pytest.raises(SeatSupersededError):
        await store.mail.ack("s-1", event.id, 1, OTHER)
    for attempt in (0, 2):
        with pytest.raises(EventNotFoundError):
            await store.mail.ack("s-1", event.id, attempt, BRIDGE)
    await made(store, "den")
    await seated(store, world, "s-2", "den")
    for verb in (store.mail.ack, store.mail.lapse):
        with pytest.raises(EventNotFoundError):
            await verb("s-2", event.id, 1, *([BRIDGE] if verb == store.mail.ack else []))
    with pytest.raises(EventNotFoundError):
        await store.mail.reply("s-1", event.id, 1, BRIDGE, "Thanks")
    assert await spans(store) == ["open", "attempting"]


async def test_an_unproven_handoff_is_not_sent_again_and_the_log_says_so_once(
    store: Store, world: World
) -> None:
    # proves: HAND-6
    await driven(store, world)
    await ran(store, "w-1", "Wake")
    event = await one_handoff(store)
    for _ in range(2):
        assert await store.mail.lapse("s-1", event.id, 1) is SeatState.UNCERTAIN
    assert await poll(store, poll_id="p-2") == []
    said = [one for one in await log(store) if one["kind"] == "message"][-1]
    assert (said["role"], said["source"]) == ("external", SOURCE)
    assert "may not have reached" in said["text"]
    assert await spans(store) == ["open", "attempting", "uncertain"]
    before = await log(store)
    await ran(store, "w-2", "Another")
    later = await one_handoff(store, "p-3")
    assert "Another" in later.content
    assert "may not have reached" not in later.content
    assert [one for one in before if one["kind"] == "message"][-1] == said
    # What it was is known after all; nothing is told twice.
    await store.mail.ack("s-1", event.id, 1, BRIDGE)


async def test_after_a_restart_an_exact_acknowledgement_still_tells_the_truth(
    world: World,
) -> None:
    # proves: HAND-6
    async with world.open() as first:
        await first.boot()
        await driven(first, world)
        await ran(first, "w-1", "Wake")
        event = await one_handoff(first)
    async with world.open() as second:
        await second.boot()
        for poll_id in ("p-1", "p-2"):
            assert await poll(second, poll_id=poll_id) == []
        (flying,) = await second.mail.in_flight("s-1")
        assert (flying.event.id, flying.state) == (event.id, SeatState.UNCERTAIN)
        assert flying.event.content == event.content
        assert await second.mail.ack("s-1", event.id, 1, BRIDGE) is SeatState.DELIVERED
        assert await spans(second) == ["open", "attempting", "unresolved", "delivered"]
        assert "may not" not in str(await log(second))


async def test_after_a_restart_anything_else_is_uncertain(world: World) -> None:
    # proves: HAND-6, FENCE-9
    async with world.open() as first:
        await first.boot()
        await driven(first, world)
        await ran(first, "w-1", "Wake")
        event = await one_handoff(first)
    async with world.open() as second:
        await second.boot()
        await second.mail.lapse("s-1", event.id, 1)
        assert await spans(second) == ["open", "attempting", "unresolved", "uncertain"]
        assert await poll(second, poll_id="p-2") == []
        assert str(await log(second)).count("may not have reached") == 1


async def test_turns_after_the_seal_are_the_next_handoff(store: Store, world: World) -> None:
    # proves: HAND-6
    await driven(store, world)
    await ran(store, "w-1", "First")
    event = await one_handoff(store)
    await ran(store, "w-2", "Second")
    assert await poll(store, poll_id="p-2") == []
    await store.mail.ack("s-1", event.id, 1, BRIDGE)
    later = await one_handoff(store, "p-3")
    assert later.id != event.id
    assert "Second" in later.content
    assert "First" not in later.content
    assert await spans(store) == ["open", "attempting", "delivered", "open", "attempting"]


async def test_a_handoff_says_how_turns_ended_that_have_no_answer(
    store: Store, world: World
) -> None:
    # proves: HAND-3
    await driven(store, world)
    await admitted(store, "w-1", "Try it", **WAKE)
    run = await started(store)
    await store.deliveries.tool_started(run, CALL)
    await store.deliveries.tool_ended(run, CALL, ok=True, detail="wrote a file")
    failed = Outcome(state=ServiceState.FAILED, code="model_down")
    await store.deliveries.settle(run, failed)
    content = (await one_handoff(store)).content
    for words in ("Try it", "wrote a file", "turn failed: model_down"):
        assert words in content


async def test_a_handoff_holds_whole_turns_within_its_budget(store: Store, world: World) -> None:
    # proves: HAND-3
    await driven(store, world)
    for n in range(4):
        await ran(store, f"w-{n}", f"Wake {n}", f"{n}" * 500)
    ask = Ask(binding=BRIDGE, poll_id="p-1")
    taken = await store.mail.take("s-1", ask, limits=LIMITS, budget=1_500)
    content = taken.events[0].content
    assert len(content) <= 1_500
    assert "3" * 500 in content
    assert "Wake 0" not in content
    assert "earlier turns left out, cursors" in content


async def test_members_of_a_run_stand_in_its_turn(store: Store, world: World) -> None:
    # proves: HAND-3
    await driven(store, world)
    await admitted(store, "w-1", "Begin", **WAKE)
    run = await started(store)
    await admitted(store, "m-1", "And this", mode="steer")
    await store.deliveries.join(run)
    await store.deliveries.settle(run, DONE)
    content = (await one_handoff(store)).content
    assert content.index("Begin") < content.index("And this") < content.index("Here you are.")


async def test_a_reset_empties_what_was_to_be_told(store: Store, world: World) -> None:
    # proves: HAND-6
    standing = await seated(store, world)
    await store.seats.projected("s-1", "n-s-1", 0)
    await given(store, standing, "m-0")
    await offered(store, standing, "m-1")
    await store.seats.detach("s-1", "away", BY)
    await ran(store, "w-1", "Wake")
    await store.seats.attach("s-1", HEAD, None, BY)
    await store.conversations.reset(HEAD, None, BY)
    assert await spans(store) == ["open", "none"]
    assert await state(store, "m-0") == (InputState.RUNNING, SeatState.ATTEMPTING)
    seat = await store.seats.get("s-1")
    assert seat.stale
    assert await poll(store) == []
    with pytest.raises(SessionConflictError):
        await store.seats.projected("s-1", "n-s-1", 0)
    with pytest.raises(SessionConflictError):
        await store.mail.sync("s-1", "n-s-1", [], Report(Activity.WAITING), LIMITS)


async def test_words_of_before_a_reset_that_are_acknowledged_late_bring_nothing_back(
    store: Store, world: World
) -> None:
    # proves: HAND-6
    standing = await seated(store, world)
    event = await given(store, standing, "m-1")
    await ran(store, "w-1", "Wake of before")
    await store.conversations.reset(HEAD, None, BY)
    # The first that this harness ever showed.
    await store.mail.ack("s-1", event.id, 1, BRIDGE)
    await seated(store, world, "s-2", expected="s-1")
    assert await poll(store, "s-2") == []
    assert "open" not in await spans(store)


async def test_a_handoff_under_way_survives_a_reset(store: Store, world: World) -> None:
    # proves: HAND-6
    await driven(store, world)
    await ran(store, "w-1", "Wake")
    event = await one_handoff(store)
    await store.conversations.reset(HEAD, None, BY)
    assert await store.mail.ack("s-1", event.id, 1, BRIDGE) is SeatState.DELIVERED
    assert await spans(store) == ["open", "attempting", "delivered"]


async def test_another_seat_takes_over_what_was_not_told(store: Store, world: World) -> None:
    # proves: HAND-6
    await driven(store, world)
    await ran(store, "w-1", "Wake")
    await seated(store, world, "s-2", expected="s-1")
    event = await one_handoff(store, seat="s-2")
    assert "Wake" in event.content


async def test_only_who_sits_there_moves_the_cursor(store: Store, world: World) -> None:
    # proves: HAND-2
    await seated(store, world)
    await store.seats.detach("s-1", "away", BY)
    with pytest.raises(SeatNotFoundError):
        await store.seats.projected("s-1", "n-s-1", 0)


async def test_closing_ends_what_was_to_be_told(store: Store, world: World) -> None:
    await made(store, "den")
    await seated(store, world, conversation="den")
    await store.seats.projected("s-1", "n-s-1", 0)
    await admitted(store, "w-1", "Wake", conversation="den", **WAKE)
    await store.deliveries.settle(await started(store, "den"), DONE)
    event = await one_handoff(store)
    await admitted(store, "w-2", "More", conversation="den", **WAKE)
    await store.deliveries.settle(await started(store, "den"), DONE)
    await store.conversations.close("den", BY)
    assert await spans(store, "den") == ["open", "attempting", "uncertain"]
    await store.conversations.purge("den")
    assert await store.mail.ack("s-1", event.id, 1, BRIDGE) is SeatState.DELIVERED
