"""The harnesses that can be seats, by name. Each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from clankie.seats.launch import Adapter

NAMES: Final = ("claude", "codex", "pi")


class UnknownHarnessError(Exception):
    """No harness of this name is known."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No harness is called {name!r}. There are: {', '.join(NAMES)}.")
        self.name = name


def adapter(name: str) -> Adapter:
    """The adapter of this name. Raises UnknownHarnessError."""
    if name not in NAMES:
        raise UnknownHarnessError(name)
    return cast("Adapter", import_module(f"clankie.seats.{name}").ADAPTER)
