"""Runs the benchmarks and prints the table; `benchmarks/run` calls it."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shape import Row

PARTS = (
    "store_admit",
    "http_admit",
    "turns",
    "end_to_end",
    "lane",
    "memory",
    "start",
    "projection",
    "sse_fanout",
    "hooks",
    "seats",
)
_HEAD = ("", "what", "figure", "min to max", "floor", "target")


def machine() -> str:
    """Processors, system and interpreter in one line."""
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, load {load:.1f} at the start"
    )


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def cells(row: Row) -> tuple[str, ...]:
    """One line of the table."""
    mark = {None: "", True: "ok", False: "MISS"}[row.ok]
    spread = " to ".join(map(number, row.spread)) if row.spread else ""
    floor = "" if row.floor is None else f"{number(row.floor)} ({row.floor_is})"
    target = ""
    if row.target is not None:
        target = f"{'>=' if row.least else '<='} {number(row.target)}"
    return mark, row.name, f"{number(row.figure)} {row.unit}", spread, floor, target


def table(lines: list[tuple[str, ...]]) -> str:
    """As Markdown, aligned for the eye."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def main() -> int:
    """Run what was asked for. 1 when a benchmark broke; a missed target is only shown."""
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, less trust")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PARTS))
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(PARTS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(PARTS)}")
    began, broken = time.perf_counter(), 0
    sys.stdout.write(f"{machine()}\n\n")
    lines: list[tuple[str, ...]] = [_HEAD]
    for name in given.names or PARTS:
        part = time.perf_counter()
        try:
            found = importlib.import_module(name).rows(quick=given.quick)
        except Exception as error:  # noqa: BLE001 - the others are still worth their figures
            broken = 1
            sys.stderr.write(f"{name} broke: {error!r}\n")
            continue
        sys.stderr.write(f"{name}: {time.perf_counter() - part:.1f} s\n")
        lines += [cells(row) for row in found]
    sys.stdout.write(f"{table(lines)}\n\n{time.perf_counter() - began:.0f} s in all\n")
    return broken


if __name__ == "__main__":
    sys.exit(main())
