"""Processes that a benchmark starts: they are stopped at its end, and die with it in any case."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
_PR_SET_PDEATHSIG = 1
_PATIENCE = 10.0


@dataclass(frozen=True)
class Running:
    """A process that said where it listens. `seconds`: from its start to that line."""

    process: subprocess.Popen[bytes]
    port: int
    seconds: float

    def cpu(self) -> float:
        """Seconds of processor that it used so far, in all threads."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def rss(self) -> float:
        """MiB that it holds now."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def running(command: Sequence[str], environment: dict[str, str] | None = None) -> Iterator[Running]:
    """Start it and read its first line, JSON with `url` or `port`; stop it at the end."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {}), "PYTHONPATH": str(SOURCE)},
        preexec_fn=_die_with_parent,  # noqa: PLW1509 - benchmarks have one thread
    )
    try:
        line = process.stdout.readline() if process.stdout else b""
        seconds = time.perf_counter() - began
        if not line:
            message = f"{' '.join(command)} did not start"
            raise RuntimeError(message)
        ready = json.loads(line)
        port = int(ready["url"].rpartition(":")[2]) if "url" in ready else int(ready["port"])
        yield Running(process, port, seconds)
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


@contextmanager
def service(
    home: Path, *, model: str = "practice", model_port: int | None = None
) -> Iterator[Running]:
    """The real service on a free port, with its state in `home`."""
    environment = {
        "CLANKIE_HOME": str(home),
        "CLANKIE_PORT": "0",
        "CLANKIE_MODEL": model,
        "CLANKIE_MODEL_BASE_URL": f"http://127.0.0.1:{model_port}/v1" if model_port else "",
    }
    with running([sys.executable, "-m", "clankie", "serve"], environment) as one:
        yield one


@contextmanager
def helper(*arguments: str) -> Iterator[Running]:
    """One of the servers in `servers.py`."""
    with running([sys.executable, str(HERE / "servers.py"), *arguments]) as one:
        yield one


def token(home: Path) -> str:
    """The operator's token of a service that has started there."""
    return (home / "operator.token").read_text(encoding="ascii").strip()
