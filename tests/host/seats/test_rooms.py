"""Seats at rooms: the room stays the same room, and attaching one grants nothing."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Mode, Origin
from clankie.core.conversation import CAPTAIN, OPERATOR, Author, Kind, Principal
from clankie.core.delivery import InputState, SeatState
from clankie.core.errors import (
    ConversationReadOnlyError,
    NotAllowedError,
    StorageUnavailableError,
)
from clankie.core.seat import Activity, EntryKind
from clankie.core.seat_errors import EventNotFoundError
from clankie.host.conversations import reset
from clankie.host.storage import NewConversation
from fakes.bridge import opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.loop import virtual
from fakes.processes import FakeProcesses
from fakes.seats import FakeRooms
from fakes.trouble import pause_after, refuse, trouble

ADA = Author(Principal.ROOM, "ada")


async def room(hall: Hall, name: str = "room-1") -> str:
    new = NewConversation(id=name, request_id=name, name=name, kind=Kind.ROOM)
    made, _ = await hall.house.store.conversations.create(new, CAPTAIN)
    return made.id


async def heard(hall: Hall, place: str, text: str, name: str, origin: Origin = Origin.ROOM) -> None:
    await hall.send(text, name, conversation=place, origin=origin, author=ADA, mode=Mode.STEER)


@virtual
async def test_a_message_of_a_room_is_checked_when_it_is_given_out(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1, SEAT-2, SEAT-3
    rooms = FakeRooms()
    async with Machine(tmp_path, clock).on(rooms=rooms) as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        waiting = seat.parks()
        await clock.sleep(1)
        await heard(hall, place, "hi there", "d-1")
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        assert rooms.checked == ["d-1"]
        assert (event.id, event.kind, event.reply) == ("d-1", "message", True)
        assert '"author": "room:ada"' in event.content
        assert "hi there" in event.content
        await seat.reply(event, "hello ada")
        assert (await hall.ended("d-1")).state is InputState.SETTLED
        assert await hall.said(place) == ["hello ada"]
        assert hall.lane.asked == []


@virtual
async def test_a_message_whose_authority_is_gone_is_given_to_nobody(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-2
    rooms = FakeRooms()
    async with Machine(tmp_path, clock).on(rooms=rooms) as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        await seat.poll(1)
        await heard(hall, place, "hi there", "d-1")
        await clock.sleep(1)
        rooms.refuses = NotAllowedError("The guild took it back.")
        await seat.nothing()
        found = await hall.receipt("d-1")
        assert (found.state, found.code) == (InputState.FAILED, "not_allowed")
        assert [one.state for one in found.attempts] == [SeatState.RELEASED]
        rooms.refuses = None
        await heard(hall, place, "again", "d-2")
        assert (await seat.takes()).id == "d-2"
        rooms.refuses = ZeroDivisionError()
        await heard(hall, place, "and again", "d-3")
        await seat.nothing()
        assert (await hall.receipt("d-3")).code == "internal_error"
        assert hall.lane.asked == []


@virtual
async def test_a_check_without_an_answer_fails_its_message_and_the_poll_asks_meanwhile(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-4, SEAT-5
    rooms = FakeRooms()
    async with Machine(tmp_path, clock).on(rooms=rooms) as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        await seat.poll(1)
        await heard(hall, place, "hi there", "d-1")
        rooms.hangs(heeds=True)
        waiting = seat.parks()
        await clock.sleep(299)
        standing = hall.house.seats.standing(place)
        assert standing is not None
        assert standing.presence == "live"
        assert (await hall.receipt("d-1")).state is InputState.QUEUED
        await clock.sleep(2)
        assert (await hall.receipt("d-1")).code == "conversation_turn_stalled"
        assert page_of(waiting).events == ()


@virtual
async def test_a_message_that_comes_during_a_check_is_not_given_out_unchecked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-2, FENCE-10
    rooms = FakeRooms()
    async with Machine(tmp_path, clock).on(rooms=rooms) as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        await seat.poll(1)
        await heard(hall, place, "first", "d-1")
        rooms.hangs(heeds=True)
        waiting = seat.parks()
        await clock.sleep(1)
        await heard(hall, place, "second", "d-2")
        await clock.sleep(1)
        rooms.let_go()
        await asyncio.sleep(0)
        await clock.sleep(0.1)
        given = [one.id for one in page_of(waiting).events]
        assert given in (["d-1"], ["d-1", "d-2"])
        assert set(given) <= set(rooms.checked)


@virtual
async def test_messages_of_a_room_stay_on_the_service_lane_while_its_seat_is_unproven(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-2
    machine = Machine(tmp_path, clock, processes=FakeProcesses(proves=False))
    async with machine.on() as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        waiting = seat.parks()
        await clock.sleep(1)
        await heard(hall, place, "hi there", "d-1")
        assert (await hall.ended("d-1")).state is InputState.SETTLED
        assert hall.lane.asked == ["d-1"]
        assert not waiting.done()
        waiting.cancel()


@virtual
async def test_attaching_a_room_lets_nobody_send_or_reset_there(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-1, SEAT-2, CONV-2
    async with Machine(tmp_path, clock).on() as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        waiting = seat.parks()
        await clock.sleep(1)
        with pytest.raises(ConversationReadOnlyError):
            await hall.send("do it", "m-1", conversation=place)
        with pytest.raises(ConversationReadOnlyError):
            await reset(hall.house, place, None, OPERATOR)
        here = await hall.house.store.conversations.get(place)
        assert (here.kind, here.name) == (Kind.ROOM, "room-1")
        assert not waiting.done()
        waiting.cancel()


@virtual
async def test_a_seat_at_one_room_cannot_answer_in_another(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-2, SEAT-3
    async with Machine(tmp_path, clock).on() as hall:
        one, two = await room(hall, "room-1"), await room(hall, "room-2")
        first = await opened(hall, conversation=one)
        second = await opened(hall, "native-2", conversation=two, pid=200)
        for place, seat in ((one, first), (two, second)):
            await seat.poll(1)
            await heard(hall, place, "hi", f"d-{place}")
        theirs = await second.takes()
        with pytest.raises(EventNotFoundError):
            await first.reply(theirs, "me too")
        assert await hall.said(two) == []


@virtual
async def test_what_a_room_seat_types_is_the_rooms_log_and_no_others(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEC-4, SEAT-2, SEAT-15
    async with Machine(tmp_path, clock).on() as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        await seat.sync(
            seat.row(EntryKind.USER, "typed"),
            seat.row(EntryKind.ASSISTANT, "said"),
            activity=Activity.WAITING,
        )
        said = [(one["role"], one["text"]) for one in await hall.log(place) if one.get("role")]
        assert said == [("external", "typed"), ("agent", "said")]
        assert [one for one in await hall.log() if one.get("role")] == []


@virtual
async def test_notifications_of_a_room_reach_its_seat(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-3, SEAT-2
    async with Machine(tmp_path, clock).on() as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        await seat.poll(1)
        await heard(hall, place, "it landed", "w-1", Origin.WATCH)
        event = await seat.takes()
        assert (event.id, event.kind, event.reply) == ("w-1", "watch", False)
        assert hall.lane.asked == []


@virtual
async def test_a_message_that_comes_while_others_are_looked_up_is_given_out_too(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-3
    async with Machine(tmp_path, clock).on(rooms=FakeRooms()) as hall:
        place = await room(hall)
        seat = await opened(hall, conversation=place)
        looked, go = asyncio.Event(), asyncio.Event()
        troubled = trouble(hall.house, "mail")
        troubled.plan("offered", refuse())
        with pytest.raises(StorageUnavailableError):
            await seat.poll(1)
        troubled.plan("offered", pause_after(looked, go))
        waiting = seat.parks()
        await looked.wait()
        await heard(hall, place, "hi there", "d-1")
        await clock.sleep(1)
        go.set()
        await clock.sleep(1)
        assert [one.id for one in page_of(waiting).events] == ["d-1"]
