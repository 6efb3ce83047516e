"""Puts each fault into a copy of the package and lives until it is found."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clankie
from simulation.edits import Fault
from simulation.faults import FAULTS
from simulation.speech import say

PACKAGE = Path(clankie.__file__).parent
TESTS = Path(__file__).resolve().parent.parent
SEEDS = 1_000
"""Lives in which a fault must show."""

BATCH = 20
SECONDS = 600
"""One batch of lives; on a busy machine too, a fault must not count as found for being slow."""


def missing(fault: Fault, package: Path = PACKAGE) -> list[str]:
    """The edits that do not fit the package any more."""
    return [
        f"{fault.name}: {one.file} holds {count} times {one.old!r}"
        for one in fault.edits
        if (count := (package / one.file).read_text(encoding="utf-8").count(one.old)) != 1
    ]


def apply(fault: Fault, package: Path) -> None:
    """Make the edits. The package is a copy."""
    for one in fault.edits:
        file = package / one.file
        file.write_text(file.read_text(encoding="utf-8").replace(one.old, one.new), "utf-8")


def found(fault: Fault, seeds: int) -> str:
    """How the fault shows, with the number of lives that took; empty when it does not."""
    with tempfile.TemporaryDirectory(prefix="clankie-fault-") as folder:
        copy = Path(folder) / "clankie"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        apply(fault, copy)
        for begin in range(0, seeds, BATCH):
            said = _live(Path(folder), begin, min(BATCH, seeds - begin))
            if said:
                return f"within {begin + BATCH} lives: {said}"
    return ""


def _live(folder: Path, begin: int, count: int) -> str:
    command = [sys.executable, "-P", "-m", "simulation.main"]
    command += ["--seeds", str(count), "--from", str(begin)]
    paths = os.pathsep.join([str(folder), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode == 0:
        return ""
    told = [one.strip() for one in done.stdout.splitlines() if one.startswith("  ")]
    sentences = [one for one in told if not one.startswith("scripts/")]
    return sentences[0] if sentences else f"it breaks: {done.stderr.strip()[-300:]}"


def main(words: Sequence[str], *, seeds: int, jobs: int) -> int:
    """Try those whose name has all the words; 1 unless every one is found."""
    wanted = [one for one in FAULTS if all(word in one.name for word in words)]
    wrong = [sentence for one in wanted for sentence in missing(one)]
    if wrong or not wanted:
        say("\n".join(wrong) or "there is no such fault")
        return 1
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda one: found(one, seeds), wanted)
        alive = 0
        for fault, outcome in zip(wanted, outcomes, strict=True):
            alive += not outcome
            say(f"{'found' if outcome else 'ALIVE'}  {fault.name}  {outcome[:160]}")
    say(f"{len(wanted) - alive} of {len(wanted)} faults found")
    return 1 if alive else 0
