"""What a new start finds after a crash at each point of a delivery's way."""

from pathlib import Path

import pytest

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState, ServiceState
from clankie.core.errors import DeliveryNotFoundError, TransitionRefusedError
from clankie.core.ids import HEAD
from clankie.host import deliveries
from clankie.host.conversations import reset
from fakes.clock import FakeClock
from fakes.crash import Crash, CrashAt
from fakes.hall import Hall, Machine, die
from fakes.lane import ScriptedLane, silence
from fakes.loop import virtual

S, V = InputState, ServiceState


@pytest.mark.parametrize(
    ("point", "state", "attempts", "asked"),
    [
        ("admit.before-commit", None, [], 0),
        ("admit.after-commit", S.SETTLED, [V.COMPLETED], 1),
        ("reserve.before-commit", S.SETTLED, [V.COMPLETED], 1),
        ("reserve.after-commit", S.SETTLED, [V.RELEASED, V.COMPLETED], 1),
        ("start.before-commit", S.SETTLED, [V.RELEASED, V.COMPLETED], 1),
        ("start.after-commit", S.UNCERTAIN, [V.UNCERTAIN], 0),
        ("settle.before-commit", S.UNCERTAIN, [V.UNCERTAIN], 0),
        ("settle.after-commit", S.SETTLED, [V.COMPLETED], 0),
    ],
)
def test_each_crash_has_its_truth(
    tmp_path: Path, point: str, state: InputState | None, attempts: list[ServiceState], asked: int
) -> None:
    # proves: FENCE-7, FENCE-8, FENCE-9
    @virtual
    async def scenario(clock: FakeClock) -> None:
        machine = Machine(tmp_path, clock)
        with pytest.RaisesGroup(Crash, allow_unwrapped=True, flatten_subgroups=True):
            async with machine.on(crash=CrashAt(point)) as hall:
                await hall.send("one", "m-1")
                await clock.sleep(10)
        async with machine.on() as hall:
            await clock.sleep(10)
            assert len(hall.lane.asked) == asked
            if state is None:
                with pytest.raises(DeliveryNotFoundError):
                    await hall.receipt("m-1")
                assert await hall.log() == []
            else:
                found = await hall.receipt("m-1")
                assert found.state is state
                assert [one.state for one in found.attempts] == attempts

    scenario()


async def _uncertain(machine: Machine, clock: FakeClock) -> None:
    async with machine.on(ScriptedLane(silence)) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        die()


async def _stays_uncertain(hall: Hall, clock: FakeClock) -> None:
    await clock.sleep(3_600)
    assert (await hall.receipt("m-1")).state is InputState.UNCERTAIN
    assert "m-1" not in hall.lane.asked


@virtual
async def test_what_is_uncertain_stays_so_over_every_restart_and_reset(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7, CONV-7
    machine = Machine(tmp_path, clock)
    await _uncertain(machine, clock)
    for _ in range(3):
        async with machine.on() as hall:
            await _stays_uncertain(hall, clock)
            await reset(hall.house, HEAD, None, OPERATOR)
            await _stays_uncertain(hall, clock)
            assert await hall.phases("m-1") == ["admitted", "started", "uncertain"]
            told = [
                one.get("detail") for one in await hall.log() if one.get("phase") == "uncertain"
            ]
            assert told == [(await hall.receipt("m-1")).to_wire()["detail"]]
            assert (await hall.house.store.conversations.get(HEAD)).uncertain == 1


@virtual
async def test_the_owner_closes_it_as_unknown_and_may_try_it_again_under_a_new_id(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-7, FENCE-8
    machine = Machine(tmp_path, clock)
    await _uncertain(machine, clock)
    async with machine.on() as hall:
        closed = await deliveries.abandon(hall.house, "m-1")
        assert closed.state is InputState.ABANDONED
        assert (closed.to_wire()["detail"] or "").endswith("closed as unknown.")
        with pytest.raises(TransitionRefusedError):
            await deliveries.abandon(hall.house, "m-1")
        await hall.send("one", "m-2", retry_of="m-1")
        await hall.ended("m-2")
        assert hall.lane.asked == ["m-2"]


@virtual
async def test_only_what_is_uncertain_can_be_closed_as_unknown(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-8
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("one", "m-1")
        found = await hall.ended("m-1")
        with pytest.raises(TransitionRefusedError):
            await deliveries.abandon(hall.house, "m-1")
        assert await hall.receipt("m-1") == found
        with pytest.raises(DeliveryNotFoundError):
            await deliveries.abandon(hall.house, "m-9")


@virtual
async def test_what_waited_in_many_conversations_runs_at_the_next_start(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: FENCE-1
    machine = Machine(tmp_path, clock)
    async with machine.on(ScriptedLane(*[silence] * 3)) as hall:
        places = [await hall.make(f"place-{n}") for n in range(3)]
        for number, place in enumerate(places):
            await hall.send("first", f"a-{number}", conversation=place)
            await hall.send("second", f"b-{number}", conversation=place)
        await clock.sleep(1)
        die()
    async with machine.on() as hall:
        for number in range(3):
            assert (await hall.ended(f"b-{number}", 5)).state is InputState.SETTLED
            assert (await hall.receipt(f"a-{number}")).state is InputState.UNCERTAIN
        assert sorted(hall.lane.asked) == ["b-0", "b-1", "b-2"]
