"""How much of each room the tests must reach, statement and branch. Reads what ./test left.

Every file of a room must reach the room's floor. A file that cannot has its own floor in
EXCEPTIONS, with the reason, and is taken out again as soon as it reaches the room's.
"""

import io
import json
import sys
from pathlib import Path
from typing import TypedDict, cast

from coverage import Coverage
from coverage.exceptions import CoverageException

ROOT = Path(__file__).resolve().parent.parent

FLOORS = {
    "src/clankie/core/": 100.0,
    "src/clankie/host/": 95.0,
    "src/clankie/store/": 95.0,
}

# path: (floor, why it cannot reach the room's floor)
EXCEPTIONS: dict[str, tuple[float, str]] = {
    "src/clankie/store/keyring_probe.py": (
        90.0,
        "it runs in a child process with a time limit of its own, where nothing is measured",
    ),
}


class Summary(TypedDict):
    """The numbers of one file, as coverage reports them."""

    percent_covered: float
    missing_lines: int
    missing_branches: int


class FileReport(TypedDict):
    """One file of the report."""

    summary: Summary


def measured() -> dict[str, Summary]:
    """The numbers of every file, also of those no test imported."""
    coverage = Coverage(config_file=str(ROOT / "pyproject.toml"), data_file=str(ROOT / ".coverage"))
    coverage.load()
    target = ROOT / ".ci" / "out" / "coverage.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    sink, sys.stdout = sys.stdout, io.StringIO()
    try:
        coverage.json_report(outfile=str(target))
    finally:
        sys.stdout = sink
    return read(target)


def read(report: Path) -> dict[str, Summary]:
    """A report written by coverage."""
    files = cast("dict[str, FileReport]", json.loads(report.read_text(encoding="utf-8"))["files"])
    return {path: entry["summary"] for path, entry in files.items()}


def room_floor(path: str) -> float | None:
    """The floor of the room a file stands in, None where there is none."""
    return next((floor for room, floor in FLOORS.items() if path.startswith(room)), None)


def complaints(files: dict[str, Summary], exceptions: dict[str, tuple[float, str]]) -> list[str]:
    """One line for each file below its floor, and each exception that is no longer needed."""
    found = [f"{path}: listed as an exception, but not there" for path in exceptions.keys() - files]
    for path, numbers in sorted(files.items()):
        room = room_floor(path)
        floor = exceptions[path][0] if path in exceptions else room
        reached = numbers["percent_covered"]
        if floor is not None and reached < floor:
            missing = f"{numbers['missing_lines']} lines, {numbers['missing_branches']} branches"
            found.append(f"{path}: {reached:.1f} %, must be {floor:.0f} % ({missing} missing)")
        if path in exceptions and room is not None and reached >= room:
            found.append(f"{path}: needs no exception any more")
    return found


def main() -> int:
    """Print the complaints; 1 if there are any."""
    try:
        files = measured()
    except CoverageException as error:
        print(f"no coverage to read ({error}); ./test writes it")
        return 1
    found = complaints(files, EXCEPTIONS)
    print("\n".join(found) or f"{len(files)} files, each at or over its floor")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
