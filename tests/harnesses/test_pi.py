"""The real pi as a seat: what goes in, what comes out, and what is left after a crash."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from clankie.core.seat import EntryKind, EventKind, Mishap, SeatEvent, delivery_uuid
from clankie.seats.pi.adapter import PiSeat
from clankie.seats.pi.run import RATE, SOON, USAGE
from fakes.until import until
from harnesses.codex_seat import turn
from harnesses.install import Harnesses
from harnesses.model import Model
from harnesses.pi_seat import Pi, pi


@pytest.fixture
def one(tmp_path: Path, harnesses: Harnesses, model: Model) -> Pi:
    return pi(tmp_path, harnesses, model)


def told(story: Callable[[PiSeat], object], one: Pi) -> None:
    async def run() -> None:
        async with one.running() as seat:
            made = story(seat)
            assert asyncio.iscoroutine(made)
            await made

    asyncio.run(run())


def test_words_are_taken_verbatim_with_our_id(one: Pi, model: Model) -> None:
    async def story(seat: PiSeat) -> None:
        assert await seat.greet("the log so far")
        assert await one.gives(seat, "d-1", "~say hello\n/quit\n!ls") == "Taken client_id"
        await until(lambda: one.said(seat) == ["hello"])
        await until(one.waits)
        assert one.proven(seat) == ["d-1"]
        (request,) = model.seen("the log so far")
        assert "~say hello\n/quit\n!ls" in request.text
        # A leading slash is no order either.
        assert await one.gives(seat, "d-2", "/compact ~say no") == "Taken client_id"
        await until(lambda: len(one.said(seat)) == 2)
        assert one.proven(seat) == ["d-1", "d-2"]

    told(story, one)


def test_words_join_the_run_and_a_stop_is_for_any_of_them(one: Pi, model: Model) -> None:
    async def story(seat: PiSeat) -> None:
        await one.gives(seat, "d-1", "~hold a")
        await asyncio.to_thread(model.wait, "~hold a")
        assert await one.gives(seat, "d-2", "~say joined") == "Taken socket"
        model.release("a")
        await until(lambda: "joined" in one.said(seat))
        await until(one.waits)
        assert one.proven(seat) == ["d-1", "d-2"]
        await one.gives(seat, "d-3", "~hold b")
        await asyncio.to_thread(model.wait, "~hold b")
        assert not await seat.interrupt("d-2")
        assert await one.gives(seat, "d-4", "~say after all") == "Taken socket"
        assert await seat.interrupt("d-4")
        await until(one.waits)
        assert one.rows(seat)[-1].error is Mishap.INTERRUPTED
        model.release("b")
        # What had not joined yet pi keeps, and gives to its model with the next words.
        assert await one.gives(seat, "d-5", "~say on") == "Taken client_id"
        await until(lambda: "after all" in one.said(seat))
        assert one.proven(seat) == ["d-1", "d-2", "d-3", "d-5", "d-4"]

    told(story, one)


def test_what_wants_a_reply_is_refused(one: Pi) -> None:
    async def story(seat: PiSeat) -> None:
        made = turn("d-1", "~say no")
        event = SeatEvent(
            id=made.id,
            kind=EventKind.MESSAGE,
            source="room",
            content=made.content,
            created_at=made.created_at,
            deadline=made.deadline,
            conversation=made.conversation,
            attempt=1,
            generation=1,
            reply=True,
        )
        handed = await seat.hand_over(event)
        assert type(handed).__name__ == "Refused"
        assert EventKind.ESCALATION not in seat.declaration.ways
        assert one.model.count() == 0

    told(story, one)


def test_after_a_kill_nothing_is_said_to_be_taken_that_has_no_row(one: Pi) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~say before")
            await until(lambda: one.said(seat) == ["before"])
            await until(one.waits)
            session = seat.native.session_id
            os.kill(seat.native.pid, signal.SIGSTOP)
            words = asyncio.get_running_loop().create_task(one.gives(seat, "d-2", "~say lost"))
            await until(lambda: delivery_uuid("d-2", 1) in seat._waiting)
            os.kill(seat.native.pid, signal.SIGKILL)
            assert (await words).startswith("Unknown")
            await until(lambda: any(s.observation and s.observation.ended for s in one.seen))
            assert (await one.gives(seat, "d-3", "~say x")).startswith("Refused")
        async with one.running() as again:
            assert again.native.session_id == session
            assert await one.gives(again, "d-4", "~say after") == "Taken client_id"
            await until(lambda: one.said(again) == ["before", "after"])
            assert one.proven(again) == ["d-1", "d-4"]

    asyncio.run(story())


def test_it_goes_on_with_a_fresh_session_in_the_same_process(one: Pi, model: Model) -> None:
    # proves: SEAT-14
    async def story(seat: PiSeat) -> None:
        assert await seat.greet("the log of before")
        await one.gives(seat, "d-1", "~hold for ever")
        await asyncio.to_thread(model.wait, "~hold for ever")
        before = seat.native
        session = await seat.renew()
        assert session == seat.native.session_id != before.session_id
        assert seat.native.pid == before.pid
        assert await seat.greet("the log since then")
        assert await one.gives(seat, "d-2", "~say afresh") == "Taken client_id"
        await until(lambda: one.said(seat) == ["afresh"])
        await until(one.waits)
        assert one.proven(seat) == ["d-2"]
        (request,) = model.fresh("~say afresh")
        assert "the log since then" in request.text
        assert "before" not in request.text
        model.release("for ever")

    told(story, one)


QUICK = {"maxRetries": 1, "baseDelayMs": 10}


@pytest.mark.parametrize(
    ("api", "kind", "window"),
    [
        ("openai-completions", "rate", RATE),
        ("openai-completions", "limit", USAGE),
        ("openai-responses", "limit", USAGE),
        ("openai-codex-responses", "limit", USAGE),
        ("anthropic-messages", "limit", RATE),
    ],
)
def test_a_limit_of_the_provider_is_a_limit_once_pi_has_given_up(
    tmp_path: Path, harnesses: Harnesses, model: Model, api: str, kind: str, window: str
) -> None:
    # proves: LIMIT-1
    one = pi(tmp_path, harnesses, model, api, QUICK)

    async def story(seat: PiSeat) -> None:
        assert await one.gives(seat, "d-1", f"~fail {kind}") == "Taken client_id"
        (end,) = await until(one.ends)
        assert (end.kind, end.limit is not None) == (EntryKind.LIMIT, True), end
        assert end.limit is not None
        assert end.limit.window == window
        if api == "openai-codex-responses":
            # Its words are in minutes.
            assert end.limit.resets_at is not None
            left = end.limit.resets_at - end.limit.occurred_at
            assert 58 <= left.total_seconds() / 60 <= 61
        elif window == RATE:
            assert end.limit.resets_at == end.limit.occurred_at + SOON
        await until(one.waits)
        assert one.activities() == ["responding", *one.activities()[1:-1], "waiting"]
        assert "waiting" not in one.activities()[:-1]
        assert await one.gives(seat, "d-2", "~say on") == "Taken client_id"
        await until(lambda: one.said(seat) == ["on"])

    told(story, one)


@pytest.mark.parametrize("kind", ["overloaded", "auth", "bad"])
def test_another_failure_ends_its_turn_once_pi_has_given_up(
    tmp_path: Path, harnesses: Harnesses, model: Model, kind: str
) -> None:
    one = pi(tmp_path, harnesses, model, retry=QUICK)

    async def story(seat: PiSeat) -> None:
        await one.gives(seat, "d-1", f"~fail {kind}")
        (end,) = await until(one.ends)
        assert (end.kind, end.error) == (EntryKind.ERROR, Mishap.API_ERROR)
        assert "waiting" not in one.activities()[:-1]

    told(story, one)


def test_a_stop_while_it_waits_to_try_again_is_a_stop(
    tmp_path: Path, harnesses: Harnesses, model: Model
) -> None:
    one = pi(tmp_path, harnesses, model, retry={"maxRetries": 1, "baseDelayMs": 600_000})

    async def story(seat: PiSeat) -> None:
        await one.gives(seat, "d-1", "~fail overloaded")
        # The second time it is that it will try again.
        await until(lambda: one.activities() == ["responding", "responding"])
        assert await seat.interrupt("d-1")
        (end,) = await until(one.ends)
        assert end.error is Mishap.INTERRUPTED
        assert await one.gives(seat, "d-2", "~say on") == "Taken client_id"

    told(story, one)
