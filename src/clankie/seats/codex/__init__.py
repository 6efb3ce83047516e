"""Codex as a seat: an app-server that we drive, and a terminal that joins it.

Hooks import this package for its reader alone, so the rest is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clankie.seats.codex.drive import Codex

    ADAPTER: Codex


def __getattr__(name: str) -> object:
    if name != "ADAPTER":
        raise AttributeError(name)
    from clankie.seats.codex.drive import Codex  # noqa: PLC0415 - see above

    return Codex()
