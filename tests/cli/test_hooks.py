"""A hook command loads next to nothing, and always says what went wrong in one line."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clankie.cli import hooks

ALLOWED = {
    "__future__",
    "_collections",
    "_functools",
    "_locale",
    "_operator",
    "_socket",
    "_struct",
    "_weakrefset",
    "array",
    "clankie",
    "clankie.cli",
    "clankie.cli.entry",
    "clankie.cli.hooks",
    "clankie.cli.places",
    "clankie.seats",
    "clankie.seats.unix",
    "collections",
    "collections.abc",
    "encodings.ascii",
    "enum",
    "errno",
    "functools",
    "itertools",
    "keyword",
    "math",
    "operator",
    "reprlib",
    "select",
    "selectors",
    "socket",
    "types",
}

PROBE = """
import sys
before = set(sys.modules)
sys.argv = ["clankie", "prompt", "--conversation", "global-default"]
from clankie.cli.entry import main
code = main()
sys.stderr.write("\\n".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""


def test_a_hook_loads_only_what_is_listed_here(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE],
        env={**os.environ, "CLANKIE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert "You are Clankie" in done.stdout
    assert set(done.stderr.split()) <= ALLOWED


@pytest.mark.usefixtures("home")
def test_the_prompt_is_printed_as_the_service_gives_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert hooks.prompt(["--conversation=global-default"]) == 0
    assert "You are Clankie" in capsys.readouterr().out


@pytest.mark.usefixtures("home")
def test_the_prompt_as_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert hooks.prompt(["--json"]) == 0
    assert "You are Clankie" in json.loads(capsys.readouterr().out)["text"]


@pytest.mark.usefixtures("home")
def test_a_refusal_is_one_line_with_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert hooks.prompt(["--conversation", "no-such"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "conversation_not_found" in told.err


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--sections"], ["extra"]])
def test_wrong_usage_is_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert hooks.prompt(arguments) == 2
    assert "Usage: clankie prompt" in capsys.readouterr().err


@pytest.mark.usefixtures("away")
def test_help_needs_no_service(capsys: pytest.CaptureFixture[str]) -> None:
    assert hooks.prompt(["--help"]) == 0
    assert "Usage: clankie prompt" in capsys.readouterr().out


@pytest.mark.usefixtures("away")
def test_where_it_never_ran_the_hook_says_how_to_start_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert hooks.prompt([]) == 1
    assert "clankie up" in capsys.readouterr().err


def test_a_token_that_others_can_read_is_not_used(
    away: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away.mkdir()
    (away / "operator.token").write_text("secret-of-the-owner")
    (away / "operator.token").chmod(0o644)
    assert hooks.prompt([]) == 1
    told = capsys.readouterr().err
    assert "chmod 600" in told
    assert "secret-of-the-owner" not in told


def test_a_pipe_in_the_place_of_the_token_hangs_no_hook(
    away: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away.mkdir()
    os.mkfifo(away / "operator.token", 0o600)
    assert hooks.prompt([]) == 1
    assert "operator.token is not a plain file" in capsys.readouterr().err


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A state directory whose socket is ours to answer at."""
    with tempfile.TemporaryDirectory(prefix="clankie-") as state:
        monkeypatch.setenv("CLANKIE_HOME", state)
        token = Path(state, "operator.token")
        token.touch(mode=0o600)
        token.write_text("t")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(Path(state, "service.sock")))
            listener.listen()
            yield listener


def test_the_hook_says_when_nobody_listens(
    answering: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    answering.close()
    assert hooks.prompt([]) == 1
    assert "not running" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "cut off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "cut off"),
        (b"HTTP/1.1 500 Oops\r\n\r\nnot json", "does not understand"),
        (b'HTTP/1.1 403 No\r\n\r\n{"code": "x", "detail": "\\u001b[2Jno"}', "no (x)"),
    ],
)
def test_a_broken_answer_is_said_and_never_printed(
    answering: socket.socket, answer: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def serve() -> None:
        connection, _ = answering.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(answer)

    server = threading.Thread(target=serve)
    server.start()
    assert hooks.prompt([]) == 1
    server.join()
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert "\x1b" not in told.err


@pytest.mark.parametrize(
    ("text", "shown"), [("a,b", "a,b"), ("a b&c", "a%20b%26c"), ("ü/..", "%C3%BC%2F..")]
)
def test_what_goes_into_a_path_is_quoted(text: str, shown: str) -> None:
    assert hooks.quoted(text) == shown
