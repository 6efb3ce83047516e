"""The daily budget of tokens: what still runs when it is spent, and how often the owner is told."""

from datetime import timedelta
from pathlib import Path

import pytest

from clankie.core.conversation import Usage
from clankie.core.delivery import InputState
from clankie.core.ids import HEAD
from clankie.core.wake import EXHAUSTED
from clankie.host import settings, spending
from clankie.host.cancel import cancel
from clankie.host.ports import LaneResult, TurnHost, TurnRequest
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.lane import ScriptedLane, silence
from fakes.loop import virtual

BUDGET = {"models": {"daily_tokens": 100}}
DAY = 86_400.0


async def dear(request: TurnRequest, _host: TurnHost) -> LaneResult:
    usage = Usage(input_tokens=90, output_tokens=30, requests=1, cost_usd=0.5)
    return LaneResult(text=f"re: {request.delivery.text}", usage=usage)


async def told(hall: Hall) -> int:
    codes = [one["code"] for one in await hall.log() if one["kind"] == "notice"]
    return codes.count(EXHAUSTED)


@virtual
async def test_a_spent_budget_stops_wakes_and_only_warns_the_owner_once_a_day(
    clock: FakeClock, tmp_path: Path
) -> None:
    # proves: SERV-8
    machine = Machine(tmp_path, clock)
    async with machine.on() as hall:
        await settings.patch(hall.house, BUDGET, 0)
        hall.lane.plays(dear)
        for name in ("m-1", "m-2", "m-3"):
            await hall.send("go on", name)
            assert (await hall.ended(name)).state is InputState.SETTLED
        assert await told(hall) == 1
        wake = await hall.wake("ring")
        await clock.sleep(120)
        receipt = await hall.receipt(wake)
        assert (receipt.state, receipt.held) == (InputState.QUEUED, EXHAUSTED)
        assert wake not in hall.lane.asked
        assert await told(hall) == 1
    async with machine.on() as hall:
        assert hall.house.spent.tokens == 120
        found = await spending.days(hall.house, 2)
        assert [one.tokens for one in found] == [0, 120]
        assert found[-1].cost_usd == 0.5
        await clock.sleep(DAY)
        await hall.send("a new day", "m-4")
        await hall.ended("m-4")
        assert hall.house.spent.tokens == 0
        found = await spending.days(hall.house, 2)
        assert [one.tokens for one in found] == [120, 0]
        assert found[1].day - found[0].day == timedelta(days=1)


@pytest.mark.parametrize("stalls", [False, True])
def test_a_turn_that_is_cut_off_has_cost_what_it_cost_until_then(
    tmp_path: Path, stalls: bool
) -> None:
    # proves: SERV-8
    @virtual
    async def scenario(clock: FakeClock) -> None:
        async def play(request: TurnRequest, host: TurnHost) -> LaneResult:
            host.spent(Usage(input_tokens=40, output_tokens=2, requests=1))
            host.spent(Usage(input_tokens=90, output_tokens=5, requests=2))
            return await silence(request, host)

        async with Machine(tmp_path, clock).on(ScriptedLane(play)) as hall:
            await hall.send("one", "m-1")
            await clock.sleep(1)
            if not stalls:
                await cancel(hall.house, HEAD, "m-1")
            ended = await hall.ended("m-1")
            assert ended.state is (InputState.FAILED if stalls else InputState.CANCELLED)
            usage = (await hall.log())[-1]["usage"]
            assert (usage["input_tokens"], usage["requests"]) == (90, 2)
            assert hall.house.spent.tokens == 95
            assert (await spending.days(hall.house, 1))[0].tokens == 95

    scenario()
