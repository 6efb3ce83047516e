"""Native sessions begin in a seat: which are its own, and what they are told."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.admission import Mode
from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState
from clankie.core.errors import InvalidFieldError
from clankie.core.ids import HEAD
from clankie.core.seat_errors import EventNotFoundError, OccupantChangedError
from clankie.host import selfstate
from clankie.host.conversations import reset
from clankie.host.house import House
from clankie.host.seats import attachment, session
from clankie.host.seats.keeping import refresh
from clankie.host.waiting import caught
from fakes.bridge import opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.loop import virtual
from fakes.processes import FakeProcesses


@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_the_same_session_keeps_its_seat(tmp_path: Path, source: str) -> None:
    # proves: SEAT-13, SEAT-14
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            seat = await opened(hall)
            begun = await seat.starts(source=source)
            assert "# Who you are" in begun.text
            assert hall.house.seats.standing(HEAD) is not None

    scenario()


@pytest.mark.parametrize("source", ["clear", "compact"])
def test_the_same_process_going_on_under_another_id_keeps_the_attachment(
    tmp_path: Path, source: str
) -> None:
    # proves: SEAT-14
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            seat = await opened(hall)
            before = hall.house.desk.chair(seat.seat).seat.occupant.id
            await seat.starts("native-2", source=source)
            after = hall.house.desk.chair(seat.seat).seat
            assert after.occupant.id != before
            assert after.occupant.native.session_id == "native-2"
            assert after.conversation == HEAD
            await seat.poll(1)
            await hall.send("hello", "m-1")
            event = await seat.takes()
            await seat.answers(event, "hi")
            assert (await hall.ended("m-1")).state is InputState.SETTLED

    scenario()


@pytest.mark.parametrize("source", ["resume", "fork", "startup"])
def test_a_session_that_is_not_provably_the_seats_own_unbinds_it_and_says_so(
    tmp_path: Path, source: str
) -> None:
    # proves: SEAT-13, SEAT-14
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            seat = await opened(hall)
            await seat.poll(1)
            await hall.send("hello", "m-1")
            with pytest.raises(OccupantChangedError):
                await seat.starts("native-2", source=source)
            assert hall.house.seats.standing(HEAD) is None
            assert (await hall.ended("m-1", 1)).state is InputState.SETTLED
            said = [one.get("text", "") for one in await hall.log() if one["kind"] == "notice"]
            assert any("session_changed" in one for one in said)
            with pytest.raises(OccupantChangedError):
                await seat.starts("native-3", source=source)

    scenario()


@virtual
async def test_another_process_under_the_same_number_unbinds_the_seat(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-13
    processes = FakeProcesses()
    async with Machine(tmp_path, clock, processes=processes).on() as hall:
        seat = await opened(hall)
        processes.runs(100, ticks=8)
        with pytest.raises(OccupantChangedError):
            await seat.starts()
        assert hall.house.seats.standing(HEAD) is None


@virtual
async def test_an_unproven_seat_keeps_a_session_that_its_token_vouches_for(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-13
    machine = Machine(tmp_path, clock, processes=FakeProcesses(proves=False))
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.starts()
        assert hall.house.seats.standing(HEAD) is not None


@virtual
async def test_an_adopted_occupant_inherits_nothing_that_was_addressed_to_the_one_before(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-14, FENCE-6
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await hall.send("then this", "m-1", mode=Mode.QUEUE)
        await hall.send("anybody", "m-2")
        await seat.starts("native-2", source="clear")
        page = await seat.poll(1)
        assert [one.id for one in page.events] == ["m-2"]
        assert (await hall.receipt("m-1")).state is not InputState.RUNNING


@virtual
async def test_only_a_start_that_was_shown_can_be_confirmed_and_only_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        with pytest.raises(EventNotFoundError):
            await session.confirm(hall.house, seat.seat, "p-none")
        begun = [await seat.starts(confirm=False) for _ in range(5)]
        with pytest.raises(EventNotFoundError):
            await session.confirm(hall.house, seat.seat, begun[0].projection_id)
        for _ in range(2):
            await session.confirm(hall.house, seat.seat, begun[-1].projection_id)
        with pytest.raises(InvalidFieldError):
            await session.start(
                hall.house, seat.seat, session_id="native-1", source="clear", sections=("all",)
            )


@virtual
async def test_a_start_without_the_conversation_moves_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-2
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.says("I was here")
        await clock.sleep(60)
        await hall.send("wake", "m-1")
        await hall.ended("m-1")
        begun = await session.start(
            hall.house, seat.seat, session_id="native-1", source="startup", sections=("persona",)
        )
        await session.confirm(hall.house, seat.seat, begun.projection_id)
        assert (await seat.takes()).source == "service-handoff"


@virtual
async def test_a_seat_that_is_attached_nowhere_reads_no_log_and_is_told_so(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-2, SEAT-2
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("hello", "m-1")
        await hall.ended("m-1")
        seat = await opened(hall)
        await seat.detach()
        begun = await seat.starts()
        assert "# Who you are" in begun.text
        assert "drives no conversation now" in begun.text
        assert "hello" not in begun.text
        await seat.attach()
        await seat.nothing()


@virtual
async def test_what_was_shown_of_one_log_is_not_confirmed_for_another(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: HAND-2, HAND-3
    async with Machine(tmp_path, clock).on() as hall:
        side = await hall.make("side")
        first = await opened(hall, "native-2", conversation=side, pid=200)
        await first.says("I was here")
        await first.detach()
        seat = await opened(hall)
        for n in range(9):
            await seat.says(f"line {n}")
        begun = await seat.starts(confirm=False)
        await hall.send("meanwhile", "m-1", conversation=side)
        await hall.ended("m-1")
        assert await seat.attach(side) is False
        with pytest.raises(EventNotFoundError):
            await session.confirm(hall.house, seat.seat, begun.projection_id)


@virtual
async def test_a_seat_that_is_moved_as_its_session_begins_is_shown_the_log_that_it_drives(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: HAND-2, SEAT-2
    async with Machine(tmp_path, clock).on() as hall:
        side = await hall.make("side")
        first = await opened(hall, "native-2", conversation=side, pid=200)
        await first.says("I was here")
        await first.detach()
        for n in range(9):
            await hall.send(f"line {n}", f"m-{n}")
            await hall.ended(f"m-{n}")
        seat = await opened(hall)
        asked: list[str] = []
        prompt = selfstate.prompt

        async def moved(house: House, conversation: str, sections: tuple[str, ...]) -> str:
            asked.append(conversation)
            words = await prompt(house, conversation, sections)
            if conversation == HEAD:
                await seat.attach(side)
            return words

        monkeypatch.setattr(selfstate, "prompt", moved)
        begun = await seat.starts(confirm=False)
        assert asked == [HEAD, side]
        assert ("I was here" in begun.text, "line 8" in begun.text) == (True, False)
        # What comes now was not shown, and is told.
        await hall.send("meanwhile", "m-side", conversation=side)
        await hall.ended("m-side")
        await session.confirm(hall.house, seat.seat, begun.projection_id)
        assert "meanwhile" in (await seat.takes()).content


@virtual
async def test_what_is_confirmed_just_as_its_seat_is_moved_is_not_taken_for_the_other_log(
    clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: HAND-2, HAND-3
    async with Machine(tmp_path, clock).on() as hall, asyncio.TaskGroup() as tasks:
        side = await hall.make("side")
        first = await opened(hall, "native-2", conversation=side, pid=200)
        await first.says("I was here")
        await first.detach()
        await hall.send("meanwhile", "m-side", conversation=side)
        await hall.ended("m-side")
        for n in range(9):
            await hall.send(f"line {n}", f"m-{n}")
            await hall.ended(f"m-{n}")
        seat = await opened(hall)
        begun = await seat.starts(confirm=False)
        confirming: list[asyncio.Task[object]] = []

        async def late(house: House, *seats: str) -> None:
            """The move is on disk, and not known here yet."""
            work = caught(session.confirm(house, seat.seat, begun.projection_id))
            confirming.append(tasks.create_task(work))
            await clock.sleep(1)
            await refresh(house, *seats)

        monkeypatch.setattr(attachment, "refresh", late)
        await seat.attach(side)
        assert isinstance(await confirming[0], EventNotFoundError)
        assert "meanwhile" in (await seat.takes()).content


@virtual
async def test_each_bridge_is_told_once_to_let_its_harness_leave_a_retired_session(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: CONV-7, SEAT-14
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.says("one")
        # What a retired session goes on to say of its turn is not heard, so it is not waited for.
        await seat.works()
        waiting = seat.parks(poll_id="p-1")
        await clock.sleep(1)
        await reset(hall.house, HEAD, None, OPERATOR)
        await clock.sleep(0.1)
        assert page_of(waiting).renew
        # The answer was lost.
        assert (await seat.poll(poll_id="p-1")).renew
        assert not (await seat.poll(1)).renew
        seat.binding = "b-2"
        assert not (await seat.poll(0)).renew
        assert (await seat.poll(1)).renew
        await seat.starts("native-2", source="clear")
        await hall.send("hello", "m-1")
        assert (await seat.takes()).id == "m-1"
        assert hall.lane.asked == []


@virtual
async def test_a_session_that_belongs_elsewhere_is_left_when_its_turn_there_has_ended(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-14
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        await seat.works()
        side = await hall.make("side")
        await seat.attach(side)
        assert not (await seat.poll(1)).renew
        await seat.answers(event, "hi")
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert (await seat.poll(1)).renew


@virtual
async def test_a_seat_that_drives_nothing_keeps_its_retired_session(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.says("one")
        await reset(hall.house, HEAD, None, OPERATOR)
        await seat.detach()
        assert not (await seat.poll(1)).renew
