"""What the desk needs of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.cli.chat.marks import Line


class View(Protocol):
    """A screen, or a test's list of lines."""

    def show(self, lines: Sequence[Line]) -> None:
        """Put lines above the input, in order."""
        ...

    def changed(self) -> None:
        """Something in the status or the draft is new."""
        ...

    def give_back(self, text: str) -> None:
        """A message was refused: its text goes back to the input."""
        ...
