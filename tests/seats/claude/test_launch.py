"""How Claude Code is started as a seat."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from clankie.core.seat import EventKind
from clankie.seats import versions
from clankie.seats.claude import ADAPTER, launch
from clankie.seats.claude.channel import FLAGS, VARIABLE
from clankie.seats.launch import NEWEST
from seats.claude import said
from seats.claude.client import Client

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def after(argv: tuple[str, ...], flag: str) -> str:
    return argv[argv.index(flag) + 1]


# proves: LIMIT-1
def test_a_seat_never_goes_on_by_itself_after_a_limit_and_takes_our_messages(
    client: Client,
) -> None:
    for argv in (ADAPTER.launch(client.place()).argv, launch.stream(client.place()).argv):
        assert argv[0] == "claude"
        settings = json.loads(after(argv, "--settings"))
        assert settings == {"autoContinueAtUsageLimit": False, "crossSessionInbound": "accept"}
        assert Path(after(argv, "--plugin-dir")) == ROOT / "plugins" / "claude"
        assert after(argv, "--allowedTools") == "mcp__plugin_clankie_clankie"


def test_the_command_of_clankie_reaches_the_plugin_quoted(client: Client) -> None:
    place = client.place(program=("/a path/python", "-m", "clankie"))
    assert ADAPTER.launch(place).env["CLANKIE_RUN"] == "'/a path/python' -m clankie"


def test_its_socket_lies_where_nobody_else_can_enter(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    short = Path("/tmp/short")
    assert launch.socket_path(short) == short / "claude.sock"
    deep = tmp_path / ("x" * 120)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = launch.socket_path(deep)
    assert found.parent.stat().st_mode & 0o777 == 0o700
    assert found == launch.socket_path(deep)
    assert found != launch.socket_path(deep / "y")
    found.parent.chmod(0o755)
    with pytest.raises(OSError, match="yours alone"):
        launch.socket_path(deep)
    assert client.root.exists()


def test_a_session_is_resumed_by_id_or_the_newest_or_begun(client: Client) -> None:
    def argv(resume: str | None) -> tuple[str, ...]:
        return launch.launch(client.place(resume=resume)).argv

    assert "--resume" not in argv(None)
    assert after(argv("abc"), "--resume") == "abc"
    assert "--resume" not in argv(NEWEST)
    for session in ("older", "newer"):
        client.session = session
        client.write(said.typed("u", "x"))
        os.utime(client.transcript, (1, 1 if session == "older" else 2))
    assert after(argv(NEWEST), "--resume") == "newer"


def test_channels_are_opened_only_where_the_owner_said_so(client: Client) -> None:
    assert FLAGS[0] not in ADAPTER.launch(client.place()).argv
    place = client.place(environment={"HOME": str(client.root), VARIABLE: "yes"})
    assert FLAGS[0] in ADAPTER.launch(place).argv


def program(root: Path, version: str) -> Path:
    package = root / "lib" / version
    (package / "bin").mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": version}))
    found = package / "bin" / "claude.exe"
    found.write_text("#!/bin/sh\n")
    found.chmod(0o755)
    return found


@pytest.mark.parametrize(("version", "notes"), [("2.1.332", 0), ("2.1.197", 0), ("3.0.0", 1)])
def test_another_version_is_started_with_a_word(client: Client, version: str, notes: int) -> None:
    (client.root / "bin").mkdir()
    (client.root / "bin" / "claude").symlink_to(program(client.root, version))
    environment = {"HOME": str(client.root), "PATH": str(client.root / "bin")}
    assert versions.installed("claude", environment) == version
    said_to_person = ADAPTER.launch(client.place(environment=environment)).notes
    assert len(said_to_person) == notes
    assert all(version in one for one in said_to_person)


def test_a_version_may_be_the_programs_name_or_unknown(client: Client) -> None:
    (client.root / "bin").mkdir()
    environment = {"PATH": str(client.root / "bin")}
    assert versions.installed("claude", environment) == ""
    native = client.root / "versions" / "2.1.332"
    native.parent.mkdir()
    native.write_text("#!/bin/sh\n")
    native.chmod(0o755)
    (client.root / "bin" / "claude").symlink_to(native)
    assert versions.installed("claude", environment) == "2.1.332"
    plain = client.root / "bin" / "plain" / "claude"
    plain.parent.mkdir()
    plain.write_text("#!/bin/sh\n")
    plain.chmod(0o755)
    assert versions.installed("claude", {"PATH": str(plain.parent)}) == ""


def test_it_declares_a_way_for_every_kind_of_event() -> None:
    for headless in (True, False):
        declared = ADAPTER.declaration(headless=headless)
        assert set(declared.ways) == set(EventKind)
        assert declared.capabilities.interrupt is headless
        assert ADAPTER.driven(headless=headless) is headless
    assert launch.TESTED[0] in ADAPTER.declaration(headless=False).tested


RUN = ROOT / "plugins" / "claude" / "run.sh"


def ran(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        ["sh", RUN, *arguments], env=given, capture_output=True, text=True, check=False, input=""
    )


def test_a_hook_outside_of_a_seat_does_nothing() -> None:
    done = ran("seat-sync", CLANKIE_RUN="echo ran")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_hook_of_a_seat_runs_the_command_that_opened_it(tmp_path: Path) -> None:
    program = tmp_path / "a program"
    program.write_text('#!/bin/sh\necho "$#: $*"\n')
    program.chmod(0o755)
    done = ran("prompt", "--sections", "a b", CLANKIE_RUN=f"'{program}'", CLANKIE_SEAT_GRANT="x")
    assert (done.returncode, done.stdout) == (0, "3: prompt --sections a b\n")
    assert ran("bridge", CLANKIE_RUN=f"'{program}'").stdout == "1: bridge\n"


@pytest.mark.parametrize("command", ["false", "/nowhere/clankie", "exit 2"])
def test_a_hook_that_fails_says_one_line_and_stops_nothing(command: str) -> None:
    done = ran("seat-sync", CLANKIE_RUN=f"sh -c '{command}'", CLANKIE_SEAT_GRANT="x")
    assert done.returncode == 0
    assert "did not work" in done.stderr.splitlines()[-1]
