"""What the processes of a seat share: its tools, its log, and the panes around it."""

from __future__ import annotations

import os
import random
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from clankie.cli.clean import line
from clankie.host.clock import SystemClock, SystemIds
from clankie.panes.tmux import TmuxPanes
from clankie.seats.folder import SeatFolderError
from clankie.seats.running import Tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.seats.folder import Folder

LOG: Final = "seat.log"
LARGEST: Final = 1024 * 1024
"""Bytes of a seat's log; the half of it that is older goes first."""


def tools(folder: Folder | None) -> Tools:
    """What a bridge or a driver works with."""
    return Tools(
        clock=SystemClock(),
        ids=SystemIds(),
        jitter=random.SystemRandom().random,
        say=_sayer(folder),
        environment=dict(os.environ),
    )


def panes(socket: str | None = None) -> TmuxPanes:
    """The tmux that this process is in, or the person's usual one, or the one at `socket`."""
    inside = os.environ.get("TMUX", "").split(",")[0]
    return TmuxPanes(socket=socket or inside or None)


def _sayer(folder: Folder | None) -> Callable[[str], None]:
    clock = SystemClock()

    def say(sentence: str) -> None:
        words = line(sentence)
        sys.stderr.write(f"clankie: {words}\n")
        sys.stderr.flush()
        if folder is not None:
            # A folder that was removed or is spoilt, or a full disk, ends nobody's session.
            with suppress(OSError, SeatFolderError):
                _append(folder, f"{clock.now().isoformat(timespec='seconds')} {words}\n")

    return say


def _append(folder: Folder, entry: str) -> None:
    kept = folder.get(LOG)
    if len(kept) > LARGEST:
        folder.put(LOG, kept[LARGEST // 2 :])
    with os.fdopen(folder.appending(LOG), "ab") as file:
        file.write(entry.encode())
