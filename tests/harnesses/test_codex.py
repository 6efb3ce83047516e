"""The real Codex as a seat: what goes in, what comes out, and what is left after a crash."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clankie.core.seat import Activity, EntryKind, Mishap, delivery_uuid
from clankie.seats.codex.adapter import CodexSeat
from clankie.seats.codex.rollout import holds
from clankie.seats.codex.server import CodexError
from clankie.seats.launch import NEWEST
from clankie.seats.process import alive
from fakes.until import until
from harnesses.codex_seat import Codex, codex
from harnesses.install import Harnesses
from harnesses.model import Model

ESCALATED = '{"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"try"}'


@pytest.fixture
def one(tmp_path: Path, harnesses: Harnesses, model: Model) -> Iterator[Codex]:
    made = codex(tmp_path, harnesses, model)
    yield made
    made.end()


@pytest.fixture
def asking(tmp_path: Path, harnesses: Harnesses, model: Model) -> Iterator[Codex]:
    made = codex(tmp_path, harnesses, model, approval="on-request", sandbox="read-only")
    yield made
    made.end()


async def waited(one: Codex, words: str) -> None:
    await asyncio.to_thread(one.model.wait, words)


async def idle(one: Codex, seat: CodexSeat) -> None:
    """Until the last turn's end stands in the transcript."""

    def waits() -> bool:
        found = [seen.observation.activity for seen in one.seen if seen.observation is not None]
        return bool(found) and found[-1] is Activity.WAITING

    await until(waits)
    assert seat.native.session_id


def test_words_are_taken_with_our_id_and_their_answer_stands_in_the_transcript(
    one: Codex, model: Model
) -> None:
    async def story() -> None:
        async with one.running() as seat:
            assert await seat.greet("the log so far")
            assert await one.gives(seat, "d-1", "~say hello") == "Taken client_id"
            await until(lambda: one.said(seat.transcript))
            await idle(one, seat)
            assert one.proven(seat.transcript) == ["d-1"]
            assert one.said(seat.transcript) == ["hello"]
            assert model.seen("the log so far")

    asyncio.run(story())


def test_an_owner_message_joins_the_turn_that_runs(one: Codex, model: Model) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~hold a")
            await waited(one, "~hold a")
            assert await one.gives(seat, "d-2", "~say steered") == "Taken socket"
            model.release("a")
            await until(lambda: "steered" in one.said(seat.transcript))
            await idle(one, seat)
            assert one.proven(seat.transcript) == ["d-1", "d-2"]

    asyncio.run(story())


def test_only_the_turn_of_an_event_is_stopped_for_it(one: Codex, model: Model) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~hold a")
            await waited(one, "~hold a")
            await one.gives(seat, "d-2", "~say never")
            assert not await seat.interrupt("d-0")
            assert await seat.interrupt("d-2")
            await idle(one, seat)
            assert not await seat.interrupt("d-1")
            assert one.rows(seat.transcript)[-1].error is Mishap.INTERRUPTED
            model.release("a")
            # The stop dropped what had not joined yet: no row proves it, and so it stays unknown.
            assert await one.gives(seat, "d-3", "~say on") == "Taken client_id"
            await until(lambda: "on" in one.said(seat.transcript))
            assert one.proven(seat.transcript) == ["d-1", "d-3"]

    asyncio.run(story())


@pytest.mark.parametrize(("approve", "made"), [(True, True), (False, False)])
def test_a_question_is_answered_as_the_owner_decides(
    asking: Codex, tmp_path: Path, approve: bool, made: bool
) -> None:
    async def story() -> None:
        async with asking.running() as seat:
            await asking.gives(seat, "d-1", f"~tool exec_command {ESCALATED}")
            question = await asking.asks()
            assert "touch made" in question.detail
            assert question.event == "d-1"
            assert await seat.answer(question.id, approve=approve)
            assert not await seat.answer(question.id, approve=approve)
            await until(lambda: asking.said(seat.transcript))
        assert (tmp_path / "work" / "made").exists() is made

    asyncio.run(story())


def test_a_question_stands_again_for_the_next_driver(asking: Codex, tmp_path: Path) -> None:
    async def story() -> None:
        async with asking.running() as seat:
            await asking.gives(seat, "d-1", f"~tool exec_command {ESCALATED}")
            first = await asking.asks()
            other = asking.another_program()
        asking.seen.clear()
        async with asking.running() as seat:
            again = await asking.asks()
            assert again.id == first.id
            assert await seat.answer(again.id, approve=True)
            await until((tmp_path / "work" / "made").exists)
            other.kill()
            other.wait()

    asyncio.run(story())


def test_a_usage_limit_is_read_with_its_window_and_its_end(one: Codex) -> None:
    async def story() -> None:
        async with one.running() as seat:
            assert await one.gives(seat, "d-1", "~fail limit") == "Taken client_id"
            await idle(one, seat)
            (limit,) = [row.limit for row in one.rows(seat.transcript) if row.limit]
            assert limit.window == "session"
            assert limit.resets_at is not None
            assert 0 < (limit.resets_at - limit.occurred_at).total_seconds() <= 3600
            # Known before the hand-over: nothing leaves.
            assert await one.gives(seat, "d-2", "~say no") == "Refused usage_limited"
            assert one.proven(seat.transcript) == ["d-1"]

    asyncio.run(story())


def test_a_weekly_limit_is_named_so(one: Codex) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~fail weekly")
            await idle(one, seat)
            (limit,) = [row.limit for row in one.rows(seat.transcript) if row.limit]
            assert limit.window == "weekly"

    asyncio.run(story())


def test_after_a_kill_between_taking_and_the_row_the_rollout_decides(
    one: Codex, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: FENCE-4
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~say before")
            await until(lambda: one.said(seat.transcript))
            await idle(one, seat)
            path = seat.transcript
            call = seat._rpc.call

            async def dies(method: str, params: dict[str, Any], **how: float) -> dict[str, Any]:
                found = await call(method, params, **how)
                if method == "turn/start":
                    os.kill(seat.native.pid, signal.SIGKILL)
                return found

            monkeypatch.setattr(seat._rpc, "call", dies)
            handed = await one.gives(seat, "d-2", "~say lost")
            await until(lambda: any(s.observation and s.observation.ended for s in one.seen))
            assert await one.gives(seat, "d-3", "~say x") == "Refused app_server_gone"
        written = holds(str(path), delivery_uuid("d-2", 1), one.place.environment)
        assert handed.split()[0] == ("Taken" if written else "Unknown")
        async with one.running() as again:
            assert again.native.session_id in str(path)
            assert await one.gives(again, "d-4", "~say after") == "Taken client_id"
            await until(lambda: "after" in one.said(path))
            assert one.proven(path) == ["d-1", *(["d-2"] if written else []), "d-4"]

    asyncio.run(story())


def test_a_restarted_driver_joins_the_server_that_it_knows(one: Codex) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with one.running() as seat:
            native = seat.native
            await one.gives(seat, "d-1", "~say one")
            await until(lambda: one.said(seat.transcript))
            other = one.another_program()
        async with one.running() as seat:
            assert seat.native == native
            assert await one.gives(seat, "d-2", "~say two") == "Taken client_id"
            await until(lambda: one.said(seat.transcript) == ["one", "two"])
            other.kill()
            other.wait()
        # Its launcher buries it in a moment.
        await until(lambda: not alive(native.pid, native.process_started_at))

    asyncio.run(story())


def test_a_server_that_is_not_provably_the_one_of_the_record_is_left_alone(one: Codex) -> None:
    # proves: SEAT-13
    async def story() -> None:
        async with one.running() as seat:
            native = seat.native
            await one.gives(seat, "d-1", "~say one")
            await until(lambda: one.said(seat.transcript))
            other = one.another_program()
        record = one.place.folder / "codex.json"
        known = json.loads(record.read_text())
        record.write_text(json.dumps(known | {"began": known["began"] + "9"}))
        # Nor is its session taken from it: a thread has one writer.
        with pytest.raises(CodexError, match="active writer"):
            async with one.running():
                pass
        assert alive(native.pid, native.process_started_at)
        record.write_text(json.dumps(known))
        async with one.running() as seat:
            assert seat.native == native
            other.kill()
            other.wait()

    asyncio.run(story())


def test_an_earlier_session_is_resumed_by_name_and_as_the_newest(
    one: Codex, tmp_path: Path
) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", "~say one")
            await until(lambda: one.said(seat.transcript))
            session = seat.native.session_id
        for number, resume in enumerate((session, NEWEST)):
            folder = tmp_path / "state" / "seats" / f"again-{number}"
            folder.mkdir(mode=0o700)
            one.place = replace(one.place, folder=folder, resume=resume)
            async with one.running() as seat:
                assert seat.native.session_id == session

    asyncio.run(story())


def test_our_hook_is_trusted_on_the_owners_word_alone(one: Codex) -> None:
    async def story() -> None:
        config = Path(one.place.environment["CODEX_HOME"]) / "config.toml"
        before = config.read_text()
        async with one.running() as seat:
            assert seat.greets
        assert config.read_text() == before
        one.place = replace(one.place, trust=True)
        async with one.running() as seat:
            assert not seat.greets
        one.place = replace(one.place, trust=False)
        async with one.running() as seat:
            assert not seat.greets
        assert "trusted_hash" in config.read_text()

    asyncio.run(story())


def test_a_tool_that_ran_is_a_row(one: Codex) -> None:
    async def story() -> None:
        async with one.running() as seat:
            await one.gives(seat, "d-1", '~tool exec_command {"cmd":"echo from-the-shell"}')
            await until(lambda: one.said(seat.transcript))
            (row,) = [r for r in one.rows(seat.transcript) if r.kind is EntryKind.TOOL]
            assert row.tool is not None
            assert row.tool["phase"] == "completed"
            assert "from-the-shell" in row.tool["detail"]

    asyncio.run(story())
