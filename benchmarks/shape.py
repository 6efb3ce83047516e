"""What every benchmark returns, and the few measures they share.

A benchmark is a module with ``rows(*, quick) -> list[Row]``. Processor time is the figure to trust:
wall time on a shared machine is as noisy as its neighbours.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure. `floor` was measured in the same run and is what no design gets below.

    `least` turns the target from a maximum into a minimum. `spread` is min and max of the rounds.
    """

    name: str
    figure: float
    unit: str
    floor: float | None = None
    floor_is: str = ""
    target: float | None = None
    least: bool = False
    spread: tuple[float, float] | None = None

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return self.figure >= self.target if self.least else self.figure <= self.target


@dataclass(frozen=True)
class Rounds:
    """The same measurement several times."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Rounds:
        """At least one."""
        return cls(tuple(values))

    @property
    def median(self) -> float:
        """The figure."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """Least and most."""
        return min(self.values), max(self.values)


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory on the disk of ``TMPDIR``, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="clankie-bench-") as name:
        yield Path(name)


class Meter:
    """Wall and processor time of this process, in seconds, from its making to `stop`."""

    def __init__(self) -> None:
        gc.collect()
        self.wall = self.cpu = 0.0
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> Meter:
        """Read both clocks."""
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall
        return self


def child_cpu(
    command: Sequence[str], environment: dict[str, str] | None = None, given: str = os.devnull
) -> tuple[float, float]:
    """Run a command with its output thrown away: seconds of processor, seconds of wall.

    `given` is the file that it reads on standard input.

    Raises:
        RuntimeError: it did not exit with 0.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    began = time.perf_counter()
    pid = os.posix_spawn(
        command[0], list(command), environment or dict(os.environ), file_actions=actions
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - began
    if status != 0:
        message = f"{command} ended with status {status}"
        raise RuntimeError(message)
    return usage.ru_utime + usage.ru_stime, wall


def child_rss(code: str) -> float:
    """MiB at most held by a Python that runs only this."""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], dict(os.environ))
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_maxrss / 1024
