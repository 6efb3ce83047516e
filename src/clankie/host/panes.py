"""The port to terminals that programs run in, and what may be typed into them.

Rule: keystrokes carry an owner's words and nothing else. A control character other than a newline
is refused, and so is a first character that terminal programs take for a command of their own:
such words go another way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

LONGEST: Final = 65_536
"""Characters typed at once; as many as an owner's message may have."""
COMMANDS: Final = "!/#@"
"""First characters that a terminal program may take for an order."""
# C0 but the newline, DEL, C1, what ends a line elsewhere, and halves of a character.
_CONTROL: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class PaneError(Exception):
    """A pane could not do what was asked; the text says why."""


class PanesMissingError(PaneError):
    """The program that hosts panes is not installed, or too old."""


class PaneGoneError(PaneError):
    """There is no such pane (any more)."""

    def __init__(self, pane: str) -> None:
        super().__init__(f"There is no pane {pane!r}.")
        self.pane = pane


class NotTypableError(PaneError):
    """These words may not be typed; nothing was. `reason` is a code."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"These words cannot be typed into a terminal ({reason}).")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """A pane as it is now. `pid` leads its terminal; `command` is what runs in its foreground.

    `touched_at`: when a person last pressed a key in, or opened, a terminal that shows it, to the
    second and never too late; None where the host of panes cannot say. Keys that we send do not
    count.
    """

    id: str
    session: str
    pid: int
    tty: str
    directory: str
    command: str
    dead: bool = False
    touched_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPane:
    """What to run in a new pane. `argv` replaces the shell, so the pane's pid is the program's.

    `session`: put it there, else one of that name is made. `columns` and `rows` count only where
    nobody watches yet. An environment of its own the program gets from a file, not from here: what
    hosts panes shows it in the list of processes.
    """

    argv: Sequence[str]
    directory: str
    session: str
    title: str
    columns: int = 160
    rows: int = 50


class PaneHost(Protocol):
    """Opens panes and types into them. Every verb may raise PanesMissingError."""

    async def open(self, ask: OpenPane) -> Pane:
        """Run a program in a pane of its own. Raises PaneError when it cannot be started."""
        ...

    async def panes(self) -> Sequence[Pane]:
        """All panes; none where no server of panes runs."""
        ...

    async def pane(self, pane: str) -> Pane:
        """Its facts now. Raises PaneGoneError."""
        ...

    async def type(self, pane: str, text: str) -> None:
        """Put words into its input as one bracketed paste, without Enter.

        A pane whose keys go elsewhere (a person scrolls back in it) is `in_mode`: not typable.

        Raises NotTypableError (nothing was typed; `in_mode` while a person scrolls in the pane),
        PaneGoneError, or PaneError (unknown).
        """
        ...

    async def enter(self, pane: str) -> None:
        """Press Enter. Raises PaneGoneError."""
        ...

    async def capture(self, pane: str) -> str:
        """What its screen shows, as text without colours. Raises PaneGoneError."""
        ...

    async def kill(self, pane: str) -> None:
        """End it and what runs in it; a pane that is gone already is fine."""
        ...


def typable(text: str) -> str:
    """The text as it may be typed: line ends are newlines.

    Raises NotTypableError: `blank`, `too_long`, `control_character` or `command_character`.
    """
    words = text.replace("\r\n", "\n")
    if not words.strip():
        raise NotTypableError("blank")
    if len(words) > LONGEST:
        raise NotTypableError("too_long")
    if _CONTROL.search(words):
        raise NotTypableError("control_character")
    # Blanks before it do not hide it: terminal programs trim what they read.
    if words.lstrip()[0] in COMMANDS:
        raise NotTypableError("command_character")
    return words
