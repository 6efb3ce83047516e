"""How everything looks: one palette, one set of marks, consoles that never obey what they print.

Colour is an accent and never the only sign: with NO_COLOR, in a pipe or on paper the words say the
same. Every console has markup, highlighting and emoji codes off, and text from outside goes through
`clean` first.
"""

from __future__ import annotations

import sys
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from clankie.cli.clean import line, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

PIPE_WIDTH: Final = 160
"""Columns where output is no terminal: a table should not be cut for a screen that is not there."""

STYLES: Final = {
    "accent": "cyan",
    "agent": "bold cyan",
    "owner": "bold",
    "other": "bold magenta",
    "good": "green",
    "warn": "yellow",
    "bad": "red",
    "quiet": "dim",
    "code": "cyan",
    "strong": "bold",
}
STATES: Final = {
    "idle": "quiet",
    "running": "accent",
    "queued": "accent",
    "held": "warn",
    "waiting_seat": "warn",
    "closed": "quiet",
    "settled": "good",
    "absorbed": "good",
    "failed": "bad",
    "uncertain": "warn",
    "cancelled": "quiet",
    "not_sent": "bad",
    "abandoned": "quiet",
    "ok": "good",
    "warn": "warn",
    "fail": "bad",
}
WORDS: Final = {
    "settled": "answered",
    "absorbed": "answered with another",
    "not_sent": "not sent",
    "abandoned": "closed as unknown",
    "waiting_seat": "waiting for its seat",
}
MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗"}


def console(
    stream: TextIO | None = None, *, width: int | None = None, terminal: bool | None = None
) -> Console:
    """A console on `stream` (standard output). Obeys NO_COLOR and the width of the terminal.

    `terminal`: write as to a terminal whatever `stream` is; None: find out.
    """
    target = stream or sys.stdout
    if width is None and not target.isatty():
        width = PIPE_WIDTH
    return Console(
        file=target,
        theme=Theme(STYLES),
        width=width,
        force_terminal=terminal,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def word(state: str) -> str:
    """A state as people say it."""
    return WORDS.get(state, line(state, 40))


def state_text(state: str) -> Text:
    """A state in its colour."""
    return Text(word(state), style=STATES.get(state, ""))


def safe(text: object, style: str = "", limit: int = 300) -> Text:
    """One line of text from outside."""
    return Text(line(str(text), limit), style=style)


def body(text: str, style: str = "") -> Text:
    """Several lines of text from outside."""
    return Text(plain(text), style=style)


def local_time(at: object, *, date: bool = False, zone: tzinfo | None = None) -> str:
    """``14:02`` or ``2026-11-30 14:02``; empty when `at` is no time.

    In `zone`, or in the time zone of this machine.
    """
    try:
        moment = datetime.fromisoformat(str(at)).astimezone(zone)
    except ValueError:
        return ""
    return moment.strftime("%Y-%m-%d %H:%M" if date else "%H:%M")


def table(*columns: str) -> Table:
    """A table without lines. A column name that ends with ``>`` is set to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="quiet")
    for name in columns:
        right = name.endswith(">")
        made.add_column(name.rstrip(">"), justify="right" if right else "left", overflow="fold")
    return made


def pairs(rows: Sequence[tuple[str, Text | str]]) -> Table:
    """Names and values in two aligned columns."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="quiet", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, value if isinstance(value, Text) else safe(value))
    return made


def refusal(detail: str, code: str) -> Table:
    """``✗ sentence  code``, with the rows of a long sentence below its beginning."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row(Text("✗", style="bad"), Text.assemble(plain(detail), "  ", (line(code), "quiet")))
    return made


def marked(mark: str, text: str, style: str) -> Text:
    """``✓ sentence``: the mark in colour, the sentence plain."""
    return Text.assemble((mark, style), " ", plain(text))
