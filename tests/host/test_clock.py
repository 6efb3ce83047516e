"""The real clock and ids, and waiting on them."""

import asyncio
from datetime import UTC

import pytest

from clankie.host.clock import NoCrash, SystemClock, SystemIds
from clankie.host.waiting import Value, caught, event_within, finished_within, to_the_end
from fakes.clock import FakeClock
from fakes.loop import virtual


def test_the_wall_clock_is_utc_in_whole_milliseconds() -> None:
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert now.microsecond % 1_000 == 0


def test_the_monotonic_clock_does_not_go_back_and_sleeping_waits_on_the_loop() -> None:
    async def scenario() -> None:
        clock = SystemClock()
        before = clock.monotonic()
        await clock.sleep(-1)
        await clock.sleep(0)
        assert clock.monotonic() >= before

    asyncio.run(scenario())


def test_ids_are_ordered_by_their_making_and_never_the_same() -> None:
    ids = SystemIds()
    made = [ids.new("c") for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert {len(one) for one in made} == {28}
    assert [one[:12] for one in made] == sorted(one[:12] for one in made)
    assert set("".join(made)[2:]) <= set("0123456789abcdefghjkmnpqrstvwxyz-")
    assert len({ids.secret() for _ in range(100)}) == 100
    assert all(len(ids.secret()) == 43 for _ in range(10))


def test_crash_points_do_nothing_in_the_product() -> None:
    NoCrash().reach("settle.before-commit")


@virtual
async def test_an_event_is_waited_for_no_longer_than_its_time(clock: FakeClock) -> None:
    event = asyncio.Event()
    assert not await event_within(clock, event, 5)
    assert clock.monotonic() == 5
    assert not await event_within(clock, event, 0)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(event_within(clock, event, 60))
        await clock.sleep(1)
        event.set()
    assert waiting.result()
    assert clock.monotonic() == 6
    assert await event_within(clock, event, -1)


@virtual
async def test_a_task_is_waited_for_and_left_as_it_is(clock: FakeClock) -> None:
    never = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(clock.sleep(10))
        assert not await finished_within(clock, task, 4, never)
        assert not task.done()
        assert await finished_within(clock, task, 60, never)
        assert clock.monotonic() == 10
        task = tasks.create_task(clock.sleep(10))
        never.set()
        assert not await finished_within(clock, task, 60, never)
        assert clock.monotonic() == 10


@virtual
async def test_work_goes_to_its_end_and_the_cancelling_goes_on_after_it(clock: FakeClock) -> None:
    done = list[str]()

    async def work() -> str:
        await clock.sleep(10)
        done.append("work")
        return "result"

    async def caller() -> None:
        await to_the_end(work())
        done.append("not reached")

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(caller())
        for _ in range(3):
            await clock.sleep(1)
            task.cancel()
    assert task.cancelled()
    assert done == ["work"]
    assert await to_the_end(work()) == "result"


@virtual
async def test_a_failure_of_the_work_is_the_callers(clock: FakeClock) -> None:
    async def work() -> None:
        await clock.sleep(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await to_the_end(work())
    assert isinstance(await caught(work()), ValueError)
    assert await caught(clock.sleep(1)) == Value(None)
