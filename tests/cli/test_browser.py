"""`clankie up` and the web console: the page that logs in, who answers, and the one question."""

import stat
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from clankie.cli import answering, browser, talk
from clankie.cli.frame import Frame
from cli.conftest import Run


class Answers:
    """A client that is answered from a table, and remembers what it sent."""

    def __init__(self, models: dict[str, Any], confirmed: str = "") -> None:
        self.models = models
        self.settings = {"models": {"confirmed_local": confirmed}}
        self.sent: list[dict[str, Any]] = []

    def get(self, path: str, **_: object) -> dict[str, Any]:
        if path == "/v1/models":
            return self.models
        return {"revision": 3, "settings": self.settings}

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "/v1/settings"
        self.sent.append(body)
        return {}

    def post(self, path: str, body: object = None) -> dict[str, Any]:
        assert (path, body) == ("/v1/login-codes", None)
        return {"code": 'AB"CD234'}


PRACTICE = {
    "provider": "practice",
    "source": "practice",
    "ready": True,
    "sentence": "It practises.",
}
LOCAL = {
    "provider": "ollama",
    "model": "llama3",
    "source": "local",
    "ready": False,
    "sentence": "Ollama answers.",
    "address": "http://127.0.0.1:11434",
}


def opening(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser that always starts was told to open."""
    opened: list[str] = []

    def note(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    return opened


def frame(client: Answers) -> Frame:
    made = Frame(as_json=False)
    made.__dict__["client"] = client
    return made


def saying(answer: bool, asked: list[str]) -> Callable[..., bool]:
    def confirm(words: str, **_: object) -> bool:
        asked.append(words)
        return answer

    return confirm


@pytest.mark.parametrize(("answer", "kept"), [(True, "http://127.0.0.1:11434"), (False, "-")])
def test_a_server_found_here_is_asked_about_once(
    monkeypatch: pytest.MonkeyPatch, answer: bool, kept: str
) -> None:
    # proves: SEC-3
    asked: list[str] = []
    monkeypatch.setattr(click, "confirm", saying(answer, asked))
    client = Answers({"current": PRACTICE, "choices": [LOCAL, PRACTICE]})
    answering.introduce(frame(client), ask=True)
    assert client.sent == [{"models": {"confirmed_local": kept}, "expected_revision": 3}]
    assert "ollama:llama3" in asked[0]
    again = Answers({"current": PRACTICE, "choices": [LOCAL]}, confirmed=kept)
    answering.introduce(frame(again), ask=True)
    assert (again.sent, len(asked)) == ([], 1)


def test_nobody_is_asked_without_need(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(click, "confirm", saying(True, asked))
    real = {**LOCAL, "source": "settings", "ready": True}
    for models, ask in (
        ({"current": real, "choices": [real, LOCAL]}, True),
        ({"current": PRACTICE, "choices": [PRACTICE]}, True),
        ({"current": PRACTICE, "choices": [LOCAL]}, False),
    ):
        answering.introduce(frame(Answers(models)), ask=ask)
    assert asked == []


def test_who_answers_and_why_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    # proves: SEC-3
    answering.introduce(frame(Answers({"current": PRACTICE, "choices": []})), ask=False)
    assert "practice answers: It practises." in capsys.readouterr().err


def test_the_page_that_logs_in_is_private_and_its_code_stands_in_no_address(
    away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: SEC-1
    away.mkdir()
    opened = opening(monkeypatch)
    for _ in range(2):
        assert browser.open_console(Answers({}), "http://127.0.0.1:1")  # type: ignore[arg-type]  # as much of a client as it uses
    page = away / "login.html"
    assert opened == [page.as_uri()] * 2
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text()
    assert 'action="http://127.0.0.1:1/v1/login"' in text
    assert 'value="AB&quot;CD234"' in text
    browser.remove_page()
    assert not page.exists()


def test_a_browser_that_is_none_is_said(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away.mkdir()

    def broken(_url: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "open", broken)
    assert not browser.open_console(Answers({}), "http://x")  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "1 2 3 4"}, False),
    ],
)
def test_a_browser_needs_a_screen(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert browser.usable() is expected


def test_up_opens_the_console_of_a_service_that_runs(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opening(monkeypatch)
    monkeypatch.setenv("BROWSER", "made-up")
    done = run("up")
    assert (done.code, len(opened)) == (0, 1)
    assert "/login, with the code " in done.out
    assert "practice answers" in done.err
    assert (home / "login.html").exists()
    monkeypatch.delenv("BROWSER")
    quiet = run("up")
    assert "Clankie answers at http" in quiet.out
    assert "/login, with the code " in quiet.out
    assert len(opened) == 1
    assert not talk.at_terminal()


def test_looking_for_help_loads_no_service_and_no_browser() -> None:
    code = "import sys, clankie.cli.app; print('webbrowser' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
