"""What stands in a seat's folder in the place of a file hangs nobody, and is named."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from clankie.seats import journal, process, registration, sync
from clankie.seats.claude import registry
from clankie.seats.claude.lines import Child
from clankie.seats.folder import Folder, StrangeFileError
from clankie.seats.journal import Journal
from clankie.seats.registration import Arrival
from fakes.clock import FakeClock


def pipe(path: str) -> None:
    os.mkfifo(path, 0o600)


def link(path: str) -> None:
    Path(path).symlink_to("/dev/zero")


def folder(path: str) -> None:
    Path(path).mkdir(mode=0o700)


def listener(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


STRANGE = (pipe, link, folder, listener)
Place = Callable[[str], None]


@pytest.mark.parametrize("place", STRANGE)
def test_what_is_no_file_is_not_read(granted: Folder, place: Place) -> None:
    place(granted.file("seat.json"))
    with pytest.raises(StrangeFileError, match=r"seat\.json is not a plain file of yours"):
        registration.seated(granted)


@pytest.mark.parametrize("place", STRANGE)
def test_a_journal_is_neither_begun_nor_read_in_what_is_no_file(
    granted: Folder, place: Place
) -> None:
    place(granted.file("taken.jsonl"))
    with pytest.raises(StrangeFileError):
        Journal(granted, FakeClock())
    with pytest.raises(StrangeFileError):
        journal.known([granted])


@pytest.mark.parametrize("place", STRANGE)
@pytest.mark.parametrize("name", ["grant.json", "pid", "register.lock"])
def test_no_seat_is_registered_from_what_is_no_file(
    granted: Folder, name: str, place: Place
) -> None:
    Path(granted.file(name)).unlink(missing_ok=True)
    place(granted.file(name))
    with pytest.raises(StrangeFileError, match=name):
        registration.register(granted, Arrival(session_id="native-1"))


def test_what_is_no_file_is_not_written_to(granted: Folder) -> None:
    pipe(granted.file(f".offsets.json.{os.getpid()}"))
    with pytest.raises(StrangeFileError):
        granted.write("offsets.json", {})
    pipe(granted.file("seat.log"))
    with pytest.raises(StrangeFileError):
        granted.appending("seat.log")


def test_a_pipe_that_somebody_reads_is_no_file_either(granted: Folder) -> None:
    pipe(granted.file("seat.log"))
    reader = os.open(granted.file("seat.log"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(StrangeFileError):
            granted.appending("seat.log")
    finally:
        os.close(reader)


def test_a_file_among_the_folders_of_seats_is_passed_over(granted: Folder) -> None:
    (Path(granted.path).parent / ".DS_Store").write_text("of a file manager")
    made = registration.Seated(
        seat="s-1", token="t", conversation="c", harness="claude", session_id="n", pid=1
    )
    home = Path(granted.home, "config")
    source = sync.Source(
        path=str(home / "projects" / "p" / "n.jsonl"),
        session_id="n",
        environment={"CLAUDE_CONFIG_DIR": str(home)},
    )
    (home / "projects" / "p").mkdir(parents=True)
    sync.notice(granted, made, source, "startup")
    assert granted.read("offsets.json") is not None


@pytest.mark.anyio
async def test_a_program_does_not_start_with_a_pipe_for_its_errors(granted: Folder) -> None:
    pipe(granted.file("claude.log"))
    with pytest.raises(StrangeFileError):
        await Child.started(
            ["true"],
            cwd="/",
            env={},
            errors=Path(granted.file("claude.log")),
            clock=FakeClock(),
        )


def test_a_register_of_sessions_that_is_a_pipe_says_nothing(granted: Folder) -> None:
    sessions = Path(granted.home, "sessions")
    sessions.mkdir()
    pipe(str(sessions / f"{os.getpid()}.json"))
    assert process.alive(os.getpid(), "")
    assert registry.session(granted.home, os.getpid()) is None
