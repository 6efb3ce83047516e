"""A session without a terminal takes each event once, says so, and is stopped and asked."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from clankie.core.seat import Activity, EventKind
from clankie.host.clock import SystemClock
from clankie.host.ports import Clock
from clankie.seats.claude import ADAPTER, stream
from clankie.seats.claude.frame import framed
from clankie.seats.claude.stream import NotStartedError, Stream
from clankie.seats.port import DeafError, Refused, Seen, Taken, Unknown
from fakes import claude_program
from fakes.hearing import all_of
from fakes.until import until
from seats.claude.client import Client, event

pytestmark = pytest.mark.anyio

HOLD = event(EventKind.TURN, "hold")


@pytest.fixture
def client(tmp_path: Path) -> Client:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {claude_program.__file__} "$@"\n')
    program.chmod(0o755)
    return Client(tmp_path)


@asynccontextmanager
async def driven(
    client: Client, clock: Clock | None = None, **environment: str
) -> AsyncIterator[Stream]:
    given = {
        "HOME": str(client.root),
        "PATH": f"{client.root / 'bin'}:{os.environ['PATH']}",
        **environment,
    }
    place = client.place(environment=given, headless=True)
    means = client.means(place=place, clock=clock or SystemClock())
    async with ADAPTER.drive(means) as found:
        assert isinstance(found, Stream)
        yield found


def noted(harness: Stream) -> list[dict[str, Any]]:
    assert harness.transcript is not None
    rows = [json.loads(one) for one in harness.transcript.read_text().splitlines()]
    return [one["row"] for one in rows if one["type"] == "noted"]


async def first(harness: Stream, wanted: str) -> Seen:
    """The first of what it does that has a question, or takes one back, this activity, or ended."""
    async for one in harness.seen():
        seen = one.observation
        if wanted == "question" and one.question is not None:
            return one
        if wanted == "answered" and one.answered:
            return one
        if seen is not None and wanted in {seen.activity, "ended" if seen.ended else None}:
            return one
    raise AssertionError("it ended first")


async def test_a_turn_is_given_bare_and_everything_else_framed(client: Client) -> None:
    async with driven(client) as harness:
        assert harness.native.session_id == "fresh-session"
        turn, wake = event(EventKind.TURN, "words"), event(EventKind.WAKE, "time", id="d-2")
        assert isinstance(await harness.hand_over(turn), Taken)
        assert isinstance(await harness.hand_over(wake), Taken)
        await first(harness, Activity.WAITING)
        assert harness.transcript is not None
        rows = [json.loads(one) for one in harness.transcript.read_text().splitlines()]
        given = [one["message"]["content"] for one in rows if one["type"] == "user"]
        assert given == ["words", framed(wake)]


# proves: FENCE-9
async def test_what_it_does_not_confirm_is_unknown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PROVEN", 0.2)
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "silent")), Unknown)
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "words")), Taken)


# proves: FENCE-4
async def test_one_that_dies_leaves_what_it_was_given_unknown_and_takes_no_more(
    client: Client,
) -> None:
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "die")), Unknown)
        await first(harness, "ended")
        assert await harness.hand_over(event(EventKind.TURN, "x")) == Refused("session_ended")
        assert not await harness.interrupt("d-1")


async def test_only_the_turn_of_an_event_is_stopped_with_it(client: Client) -> None:
    async with driven(client) as harness:
        assert not await harness.interrupt("d-1")
        assert isinstance(await harness.hand_over(HOLD), Taken)
        assert not await harness.interrupt("d-other")
        assert await harness.interrupt("d-1")
        await first(harness, Activity.WAITING)
        assert not await harness.interrupt("d-1")
        (asked,) = noted(harness)
        assert asked["request"] == {"subtype": "interrupt"}


async def test_a_turn_that_has_not_begun_does_not_stop_the_one_that_runs(client: Client) -> None:
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(HOLD), Taken)
        later = event(EventKind.TURN, "later", id="d-2")
        assert isinstance(await harness.hand_over(later), Taken)
        assert not await harness.interrupt("d-2")
        assert noted(harness) == []


@pytest.mark.parametrize(
    ("approve", "said"),
    [(True, {"behavior": "allow", "updatedInput": {"command": "ls"}}), (False, None)],
)
async def test_a_question_waits_for_its_answer(client: Client, approve: bool, said: Any) -> None:
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "ask")), Taken)
        question = (await first(harness, "question")).question
        assert question is not None
        assert (question.id, question.summary, question.event) == ("q-1", "Bash", "d-1")
        assert json.loads(question.detail) == {"command": "ls"}
        assert noted(harness) == []
        assert await harness.answer("q-1", approve=approve)
        assert not await harness.answer("q-1", approve=approve)
        await first(harness, Activity.WAITING)
        (answered,) = noted(harness)
        response = answered["response"]["response"]
        assert response == said if approve else response["behavior"] == "deny"


@pytest.mark.parametrize("words", ["ask, takes it back", "ask, and ends"])
async def test_a_question_that_it_no_longer_asks_is_taken_back(client: Client, words: str) -> None:
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(event(EventKind.TURN, words)), Taken)
        assert (await first(harness, "answered")).answered == ("q-1",)
        assert not await harness.answer("q-1", approve=True)


async def test_a_question_of_a_helper_outlives_the_turn(client: Client) -> None:
    async with driven(client) as harness:
        words = event(EventKind.TURN, "ask, of an agent, and ends")
        assert isinstance(await harness.hand_over(words), Taken)
        await first(harness, Activity.WAITING)
        assert await harness.answer("q-1", approve=True)


async def test_a_question_of_a_session_that_it_left_is_taken_back(client: Client) -> None:
    async with driven(client) as harness:
        words = event(EventKind.TURN, "ask, of an agent")
        assert isinstance(await harness.hand_over(words), Taken)
        await first(harness, "question")
        assert await harness.renew() == "session-1"
        assert (await first(harness, "answered")).answered == ("q-1",)


async def test_what_we_do_not_know_is_answered_with_an_error(client: Client) -> None:
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "odd")), Taken)
        await first(harness, Activity.WAITING)
        (answered,) = noted(harness)
        assert answered["response"]["subtype"] == "error"


async def test_a_session_is_gone_on_with(client: Client) -> None:
    place = client.place(
        environment={
            "HOME": str(client.root),
            "PATH": f"{client.root / 'bin'}:{os.environ['PATH']}",
        },
        resume="older-session",
    )
    async with ADAPTER.drive(client.means(place=place, clock=SystemClock())) as harness:
        assert harness.native.session_id == "older-session"
        assert harness.screen() is None
        assert not harness.greets
        assert not await harness.greet("x")


async def test_one_that_does_not_come_up_says_where_to_look(client: Client) -> None:
    with pytest.raises(NotStartedError, match=r"claude\.log"):
        async with driven(client, FAKE_CLAUDE="never"):
            pass


class Hurried(SystemClock):
    """Every wait for its end is over at once."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, 0.1))


async def test_nothing_is_left_of_it_at_the_end(client: Client) -> None:
    async with driven(client) as harness:
        pid = harness.native.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    async with driven(client) as harness:
        pid = harness.native.pid
        os.kill(pid, signal.SIGSTOP)
        # Frozen, it neither reads the end of its input nor hears the first signal.
        harness._child._clock = Hurried()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_it_says_and_nobody_can_hear_ends_the_seat_in_words(client: Client) -> None:
    class Broken(SystemClock):
        fails = False

        def now(self) -> datetime:
            if self.fails:
                raise RuntimeError("no time")
            return super().now()

    clock = Broken()
    async with driven(client, clock) as harness:
        clock.fails = True  # asked for when a turn has ended
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "hello")), Taken)
        with pytest.raises(DeafError, match="RuntimeError: no time"):
            await all_of(harness)


async def test_it_goes_on_with_a_fresh_session_in_the_same_process(client: Client) -> None:
    # proves: SEAT-14
    async with driven(client) as harness:
        assert isinstance(await harness.hand_over(HOLD), Taken)
        await until(lambda: any(one.shown for one in harness._open.values()))
        before, old = harness.native, harness.transcript
        assert await harness.renew() == harness.native.session_id == "session-1"
        assert harness.native.pid == before.pid
        assert old is not None
        # Words behind a turn wait for its end, so it is stopped.
        assert '"subtype": "interrupt"' in old.read_text()
        assert isinstance(await harness.hand_over(event(EventKind.TURN, "again")), Taken)


async def test_one_that_begins_no_session_stays_with_its_own(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PROVEN", 0.2)
    async with driven(client, FAKE_CLAUDE="stays") as harness:
        before = harness.native
        assert await harness.renew() is None
        assert harness.native == before


async def test_one_that_has_ended_begins_no_session(client: Client) -> None:
    async with driven(client) as harness:
        os.kill(harness.native.pid, signal.SIGKILL)
        assert await harness.renew() is None
