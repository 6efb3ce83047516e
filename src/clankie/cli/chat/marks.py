"""What a line on the screen is made of, and the little Markdown that a terminal can show.

Rule: whatever a text says, its lines are indented below the name of its author. Only this program
writes in the first column, so no text can pass for one of its lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from clankie.cli.clean import plain

Span = tuple[str, str]
"""A style's name (look.STYLES, empty for none) and its text."""

BODY: Final = 2
"""Columns that the words of others are indented by."""
CODE: Final = 4

_HEADING: Final = re.compile(r"#{1,6}\s+(.+)")
_BULLET: Final = re.compile(r"(\s*)[-*+]\s+(?=\S)")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})\s*([\w+#.-]*)\s*$")
_INLINE: Final = re.compile(r"`([^`\n]+)`|\*\*(?=\S)(.+?)(?<=\S)\*\*")


@dataclass(frozen=True, slots=True)
class Line:
    """One line before it is wrapped: its parts, and the column that all its rows begin in."""

    spans: tuple[Span, ...] = ()
    indent: int = 0

    @property
    def text(self) -> str:
        """The words without styles."""
        return "".join(text for _, text in self.spans)


BLANK: Final = Line()


def said(style: str, text: str, indent: int = 0) -> Line:
    """A line in one style."""
    return Line(((style, text),), indent)


class Markdown:
    """Styles one line after the other; knows whether it is inside a code block."""

    def __init__(self) -> None:
        self._fence = ""

    def line(self, text: str) -> Line | None:
        """The line as it is shown; None for one that is only a mark (the end of a code block)."""
        text = plain(text).replace("\n", " ").expandtabs(4)
        fence = _FENCE.match(text)
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not fence[2]:
                self._fence = ""
                return None
            return said("code", text, CODE)
        if fence:
            self._fence = fence[1]
            return said("quiet", fence[2], CODE) if fence[2] else None
        return _prose(text)


def _prose(text: str) -> Line:
    heading = _HEADING.fullmatch(text)
    if heading:
        return Line(_inline(heading[1], "strong"), BODY)
    bullet = _BULLET.match(text)
    if bullet:
        depth = len(bullet[1])
        rest = _inline(text[bullet.end() :])
        return Line((("quiet", "• "), *rest), BODY + min(depth, 8))
    return Line(_inline(text), BODY)


def _inline(text: str, style: str = "") -> tuple[Span, ...]:
    spans: list[Span] = []
    end = 0
    for found in _INLINE.finditer(text):
        if found.start() > end:
            spans.append((style, text[end : found.start()]))
        spans.append(("code", found[1]) if found[1] else ("strong", found[2]))
        end = found.end()
    if end < len(text):
        spans.append((style, text[end:]))
    return tuple(spans)
