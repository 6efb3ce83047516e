"""Waiting for a receipt: whoever waits hears of every way in which an input can end."""

import asyncio
from pathlib import Path

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import InputState
from clankie.core.ids import HEAD
from clankie.host import conversations, deliveries
from clankie.host.cancel import cancel
from fakes.clock import FakeClock
from fakes.hall import Machine
from fakes.lane import ScriptedLane, drafts, fails, waits
from fakes.loop import virtual

DAY = 86_400.0


@virtual
async def test_a_waiting_reader_has_the_receipt_the_moment_it_ends(
    clock: FakeClock, tmp_path: Path
) -> None:
    go = asyncio.Event()
    lane = ScriptedLane(waits(go, drafts("one ", "two ", "three")), fails("model_timeout"))
    async with Machine(tmp_path, clock).on(lane) as hall, asyncio.TaskGroup() as tasks:
        began = clock.monotonic()
        await hall.send("speak", "m-1")
        await hall.send("fail", "m-2")
        await hall.send("never mind", "m-3")
        reads = [
            tasks.create_task(deliveries.read(hall.house, name, DAY))
            for name in ("m-1", "m-2", "m-3")
        ]
        await clock.sleep(5)
        await cancel(hall.house, HEAD, "m-3")
        assert (await reads[2]).state is InputState.CANCELLED
        assert clock.monotonic() == began + 5
        go.set()
        assert [(await read).state for read in reads[:2]] == [
            InputState.SETTLED,
            InputState.FAILED,
        ]
        assert clock.monotonic() == began + 5


@virtual
async def test_a_waiting_reader_hears_that_the_conversation_was_closed(
    clock: FakeClock, tmp_path: Path
) -> None:
    lane = ScriptedLane(fails("model_timeout"))
    async with Machine(tmp_path, clock).on(lane) as hall, asyncio.TaskGroup() as tasks:
        room = await hall.make("room")
        name = await hall.wake(conversation=room)
        await clock.sleep(61)
        read = tasks.create_task(deliveries.read(hall.house, name, DAY))
        await clock.sleep(1)
        assert not read.done()
        await conversations.close(hall.house, room, OPERATOR)
        assert (await read).state is InputState.NOT_SENT


@virtual
async def test_a_reader_gets_what_there_is_when_its_time_is_over(
    clock: FakeClock, tmp_path: Path
) -> None:
    go = asyncio.Event()
    async with Machine(tmp_path, clock).on(ScriptedLane(waits(go))) as hall:
        await hall.send("wait", "m-1")
        began = clock.monotonic()
        receipt = await deliveries.read(hall.house, "m-1", 30)
        assert receipt.state is InputState.RUNNING
        assert clock.monotonic() == began + 30
        go.set()
