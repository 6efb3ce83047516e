"""Nothing is typed where a person or a dialog has the keyboard."""

import os
import pty
from dataclasses import replace
from datetime import timedelta

import pytest

from clankie.host.panes import Pane
from clankie.seats.claude import keys
from clankie.seats.claude.registry import Session
from fakes.clock import START

SESSION = Session(pid=os.getpid(), session_id="s", status="idle", started_at=START)
PANE = Pane(id="%1", session="s", pid=1, tty="", directory="/", command="claude", touched_at=START)


@pytest.fixture(autouse=True)
def in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "in_front", lambda pid: pid == os.getpid())


def why(session: Session | None = SESSION, pane: Pane = PANE, **more: object) -> str | None:
    given = {"limited": False, "prompted_at": None} | more
    return keys.why_not(session, pane, **given)  # type: ignore[arg-type]


def test_an_idle_session_that_nobody_touched_is_typed_into() -> None:
    assert why() is None


# proves: SEC-6
@pytest.mark.parametrize(
    ("session", "pane", "more", "word"),
    [
        (None, PANE, {}, "does not say"),
        (SESSION, PANE, {"limited": True}, "limit"),
        (replace(SESSION, status="busy"), PANE, {}, "a turn runs"),
        (replace(SESSION, status="waiting", waiting_for="permission prompt"), PANE, {}, "dialog"),
        (replace(SESSION, status=""), PANE, {}, "not begun"),
        (SESSION, replace(PANE, dead=True), {}, "another program"),
        (replace(SESSION, pid=1), PANE, {}, "another program"),
        (SESSION, replace(PANE, touched_at=None), {}, "nobody knows"),
        (replace(SESSION, started_at=None), PANE, {}, "nobody knows"),
        (SESSION, replace(PANE, touched_at=START + timedelta(seconds=1)), {}, "draft"),
    ],
)
def test_everything_else_is_a_reason_not_to(
    session: Session | None, pane: Pane, more: dict[str, object], word: str
) -> None:
    reason = why(session, pane, **more)
    assert reason is not None
    assert word in reason


def test_what_was_touched_before_the_last_prompt_is_no_draft() -> None:
    touched = replace(PANE, touched_at=START + timedelta(seconds=5))
    assert why(SESSION, touched, prompted_at=START + timedelta(seconds=5)) is None
    assert why(SESSION, touched, prompted_at=START + timedelta(seconds=4)) is not None


def test_a_process_is_in_front_where_its_group_has_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    pid, terminal = pty.fork()
    if pid == 0:
        os.write(1, b"here")
        os.read(0, 1)
        os._exit(0)
    try:
        os.read(terminal, 4)
        assert keys.in_front(pid)
        assert not keys.in_front(2**22)
    finally:
        os.write(terminal, b"\n")
        os.waitpid(pid, 0)
        os.close(terminal)
