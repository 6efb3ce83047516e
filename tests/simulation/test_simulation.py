"""Lives of the whole house on virtual time, with crashes: every promise holds in each of them.

In four of five lives harnesses sit at conversations: they poll, take, refuse, answer, fall silent,
change their sessions and die beside the service; what each was given is counted together with what
ran on the service lane.

A life that breaks one is printed with the command that tells it again:
`scripts/simulate --seed N --trace`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.faults import FAULTS
from simulation.faulty import found, missing

TESTS = Path(__file__).resolve().parents[1]
LIVES = 200
SHARE = 25


def simulation(*arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    """In a process of its own: what dies there leaves nothing behind here."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        [sys.executable, "-P", "-m", "simulation.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("begin", range(0, LIVES, SHARE))
def test_every_promise_holds_in_every_life(begin: int) -> None:
    # proves: CONV-4, CONV-5, CONV-6, CONV-7, FENCE-1, FENCE-3, FENCE-7, FENCE-8, FENCE-9
    # proves: FENCE-2, FENCE-11, FENCE-12, FENCE-13, SERV-1, SERV-3, SERV-7
    # proves: SEAT-4, SEAT-5, SEAT-6, SEAT-7, SEAT-8, HAND-3, HAND-4, HAND-5, HAND-6
    done = simulation("--seeds", str(SHARE), "--from", str(begin))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_life_is_told_the_same_again() -> None:
    first, second = (simulation("--seed", "3", "--trace", hash_seed=one) for one in "12")
    assert first.stdout == second.stdout
    assert "boot" in first.stdout


def test_every_fault_still_fits_the_package() -> None:
    assert [sentence for fault in FAULTS for sentence in missing(fault)] == []


def test_a_fault_that_is_put_in_is_found() -> None:
    worst = next(one for one in FAULTS if one.name == "a takeover queues again what ran")
    assert found(worst, 20)
