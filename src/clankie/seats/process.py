"""Which process is the harness, and is it still that one. Linux says it in /proc; else little."""

from __future__ import annotations

import os

# Hooks import this, and pathlib would cost them milliseconds.
# ruff: noqa: PTH115, PTH123

_STATE, _PARENT, _THREADS, _STARTED = 0, 1, 17, 19
"""Fields of /proc/PID/stat, counted behind the name of the program."""
_HOPS = 64
_SHELLS = frozenset({"sh", "ash", "bash", "busybox", "dash", "fish", "ksh", "zsh"})


def started_at(pid: int) -> str:
    """``linux:<boot id>:<ticks>``; empty where nothing proves when a process began.

    Empty also for one that has ended and that nobody has collected yet.
    """
    try:
        fields = stat(pid)
        ticks = fields[_STARTED]
        if fields[_STATE] in {"Z", "X"} and int(fields[_THREADS]) <= 1:
            return ""
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"linux:{file.read().strip()}:{ticks}"
    except (OSError, IndexError):
        return ""


def alive(pid: int, began: str) -> bool:
    """Whether this very process still runs; where nothing proves it, whether one of its id does."""
    if began:
        return started_at(pid) == began
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def nested(harness: int, here: int) -> bool:
    """Whether a second program like the harness stands between it and `here`.

    A harness that its own tools started inherits the environment, and with it the seat; it is not
    the one that sits there. False where /proc does not say, and where the harness is a shell, which
    shells below it are not like.
    """
    try:
        program = os.readlink(f"/proc/{harness}/exe")
        if program.rpartition("/")[2] in _SHELLS:
            return False
        pid = int(stat(here)[_PARENT])
        for _ in range(_HOPS):
            if pid in {harness, 0, 1}:
                return False
            if os.readlink(f"/proc/{pid}/exe") == program:
                return True
            pid = int(stat(pid)[_PARENT])
    except (OSError, IndexError, ValueError):
        return False
    return False


def stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name of the program.

    Raises OSError: there is no such process, or no /proc.
    """
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        # The name may hold blanks and brackets; what follows its last bracket does not.
        return file.read().rpartition(")")[2].split()
