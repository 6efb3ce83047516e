"""The index follows the log by itself, and a store in trouble does not end it."""

from pathlib import Path

from clankie.core.ids import HEAD
from clankie.host.search import FAULT_PAUSE, PAUSE
from fakes.clock import FakeClock
from fakes.hall import Hall, Machine
from fakes.loop import virtual
from fakes.trouble import refuse, trouble


async def found(hall: Hall, words: str) -> int:
    page = await hall.house.store.conversations.search(HEAD, words, before=None, limit=10)
    return len(page.results)


@virtual
async def test_what_is_said_can_be_found_a_moment_later(clock: FakeClock, tmp_path: Path) -> None:
    # proves: DAY-2
    async with Machine(tmp_path, clock).on() as hall:
        await hall.send("a grey heron", "m-1")
        await hall.ended("m-1")
        await clock.sleep(3 * PAUSE)
        assert await found(hall, "heron") == 2
        await hall.send("a white stork", "m-2")
        await hall.ended("m-2")
        await clock.sleep(3 * PAUSE)
        assert await found(hall, "stork") == 2


@virtual
async def test_a_disk_that_refuses_is_asked_again_later(clock: FakeClock, tmp_path: Path) -> None:
    async with Machine(tmp_path, clock).on() as hall:
        await clock.sleep(3 * PAUSE)
        sick = trouble(hall.house, "conversations")
        sick.plan("index", refuse())
        await hall.send("a grey heron", "m-1")
        await hall.ended("m-1")
        await clock.sleep(3 * PAUSE)
        assert await found(hall, "heron") == 0
        await clock.sleep(FAULT_PAUSE + 3 * PAUSE)
        assert await found(hall, "heron") == 2
