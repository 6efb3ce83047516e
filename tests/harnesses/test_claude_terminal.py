"""The real Claude Code in a terminal, joined from outside."""

import os
import pty
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clankie.core.seat import Activity, EntryKind, EventKind, Proof
from clankie.seats.port import Refused, Seen, Taken
from fakes.until import collecting, until
from harnesses.claude_lab import ASKS, BUSY, Lab, Sat, terminal
from harnesses.install import Harnesses
from harnesses.model import Model

pytestmark = pytest.mark.anyio


@pytest.fixture
def lab(tmp_path: Path, harnesses: Harnesses, model: Model) -> Lab:
    return Lab(tmp_path, model, harnesses.claude)


async def settled(sat: Sat) -> None:
    """One turn was had, so the client says what it does."""
    await sat.prompt("~say ready")
    await until(lambda: any(one.text == "ready" for one in sat.entries()))
    await sat.idle()


async def working(sat: Sat) -> None:
    """A turn runs, in a tool that waits for the file `go`."""
    await sat.prompt(BUSY)
    await until(lambda: any(one.kind is EntryKind.TOOL for one in sat.entries()))


@contextmanager
def watched(sat: Sat) -> Iterator[int]:
    """A person's own terminal shows the pane; its keyboard."""
    assert sat.panes is not None
    socket = sat.panes.run("display-message", "-p", "#{socket_path}")[0]
    pid, keyboard = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp("tmux", ["tmux", "-S", socket, "attach"])
    try:
        yield keyboard
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(keyboard)


def activities(seen: list[Seen]) -> list[Activity | None]:
    found = [one.observation.activity for one in seen if one.observation is not None]
    return [one for one in found if one is not None]


def sources(seen: list[Seen]) -> list[str | None]:
    found = [one.observation.source for one in seen if one.observation is not None]
    return [one for one in found if one is not None]


async def test_a_message_wakes_an_idle_session_and_its_row_has_the_id_of_the_delivery(
    lab: Lab,
) -> None:
    # proves: SEAT-3, SEAT-15
    async with terminal(lab) as sat, collecting(sat.harness.seen()) as seen:
        wake = lab.event(EventKind.WAKE, "~say awake")
        assert isinstance(await sat.hand(wake), Taken)
        (asked,) = await until(lambda: lab.model.fresh("~say awake"))
        assert f'event="{wake.id}"' in asked.news
        (row,) = await until(lambda: sat.proven(wake))
        assert row.evidence is not None
        assert row.evidence.proof is Proof.UUID
        await until(lambda: any(one.text == "awake" for one in sat.entries()))
        await until(lambda: activities(seen)[-1:] == [Activity.WAITING])
        assert activities(seen)[-2:] == [Activity.RESPONDING, Activity.WAITING]


async def test_a_message_joins_a_running_turn_and_is_proven_once_the_model_has_it(
    lab: Lab,
) -> None:
    # proves: SEAT-11
    async with terminal(lab) as sat:
        await working(sat)
        before = lab.model.count()
        report = lab.event(EventKind.ESCALATION, "the words of the owner", reply=True)
        assert isinstance(await sat.hand(report), Taken)
        assert sat.proven(report) == []
        lab.go()
        (asked,) = await until(lambda: lab.model.fresh("the words of the owner", before))
        assert f"once, with the event {report.id!r}" in asked.news
        (row,) = await until(lambda: sat.proven(report))
        assert row.evidence is not None
        assert row.evidence.proof is Proof.UUID
        await sat.idle()
        assert len(lab.model.fresh("the words of the owner", before)) == 1


async def test_an_owners_turn_is_typed_as_a_human_prompt_and_proven_by_its_words(
    lab: Lab,
) -> None:
    # proves: SEC-4, SEC-6
    async with terminal(lab) as sat:
        await settled(sat)
        for text in ("~say typed", "one line\nand another", "long\n" * 30 + "~say long"):
            turn = lab.event(EventKind.TURN, text)
            assert isinstance(await sat.hand(turn), Taken)
            (row,) = await until(lambda turn=turn: sat.proven(turn))  # type: ignore[misc]
            assert row.evidence is not None
            assert row.evidence.proof is Proof.TEXT
            assert row.text.strip() == text.strip()
            await sat.idle()
        typed = [one for one in sat.rows() if one["type"] == "user" and one.get("origin")]
        assert {one["origin"]["kind"] for one in typed} == {"human"}


@pytest.mark.parametrize("text", ["/clear", "!touch never", "#note", "@file", "a\ttab"])
async def test_words_that_the_client_would_obey_go_as_a_message(lab: Lab, text: str) -> None:
    # proves: SEC-6
    async with terminal(lab) as sat:
        await settled(sat)
        session = sat.harness.native.session_id
        turn = lab.event(EventKind.TURN, f"{text}\n~say read")
        assert isinstance(await sat.hand(turn), Taken)
        (row,) = await until(lambda: sat.proven(turn))
        assert row.evidence is not None
        assert row.evidence.proof is Proof.UUID
        (asked,) = await until(lambda: lab.model.fresh(text))
        assert "Treat it as your user's words" in asked.news
        await sat.idle()
        assert sat.harness.native.session_id == session
        assert not (lab.work / "never").exists()


async def test_nothing_is_typed_into_a_draft(lab: Lab) -> None:
    async with terminal(lab) as sat:
        await settled(sat)
        await sat.lab.clock.sleep(1.1)  # tmux counts touches in whole seconds
        with watched(sat) as keyboard:
            os.write(keyboard, b"half a sentence")
            await until(lambda: "half a sentence" in sat.shown())
            turn = lab.event(EventKind.TURN, "~say not typed")
            assert isinstance(await sat.hand(turn), Taken)
            (row,) = await until(lambda: sat.proven(turn))
            assert row.evidence is not None
            assert row.evidence.proof is Proof.UUID
            await sat.idle()
            assert "half a sentence" in sat.shown()


async def test_nothing_is_typed_into_a_dialog_and_a_message_waits_behind_it(lab: Lab) -> None:
    async with terminal(lab) as sat:
        await settled(sat)
        await sat.prompt(ASKS)
        await until(lambda: sat.status() == "waiting")
        turn = lab.event(EventKind.TURN, "~say after the dialog")
        assert isinstance(await sat.hand(turn), Taken)
        assert sat.status() == "waiting"
        assert not (lab.work / "made").exists()
        assert sat.proven(turn) == []
        sat.key("Escape")
        await until(lambda: sat.proven(turn))
        await sat.idle()
        assert not (lab.work / "made").exists()


async def test_a_kill_between_taking_and_the_row_leaves_no_proof_and_nothing_is_sent_again(
    lab: Lab,
) -> None:
    # proves: FENCE-4
    async with terminal(lab) as sat, collecting(sat.harness.seen()) as seen:
        await working(sat)
        report = lab.event(EventKind.MESSAGE, "lost in the queue")
        assert isinstance(await sat.hand(report), Taken)
        os.kill(sat.harness.native.pid, signal.SIGKILL)
        await until(lambda: any(one.observation and one.observation.ended for one in seen))
        assert sat.proven(report) == []
        later = lab.event(EventKind.MESSAGE, "too late")
        assert await sat.hand(later) == Refused("session_ended")


async def test_clearing_goes_on_with_another_session_of_the_same_process(lab: Lab) -> None:
    # proves: SEAT-14
    async with terminal(lab) as sat, collecting(sat.harness.seen()) as seen:
        await settled(sat)
        before = sat.harness.native
        await sat.prompt("/clear")
        await until(lambda: sources(seen) == ["clear"], why=sat.shown)
        after = sat.harness.native
        assert after.session_id != before.session_id
        assert (after.pid, after.process_started_at) == (before.pid, before.process_started_at)
        wake = lab.event(EventKind.WAKE, "~say in the new one")
        assert isinstance(await sat.hand(wake), Taken)
        await until(lambda: sat.proven(wake))
        assert sat.harness.transcript is not None
        assert sat.harness.transcript.stem == after.session_id


async def test_a_branch_goes_on_alone_and_what_it_copied_is_not_said_again(lab: Lab) -> None:
    # proves: SEAT-14
    async with terminal(lab) as sat, collecting(sat.harness.seen()) as seen:
        await settled(sat)
        before = sat.harness.native.session_id
        await sat.prompt("/branch")
        await until(lambda: sources(seen) == ["fork"], why=sat.shown)
        assert sat.harness.native.session_id != before
        await until(lambda: len(sat.rows()) > 0)
        assert sat.entries() == []
        wake = lab.event(EventKind.WAKE, "~say on the branch")
        assert isinstance(await sat.hand(wake), Taken)
        await until(lambda: sat.proven(wake))


async def test_compacting_is_reported_and_keeps_the_session(lab: Lab) -> None:
    async with terminal(lab) as sat, collecting(sat.harness.seen()) as seen:
        await settled(sat)
        before = sat.harness.native
        await sat.prompt("/compact")
        await until(lambda: sources(seen) == ["compact"], why=sat.shown)
        assert sat.harness.native == before
        assert "PreCompact" in lab.hooks()


async def test_a_session_is_resumed_under_its_id(lab: Lab) -> None:
    async with terminal(lab) as sat:
        await settled(sat)
        session = sat.harness.native.session_id
    async with terminal(lab, resume=session) as sat:
        assert sat.harness.native.session_id == session
        wake = lab.event(EventKind.WAKE, "~say again")
        assert isinstance(await sat.hand(wake), Taken)
        (asked,) = await until(lambda: lab.model.fresh("~say again"))
        assert "ready" in asked.text


async def test_a_limited_session_is_given_nothing_and_its_menu_is_left_alone(
    tmp_path: Path, harnesses: Harnesses, model: Model
) -> None:
    # proves: LIMIT-1
    lab = Lab(tmp_path, model, harnesses.claude, subscriber=True)
    async with terminal(lab) as sat:
        await sat.prompt("~fail limit")
        (entry,) = await until(
            lambda: [one for one in sat.entries() if one.kind is EntryKind.LIMIT]
        )
        assert entry.limit is not None
        assert entry.limit.window == "session"
        assert entry.limit.resets_at is not None
        assert entry.limit.resets_at > entry.limit.occurred_at
        await until(lambda: sat.status() == "waiting")
        asked = model.count()
        for kind in (EventKind.TURN, EventKind.WAKE):
            assert await sat.hand(lab.event(kind, "~say no")) == Refused("usage_limited")
        assert sat.status() == "waiting"
        assert not model.seen("~say no", asked)
        assert "Stop and wait" in sat.shown()
