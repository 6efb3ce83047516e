"""Hooks of a seat read the log, send what was written, and never break their harness."""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clankie.cli import hooks, seat_hooks
from clankie.seats import registration
from clankie.seats import sync as syncing
from clankie.seats.folder import Folder, made
from fakes.transcript import FakeTranscripts
from fakes.unix_service import UnixService

Say = Callable[..., None]


@pytest.fixture
def state() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="clankie-") as home:
        yield Path(home)


@pytest.fixture
def unix(state: Path) -> Iterator[UnixService]:
    service = UnixService(state)
    yield service
    service.stop()


@pytest.fixture
def seat(state: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """The environment of a harness that was opened as a seat."""
    folder = made(str(state), "seat-1")
    folder.write("grant.json", {"grant": "secret", "harness": "claude", "conversation": "c"})
    folder.write("place.json", {"harness": "claude", "resume": None})
    monkeypatch.setenv("CLANKIE_HOME", str(state))
    monkeypatch.setenv("CLANKIE_SEAT_GRANT", folder.file("grant.json"))
    return folder


@pytest.fixture
def transcripts(state: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTranscripts:
    (state / "projects").mkdir()
    found = FakeTranscripts(state / "projects")
    monkeypatch.setattr(syncing, "reading", lambda _: found)
    return found


class Piped(io.TextIOWrapper):
    """Standard input as a hook has it."""

    def isatty(self) -> bool:
        return False


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch, state: Path) -> Say:
    def give(**hook: object) -> None:
        whole = {
            "session_id": "native-1",
            "transcript_path": str(state / "projects" / "t.jsonl"),
            "hook_event_name": "SessionStart",
            **hook,
        }
        monkeypatch.setattr("sys.stdin", Piped(io.BytesIO(json.dumps(whole).encode())))

    return give


# proves: HAND-2
@pytest.mark.usefixtures("transcripts")
def test_a_session_reads_the_log_with_the_seats_token_and_confirms_it_afterwards(
    seat: Folder, unix: UnixService, stdin: Say, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    told: list[bytes] = []
    unix.meanwhile = lambda _: told.append(capfdbinary.readouterr().out)
    stdin(source="startup")
    assert hooks.prompt(["--seat", "--sections", "persona,conversation"]) == 0
    starts = unix.to("/session-start")
    assert [one.token for one in starts] == ["the-token"] * 2
    assert starts[0].body == {
        "session_id": "native-1",
        "source": "startup",
        "sections": ["persona", "conversation"],
    }
    assert starts[1].body == {"projection_id": "p-1"}
    assert told[-1] == b"What was said before.\n", "it was written before it was confirmed"
    assert registration.seated(seat) is not None


@pytest.mark.usefixtures("transcripts", "seat")
def test_a_confirmation_that_fails_is_one_line_and_the_text_stays(
    unix: UnixService, stdin: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    unix.answers["session-start"] = [
        (200, {"text": "The log.", "projection_id": "p-1"}),
        (503, {"code": "service_shutting_down", "detail": "It stops."}),
    ]
    stdin()
    assert hooks.prompt(["--seat"]) == 0
    told = capsys.readouterr()
    assert told.out == "The log."
    assert told.err.count("\n") == 1
    assert "service_shutting_down" in told.err


@pytest.mark.usefixtures("transcripts")
def test_a_new_session_of_the_process_is_kept(seat: Folder, unix: UnixService, stdin: Say) -> None:
    stdin()
    hooks.prompt(["--seat"])
    stdin(session_id="native-2", source="clear")
    hooks.prompt(["--seat"])
    seated = registration.seated(seat)
    assert seated is not None
    assert seated.session_id == "native-2"
    assert len(unix.to("/v1/seats")) == 1


@pytest.mark.usefixtures("seat")
def test_seat_sync_sends_what_is_new(
    unix: UnixService, stdin: Say, transcripts: FakeTranscripts
) -> None:
    (transcripts.folder / "t.jsonl").write_text('{"id": "r1", "text": "hello"}\n')
    stdin(hook_event_name="Stop")
    assert seat_hooks.seat_sync([]) == 0
    [asked] = unix.to("/transcript")
    assert [row["id"] for row in asked.body["entries"]] == ["r1"]
    assert asked.body["activity"] == "waiting"


@pytest.mark.usefixtures("seat")
def test_rows_that_were_left_out_are_said(
    unix: UnixService,
    stdin: Say,
    transcripts: FakeTranscripts,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (transcripts.folder / "t.jsonl").write_text('{"id": "r1"}\n' + "x" * 4_200_000 + "\n")
    unix.answers["transcript"] = [(422, {"code": "invalid_field", "detail": "No."})]
    stdin()
    assert seat_hooks.seat_sync([]) == 0
    told = capsys.readouterr().err
    assert "refused 1 rows" in told
    assert "1 lines of the transcript are too long" in told


@pytest.mark.parametrize("command", [["prompt", "--seat"], ["seat-sync"]])
@pytest.mark.usefixtures("seat")
def test_without_a_service_the_harness_goes_on(
    command: list[str], stdin: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin()
    assert _run(command) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "clankie up" in told.err


@pytest.mark.parametrize("command", [["prompt", "--seat"], ["seat-sync"]])
def test_outside_of_a_seat_nothing_is_said(
    command: list[str],
    stdin: Say,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("CLANKIE_SEAT_GRANT", raising=False)
    stdin()
    assert _run(command) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("command", [["prompt", "--seat"], ["seat-sync"]])
@pytest.mark.parametrize("given", [b"", b"not json", b"[]", b"{}", b'{"session_id": 7}'])
@pytest.mark.usefixtures("seat", "unix", "transcripts")
def test_whatever_a_hook_is_given_it_ends_well(
    command: list[str],
    given: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", Piped(io.BytesIO(given)))
    assert _run(command) == 0
    assert capsys.readouterr().err.count("\n") <= 1


# proves: SEC-5
@pytest.mark.usefixtures("seat", "transcripts")
def test_a_path_outside_of_the_harnesss_folder_is_one_line(
    unix: UnixService, stdin: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin(transcript_path="/etc/passwd")
    assert seat_hooks.seat_sync([]) == 0
    assert "outside of the harness's folder" in capsys.readouterr().err
    assert unix.to("/transcript") == []


HARNESS = """
import os, subprocess, sys
folder, *command = sys.argv[1:]
if folder:
    open(folder + "/pid", "w").write(str(os.getpid()))
sys.exit(subprocess.run(command).returncode)
"""


@pytest.mark.parametrize("inside", [0, 1], ids=["the seat's own", "one that its tools started"])
def test_a_session_that_only_inherited_the_seat_is_left_alone(
    seat: Folder, unix: UnixService, inside: int
) -> None:
    harness = [sys.executable, "-c", HARNESS]
    hook = ["sh", "-c", f"{sys.executable} -P -m clankie prompt --seat; true"]
    done = subprocess.run(
        [*harness, seat.path, *[*harness, ""] * inside, *hook],
        input='{"session_id": "native-1"}',
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert bool(done.stdout) is not bool(inside)
    assert bool(unix.asked) is not bool(inside)


def test_a_prompt_typed_in_a_seat_reads_the_seats_conversation_and_moves_nothing(
    seat: Folder, unix: UnixService, stdin: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    registration.register(seat, registration.Arrival(session_id="native-1"))
    stdin()
    assert hooks.prompt([]) == 0
    [asked] = unix.to("/prompt")
    assert (asked.path, asked.token) == ("/v1/conversations/global-default/prompt", "the-token")
    assert unix.to("/session-start") == []
    assert capsys.readouterr().out


def test_help_is_no_hook(capsys: pytest.CaptureFixture[str]) -> None:
    assert seat_hooks.seat_sync(["--help"]) == 0
    assert "Usage: clankie seat-sync" in capsys.readouterr().out


LIBRARIES = {"click", "rich", "msgspec", "httpx2", "mcp", "pydantic", "anyio", "asyncio", "apsw"}
PROBE = """
import sys
sys.argv = ["clankie", "seat-sync"]
from clankie.cli.entry import main
code = main()
import clankie.seats.claude.rows, clankie.seats.codex.rows
print("\\n".join(sorted({name.partition(".")[0] for name in sys.modules})))
sys.exit(code)
"""


@pytest.mark.usefixtures("seat", "unix")
def test_a_seats_hooks_load_no_library() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE],
        input='{"session_id": "native-1"}',
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not LIBRARIES & set(done.stdout.split())


def _run(command: list[str]) -> int:
    name, *arguments = command
    return hooks.prompt(arguments) if name == "prompt" else seat_hooks.seat_sync(arguments)


@pytest.mark.usefixtures("transcripts")
def test_a_pipe_in_the_place_of_a_file_hangs_no_hook(
    seat: Folder, stdin: Say, capfd: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(seat.file("seat.json"), 0o600)
    stdin()
    assert seat_hooks.seat_sync([]) == 0
    assert "seat.json is not a plain file of yours" in capfd.readouterr().err
    assert seat_hooks.session_start(None) == 0
    assert hooks.prompt([]) == 1
    assert "seat.json is not a plain file of yours" in capfd.readouterr().err
