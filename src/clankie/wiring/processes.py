"""What Linux says of processes, read from /proc; elsewhere nothing is proven, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROC: Final = Path("/proc")
_BOOT: Final = "sys/kernel/random/boot_id"
_STATE, _PARENT, _THREADS, _STARTED = 0, 1, 17, 19
"""Fields of /proc/PID/stat behind the name of the program, counted from its state."""

DEEPEST: Final = 64
"""Ancestors that are looked at; a table that is torn may show a circle."""


class LinuxProcesses:
    """The port Processes. Each answer is as of this moment; a number may mean another one later."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._proc = proc
        self._boot = _read(proc / _BOOT)

    @property
    def proves(self) -> bool:
        """Whether there is a /proc that says when processes began."""
        return self._boot is not None

    def started_at(self, pid: int) -> str | None:
        """``linux:<boot id>:<ticks>``; None: there is no such process, or nobody can say.

        One that has ended and that nobody has collected yet is none.
        """
        fields = self._fields(pid)
        if fields is None or self._boot is None or _ended(fields):
            return None
        return f"linux:{self._boot}:{fields[_STARTED]}"

    def ancestors(self, pid: int) -> Sequence[int]:
        """Its parent, that one's parent, and so on, up to the first process."""
        found: list[int] = []
        fields = self._fields(pid)
        while fields is not None and len(found) < DEEPEST:
            parent = int(fields[_PARENT])
            if parent <= 0:
                break
            found.append(parent)
            fields = self._fields(parent)
        return found

    def uid(self, pid: int) -> int | None:
        """The user it runs as."""
        status = _read(self._proc / str(pid) / "status")
        if status is None:
            return None
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return int(lines["Uid"].split()[1])

    def _fields(self, pid: int) -> list[str] | None:
        stat = _read(self._proc / str(pid) / "stat")
        # The name of the program may hold blanks and brackets: what follows its last one is plain.
        return None if stat is None else stat.rpartition(")")[2].split()


def _ended(fields: list[str]) -> bool:
    """Whether only its number is left. While other threads run, its first one may have ended."""
    return fields[_STATE] in {"Z", "X"} and int(fields[_THREADS]) <= 1


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
