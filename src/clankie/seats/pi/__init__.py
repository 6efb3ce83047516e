"""pi as a seat: a process in rpc mode that we own.

Hooks import this package for its reader alone, so the rest is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clankie.seats.pi.drive import Pi

    ADAPTER: Pi


def __getattr__(name: str) -> object:
    if name != "ADAPTER":
        raise AttributeError(name)
    from clankie.seats.pi.drive import Pi  # noqa: PLC0415 - see above

    return Pi()
