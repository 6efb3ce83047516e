"""The hook command `clankie prompt` against a real service, beside a bare Python start."""

from __future__ import annotations

import os
import sys

from processes import service
from shape import Rounds, Row, child_cpu, scratch

TARGET = 4.0
BARE = [sys.executable, "-c", "pass"]
CODE = "import sys; from clankie.cli.entry import main; sys.exit(main())"
HOOK = [sys.executable, "-P", "-c", CODE, "prompt"]


def rows(*, quick: bool) -> list[Row]:
    """Both in turn, so that a busy machine slows both."""
    bare: list[tuple[float, float]] = []
    hook: list[tuple[float, float]] = []
    with scratch() as home, service(home):
        environment = {**os.environ, "CLANKIE_HOME": str(home)}
        for _ in range(10 if quick else 40):
            bare.append(child_cpu(BARE, environment))
            hook.append(child_cpu(HOOK, environment))
    floor, took = (Rounds.of([cpu for cpu, _ in values]) for values in (bare, hook))
    floor_wall, wall = (Rounds.of([wall for _, wall in values]) for values in (bare, hook))
    return [
        Row(
            name="hook command over bare python, processor",
            figure=took.median / floor.median,
            unit="times",
            target=TARGET,
        ),
        Row(
            name="hook command, wall",
            figure=wall.median * 1_000,
            unit="ms",
            spread=(wall.spread[0] * 1_000, wall.spread[1] * 1_000),
            floor=floor_wall.median * 1_000,
            floor_is="bare python",
        ),
    ]
