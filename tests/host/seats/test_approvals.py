"""Questions of a harness: asked once, answered once, and the answer goes out with a page."""

from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.errors import BackpressureError, InvalidFieldError, TransitionRefusedError
from clankie.core.ids import HEAD
from clankie.core.seat_errors import ApprovalNotFoundError, SeatNotFoundError
from clankie.host.cancel import CancelOutcome, cancel
from clankie.host.seats import approvals, roster
from fakes.bridge import opened, page_of
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.loop import virtual
from fakes.processes import FakeProcesses


@virtual
async def test_the_owners_answer_reaches_the_poll_that_waits(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-3, BASE-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        for _ in range(2):
            asked = await approvals.post(
                hall.house, seat.seat, id="q-1", summary="run rm", detail="rm -r build"
            )
            assert (asked.state, asked.conversation) == ("pending", "global-default")
        assert [one.id for one in await approvals.listed(hall.house)] == ["q-1"]
        waiting = seat.parks()
        await clock.sleep(1)
        with pytest.raises(InvalidFieldError):
            await approvals.decide(hall.house, "q-1", "maybe", "pending")
        decided = await approvals.decide(hall.house, "q-1", "approve", "pending")
        assert decided.state == "approved"
        await clock.sleep(0.1)
        assert page_of(waiting).decisions == (("q-1", "approve"),)
        with pytest.raises(TransitionRefusedError):
            await approvals.decide(hall.house, "q-1", "deny", "pending")
        with pytest.raises(TransitionRefusedError):
            await approvals.decide(hall.house, "q-1", "deny", "approved")
        # Asked again it is known to be answered.
        again = await approvals.post(hall.house, seat.seat, id="q-1", summary="run rm")
        assert again.state == "approved"


@virtual
async def test_a_question_that_was_answered_at_the_harness_is_no_longer_asked(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        other = await opened(hall, "native-2", conversation=await hall.make("side"), pid=200)
        await approvals.post(hall.house, seat.seat, id="q-1", summary="run rm")
        await approvals.withdraw(hall.house, other.seat, "q-1")
        await approvals.withdraw(hall.house, seat.seat, "q-none")
        assert [one.state for one in await approvals.listed(hall.house)] == ["pending"]
        for _ in range(2):
            await approvals.withdraw(hall.house, seat.seat, "q-1")
        assert [one.state for one in await approvals.listed(hall.house)] == ["withdrawn"]
        with pytest.raises(TransitionRefusedError):
            await approvals.decide(hall.house, "q-1", "approve", "pending")
        # The next driver of the same harness asks it anew.
        again = await approvals.post(hall.house, seat.seat, id="q-1", summary="run rm")
        assert again.state == "pending"
        await approvals.decide(hall.house, "q-1", "deny", "pending")
        await approvals.withdraw(hall.house, seat.seat, "q-1")
        assert [one.state for one in await approvals.listed(hall.house)] == ["denied"]


@virtual
async def test_questions_belong_to_their_seat_and_go_with_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        other = await opened(hall, "native-2", conversation=await hall.make("side"), pid=200)
        await approvals.post(hall.house, seat.seat, id="q-1", summary="run rm")
        with pytest.raises(InvalidFieldError):
            await approvals.post(hall.house, other.seat, id="q-1", summary="run rm")
        with pytest.raises(SeatNotFoundError):
            await approvals.post(hall.house, "s-none", id="q-2", summary="run rm")
        await other.detach()
        unattached = await approvals.post(hall.house, other.seat, id="q-3", summary="run rm")
        assert unattached.conversation is None
        assert (await approvals.decide(hall.house, "q-3", "deny", "pending")).state == "denied"
        await roster.retire(hall.house, seat.seat, OPERATOR)
        with pytest.raises(ApprovalNotFoundError):
            await approvals.decide(hall.house, "q-1", "deny", "pending")


@virtual
async def test_a_seat_may_ask_only_so_much_at_once(clock: FakeClock, tmp_path: Path) -> None:
    # proves: SEC-11
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        for number in range(400):
            name = f"q-{number}"
            await approvals.post(hall.house, seat.seat, id=name, summary="run rm")
            if number >= 10:
                await approvals.decide(hall.house, name, "deny", "pending")
        listed = await approvals.listed(hall.house)
        assert sum(one.state == "pending" for one in listed) == 10
        assert len(listed) < 300
        for number in range(54):
            await approvals.post(hall.house, seat.seat, id=f"r-{number}", summary="run rm")
        with pytest.raises(BackpressureError):
            await approvals.post(hall.house, seat.seat, id="s-1", summary="run rm")


@virtual
async def test_a_question_that_nobody_listens_for_may_be_over_and_one_of_a_dead_harness_is(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: BASE-3
    processes = FakeProcesses()
    machine = Machine(tmp_path, clock, processes=processes)
    async with machine.on() as hall:
        seat = await opened(hall)
        await approvals.post(hall.house, seat.seat, id="q-1", summary="run rm")

        async def unsure() -> bool:
            (one,) = await approvals.listed(hall.house)
            return approvals.unwatched(hall.house, one)

        assert await unsure()
        waiting = seat.parks()
        await clock.sleep(1)
        assert not await unsure()
        waiting.cancel()
        await clock.sleep(1)
        assert await unsure()
        processes.ends(100)
        with pytest.raises(TransitionRefusedError):
            await approvals.decide(hall.house, "q-1", "approve", "pending")
        assert not await unsure()
        assert [one.state for one in await approvals.listed(hall.house)] == ["withdrawn"]


@virtual
async def test_a_poll_that_binds_nobody_takes_no_answer_and_no_stop_away(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SEAT-5, BASE-3
    async with Machine(tmp_path, clock).on() as hall:
        seat = await opened(hall)
        waiting = seat.parks()
        await clock.sleep(1)
        await hall.send("hello", "m-1")
        await clock.sleep(0.1)
        (event,) = page_of(waiting).events
        await seat.ack(event)
        await approvals.post(hall.house, seat.seat, id="q-1", summary="run rm")
        await approvals.decide(hall.house, "q-1", "approve", "pending")
        assert (await cancel(hall.house, HEAD, "m-1")).outcome is CancelOutcome.REQUESTED
        seat.binding, bound = "b-of-nobody", seat.binding
        assert (await seat.poll(0)).empty
        seat.binding = bound
        page = await seat.poll(0)
        assert page.decisions == (("q-1", "approve"),)
        assert page.interrupts == (("m-1", 1),)
