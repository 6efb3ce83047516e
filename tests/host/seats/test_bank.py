"""The tools of a seat: its own conversation, where that one may look, and nobody else's grants."""

import json
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import CAPTAIN, OPERATOR, Kind
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import (
    ConversationClosedError,
    ConversationNotFoundError,
    DeliveryConflictError,
    DeliveryNotFoundError,
    InvalidFieldError,
    TransitionRefusedError,
)
from clankie.core.seat_errors import EventNotFoundError, SeatNotFoundError
from clankie.core.wake import WakeLimitError
from clankie.host import conversations
from clankie.host.seats import bank
from clankie.host.storage import NewConversation
from fakes.bridge import Bridge, opened
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine, die
from fakes.loop import virtual

MINUTE = timedelta(minutes=1)


async def room(hall: Hall, name: str = "room-1") -> str:
    new = NewConversation(id=name, request_id=name, name=name, kind=Kind.ROOM)
    made, _ = await hall.house.store.conversations.create(new, CAPTAIN)
    return made.id


def forget_the_beginning(home: Path, conversation: str) -> None:
    """As a service that keeps logs for a while only would leave it."""
    (path,) = home.rglob("*.db")
    database = apsw.Connection(str(path))
    oldest = "UPDATE conversation SET oldest = cursor WHERE id = ?"
    database.execute(oldest, (conversation,))
    database.execute("UPDATE watch SET since = 0")
    database.close()


@virtual
async def test_a_seat_sees_itself_and_its_conversation(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-2, BASE-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        state = await bank.self_state(hall.house, seat.seat)
        assert state["seat"] == {
            "id": seat.seat,
            "harness": "claude",
            "state": "absent",
            "proven": True,
        }
        assert json.dumps(state)
        await seat.detach()
        with pytest.raises(SeatNotFoundError):
            await bank.self_state(hall.house, seat.seat)


@virtual
async def test_a_reply_through_the_tools_answers_what_this_seat_was_given(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-3, SEAT-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        other = await opened(hall, "native-2", conversation=await hall.make("side"), pid=200)
        await seat.poll(1)
        await hall.send("done?", "e-1", origin=Origin.ESCALATION)
        await clock.sleep(0.1)
        with pytest.raises(EventNotFoundError):
            await bank.reply(hall.house, seat.seat, "e-1", "too early")
        await seat.takes()
        with pytest.raises(EventNotFoundError):
            await bank.reply(hall.house, other.seat, "e-1", "not mine")
        for name in ("e-9", "h-9"):
            with pytest.raises(EventNotFoundError):
                await bank.reply(hall.house, seat.seat, name, "to nothing")
        assert await bank.reply(hall.house, seat.seat, "e-1", "yes") is SeatState.REPLIED
        assert await bank.reply(hall.house, seat.seat, "e-1", "yes") is SeatState.REPLIED
        with pytest.raises(DeliveryConflictError):
            await bank.reply(hall.house, seat.seat, "e-1", "no")
        assert await hall.said() == ["yes"]


@virtual
async def test_a_late_reply_without_proof_publishes_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7, SEAT-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("done?", "e-1", origin=Origin.ESCALATION)
        event = await seat.given()
        await clock.sleep(61)
        with pytest.raises(TransitionRefusedError):
            await bank.reply(hall.house, seat.seat, "e-1", "yes")
        assert await hall.said() == []
        # Proven to have arrived, it may be answered.
        await seat.ack(event)
        await bank.reply(hall.house, seat.seat, "e-1", "yes")
        assert (await hall.receipt("e-1")).state is InputState.SETTLED


@virtual
async def test_a_call_that_is_repeated_is_told_of_the_wake_that_it_set(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        due = clock.now() + MINUTE
        wake = await bank.schedule_wake(hall.house, seat.seat, due, "look", "call-0")
        assert (wake.due_at, wake.text) == (due, "look")
        again = await bank.schedule_wake(hall.house, seat.seat, due + MINUTE, "again", "call-0")
        assert again == wake


@virtual
async def test_wakes_that_lead_to_wakes_are_counted_across_a_seat(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)

        async def sets(name: str) -> str:
            due = clock.now() + MINUTE
            wake = await bank.schedule_wake(hall.house, seat.seat, due, "look again", name)
            return f"captain/{wake.id}"

        name = await sets("call-0")
        assert await sets("call-0") == name
        for number in range(1, 11):
            while not (page := await seat.poll()).events:
                pass
            (event,) = page.events
            assert event.id == name
            await seat.ack(event)
            if number < 10:
                name = await sets(f"call-{number}")
        with pytest.raises(WakeLimitError):
            await sets("call-10")
        with pytest.raises(WakeLimitError):
            await bank.watch(hall.house, seat.seat, conversation="global-default", call_id="w")
        await hall.send("hello", "m-1")
        await seat.takes()
        await sets("call-11")
        assert hall.lane.asked == []


@virtual
async def test_a_conversation_is_watched_until_somebody_answers_there(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-3, FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        await hall.send("before", "m-0", conversation=place)
        await hall.ended("m-0")
        seat = await opened(hall)
        for _ in range(2):
            await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-1")
        assert len(await hall.house.store.watches.all()) == 1
        await seat.nothing()
        await hall.send("now", "m-1", conversation=place)
        event = await seat.takes()
        assert event.kind == "watch"
        assert place in event.content
        assert await hall.house.store.watches.all() == []
        await hall.send("again", "m-2", conversation=place)
        await seat.nothing()


@virtual
async def test_a_delivery_is_watched_until_it_has_ended(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-3
    async with Machine(tmp_path, clock).on() as hall:
        place = await hall.make("side")
        worker = await opened(hall, "native-2", conversation=place, pid=200)
        await worker.poll(1)
        await hall.send("work", "m-1", conversation=place)
        given = await worker.takes()
        seat = await opened(hall)
        await bank.watch(hall.house, seat.seat, delivery="m-1", call_id="c-1")
        await seat.nothing()
        await worker.answers(given, "done")
        assert "m-1" in (await seat.takes()).content


@virtual
async def test_a_watch_outlives_a_restart_and_a_conversation_that_is_full(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-1")
        die()
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, polls=10)
        await hall.send("now", "m-1", conversation=place)
        assert (await seat.takes()).kind == "watch"


@virtual
async def test_a_closed_conversation_watches_nothing_any_more(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    async with Machine(tmp_path, clock).on() as hall:
        place, here = await hall.make("side"), await hall.make("here")
        seat = await opened(hall, conversation=here)
        await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-1")
        (watch,) = await hall.house.store.watches.all()
        await conversations.close(hall.house, here, OPERATOR)
        with pytest.raises(ConversationClosedError):
            await hall.house.store.watches.add(watch)
        await hall.send("now", "m-1", conversation=place)
        await hall.ended("m-1")
        await clock.sleep(60)
        assert await hall.house.store.watches.all() == []


@virtual
async def test_a_watch_of_what_is_not_kept_any_more_ends(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-1, CONV-4
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        place = await hall.make("side")
        seat = await opened(hall)
        await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-1")
        await hall.send("now", "m-1", conversation=place)
        die()
    forget_the_beginning(tmp_path, place)
    async with machine.on() as hall:
        seat = Bridge(hall, seat.seat, seat.native, polls=10)
        assert (await seat.takes()).kind == "watch"


@virtual
async def test_what_may_be_watched_and_how_much(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-2, SERV-8
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        with pytest.raises(InvalidFieldError):
            await bank.watch(hall.house, seat.seat, call_id="c-1")
        with pytest.raises(InvalidFieldError):
            await bank.watch(hall.house, seat.seat, conversation="a", delivery="b", call_id="c-1")
        with pytest.raises(ConversationNotFoundError):
            await bank.watch(hall.house, seat.seat, conversation="c-none", call_id="c-1")
        with pytest.raises(DeliveryNotFoundError):
            await bank.watch(hall.house, seat.seat, delivery="m-none", call_id="c-1")
        place = await hall.make("side")
        for number in range(20):
            await bank.watch(hall.house, seat.seat, conversation=place, call_id=f"c-{number}")
        with pytest.raises(WakeLimitError):
            await bank.watch(hall.house, seat.seat, conversation=place, call_id="c-20")


@virtual
async def test_a_seat_at_a_room_sees_that_room_alone(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-2, ROOM-6
    async with Machine(tmp_path, clock).on() as hall:
        first, second = await room(hall, "room-1"), await room(hall, "room-2")
        await hall.send("private", "m-1")
        await hall.ended("m-1")
        seat = await opened(hall, conversation=first)
        await bank.read_conversation(hall.house, seat.seat, None, None, 10)
        await bank.observe_room(hall.house, seat.seat, first, limit=10)
        for elsewhere in ("global-default", second):
            with pytest.raises(ConversationNotFoundError):
                await bank.read_conversation(hall.house, seat.seat, elsewhere, None, 10)
            with pytest.raises(ConversationNotFoundError):
                await bank.observe_room(hall.house, seat.seat, elsewhere, limit=10)
            with pytest.raises(ConversationNotFoundError):
                await bank.watch(hall.house, seat.seat, conversation=elsewhere, call_id="c")
        with pytest.raises(DeliveryNotFoundError):
            await bank.watch(hall.house, seat.seat, delivery="m-1", call_id="c")


@virtual
async def test_the_owners_seat_reads_its_log_and_observes_rooms(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-2, ROOM-6
    async with Machine(tmp_path, clock).on() as hall:
        place = await room(hall)
        await hall.send("in the room", "d-1", origin=Origin.ROOM, conversation=place)
        await hall.ended("d-1")
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        seat = await opened(hall)
        page = await bank.observe_room(hall.house, seat.seat, place, limit=10)
        assert "in the room" in b"".join(one.data for one in page.events).decode()
        page = await bank.read_conversation(hall.house, seat.seat, None, 3, 10)
        assert [one.cursor for one in page.events] == [1, 2]
