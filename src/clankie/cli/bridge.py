"""`clankie bridge`: what a harness starts as its server of tools."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import click

from clankie.cli import seat_side
from clankie.seats.folder import SeatFolderError, current

if TYPE_CHECKING:
    from clankie.seats.folder import Folder


@click.command()
def bridge() -> None:
    """Serve Clankie's tools to a harness on standard input and output, and hand it its events.

    A harness starts this by itself; `clankie seat open` sees to it.
    """
    from clankie.seats.bridge import Around, on_stdio  # noqa: PLC0415 - only the bridge pays

    folder = _folder()
    pane = os.environ.get("TMUX_PANE") if os.environ.get("TMUX") else None
    around = Around(
        folder=folder,
        tools=seat_side.tools(folder),
        panes=None if pane is None else seat_side.panes(),
        pane=pane,
    )
    asyncio.run(on_stdio(around))


def _folder() -> Folder | None:
    try:
        return current(os.environ)
    except (SeatFolderError, OSError):
        return None
