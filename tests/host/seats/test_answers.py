"""What a seat says of its events, and what becomes of them when it says nothing."""

from pathlib import Path

import pytest

from clankie.core.admission import Origin
from clankie.core.delivery import InputState, SeatState, ServiceState
from clankie.core.errors import DeliveryConflictError, TransitionRefusedError
from clankie.core.seat import Activity, EntryKind, refusal
from clankie.core.seat_errors import EventNotFoundError, SeatSupersededError
from clankie.host.seats import answers
from fakes.bridge import Bridge, opened
from fakes.clock import FakeClock
from fakes.hall import Machine, die
from fakes.loop import virtual
from fakes.processes import FakeProcesses


@virtual
async def test_a_reply_answers_its_event_once_and_in_the_log(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-3, SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
        event = await seat.given()
        assert event.reply
        assert await seat.reply(event, "yes") is SeatState.REPLIED
        assert await seat.reply(event, "yes") is SeatState.REPLIED
        with pytest.raises(DeliveryConflictError):
            await seat.reply(event, "no")
        found = await hall.ended("e-1")
        assert (found.state, found.attempts[0].state) == (InputState.SETTLED, SeatState.REPLIED)
        assert await hall.said() == ["yes"]
        (said,) = [one for one in await hall.log() if one.get("role") == "agent"]
        assert said["author"] == {"principal": "seat", "id": seat.seat}
        assert said["delivery_id"] == "e-1"
        assert hall.lane.asked == []


@virtual
async def test_an_answer_to_nothing_publishes_nothing(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEAT-3, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        turn = await seat.takes()
        # An owner's turn is answered by the transcript.
        with pytest.raises(TransitionRefusedError):
            await seat.reply(turn, "hi")
        await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
        event = await seat.given()
        for name, attempt in (("e-9", 1), ("e-1", 2)):
            with pytest.raises(EventNotFoundError):
                await answers.reply(
                    hall.house, seat.seat, name, attempt=attempt, binding=seat.binding, text="x"
                )
        with pytest.raises(SeatSupersededError):
            await answers.reply(hall.house, seat.seat, "e-1", attempt=1, binding="b-9", text="x")
        other = await opened(hall, "native-2", conversation=await hall.make("side"), pid=200)
        with pytest.raises(EventNotFoundError):
            await answers.reply(
                hall.house, other.seat, "e-1", attempt=1, binding=seat.binding, text="x"
            )
        assert await hall.said() == []
        assert await seat.ack(event) is SeatState.TAKEN


@virtual
async def test_what_a_seat_refuses_goes_to_the_service_lane_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-5, SEAT-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        assert await seat.refuse(event, "a dialog is open") is SeatState.REFUSED
        assert await seat.refuse(event, "a dialog is open") is SeatState.REFUSED
        found = await hall.ended("m-1")
        assert [one.state for one in found.attempts] == [
            SeatState.REFUSED,
            ServiceState.COMPLETED,
        ]
        assert found.attempts[0].code == "a dialog is open"
        assert hall.lane.asked == ["m-1"]
        assert await seat.ack(event) is SeatState.REFUSED
        # No harness ever drove here: it is told nothing of what the service did.
        assert (await seat.poll(1)).events == ()
        # The owner, who saw it go there, reads once that it did not stay there.
        (said,) = [one for one in await hall.log() if one.get("code") == "seat_refused"]
        assert said["text"] == refusal("claude", "a dialog is open")
        assert said["delivery_id"] == "m-1"


@virtual
async def test_what_was_taken_cannot_be_refused(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-4
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.takes()
        with pytest.raises(TransitionRefusedError):
            await seat.refuse(event)
        assert (await hall.receipt("m-1")).attempts[0].state is SeatState.TAKEN
        assert hall.lane.asked == []


@virtual
async def test_signed_activity_is_offered_again_at_the_next_poll_after_a_refusal(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-1, FENCE-2
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("issue 7", "l-1", origin=Origin.LINEAR)
        seat = await opened(hall)
        event = await seat.given()
        assert (event.id, event.kind) == ("l-1", "wake")
        await seat.refuse(event)
        await clock.sleep(1)
        again = await seat.given()
        assert (again.id, again.attempt) == ("l-1", 2)
        # It goes nowhere else, so nothing is said each time.
        assert not [one for one in await hall.log() if one.get("code") == "seat_refused"]
        await seat.ack(again)
        await seat.nothing()
        assert hall.lane.asked == []


@virtual
async def test_what_is_not_acknowledged_in_time_is_uncertain_and_never_sent_again(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11, FENCE-4, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("hello", "m-1")
        event = await seat.given()
        await clock.sleep(59.9)
        assert (await hall.receipt("m-1")).state is InputState.RUNNING
        await clock.sleep(0.2)
        found = await hall.receipt("m-1")
        assert (found.state, found.attempts[0].state) == (
            InputState.UNCERTAIN,
            SeatState.UNCERTAIN,
        )
        await seat.poll(1)
        await clock.sleep(3_600)
        assert hall.lane.asked == []
        assert len(seat.heard) == 1
        # Exact late evidence settles it without a second dispatch.
        assert await seat.ack(event) is SeatState.TAKEN
        await seat.answers(event, "hi")
        assert (await hall.ended("m-1")).state is InputState.SETTLED


@virtual
async def test_an_escalation_without_an_answer_is_delivered_and_no_failure(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
        event = await seat.given()
        await clock.sleep(30)
        await seat.ack(event)
        await clock.sleep(599)
        # Said twice, it is waited for from the first time.
        await seat.ack(event)
        assert (await hall.receipt("e-1")).state is InputState.RUNNING
        await clock.sleep(1.1)
        found = await hall.receipt("e-1")
        assert (found.state, found.attempts[0].state) == (InputState.SETTLED, SeatState.DELIVERED)
        with pytest.raises(TransitionRefusedError):
            await seat.reply(event, "late")
        assert await hall.said() == []


@virtual
async def test_a_native_turn_of_38_minutes_is_not_cut_short(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-11, SEAT-15
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await seat.works()
        await hall.send("and the tests too", "m-1")
        event = await seat.takes()
        assert event.steer
        for minute in range(38):
            await clock.sleep(60)
            await seat.sync(
                seat.row(EntryKind.TOOL, f"step {minute}"), activity=Activity.RESPONDING
            )
        found = await hall.receipt("m-1")
        assert (found.state, found.attempts[0].state) == (InputState.RUNNING, SeatState.TAKEN)
        await seat.answers(event, "all done")
        found = await hall.ended("m-1")
        assert (found.state, found.attempts[0].state) == (InputState.SETTLED, SeatState.DELIVERED)
        log = await hall.log()
        reply = next(one for one in log if one["cursor"] == found.reply_cursor)
        assert reply["text"] == "all done"
        assert hall.lane.asked == []


@virtual
async def test_a_restart_counts_deadlines_from_what_is_stored(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8, FENCE-11
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("is it done?", "e-1", origin=Origin.ESCALATION)
        await seat.takes()
        await clock.sleep(400)
        die()
    await clock.sleep(100)
    async with machine.on() as hall:
        await clock.sleep(99)
        assert (await hall.receipt("e-1")).attempts[0].state is SeatState.TAKEN
        await clock.sleep(2)
        assert (await hall.receipt("e-1")).attempts[0].state is SeatState.DELIVERED


@virtual
async def test_a_seat_that_took_and_died_keeps_what_it_may_have_seen(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-4, FENCE-6, FENCE-7
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        await hall.send("one", "m-1")
        event = await seat.given()
        await hall.send("two", "m-2")
        # The harness is killed: nobody acknowledges, nobody asks.
        await clock.sleep(120)
        assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-2"]
        other = await opened(hall, "native-2", pid=200, expected=seat.seat)
        page = await other.poll()
        assert [one.id for one in page.events if one.id == "m-1"] == []
        # The stale session answers late: exact, it settles its own, and starts nothing.
        assert await seat.ack(event) is SeatState.TAKEN
        assert hall.lane.asked == ["m-2"]


@virtual
async def test_two_acknowledgements_in_a_row_leave_nothing_unresolved(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7, FENCE-10
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        await seat.poll(1)
        for number in (1, 2):
            name = f"m-{number}"
            await hall.send("hello", name)
            event = await seat.given()
            with pytest.raises(SeatSupersededError):
                await Bridge(hall, seat.seat, seat.native, binding="b-9").ack(event)
            with pytest.raises(EventNotFoundError):
                await answers.ack(hall.house, seat.seat, "m-9", attempt=1, binding=seat.binding)
            assert await seat.ack(event) is SeatState.TAKEN
            await seat.answers(event, "hi")
        for name in ("m-1", "m-2"):
            assert (await hall.ended(name)).state is InputState.SETTLED
        assert (await hall.house.store.mail.in_flight()) == []


@virtual
async def test_the_same_delivery_offered_ten_times_reaches_the_seat_once(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1, FENCE-9
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(1)
        sends = [hall.house.captain.spawn(hall.send("hello", "m-1")) for _ in range(10)]
        await clock.sleep(1)
        assert all(one.done() for one in sends)
        assert waiting.done()
        await seat.nothing()
        assert [one.id for one in seat.heard] == ["m-1"]
        assert hall.lane.asked == []


@pytest.mark.parametrize("ended", [True, False])
def test_what_only_the_queue_of_a_harness_had_that_has_ended_is_uncertain(
    tmp_path: Path, ended: bool
) -> None:
    # proves: FENCE-7, FENCE-11
    @virtual
    async def scenario(clock: FakeClock) -> None:
        processes = FakeProcesses()
        async with Machine(tmp_path, clock, processes=processes).on() as hall:
            seat = await opened(hall)
            await seat.poll(1)
            await hall.send("hello", "m-1")
            await seat.takes()
            if ended:
                processes.ends(100)
            await clock.sleep(601)
            found = await hall.receipt("m-1")
            assert found.state is (InputState.UNCERTAIN if ended else InputState.SETTLED)
            assert hall.lane.asked == []

    scenario()
