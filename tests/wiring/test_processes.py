"""What the kernel says of processes, on the machine that runs the tests and on made-up ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clankie.wiring.processes import LinuxProcesses

LINUX = Path("/proc/self/stat").exists()


def made(
    place: Path,
    pid: int,
    *,
    parent: int,
    name: str = "claude",
    ticks: int = 77,
    state: str = "S",
    threads: int = 1,
) -> None:
    folder = place / str(pid)
    folder.mkdir(parents=True)
    fields = [str(n) for n in range(3, 53)]
    fields[0], fields[1], fields[17], fields[19] = state, str(parent), str(threads), str(ticks)
    (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
    (folder / "status").write_text("Name:\tclaude\nUid:\t1000\t1001\t1000\t1000\n")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    boot = tmp_path / "sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("8f2b\n")
    return tmp_path


def test_a_process_is_named_by_its_boot_and_its_start(machine: Path) -> None:
    # proves: SEAT-13
    made(machine, 10, parent=2, name="a) b (c")
    made(machine, 2, parent=1)
    made(machine, 1, parent=0)
    processes = LinuxProcesses(machine)
    assert processes.proves
    assert processes.started_at(10) == "linux:8f2b:77"
    assert processes.started_at(11) is None
    assert processes.ancestors(10) == [2, 1]
    assert processes.ancestors(11) == []
    assert (processes.uid(10), processes.uid(11)) == (1001, None)


def test_a_process_that_ended_is_gone_though_nobody_has_collected_it(machine: Path) -> None:
    # proves: SEAT-13
    made(machine, 10, parent=1, state="Z")
    made(machine, 11, parent=1, state="Z", threads=2)
    processes = LinuxProcesses(machine)
    assert processes.started_at(10) is None
    assert processes.started_at(11) is not None, "only its first thread has ended"


def test_a_torn_table_shows_no_endless_line(machine: Path) -> None:
    # proves: SEAT-13
    made(machine, 10, parent=11)
    made(machine, 11, parent=10)
    assert len(LinuxProcesses(machine).ancestors(10)) == 64


def test_where_nobody_says_when_a_process_began_nothing_is_proven(tmp_path: Path) -> None:
    # proves: DAY-4, SEAT-13
    made(tmp_path, 10, parent=1)
    processes = LinuxProcesses(tmp_path)
    assert not processes.proves
    assert processes.started_at(10) is None


if LINUX:

    def test_the_real_table_knows_this_process_and_its_children() -> None:
        # proves: SEAT-13
        processes = LinuxProcesses()
        assert processes.proves
        mine = processes.started_at(os.getpid())
        assert mine is not None
        assert mine == processes.started_at(os.getpid())
        assert processes.uid(os.getpid()) == os.geteuid()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            assert processes.ancestors(child.pid)[0] == os.getpid()
            assert processes.started_at(child.pid) != mine
            assert child.stdin is not None
            child.stdin.close()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            assert processes.started_at(child.pid) is None
