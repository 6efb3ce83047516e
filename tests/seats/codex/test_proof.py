"""Who holds which end of a socket, and what that proves."""

import os
import pty
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clankie.seats import process
from clankie.seats.codex import proof, sockets
from clankie.seats.codex.proof import Record
from clankie.seats.folder import Folder

JOINS = """
import fcntl, socket, sys, termios, threading
if sys.argv[2] == "terminal":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
held = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[3]))]
for one in held:
    one.connect(sys.argv[1])
print("joined", flush=True)
threading.Event().wait()
"""


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen(8)
        yield server


@pytest.fixture
def record(listening: socket.socket) -> Record:
    path, pid = listening.getsockname(), os.getpid()
    return Record(pid=pid, began=process.started_at(pid), link=path, socket=path, thread="t")


@pytest.fixture
def programs() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for one in made:
        one.kill()
        one.wait()


def join(
    listening: socket.socket, programs: list[subprocess.Popen[bytes]], count: int = 1
) -> tuple[int, list[socket.socket]]:
    """A program on a terminal of its own, with so many connections; and our ends of them."""
    main, side = pty.openpty()
    argv = [sys.executable, "-c", JOINS, listening.getsockname(), "terminal", str(count)]
    one = subprocess.Popen(
        argv, stdin=side, stdout=subprocess.PIPE, start_new_session=True, pass_fds=(main,)
    )
    os.close(side)
    os.close(main)
    programs.append(one)
    ends = [listening.accept()[0] for _ in range(count)]
    assert one.stdout is not None
    with one.stdout as said:
        assert said.readline()
    return one.pid, ends


def close(ends: list[socket.socket]) -> None:
    for one in ends:
        one.close()


def test_a_server_stands_while_it_lives_and_listens(
    record: Record, listening: socket.socket
) -> None:
    # proves: SEAT-13
    assert proof.stands(record)
    assert not proof.stands(replace(record, began=record.began + "1"))
    assert not proof.stands(replace(record, began=""))
    assert not proof.stands(replace(record, socket="/tmp/another"))
    assert not proof.stands(replace(record, pid=1, began=process.started_at(1)))
    listening.close()
    assert not proof.stands(record)


def test_the_program_in_front_of_a_terminal_is_its_view(
    record: Record, listening: socket.socket, programs: list[subprocess.Popen[bytes]]
) -> None:
    # proves: SEAT-13
    pid, ends = join(listening, programs)
    view = proof.view(record, pid)
    assert view is not None
    assert (view.pid, view.began) == (pid, process.started_at(pid))
    assert proof.joined(record, os.getpid()) == 1
    # The same connection proves nothing of another server, or of another lifetime of this one.
    assert proof.view(replace(record, began="linux:x:1"), pid) is None
    assert proof.view(replace(record, socket="/tmp/another"), pid) is None
    close(ends)


def test_a_terminal_whose_program_is_not_joined_shows_nothing(
    record: Record, listening: socket.socket, programs: list[subprocess.Popen[bytes]]
) -> None:
    # proves: SEAT-13
    pid, ends = join(listening, programs, count=0)
    _, others = join(listening, programs)
    assert proof.view(record, pid) is None
    assert proof.view(record, 0) is None
    assert proof.view(record, 4_000_000) is None
    close(ends + others)


def test_two_connections_of_one_program_are_one_view(
    record: Record, listening: socket.socket, programs: list[subprocess.Popen[bytes]]
) -> None:
    pid, ends = join(listening, programs, count=2)
    assert len(proof.views(record, pid)) == 2
    view = proof.view(record, pid)
    assert view is not None
    assert view.pid == pid
    assert proof.joined(record, os.getpid()) == 2
    close(ends)


def test_where_the_kernel_says_nothing_nothing_is_proven(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_NETLINK")
    assert sockets.ends() == []
    assert not proof.stands(record)


def test_a_record_is_kept_in_the_folder_and_nowhere_else(tmp_path: Path) -> None:
    where = tmp_path / "seat"
    where.mkdir(mode=0o700)
    folder = Folder(str(where))
    assert proof.kept(folder) is None
    made = Record(pid=1, began="b", link="l", socket="s", thread="t", hooks=True)
    proof.keep(folder, made)
    assert proof.kept(folder) == made
    assert (where / "codex.json").stat().st_mode & 0o077 == 0
    folder.write("codex.json", {"pid": 1, "more": 2})
    assert proof.kept(folder) is None
