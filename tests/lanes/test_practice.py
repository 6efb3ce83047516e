"""The practice model, run by the same runner as any other."""

import asyncio

import pytest

from clankie.core.admission import Origin
from clankie.core.conversation import CAPTAIN, OPERATOR, Author, Message, Principal, Role
from clankie.core.projection import Projecting
from clankie.core.settings import DEFAULTS
from clankie.host.ports import LaneError, LaneResult
from clankie.lanes.service import ServiceLane
from fakes.clock import START, FakeClock, FakeIds
from fakes.credentials import FakeCredentials
from fakes.turn_host import FakeTurnHost, delivery, turn


class Practice:
    """The service lane as a newcomer finds it."""

    def __init__(self, host: FakeTurnHost | None = None, pace: float = 0.0) -> None:
        self.clock = FakeClock()
        self.host = host or FakeTurnHost()
        self.lane = ServiceLane(self.clock, FakeIds(), FakeCredentials(), pace=pace)

    async def say(self, text: str, n: int = 1) -> LaneResult:
        return await self.lane.run(turn(delivery(text, n=n)), self.host)


async def test_it_says_that_it_understands_nothing_and_writes_word_by_word() -> None:
    it = Practice()
    result = await it.say("hello")
    assert "practice model, without understanding" in result.text
    assert "hello" in result.text
    assert result.text == it.host.shown
    assert len(it.host.drafts) > 10


async def test_it_shows_that_the_conversation_goes_on() -> None:
    it = Practice()
    await it.say("my name is Ada", n=1)
    result = await it.say("who am I?", n=2)
    assert "message 2 of yours" in result.text
    assert "“my name is Ada”" in result.text
    assert it.host.projections == 1


async def test_it_knows_what_the_log_shows_after_a_restart() -> None:
    projecting = Projecting(DEFAULTS.projection)
    said = Message(role=Role.OWNER, text="my name is Ada")
    projecting.add(1, START, OPERATOR, said)
    result = await Practice(FakeTurnHost(projecting.done(1))).say("again?")
    assert "message 2 of yours" in result.text
    assert "“my name is Ada”" in result.text


@pytest.mark.parametrize("text", ["help", "/help", "HELP"])
async def test_it_tells_what_it_can_do(text: str) -> None:
    result = await Practice().say(text)
    for word in ("/tool", "remind me", "slow", "long", "stall", "fail", "garbage"):
        assert word in result.text


@pytest.mark.parametrize("text", ["/tool", "please use a tool now"])
async def test_it_calls_a_tool_and_tells_what_came_of_it(text: str) -> None:
    it = Practice()
    result = await it.say(text)
    assert [call.name for call in it.host.calls] == ["get_self_state"]
    assert 'get_self_state answered: {"name": "Clankie"' in result.text


@pytest.mark.parametrize(
    ("text", "seconds", "wake"),
    [
        ("remind me in 40 seconds to water the plants", 40, "water the plants"),
        ("Remind me in 1 minute that tea is ready", 60, "tea is ready"),
        ("remind me in 2 hours to\nsleep", 7_200, "sleep"),
        (
            "remind me in 30 seconds remind me in 40 seconds to go",
            30,
            "remind me in 40 seconds to go",
        ),
    ],
)
async def test_it_sets_a_wake(text: str, seconds: int, wake: str) -> None:
    it = Practice()
    result = await it.say(text)
    [set_] = it.host.wakes
    assert set_.text == wake
    assert (set_.due_at - START).total_seconds() == seconds
    assert "schedule_wake answered" in result.text


async def test_it_tells_when_a_wake_was_refused() -> None:
    result = await Practice().say("remind me in 0 seconds to hurry")
    assert "error: schedule_wake was not run" in result.text


async def test_a_wake_is_described_and_may_hold_one_of_its_rules() -> None:
    it = Practice()
    wake = delivery("water the plants", origin=Origin.WAKE, author=CAPTAIN)
    told = (await it.lane.run(turn(wake), it.host)).text
    assert "A wake came in. It says: “water the plants”." in told
    failing = delivery("fail model_credential_rejected", n=2, origin=Origin.WAKE, author=CAPTAIN)
    with pytest.raises(LaneError) as caught:
        await it.lane.run(turn(failing), it.host)
    assert caught.value.code == "model_credential_rejected"


# proves: SEC-7
async def test_words_of_others_set_off_none_of_its_rules() -> None:
    it = Practice()
    stranger = Author(Principal.WORKER, "pane-7")
    report = delivery("/tool", origin=Origin.REPORT, author=stranger)
    told = (await it.lane.run(turn(report), it.host)).text
    assert not it.host.calls
    assert "A report came in. It says: “/tool”." in told


async def test_slow_takes_its_time_on_the_clock_and_shows_that_it_lives() -> None:
    it = Practice()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(it.say("slow 2.5"))
        for second in (1, 2):
            await it.clock.advance(1)
            assert it.host.shown == "I take my time:" + " ." * second
            assert not task.done()
        await it.clock.advance(0.5)
    assert task.result().text == "I take my time: . . . done."


async def test_stall_falls_silent_until_somebody_ends_it() -> None:
    it = Practice()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(it.say("stall"))
        await it.clock.advance(100_000)
        assert not task.done()
        signs = it.host.marks, len(it.host.drafts)
        await it.clock.advance(100_000)
        assert (it.host.marks, len(it.host.drafts)) == signs
        task.cancel()
    assert task.cancelled()
    assert it.lane.status()["sessions"] == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("fail", "model_server_error"),
        ("fail model_timeout", "model_timeout"),
        ("Fail model_refused", "model_refused"),
        ("garbage", "model_bad_response"),
    ],
)
async def test_it_fails_when_asked(text: str, code: str) -> None:
    it = Practice()
    with pytest.raises(LaneError) as caught:
        await it.say(text)
    assert caught.value.code == code
    assert caught.value.partial == it.host.shown


async def test_it_does_not_fail_with_a_code_that_does_not_exist() -> None:
    result = await Practice().say("fail model_nonsense")
    assert "I do not know the code model_nonsense" in result.text
    assert "model_timeout" in result.text


async def test_long_is_long() -> None:
    result = await Practice().say("long")
    assert len(result.text) > 10_000


async def test_its_pace_is_kept_on_the_clock() -> None:
    it = Practice(pace=0.5)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(it.say("hello"))
        await it.clock.advance(1.0)
        assert len(it.host.drafts) == 3
        await it.clock.advance(60)
    assert task.done()
