"""Claude Code as a seat. Hooks import `rows` from here, so nothing else is loaded before asked."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the module's one late attribute
    """`ADAPTER`, imported when somebody asks for it."""
    if name != "ADAPTER":
        raise AttributeError(name)
    from clankie.seats.claude.adapter import ADAPTER  # noqa: PLC0415 - see above

    return ADAPTER
