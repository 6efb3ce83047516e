"""The real Claude Code without a terminal, owned by us, and what an older one writes."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from clankie.core.seat import Activity, EntryKind, EventKind, Mishap, Proof
from clankie.seats.claude import stream
from clankie.seats.claude.launch import TESTED, plugin
from clankie.seats.port import Question, Refused, Seen, Taken, Unknown
from clankie.seats.versions import installed
from fakes.until import collecting, until
from harnesses.claude_lab import ASKS, BUSY, Lab, headless
from harnesses.install import Harnesses
from harnesses.model import Model

pytestmark = pytest.mark.anyio

OLD_AND_NEW = pytest.mark.parametrize("which", ["claude", "claude_before"])


@pytest.fixture
def which() -> str:
    return "claude"


@pytest.fixture
def lab(tmp_path: Path, harnesses: Harnesses, model: Model, which: str) -> Lab:
    return Lab(tmp_path, model, getattr(harnesses, which))


def activities(seen: list[Seen]) -> list[Activity]:
    found = [one.observation.activity for one in seen if one.observation is not None]
    return [one for one in found if one is not None]


def questions(seen: list[Seen]) -> list[Question]:
    return [one.question for one in seen if one.question is not None]


@OLD_AND_NEW
async def test_a_turn_goes_there_and_back(lab: Lab) -> None:
    # proves: SEAT-3, SEAT-15
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        for words in ("one", "two"):
            turn = lab.event(EventKind.TURN, f"~say {words}")
            assert isinstance(await sat.hand(turn), Taken)
            (row,) = await until(lambda turn=turn: sat.proven(turn))  # type: ignore[misc]
            assert row.evidence is not None
            assert row.evidence.proof is Proof.UUID
            assert row.text == turn.content
            await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
            assert sat.entries()[-1].text == words


@OLD_AND_NEW
async def test_what_comes_during_a_turn_joins_it(lab: Lab) -> None:
    # proves: SEAT-11
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        assert isinstance(await sat.hand(lab.event(EventKind.TURN, BUSY)), Taken)
        await until(lambda: any(one.kind is EntryKind.TOOL for one in sat.entries()))
        report = lab.event(EventKind.MESSAGE, "in the middle")
        assert isinstance(await sat.hand(report), Taken)
        assert sat.proven(report) == []
        lab.go()
        await until(lambda: lab.model.fresh("in the middle"))
        (row,) = await until(lambda: sat.proven(report))
        assert row.evidence is not None
        assert row.evidence.proof is Proof.UUID
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        assert len(lab.model.fresh("in the middle")) == 1


@OLD_AND_NEW
async def test_a_turn_is_stopped_and_the_session_goes_on(lab: Lab) -> None:
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        turn = lab.event(EventKind.TURN, "~hold for ever")
        assert isinstance(await sat.hand(turn), Taken)
        await until(lambda: lab.model.fresh("~hold for ever"))
        assert not await sat.harness.interrupt("d-unknown")
        assert await sat.harness.interrupt(turn.id)
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        assert not await sat.harness.interrupt(turn.id)
        assert sat.entries()[-1].error is Mishap.INTERRUPTED
        assert isinstance(await sat.hand(lab.event(EventKind.TURN, "~say still here")), Taken)
        await until(lambda: any(one.text == "still here" for one in sat.entries()))
    lab.model.release("for ever")


@OLD_AND_NEW
async def test_it_goes_on_with_a_fresh_session_in_the_same_process(lab: Lab) -> None:
    # proves: SEAT-14
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        await sat.hand(lab.event(EventKind.TURN, "~hold for ever"))
        await until(lambda: lab.model.fresh("~hold for ever"))
        before = sat.harness.native
        assert isinstance(sat.harness, stream.Stream)
        session = await sat.harness.renew()
        after = sat.harness.native
        assert session == after.session_id != before.session_id
        assert (after.pid, after.process_started_at) == (before.pid, before.process_started_at)
        turn = lab.event(EventKind.TURN, "~say afresh")
        assert isinstance(await sat.hand(turn), Taken)
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        assert [one.text for one in sat.entries()] == [turn.content, "afresh"]
        assert "~hold for ever" not in lab.model.fresh("afresh")[0].text
    lab.model.release("for ever")


@pytest.mark.parametrize("approve", [True, False])
async def test_a_question_waits_for_the_owners_answer(lab: Lab, approve: bool) -> None:
    # proves: SEAT-3
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        turn = lab.event(EventKind.TURN, ASKS)
        assert isinstance(await sat.hand(turn), Taken)
        (question,) = await until(lambda: questions(seen))
        assert question.summary == "Bash: make it"
        assert "python3" in question.detail
        assert question.event == turn.id
        assert not (lab.work / "made").exists()
        assert await sat.harness.answer(question.id, approve=approve)
        assert not await sat.harness.answer(question.id, approve=True)
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        assert (lab.work / "made").exists() == approve


async def test_what_a_frozen_session_was_sent_is_unknown_and_not_sent_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: FENCE-4
    monkeypatch.setattr(stream, "PROVEN", 2.0)
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        os.kill(sat.harness.native.pid, signal.SIGSTOP)
        report = lab.event(EventKind.MESSAGE, "into the cold")
        assert isinstance(await sat.hand(report), Unknown)
        os.kill(sat.harness.native.pid, signal.SIGKILL)
        await until(lambda: any(one.observation and one.observation.ended for one in seen))
        assert sat.proven(report) == []
        assert await sat.hand(lab.event(EventKind.WAKE, "x")) == Refused("session_ended")
    assert not lab.model.seen("into the cold")


async def test_a_session_is_resumed_under_its_id_and_the_newest_can_be_asked_for(
    lab: Lab,
) -> None:
    async with headless(lab) as sat:
        await sat.hand(lab.event(EventKind.TURN, "~say first"))
        await until(lambda: any(one.text == "first" for one in sat.entries()))
        session = sat.harness.native.session_id
    for resume in (session, ""):
        async with headless(lab, resume=resume) as sat:
            assert sat.harness.native.session_id == session
            turn = lab.event(EventKind.TURN, "~say more")
            assert isinstance(await sat.hand(turn), Taken)
            await until(lambda turn=turn: sat.proven(turn))  # type: ignore[misc]


async def test_the_log_reaches_the_model_through_the_plugin_and_what_is_said_comes_back(
    lab: Lab,
) -> None:
    # proves: HAND-2
    (lab.root / "notes" / "projection").write_text("This is the conversation so far: CREST-7\n")
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        call = '~tool mcp__plugin_clankie_clankie__reply {"text": "hello"}'
        await sat.hand(lab.event(EventKind.TURN, call))
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        (first, *_) = lab.model.fresh(call)
        assert "CREST-7" in first.text
        assert {"called": "reply", "given": {"text": "hello"}} in lab.calls()
    await until(lambda: "SessionEnd" in lab.hooks())
    assert lab.hooks() == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    start = next(one for one in lab.calls() if "arguments" in one)
    assert start["arguments"] == ["prompt", "--seat", "--sections", "persona,reach,conversation"]
    assert start["given"]["source"] == "startup"


@OLD_AND_NEW
async def test_usage_limits_are_read_from_rows_of_both_formats(
    tmp_path: Path, harnesses: Harnesses, model: Model, which: str
) -> None:
    # proves: LIMIT-1
    lab = Lab(tmp_path, model, getattr(harnesses, which), subscriber=True)
    for said, window in (("limit", "session"), ("weekly", "weekly")):
        (lab.root / "seat" / "taken.jsonl").unlink(missing_ok=True)
        async with headless(lab) as sat:
            await sat.hand(lab.event(EventKind.TURN, f"~fail {said}"))
            (entry,) = await until(
                lambda: [one for one in sat.entries() if one.kind is EntryKind.LIMIT]
            )
            assert entry.limit is not None
            assert entry.limit.window == window
            assert entry.limit.occurred_at == entry.at
            assert entry.limit.resets_at is not None
            assert entry.limit.resets_at > entry.at
            await until(lambda: sat.harness.transcript is not None)
            refused = await sat.hand(lab.event(EventKind.WAKE, "~say no"))
            assert refused == Refused("usage_limited")
    assert not model.seen("~say no")


async def test_another_failure_is_shown_and_is_no_limit(lab: Lab) -> None:
    async with headless(lab) as sat, collecting(sat.harness.seen()) as seen:
        await sat.hand(lab.event(EventKind.TURN, "~fail bad"))
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        assert sat.entries()[-1].kind is EntryKind.ERROR
        assert "API Error" in sat.entries()[-1].text
        assert isinstance(await sat.hand(lab.event(EventKind.TURN, "~say fine")), Taken)


def test_the_client_accepts_the_plugin(harnesses: Harnesses, tmp_path: Path) -> None:
    done = subprocess.run(
        [harnesses.claude, "plugin", "validate", plugin()],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Validation passed" in done.stdout


def test_its_version_is_read_from_the_disk(lab: Lab) -> None:
    assert installed("claude", lab.environment) == TESTED[0]
