"""A disk that refuses or does not tell: nothing runs twice, nothing is left lying."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.delivery import InputState
from clankie.core.errors import ReceiptExpiredError, ReceiptsUnreadableError
from clankie.core.settings import DAY
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from clankie.host.storage import FencedError
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, answers, breaks, fails, steers
from fakes.loop import virtual
from fakes.trouble import FULL, UNKNOWN, Failure, lose, refuse, trouble

UNREADABLE = ReceiptsUnreadableError("page 7")
HOUR = 3_600.0


@pytest.mark.parametrize(
    "failures",
    [[refuse()], [refuse()] * 30, [lose()], [refuse(UNKNOWN), lose()]],
    ids=["once", "for minutes", "stored unknown", "unknown twice"],
)
def test_an_outcome_reaches_the_disk_when_it_takes_it_again(
    tmp_path: Path, failures: list[Failure]
) -> None:
    # proves: FENCE-1, FENCE-7
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            trouble(hall.house).plan("settle", *failures)
            await hall.send("one", "m-1")
            await hall.send("two", "m-2")
            assert (await hall.ended("m-1")).state is InputState.SETTLED
            assert (await hall.ended("m-2")).state is InputState.SETTLED
            assert hall.lane.asked == ["m-1", "m-2"]
            assert await hall.said() == ["re: one", "re: two"]

    scenario()


@pytest.mark.parametrize(
    "failures", [[], [refuse()] * 5, [lose()]], ids=["once", "longer", "unknown"]
)
def test_a_message_whose_start_cannot_be_stored_fails_without_a_model(
    tmp_path: Path, failures: list[Failure]
) -> None:
    # proves: FENCE-9
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            stands = trouble(hall.house)
            stands.plan("start", refuse())
            stands.plan("refuse", *failures)
            await hall.send("one", "m-1")
            await hall.send("two", "m-2")
            found = await hall.ended("m-1", HOUR)
            assert (found.state, found.code) == (InputState.FAILED, "storage_unavailable")
            assert (await hall.ended("m-2", HOUR)).state is InputState.SETTLED
            assert hall.lane.asked == ["m-2"]

    scenario()


@pytest.mark.parametrize(
    "failures",
    [[lose()], [refuse(UNKNOWN)], [refuse(UNKNOWN), refuse()], [lose(), refuse()]],
    ids=["stored", "not stored", "not stored, then full", "stored, then full"],
)
def test_a_start_of_which_nobody_could_tell_asks_the_model_once(
    tmp_path: Path, failures: list[Failure]
) -> None:
    # proves: FENCE-9
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            trouble(hall.house).plan("start", *failures)
            await hall.send("one", "m-1")
            assert (await hall.ended("m-1", HOUR)).state is InputState.SETTLED
            assert hall.lane.asked == ["m-1"]
            assert await hall.phases("m-1") == ["admitted", "started", "completed"]

    scenario()


@pytest.mark.parametrize(
    "failures",
    [[refuse()] * 5, [refuse(UNREADABLE)], [lose()], [refuse(UNKNOWN), refuse()]],
    ids=["full", "unreadable", "stored unknown", "unknown"],
)
def test_a_conversation_goes_on_when_nothing_could_be_reserved(
    tmp_path: Path, failures: list[Failure]
) -> None:
    # proves: FENCE-1
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            trouble(hall.house).plan("reserve", *failures)
            await hall.send("one", "m-1")
            assert (await hall.ended("m-1", HOUR)).state is InputState.SETTLED
            assert hall.lane.asked == ["m-1"]

    scenario()


@pytest.mark.parametrize("verb", ["reserve", "start", "settle"])
def test_a_house_that_lost_its_fence_stops_quietly(tmp_path: Path, verb: str) -> None:
    # proves: FENCE-3
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async with Machine(tmp_path, clock).on() as hall:
            stands = trouble(hall.house)
            stands.plan(verb, *[refuse(FencedError("taken over"))] * 100)
            await hall.send("one", "m-1")
            await clock.sleep(HOUR)
            assert len(hall.lane.asked) == (verb == "settle")
            assert stands.calls.count(verb) == 1
            assert hall.house.captain.snapshot() == []

    scenario()


@virtual
async def test_a_lane_that_fails_as_it_should_not_does_no_harm_to_others(
    clock: FakeClock, tmp_path: Path
) -> None:
    lane = ScriptedLane(breaks(ZeroDivisionError()), answers("fine"))
    async with Machine(tmp_path, clock).on(lane) as hall:
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        found = await hall.ended("m-1")
        assert (found.state, found.code) == (InputState.FAILED, "internal_error")
        assert "ZeroDivisionError" in (found.detail or "")
        assert (await hall.ended("m-2")).state is InputState.SETTLED


@virtual
async def test_a_turn_that_could_not_read_fails_with_the_reason(
    clock: FakeClock, tmp_path: Path
) -> None:
    async def play(_request: TurnRequest, host: TurnHost) -> LaneResult:
        await host.projection()
        return LaneResult(text="seen")

    async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
        trouble(hall.house, "conversations").plan("project", refuse(UNREADABLE))
        await hall.send("one", "m-1")
        found = await hall.ended("m-1")
        assert (found.state, found.code) == (InputState.FAILED, "receipts_unreadable")


@virtual
async def test_a_defect_in_one_turn_leaves_no_conversation_stuck(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        trouble(hall.house).plan("start", refuse(ZeroDivisionError()))
        await hall.send("one", "m-1")
        await hall.send("two", "m-2")
        found = await hall.ended("m-1", HOUR)
        assert (found.state, found.code) == (InputState.FAILED, "internal_error")
        assert (await hall.ended("m-2", HOUR)).state is InputState.SETTLED


@virtual
async def test_what_was_written_before_a_failure_is_kept_as_the_lane_tells_it(
    clock: FakeClock, tmp_path: Path
) -> None:
    lane = ScriptedLane(fails("model_unreachable", partial="half an answer"))
    async with Machine(tmp_path, clock).on(lane) as hall:
        await hall.send("one", "m-1")
        found = await hall.ended("m-1")
        assert (found.state, found.code) == (InputState.FAILED, "model_unreachable")
        last = (await hall.log())[-1]
        assert (last["partial"], last["usage"]["requests"]) == ("half an answer", 1)


@virtual
async def test_wakes_go_on_after_a_disk_that_did_not_tell(clock: FakeClock, tmp_path: Path) -> None:
    # proves: FENCE-12
    async with Machine(tmp_path, clock).on() as hall:
        stands = trouble(hall.house)
        stands.plan("admit", refuse(), lose(), refuse(UNKNOWN))
        names = [await hall.wake(f"wake {n}", f"w-{n}") for n in range(3)]
        await clock.sleep(3 * 60)
        for name in names:
            assert (await hall.ended(name, HOUR)).state is InputState.SETTLED
        assert sorted(hall.lane.asked) == names


@virtual
async def test_a_full_conversation_does_not_keep_the_wakes_of_others_back(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-12
    stuck = asyncio.Event()

    async def play(request: TurnRequest, _host: TurnHost) -> LaneResult:
        while not stuck.is_set():
            _host.progress()
            await clock.sleep(100)
        return LaneResult(text=f"re: {request.delivery.text}")

    override = {"queue": {"conversation": 1}}
    async with Machine(tmp_path, clock).on(ScriptedLane(play), override=override) as hall:
        other = await hall.make("other")
        await hall.send("runs", "m-1")
        await clock.sleep(1)
        await hall.send("waits", "m-2")
        blocked = await hall.wake("here", "w-1")
        free = await hall.wake("there", "w-2", conversation=other)
        await clock.sleep(70)
        assert (await hall.ended(free, 10)).state is InputState.SETTLED
        stuck.set()
        assert (await hall.ended("m-2", HOUR)).state is InputState.SETTLED
        await clock.sleep(60)
        assert (await hall.ended(blocked, HOUR)).state is InputState.SETTLED


@virtual
async def test_retention_goes_on_after_a_disk_that_did_not_tell(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        real, tries = hall.house.store.prune, list[int]()

        async def prune(before: object) -> int:
            tries.append(len(tries))
            if len(tries) == 1:
                raise UNKNOWN
            if len(tries) == 2:
                raise FULL
            return await real(before)  # type: ignore[arg-type]  # the real one's business

        hall.house.store.prune = prune  # type: ignore[method-assign]  # the store is no fake
        await hall.send("one", "m-1")
        await hall.ended("m-1")
        clock.shift(8 * DAY)
        for tried in (1, 2):
            await clock.sleep(DAY + 1)
            assert len(tries) == tried
            assert (await hall.receipt("m-1")).state is InputState.SETTLED
        await clock.sleep(DAY + 1)
        with pytest.raises(ReceiptExpiredError):
            await hall.receipt("m-1")


@virtual
async def test_a_disk_that_lets_nobody_join_a_turn_does_not_cost_its_answer(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7
    go = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(steers(go))) as hall:
        trouble(hall.house).plan("join", refuse())
        await hall.send("dinner", "m-1")
        await clock.sleep(1)
        await hall.steer("without fish", "m-2")
        go.set()
        assert (await hall.ended("m-1")).state is InputState.SETTLED
        assert (await hall.ended("m-2")).state is InputState.SETTLED
        assert hall.lane.asked == ["m-1", "m-2"]
        assert await hall.said() == ["dinner", "re: without fish"]
