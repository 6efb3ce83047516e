"""The command behind `scripts/simulate`."""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from simulation import faulty
from simulation.life import Result, simulate
from simulation.speech import say

CHUNK = 20


def main(arguments: list[str]) -> int:
    """0 when every promise held (with `--faults`: when every fault was found)."""
    # A killed process leaves work behind that never began.
    warnings.filterwarnings("ignore", message="coroutine .* was never awaited")
    asked = _parser().parse_args(arguments)
    if asked.faults is not None:
        return faulty.main(asked.faults, seeds=asked.seeds or faulty.SEEDS, jobs=asked.jobs)
    if asked.seed is not None:
        return _one(asked.seed, trace=asked.trace)
    return _many(asked.begin, asked.seeds or 200, asked.jobs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/simulate", description="Lives of the whole house, on virtual time."
    )
    parser.add_argument("--seed", type=int, help="one life")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens in it")
    parser.add_argument("--seeds", type=int, help="how many lives (200)")
    parser.add_argument("--from", type=int, default=0, dest="begin", help="the first seed (0)")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument(
        "--faults", nargs="*", metavar="WORD", help="put faults in, and see whether they are found"
    )
    return parser


def _one(seed: int, *, trace: bool) -> int:
    result = simulate(seed, say if trace else None)
    _report(result)
    say(f"seed {seed}: told {result.digest}")
    return 1 if result.violations else 0


def _many(begin: int, count: int, jobs: int) -> int:
    total: Counter[str] = Counter()
    for result in _lives(range(begin, begin + count), jobs):
        total.update(lives=1, boots=result.boots, inputs=result.inputs, runs=result.runs)
        total.update(effects=result.effects, given=result.given)
        total.update(broken=bool(result.violations))
        _report(result)
    say(", ".join(f"{number} {name}" for name, number in total.items()))
    return 1 if total["broken"] else 0


def _lives(seeds: range, jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(simulate, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(simulate, seeds, chunksize=CHUNK)


def _report(result: Result) -> None:
    if result.violations:
        say(f"seed {result.seed} broke {len(result.violations)} promises, see")
        say(f"    scripts/simulate --seed {result.seed} --trace")
        for sentence in result.violations[:5]:
            say(f"  {sentence}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
