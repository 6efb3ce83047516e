"""What a Codex seat does with words, over a scripted app-server."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from clankie.core.seat import Activity, EntryKind
from clankie.seats.codex import ADAPTER, drive, handing, proof
from clankie.seats.codex.adapter import CodexSeat
from clankie.seats.codex.rpc import connected
from clankie.seats.codex.server import CodexError
from clankie.seats.launch import NEWEST
from clankie.seats.port import DeafError, Refused, Taken, Unknown
from clankie.seats.process import alive
from fakes.hearing import all_of
from fakes.until import until
from seats.codex.conftest import Codex, again, ended

pytestmark = pytest.mark.anyio


async def test_words_are_taken_when_they_stand_in_the_thread(codex: Codex) -> None:
    async with codex.running() as seat:
        assert await codex.gives(seat, "d-1", "~say hello") == Taken("client_id")
        await until(lambda: codex.activities() == [Activity.RESPONDING, Activity.WAITING])
        *_, over = [one.observation for one in codex.seen if one.observation is not None]
        assert over.at is not None  # before it waited for what the turn wrote
        assert codex.proven(seat) == ["d-1"]
        assert [r.text for r in codex.rows(seat) if r.kind is EntryKind.ASSISTANT] == ["hello"]


async def test_words_join_a_turn_by_its_name_alone(codex: Codex) -> None:
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~hold")
        assert await codex.gives(seat, "d-2", "~go") == Taken("socket")
        (steered,) = codex.requests("turn/steer")
        assert steered["expectedTurnId"] == "turn-1"
        assert len(codex.requests("turn/start")) == 1
        await until(lambda: Activity.WAITING in codex.activities())


async def test_a_turn_that_nothing_can_join_refuses(codex: Codex) -> None:
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~review")
        assert await codex.gives(seat, "d-2", "~go") == Refused("the turn is not steerable")
        assert codex.proven(seat) == ["d-1"]


async def test_an_error_of_the_server_is_a_definite_refusal(codex: Codex) -> None:
    async with codex.running() as seat:
        assert await codex.gives(seat, "d-1", "~refuse") == Refused("the words are refused")
        assert codex.proven(seat) == []


async def test_a_server_that_does_not_answer_a_look_is_given_nothing(
    codex: Codex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing, "_LOOK", 0.1)
    async with codex.running() as seat:
        (codex.home / "deaf").touch()
        assert isinstance(await codex.gives(seat, "d-1", "~say hello"), Refused)
        (codex.home / "deaf").unlink()
        assert await codex.gives(seat, "d-2", "~say hello") == Taken("client_id")
        assert len(codex.requests("turn/start")) == 1


async def test_a_turn_that_never_shows_the_words_leaves_them_unknown(codex: Codex) -> None:
    async with codex.running() as seat:
        handed = await codex.gives(seat, "d-1", "~swallow")
        assert isinstance(handed, Unknown)
        assert len(codex.requests("turn/start")) == 1


async def test_a_server_that_dies_between_taking_and_writing_leaves_it_unknown(
    codex: Codex,
) -> None:
    async with codex.running() as seat:
        handed = await codex.gives(seat, "d-1", "~die")
        assert isinstance(handed, Unknown)
        await until(lambda: any(s.observation and s.observation.ended for s in codex.seen))
        assert await codex.gives(seat, "d-2", "~say x") == Refused("app_server_gone")
        assert len(codex.requests("turn/start")) == 1


async def test_a_server_that_dies_after_it_wrote_the_words_has_them(codex: Codex) -> None:
    async with codex.running() as seat:
        assert await codex.gives(seat, "d-1", "~die-late") == Taken("client_id")
        assert codex.proven(seat) == ["d-1"]


async def test_what_the_seat_does_not_understand_ends_it_in_words_and_is_no_end_of_the_server(
    codex: Codex,
) -> None:
    async with ADAPTER.drive(codex.means) as seat:
        assert isinstance(seat, CodexSeat)
        assert await codex.gives(seat, "d-1", "~odd") == Taken("client_id")
        with pytest.raises(DeafError, match="TypeError"):
            await all_of(seat)
        assert await codex.gives(seat, "d-2", "~swallow") == Taken("socket")


async def test_a_known_limit_refuses_before_anything_leaves(codex: Codex) -> None:
    async with codex.running() as seat:
        assert await codex.gives(seat, "d-1", "~limit") == Taken("client_id")
        await until(lambda: Activity.WAITING in codex.activities())
        assert await codex.gives(seat, "d-2", "~say x") == Refused("usage_limited")
        (limit,) = [row.limit for row in codex.rows(seat) if row.limit]
        assert limit.resets_at is not None


@pytest.mark.parametrize("event", ["d-1", "d-2"])
async def test_only_the_turn_that_an_event_began_or_joined_is_stopped_for_it(
    codex: Codex, event: str
) -> None:
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~hold")
        await codex.gives(seat, "d-2", "joins")
        assert not await seat.interrupt("d-other")
        assert await seat.interrupt(event)
        await until(lambda: Activity.WAITING in codex.activities())
        assert not await seat.interrupt("d-1")
        await codex.gives(seat, "d-3", "~hold")
        assert not await seat.interrupt("d-1")
        assert not await seat.interrupt("d-2")
        assert await seat.interrupt("d-3")


@pytest.mark.parametrize(("approve", "decision"), [(True, "accept"), (False, "decline")])
async def test_a_question_is_answered_once(codex: Codex, approve: bool, decision: str) -> None:
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~ask")
        await until(codex.questions)
        (question,) = codex.questions()
        assert question.event == "d-1"
        assert "rm -rf x" in question.detail
        assert await seat.answer(question.id, approve=approve)
        assert not await seat.answer(question.id, approve=approve)
        await until(lambda: Activity.WAITING in codex.activities())
        (said,) = [r.text for r in codex.rows(seat) if r.kind is EntryKind.ASSISTANT]
        assert decision in said
        assert codex.answered() == [], "it was answered here, and nobody must be told"


async def test_a_question_that_was_answered_elsewhere_no_longer_stands(codex: Codex) -> None:
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~ask")
        await until(codex.questions)
        (question,) = codex.questions()
        # Another client answers, as the terminal does.
        async with connected(Path(str(codex.record()["link"]))) as other:
            await other.answer(0, {"decision": "decline"})
            await until(codex.answered)
        assert codex.answered() == [question.id]
        assert not await seat.answer(question.id, approve=True)


async def test_the_log_is_put_into_the_thread_without_a_turn(codex: Codex) -> None:
    codex.trusts("untrusted")
    async with codex.running() as seat:
        assert seat.greets
        assert await seat.greet("the log so far")
        assert "the log so far" in str(codex.requests("thread/inject_items")[-1])
        assert codex.requests("turn/start") == []


async def test_a_session_that_has_the_log_wants_it_once(codex: Codex) -> None:
    codex.trusts("untrusted")
    wanted: list[bool] = []
    async with codex.running() as seat:
        wanted.append(seat.greets)
        assert await seat.greet("the log so far")
        wanted.append(seat.greets)
        other = codex.another_program()
    async with codex.running() as seat:
        wanted.append(seat.greets)
        # Another session has nothing of it.
        await seat._rpc.call("thread/start", {})
        await until(codex.sessions)
        wanted.append(seat.greets)
        other.kill()
        other.wait()
    assert wanted == [True, False, False, True]


async def test_an_untrusted_hook_is_left_out_and_said(codex: Codex) -> None:
    codex.place = replace(codex.place, headless=False)
    codex.trusts("untrusted")
    async with codex.running() as seat:
        screen = seat.screen()
        assert screen is not None
        assert "--trust-hooks" in screen.notes[0]
        assert not (codex.home / "trusted").exists()
        assert codex.record()["hooks"] is False


@pytest.mark.parametrize(
    ("agent", "said"), [("clankie/9.8.7 (x)", "Codex 9.8.7"), ("?", "of an unknown version")]
)
async def test_a_version_that_was_not_tried_is_started_with_a_word(
    codex: Codex, agent: str, said: str
) -> None:
    environment = {**codex.place.environment, "FAKE_AGENT": agent}
    codex.place = replace(codex.place, environment=environment)
    async with codex.running() as seat:
        assert await codex.gives(seat, "d-1", "~say hello") == Taken("client_id")
        (note,) = [note for one in codex.seen for note in one.notes]
        assert said in note


async def test_a_hook_is_trusted_on_the_owners_word(codex: Codex) -> None:
    codex.place = replace(codex.place, trust=True, headless=False)
    codex.trusts("untrusted")
    async with codex.running() as seat:
        assert not seat.greets
        screen = seat.screen()
        assert screen is not None
        assert screen.notes == ()
        # Ours alone; what else the person has is theirs to trust.
        written = (codex.home / "trusted").read_text()
        assert "flags:0" in written
        assert "other" not in written


async def test_a_driver_that_comes_back_joins_the_server_that_it_knows(codex: Codex) -> None:
    # proves: SEAT-13
    async with codex.running() as seat:
        native = seat.native
        await codex.gives(seat, "d-1", "~hold")
        other = codex.another_program()
    assert alive(native.pid, native.process_started_at)
    async with codex.running() as seat:
        assert seat.native == native
        await until(lambda: codex.activities()[-1:] == [Activity.RESPONDING])
        assert await codex.gives(seat, "d-2", "~go") == Taken("socket")
        other.kill()
        other.wait()
    assert ended(native.pid, native.process_started_at)


async def test_a_slow_resume_does_not_end_the_server_of_a_terminal(
    codex: Codex, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: SEAT-13
    async with codex.running() as seat:
        native = seat.native
        other = codex.another_program()
    monkeypatch.setattr(drive, "_RESUMED_WITHIN", 0.1)
    (codex.home / "slow").touch()
    with pytest.raises(CodexError):
        async with codex.running():
            pass
    assert alive(native.pid, native.process_started_at)
    (codex.home / "slow").unlink()
    async with codex.running() as seat:
        assert seat.native == native
        other.kill()
        other.wait()


async def test_a_server_that_nobody_drives_or_watches_gives_its_thread_back(codex: Codex) -> None:
    async with codex.running() as seat:
        native = seat.native
        watching = codex.another_program()
    driven = again(codex, "s-2", None)
    async with driven.running() as seat:
        other = seat.native
        (driven.place.folder / "driver.pid").write_text(str(os.getpid()))
        driven.another_program()
    third = again(codex, "s-3", None)
    async with third.running():
        assert alive(native.pid, native.process_started_at), "somebody looks at it"
    watching.kill()
    watching.wait()
    for one in driven.others:
        one.kill()
        one.wait()
    async with third.running():
        assert ended(native.pid, native.process_started_at)
        assert alive(other.pid, other.process_started_at), "its driver lives"
    driven.end()


async def test_a_driver_that_comes_back_to_a_dead_server_goes_on_with_the_thread(
    codex: Codex,
) -> None:
    async with codex.running() as seat:
        native = seat.native
        await codex.gives(seat, "d-1", "~say one")
        await until(lambda: Activity.WAITING in codex.activities())
    async with codex.running() as seat:
        assert seat.native.session_id == native.session_id
        assert seat.native.pid != native.pid
        assert codex.proven(seat) == ["d-1"]


async def test_a_session_is_resumed_by_name_or_as_the_newest(codex: Codex) -> None:
    async with codex.running() as seat:
        session = seat.native.session_id
    for folder, resume in (("s-2", session), ("s-3", NEWEST)):
        other = again(codex, folder, resume)
        async with other.running() as seat:
            assert seat.native.session_id == session


@pytest.mark.parametrize("resume", ["thread-unknown", "thread-elsewhere"])
async def test_a_session_that_cannot_be_resumed_is_no_other_one(codex: Codex, resume: str) -> None:
    codex.place = replace(codex.place, resume=resume)
    with pytest.raises(CodexError, match=r"thread-"):
        async with codex.running():
            pass


async def test_a_session_that_another_server_has_open_is_not_replaced(codex: Codex) -> None:
    record = {"pid": 1, "began": "linux:x:1", "link": "l", "socket": "s"}
    where = codex.place.folder / "codex.json"
    where.write_text(json.dumps({**record, "thread": "thread-elsewhere"}))
    where.chmod(0o600)
    with pytest.raises(CodexError, match="active writer"):
        async with codex.running():
            pass
    assert codex.requests("thread/start") == []


async def test_a_new_session_of_the_only_other_program_is_followed(codex: Codex) -> None:
    # proves: SEAT-13
    async with codex.running() as seat:
        first = seat.native.session_id
        other = codex.another_program()
        # As the terminal does it; who asked is not what is looked at.
        await seat._rpc.call("thread/start", {})
        await until(codex.sessions)
        assert codex.sessions() == [(seat.native.session_id, "clear")]
        assert seat.native.session_id != first
        assert codex.record()["thread"] == seat.native.session_id
        assert await codex.gives(seat, "d-1", "~say here") == Taken("client_id")
        other.kill()
        other.wait()


async def test_among_several_programs_nobody_is_followed(codex: Codex) -> None:
    # proves: SEAT-13
    async with codex.running() as seat:
        first = seat.native.session_id
        others = [codex.another_program(), codex.another_program()]
        await seat._rpc.call("thread/start", {})
        await until(lambda: any(one.notes for one in codex.seen))
        assert seat.native.session_id == first
        assert codex.sessions() == []
        for other in others:
            other.kill()
            other.wait()


async def test_a_server_that_does_not_start_says_why(codex: Codex) -> None:
    codex.trusts("broken")
    with pytest.raises(CodexError, match="it is broken"):
        async with codex.running():
            pass


async def test_a_program_that_is_not_there_says_so(codex: Codex, tmp_path: Path) -> None:
    environment = {**codex.place.environment, "PATH": str(tmp_path / "nothing")}
    codex.place = replace(codex.place, environment=environment)
    with pytest.raises(CodexError, match="codex"):
        async with codex.running():
            pass


async def test_two_messages_at_once_never_start_two_turns(codex: Codex) -> None:
    async with codex.running() as seat:
        handed = await asyncio.gather(
            *(codex.gives(seat, f"d-{n}", "~hold" if n == 0 else "joins") for n in range(5))
        )
        assert all(isinstance(one, Taken) for one in handed)
        assert len(codex.requests("turn/start")) == 1
        assert len(codex.requests("turn/steer")) == 4
        assert codex.proven(seat) == [f"d-{n}" for n in range(5)]
        assert await seat.interrupt("d-0")


async def test_it_goes_on_with_a_fresh_thread_in_the_same_server(codex: Codex) -> None:
    # proves: SEAT-14
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~ask")
        await until(codex.questions)
        before = seat.native
        session = await seat.renew()
        assert session == seat.native.session_id != before.session_id
        assert seat.native.pid == before.pid
        # The turn of before is stopped, and what it asked is asked no more.
        (stopped,) = codex.requests("turn/interrupt")
        assert stopped["threadId"] == before.session_id
        await until(lambda: codex.answered() == [codex.questions()[0].id])
        assert await seat.greet("the log so far")
        assert await codex.gives(seat, "d-2", "~say afresh") == Taken("client_id")
        assert codex.proven(seat) == ["d-2"]
        assert codex.requests("thread/start")[-1]["sessionStartSource"] == "clear"
    async with codex.running() as seat:
        assert seat.native.session_id == session


async def test_a_thread_that_a_terminal_shows_is_not_left_behind_its_back(codex: Codex) -> None:
    # proves: SEAT-14
    async with codex.running() as seat:
        before = seat.native
        other = codex.another_program()
        await until(lambda: proof.joined(seat._server.record, os.getpid()))
        assert await seat.renew() is None
        assert seat.native == before
        assert len(codex.requests("thread/start")) == 1
        other.kill()
        other.wait()


async def test_one_that_a_terminal_will_show_stays_too(codex: Codex) -> None:
    codex.place = replace(codex.place, headless=False)
    async with codex.running() as seat:
        assert await seat.renew() is None


async def test_a_limit_of_the_account_goes_for_the_fresh_thread_too(codex: Codex) -> None:
    # proves: LIMIT-1
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~limit")
        await until(lambda: Activity.WAITING in codex.activities())
        assert await seat.renew()
        assert await codex.gives(seat, "d-2", "~say no") == Refused("usage_limited")


async def test_a_server_that_begins_no_thread_leaves_the_seat_where_it_is(codex: Codex) -> None:
    async with codex.running() as seat:
        before = seat.native
        (codex.home / "full").touch()
        assert await seat.renew() is None
        assert seat.native == before
        assert await codex.gives(seat, "d-1", "~say still here") == Taken("client_id")


async def standing(codex: Codex) -> list[tuple[str, ...] | None]:
    """Run a driver until it has said what stands, and something after that."""
    codex.seen.clear()
    async with codex.running() as seat:
        await codex.gives(seat, "d-9", "~hold")
        await until(codex.activities)
        return [one.standing for one in codex.seen if one.standing is not None]


async def test_who_joins_says_which_questions_stand(codex: Codex) -> None:
    assert await standing(codex) == [()]
    async with codex.running() as seat:
        await codex.gives(seat, "d-1", "~ask")
        await until(codex.questions)
        question = codex.questions()[0].id
        codex.another_program()
    assert await standing(codex) == [(question,)]
    (codex.home / "shy").touch()
    # It waits for an answer to something that we were not told of.
    assert await standing(codex) == []
