"""The real program at a real (pseudo) terminal, as a newcomer meets it."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.terminal import PATIENCE, Terminal

ENTER, ALT_ENTER, CTRL_C, CTRL_D, TAB = "\r", "\x1b\r", "\x03", "\x04", "\t"


@pytest.fixture
def state() -> Iterator[Path]:
    """An empty home of somebody who just arrived; short, because a socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="clankie-") as made:
        yield Path(made, "state")


@pytest.fixture
def up(state: Path) -> Iterator[Terminal]:
    """`clankie up` with its first screen shown."""
    terminal = Terminal(state, "up")
    try:
        terminal.until(r"Write a message.*/help")
        yield terminal
    finally:
        terminal.close()


def clankie(home: Path, *arguments: str) -> str:
    """Another client, in another terminal."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "clankie", *arguments],
        env={**os.environ, "CLANKIE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return done.stdout


def pid(home: Path) -> int:
    return int(json.loads((home / "run.json").read_text())["pid"])


def test_a_newcomer_talks_leaves_and_finds_everything_again(up: Terminal, state: Path) -> None:
    assert "practice model" in up.screen
    assert "/model openai-chat:" in up.screen
    up.type("hello from here" + ENTER)
    up.until("wrote: .hello from here")
    up.type("first line" + ALT_ENTER + "second line" + ENTER)
    up.until("wrote: .first line")
    up.type("/he" + TAB + ENTER)
    up.until("/steer TEXT")
    service = pid(state)
    up.type(CTRL_D)
    up.until("come back with `clankie up`")
    assert up.end() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(service, 0)
    assert stat.S_IMODE((state / "chat-history").stat().st_mode) == 0o600
    back = Terminal(state, "up")
    try:
        assert "hello from here" in back.until(r"/help")
        back.type("/quit" + ENTER)
        back.until("come back")
        assert back.end() == 0
    finally:
        back.close()


def test_ctrl_c_stops_the_answer_and_twice_at_the_empty_prompt_leaves(up: Terminal) -> None:
    up.type("slow 600" + ENTER)
    up.until("is (thinking|writing)")
    up.type(CTRL_C)
    up.until("cancelled")
    up.type(CTRL_C)
    up.until("again to leave")
    up.type(CTRL_C)
    up.until("come back")
    assert up.end() == 0


def test_a_line_not_yet_sent_survives_what_comes_in(up: Terminal, state: Path) -> None:
    up.type("half a though")
    up.until("half a though")
    clankie(state, "send", "global-default", "from the other side", "--wait")
    up.until("from the other side.*wrote: .from the other side")
    up.type("t" + ENTER)
    up.until("wrote: .half a thought")


# proves: DAY-1
def test_the_chat_survives_the_death_of_the_service_and_says_what_nobody_can_know(
    up: Terminal, state: Path
) -> None:
    up.type("slow 600" + ENTER)
    up.until("I take my time")
    os.kill(pid(state), signal.SIGKILL)
    up.until("reconnecting")
    second = Terminal(state, "serve")
    try:
        told = up.until("/close 1")
        assert "The model was asked at" in told
        up.type("/close 1" + ENTER)
        up.until("closed as unknown")
        up.type("are you there" + ENTER)
        up.until("wrote: .are you there")
        up.type(CTRL_D)
        assert up.end() == 0
    finally:
        second.close()


def test_up_without_a_terminal_says_where_it_is_and_ends_with_sigterm(state: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "clankie", "up"],
        env={**os.environ, "CLANKIE_HOME": str(state), "CLANKIE_PORT": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        assert "Clankie answers at http://127.0.0.1:" in process.stdout.readline()
        service = pid(state)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(service, 0)


def test_a_service_that_cannot_start_is_exit_code_1_with_its_own_words(state: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "clankie", "up"],
        env={**os.environ, "CLANKIE_HOME": str(state), "CLANKIE_PORT": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "CLANKIE_PORT" in done.stderr


def test_a_terminal_that_is_closed_ends_the_chat_and_the_service_under_it(
    state: Path, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    up = Terminal(state, "up", errors=said)
    try:
        up.until(r"Write a message.*/help")
        service = pid(state)
        code = up.hang_up()
        assert code == 1
        assert "terminal_gone" in said.read_text()
        assert "Traceback" not in said.read_text()
        with pytest.raises(ProcessLookupError):
            os.kill(service, 0)
    finally:
        up.close()


def test_a_chat_that_may_not_read_its_terminal_any_more_ends(
    up: Terminal, state: Path, tmp_path: Path
) -> None:
    assert up.screen
    said = tmp_path / "said"
    chat = Terminal(state, "chat", errors=said, left=True)
    try:
        chat.until("Write a message")
        chat.leave()
        chat.type("for somebody else" + ENTER)
        assert chat.end() == 1
        assert "terminal_gone" in said.read_text()
        assert "Traceback" not in said.read_text()
    finally:
        chat.close()
