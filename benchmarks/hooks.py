"""`clankie prompt` over a bare Python start, against a real service. Prints a table; asserts nothing.

Run: .venv-dev/bin/python benchmarks/hooks.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from time import perf_counter

RUNS = 40
TARGET = 4.0
BARE = [sys.executable, "-c", "pass"]
HOOK = [
    sys.executable,
    "-P",
    "-c",
    "import sys; from clankie.cli.entry import main; sys.exit(main())",
]


def timed(command: list[str], home: str) -> list[float]:
    """Milliseconds of wall time, one for each run."""
    environment = {**os.environ, "CLANKIE_HOME": home}
    times: list[float] = []
    for _ in range(RUNS):
        began = perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        times.append((perf_counter() - began) * 1_000)
    return sorted(times)


def row(name: str, times: list[float], floor: float) -> str:
    """One line of the table."""
    middle = statistics.median(times)
    return f"{name:<28}{times[0]:>9.1f}{middle:>9.1f}{times[-1]:>9.1f}{middle / floor:>9.2f}"


def main() -> int:
    """Start a service, measure both, print the table."""
    with tempfile.TemporaryDirectory(prefix="clankie-") as home:
        service = subprocess.Popen(
            [sys.executable, "-P", "-m", "clankie", "serve"],
            env={**os.environ, "CLANKIE_HOME": home, "CLANKIE_PORT": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            if service.stdout is None or not json.loads(service.stdout.readline())["ready"]:
                return 1
            bare = timed(BARE, home)
            hook = timed([*HOOK, "prompt"], home)
        finally:
            service.terminate()
            service.wait()
            if service.stdout is not None:
                service.stdout.close()
    floor = statistics.median(bare)
    print(f"{'':<28}{'best ms':>9}{'median':>9}{'worst':>9}{'ratio':>9}")
    print(row("bare python (floor)", bare, floor))
    print(row(f"clankie prompt (target {TARGET:g}x)", hook, floor))
    return 0


if __name__ == "__main__":
    sys.exit(main())
