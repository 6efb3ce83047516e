"""Reading receipts, and waiting until there is something to know."""

import asyncio
from pathlib import Path

import pytest

from clankie.core.delivery import InputState
from clankie.core.errors import DeliveryNotFoundError
from clankie.core.ids import HEAD
from clankie.host import deliveries
from clankie.host.cancel import cancel
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, drafts, silence, waits
from fakes.loop import virtual
from fakes.trouble import lose, pause_after, trouble


@virtual
async def test_a_reader_waits_until_the_delivery_has_ended(
    clock: FakeClock, tmp_path: Path
) -> None:
    done = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(done, drafts("a", "b")))) as hall:
        await hall.send("one", "m-1")
        assert (await hall.receipt("m-1")).state is InputState.QUEUED
        began = clock.monotonic()
        assert (await deliveries.read(hall.house, "m-1", 20.0)).state is InputState.RUNNING
        assert clock.monotonic() - began == 20.0
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(deliveries.read(hall.house, "m-1", 60.0))
            await clock.sleep(30)
            assert not reader.done()
            done.set()
        assert reader.result().state is InputState.SETTLED
        assert clock.monotonic() - began == 50.0
        assert (await deliveries.read(hall.house, "m-1", 60.0)) == reader.result()


@virtual
async def test_a_reader_that_comes_in_the_last_moment_misses_nothing(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        stands = trouble(hall.house)
        looked, go = asyncio.Event(), asyncio.Event()
        stands.plan("get", pause_after(looked, go))
        stands.plan("reserve", lose())
        await hall.send("one", "m-1")
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(deliveries.read(hall.house, "m-1", 60.0))
            await looked.wait()
            await clock.sleep(5)
            assert (await hall.receipt("m-1")).state is InputState.SETTLED
            began = clock.monotonic()
            go.set()
        assert reader.result().state is InputState.SETTLED
        assert clock.monotonic() == began


@virtual
async def test_many_readers_are_told_at_once_and_leave_nothing_behind(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with Machine(tmp_path, clock).on(ScriptedLane(silence)) as hall:
        await hall.send("one", "m-1")
        async with asyncio.TaskGroup() as tasks:
            readers = [
                tasks.create_task(deliveries.read(hall.house, "m-1", 600.0)) for _ in range(20)
            ]
            await clock.sleep(3)
            await cancel(hall.house, HEAD)
        assert {one.result().state for one in readers} == {InputState.CANCELLED}
        assert hall.house.feed.channel(HEAD).idle


@virtual
async def test_a_reader_does_not_hold_up_the_end_of_the_house(
    clock: FakeClock, tmp_path: Path
) -> None:
    override = {"lifecycle": {"drain": 0.0}}
    async with Machine(tmp_path, clock).on(ScriptedLane(silence), override=override) as hall:
        await hall.send("one", "m-1")
        await clock.sleep(1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(deliveries.read(hall.house, "m-1", 600.0))
            await clock.sleep(1)
            await hall.house.captain.stop()
            hall.house.feed.close()
        assert (await deliveries.read(hall.house, "m-1", 600.0)).code == "service_stopped"


@virtual
async def test_nobody_waits_for_what_is_not_there(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        with pytest.raises(DeliveryNotFoundError):
            await deliveries.read(hall.house, "m-9", 60.0)
