#!/usr/bin/env python3
"""Prints the state machines of core as a page of diagrams: docs/reference/machines.md.

`scripts/machines.py --write` writes the page; without it, exit 1 when the page is out of date.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from clankie.core import delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

State = TypeVar("State", bound=StrEnum)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "machines.md"

INTRODUCTION = """\
# State machines

Written by `scripts/machines.py --write` from the tables in `src/clankie/core/delivery.py`. A move
that has no arrow is refused with `transition_refused` and changes nothing.
"""


def diagram(table: Mapping[State, frozenset[State]]) -> str:
    """One machine as a Mermaid state diagram."""
    lines = ["```mermaid", "stateDiagram-v2"]
    first = next(iter(table))
    lines.append(f"    [*] --> {first}")
    for before, targets in table.items():
        lines += [f"    {before} --> {after}" for after in sorted(targets)]
        if not targets:
            lines.append(f"    {before} --> [*]")
    return "\n".join([*lines, "```"])


def page() -> str:
    """The whole page."""
    machines = [
        ("An input", "What was admitted, from the queue to its end.", diagram(delivery.INPUT)),
        ("An attempt on the service lane", "One try at it.", diagram(delivery.SERVICE)),
        ("An attempt at a seat", "The same, in a coding harness.", diagram(delivery.SEAT)),
    ]
    parts = [f"## {name}\n\n{what}\n\n{drawn}\n" for name, what, drawn in machines]
    return "\n".join([INTRODUCTION, *parts])


def main() -> int:
    """Write the page or compare it."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        print(f"{PAGE.name} is out of date: run scripts/machines.py --write")
        return 1
    print(f"{PAGE.name} shows the tables as they are")
    return 0


if __name__ == "__main__":
    sys.exit(main())
