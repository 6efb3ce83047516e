"""The service as the tests start it: `python -m process.entry serve` or `… cli ARGUMENTS`.

`serve` is the real service in everything but its ports: it can be killed at named places, its turns
and effects are written down outside of the database. `cli` is the program itself, unchanged but for
the leash: it ends with the test that started it.
"""

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

from process.child import Answers, Deadly, Effects, Seats, WitnessedLane, leave_mark, obey
from process.machine import limit_files, obey_permissions, small_disk


def main(arguments: list[str]) -> int:
    answers = Answers(int(os.environ.pop("CLANKIE_TEST_ANSWERS")))
    if os.environ.pop("CLANKIE_TEST_UNPRIVILEGED", None):
        obey_permissions()
    match arguments:
        case ["serve"]:
            return serve(answers)
        case ["cli", *rest]:
            obey({"limit_files": limit_files}, answers)
            sys.argv = ["clankie", *rest]
            runpy.run_module("clankie", run_name="__main__", alter_sys=True)
            return 0
        case _:
            return 2


def serve(answers: Answers) -> int:
    from clankie.host.clock import SystemClock, SystemIds
    from clankie.lanes.service import ServiceLane
    from clankie.lanes.tools import TOOLS, Always, bank
    from clankie.store.credentials import FileCredentials
    from clankie.wiring.config import from_environment
    from clankie.wiring.house import Ports
    from clankie.wiring.service import serve as run

    disk = os.environ.pop("CLANKIE_TEST_DISK", None)
    if disk is not None:
        mounted = small_disk(Path(os.environ["CLANKIE_HOME"]), int(disk))
        answers.tell("mounted" if mounted else "not mounted")
    limit = os.environ.pop("CLANKIE_TEST_FILE_LIMIT", None)
    limit_files(None if limit is None else int(limit))
    effects = Effects(Path(os.environ.pop("CLANKIE_TEST_EFFECTS")))
    deadly, seats = Deadly(answers), Seats()
    verbs: dict[str, Callable[..., None]] = {
        "arm": deadly.arm,
        "pause": deadly.pause,
        "go_on": deadly.go_on,
        "stand": seats.stand,
        "limit_files": limit_files,
    }
    obey(verbs, answers)
    # Real seats, but for a test that says itself who stands where.
    stands = os.environ.pop("CLANKIE_TEST_STANDS", None) is not None
    point = os.environ.pop("CLANKIE_TEST_DIES_AT", None)
    if point is not None:
        deadly.arm(point, int(os.environ.pop("CLANKIE_TEST_VISIT", "1")))
    config = from_environment()
    lane = ServiceLane(
        clock=SystemClock(),
        ids=SystemIds(),
        credentials=FileCredentials(config.home / "credentials.json", os.environ),
        bank=Always(bank(*TOOLS.values(), leave_mark(effects))),
    )
    lanes = WitnessedLane(lane, effects)
    return run(config, Ports(crash=deadly, lane=lanes, seats=seats if stands else None))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
