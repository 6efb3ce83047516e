"""`clankie logs`: what the service wrote about itself, under `clankie up` or as installed."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from clankie.cli import places
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json

LEVELS = {"warning": "warn", "error": "bad", "critical": "bad"}
KNOWN = ("at", "level", "logger", "action")


@click.command()
@click.option("--last", type=click.IntRange(1, 10_000), default=50, show_default=True, metavar="N")
@framed
def logs(frame: Frame, last: int) -> None:
    """Show the last lines of the service's log.

    `clankie serve` writes its log to standard error instead; look where that goes.
    """
    path = Path(places.home()) / places.LOG_FILE
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            found = [_entry(row) for row in deque(file, maxlen=last)]
    except FileNotFoundError as error:
        raise CommandError(
            f"There is no {path}: neither `clankie up` nor `clankie service install` ran here.",
            code="no_log",
        ) from error
    frame.emit({"path": str(path), "entries": found}, lambda: _shown(found))


def _entry(row: str) -> Json:
    """One line of the log; what is no JSON (a crash of Python itself) is a text of its own."""
    try:
        entry: object = json.loads(row)
    except ValueError:
        entry = None
    return cast("Json", entry) if isinstance(entry, dict) else {"action": row.rstrip("\n")}


def _shown(found: list[Json]) -> RenderableType:
    from rich.text import Text  # noqa: PLC0415 - only for people

    from clankie.cli.clean import line  # noqa: PLC0415 - only for people
    from clankie.cli.look import body, local_time, safe  # noqa: PLC0415 - only for people

    whole = Text()
    for entry in found:
        style = LEVELS.get(str(entry.get("level")), "")
        more = {name: value for name, value in entry.items() if name not in KNOWN}
        traceback = more.pop("traceback", None)
        facts = "  ".join(f"{name}={line(str(value), 120)}" for name, value in more.items())
        whole.append(f"{local_time(entry.get('at'), date=True)}  ", style="quiet")
        whole.append_text(safe(entry.get("action", ""), style)).append("  ")
        whole.append(facts, style="quiet").append("\n")
        if traceback:
            whole.append_text(body(str(traceback), "quiet")).append("\n")
    whole.rstrip()
    return whole
