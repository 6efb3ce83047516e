"""`clankie seat open` starts a harness in a terminal, and says what is missing where it cannot."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run

CLAUDE = """#!/bin/sh
echo "$CLANKIE_SEAT_GRANT" > "$OUT/grant"
echo "$$" > "$OUT/pid"
printf '%s\\n' "$@" > "$OUT/arguments"
env > "$OUT/env"
[ "$1" = -p ] && exit 3
echo '{"session_id": "native-open", "source": "startup"}' |
    eval "$CLANKIE_RUN prompt --seat" > "$OUT/prompt" 2> "$OUT/err"
exec cat
"""


@pytest.fixture
def out(home: Path, tmux_program: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A terminal of one's own with a `claude` that is none; what it wrote down."""
    assert home.exists(), tmux_program
    with tempfile.TemporaryDirectory(prefix="clankie-") as folder:
        root = Path(folder)
        (root / "bin").mkdir()
        program = root / "bin" / "claude"
        program.write_text(CLAUDE)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")
        monkeypatch.setenv("TMUX_TMPDIR", folder)
        monkeypatch.setenv("OUT", folder)
        monkeypatch.setenv("A_SECRET_OF_THE_PERSON", "sesame")
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "of the shell that this runs in")
        for name in ("TMUX", "TMUX_PANE", "CLANKIE_SEAT_GRANT"):
            monkeypatch.delenv(name, raising=False)
        yield root
        os.system("tmux kill-server 2>/dev/null")


def until(found: Callable[[], Any]) -> Any:
    """Wait for it: what happens in another process sends no event."""
    end = time.perf_counter() + 60
    while time.perf_counter() < end:
        if value := found():
            return value
    raise AssertionError("it never came")


# proves: HAND-2
def test_a_harness_is_opened_in_a_terminal_and_reads_the_log_first(run: Run, out: Path) -> None:
    opened = run("seat", "open", "claude", "--new", "--json")
    assert opened.code == 0, opened.out
    folder = Path(opened.json["folder"])
    seat = json.loads((folder / "seat.json").read_text())
    until(lambda: "conversation" in (out / "prompt").read_text().lower())
    assert (out / "err").read_text() == ""
    assert opened.json["seat"] == seat["seat"]
    [row] = [
        one for one in run("seat", "list", "--json").json["seats"] if one["seat"] == seat["seat"]
    ]
    assert row["conversation"] == opened.json["conversation"]
    assert row["native"]["session_id"] == "native-open"
    assert row["native"]["pid"] == int((out / "pid").read_text())
    assert row["pane"] == opened.json["pane"]
    environment = (out / "env").read_text()
    assert "A_SECRET_OF_THE_PERSON=sesame" in environment
    assert "CLAUDE_CODE_SESSION_ID" not in environment, "another session's, not this one's"
    assert not (folder / "launch.json").exists(), "the person's environment is not kept"
    run("seat", "retire", seat["seat"])


def test_what_is_opened_twice_has_two_folders_and_one_session_of_tmux(run: Run, out: Path) -> None:
    first = run("seat", "open", "claude", "--new", "--json").json
    second = run("seat", "open", "claude", "--new", "--json").json
    assert first["folder"] != second["folder"]
    assert first["pane"] != second["pane"]
    assert first["session"] == second["session"] == "clankie"
    assert second["attach"] == ["attach-session", "-t", "=clankie"]
    assert out.exists()


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    run: Run, out: Path, home: Path
) -> None:
    before = sorted(os.listdir(home / "seats")) if (home / "seats").exists() else []  # noqa: PTH208 - names
    told = run("seat", "open", "claude", "--dry-run", "--json")
    assert told.code == 0
    assert told.json["argv"][0] == "claude"
    assert told.json["conversation"] == "global-default"
    assert set(told.json["ways"]) == {"turn", "escalation", "wake", "watch", "message"}
    shown = run("seat", "open", "claude", "--new", "--headless", "--dry-run")
    assert "seat drive" in shown.out
    assert "without a terminal" in shown.out
    after = sorted(os.listdir(home / "seats")) if (home / "seats").exists() else []  # noqa: PTH208 - as above
    assert after == before
    assert not (out / "pid").exists()


@pytest.mark.usefixtures("out")
def test_a_harness_that_is_not_installed_is_named_with_its_command(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    told = run("seat", "open", "codex")
    assert told.code == 1
    assert "codex is not installed" in told.err
    assert "npm install -g @openai/codex" in told.err


def test_a_missing_tmux_is_named_with_its_command(
    run: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(out / "bin"))
    assert shutil.which("tmux") is None
    told = run("seat", "open", "claude", "--json")
    assert told.code == 1
    assert told.json["error"]["code"] == "tmux_missing"
    assert "install tmux" in told.json["error"]["detail"]


def test_a_harness_without_a_screen_needs_no_tmux(
    run: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (out / "bin" / "pi").symlink_to(out / "bin" / "claude")
    monkeypatch.setenv("PATH", str(out / "bin"))
    told = run("seat", "open", "pi", "--dry-run", "--json")
    assert (told.code, told.json["terminal"]) == (0, False)


@pytest.mark.usefixtures("out")
def test_a_conversation_is_named_or_new_and_not_both(run: Run) -> None:
    told = run("seat", "open", "claude", "--new", "--conversation", "x")
    assert told.code == 2
    unknown = run("seat", "open", "claude", "--conversation", "no-such", "--dry-run")
    assert (unknown.code, "no conversation" in unknown.err) == (1, True)
    nonsense = run("seat", "open", "emacs")
    assert (nonsense.code, "claude" in nonsense.err) == (2, True)


def test_a_harness_that_ends_at_once_is_said_and_leaves_nothing(
    run: Run, out: Path, home: Path
) -> None:
    (out / "bin" / "claude").write_text("#!/bin/sh\nexit 3\n")
    before = set(os.listdir(home / "seats")) if (home / "seats").exists() else set()  # noqa: PTH208 - names
    told = run("seat", "open", "claude", "--new")
    assert told.code == 1
    assert "ended before it registered" in told.err
    assert set(os.listdir(home / "seats")) == before  # noqa: PTH208 - names


@pytest.mark.usefixtures("out")
def test_a_driver_that_cannot_start_leaves_no_folder_behind(run: Run, home: Path) -> None:
    before = set(os.listdir(home / "seats")) if (home / "seats").exists() else set()  # noqa: PTH208 - names
    told = run("seat", "open", "claude", "--new", "--headless")
    assert told.code == 1
    assert "did not start" in told.err
    assert set(os.listdir(home / "seats")) == before  # noqa: PTH208 - names
