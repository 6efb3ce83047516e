"""Lines to rows of a terminal: wrapped here, so that no row of a text begins left of its indent."""

from __future__ import annotations

from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from clankie.cli.chat.marks import BODY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clankie.cli.chat.marks import Line

NARROWEST: Final = 8


@lru_cache(maxsize=1)
def _measure() -> Console:
    return Console(file=StringIO(), markup=False, highlight=False, emoji=False)


def rows(lines: Iterable[Line], width: int) -> list[Text]:
    """Every line wrapped to `width` columns, each row indented as its line is."""
    made: list[Text] = []
    for line in lines:
        text = Text.assemble(*((part, style) for style, part in line.spans), overflow="fold")
        room = max(NARROWEST, width - max(BODY, line.indent))
        wrapped = text.wrap(_measure(), room, overflow="fold") if text.plain else [text]
        for number, row in enumerate(wrapped):
            row.rstrip()
            # What a detail says must not begin in the first column either, when it is long.
            row.pad_left((max(BODY, line.indent) if number else line.indent) if row.plain else 0)
            made.append(row)
    return made
