"""The bounded view of a log: newest first into the budget, read oldest first.

The budget is a hard maximum in characters for the rendered text, the marker included. What is left
out is always the oldest, and the marker counts it. Callers feed entries newest first and stop when
`Projecting.add` says so: the cost follows the budget, not the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core.conversation import SYSTEM, Message, Role, Tool, timestamp
from clankie.core.delivery import InputState

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.conversation import Author
    from clankie.core.settings import ProjectionLimits

_MARKER: Final = "[{count} earlier events omitted]"
_MARKER_ROOM: Final = len(_MARKER.format(count=2**53)) + 2
NAME_LIMIT: Final = 64
"""Characters of a tool's name or a source; what is longer is not a name."""

_SPEAKERS: Final = {
    Role.OWNER: "owner",
    Role.AGENT: "you",
    Role.EXTERNAL: "external",
    Role.ROOM: "room",
}


_UNKNOWN: Final = "outcome unknown, it may have been done"
ENDS: Final = {
    InputState.UNCERTAIN: _UNKNOWN,
    InputState.ABANDONED: _UNKNOWN,
    InputState.FAILED: "failed",
    InputState.CANCELLED: "cancelled",
    InputState.NOT_SENT: "never sent",
}
"""How a message ended that was not answered: without it, it would read like one that waits."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One projected event: its cursor, its body with bounded text, its line, its author.

    `end` says how a message ended that was not answered; whoever reads it must not take it up.
    """

    cursor: int
    body: Message | Tool
    line: str
    author: Author = SYSTEM
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Projection:
    """Entries oldest first, and how many projectable events came before them."""

    entries: tuple[Entry, ...]
    omitted: int

    @property
    def through(self) -> int:
        """The newest cursor shown, 0 when there is none."""
        return self.entries[-1].cursor if self.entries else 0

    @property
    def text(self) -> str:
        """What a reader sees: the marker, then a paragraph an entry."""
        marker = [_MARKER.format(count=self.omitted)] if self.omitted else []
        return "\n\n".join([*marker, *(entry.line for entry in self.entries)])


def clipped(text: str, limit: int) -> str:
    """`text` within `limit` characters; a cut says how much is missing."""
    if len(text) <= limit:
        return text
    room = max(0, limit - len(f" … [{len(text)} characters cut]"))
    return f"{text[:room]} … [{len(text) - room} characters cut]"[:limit]


@dataclass(slots=True)
class Projecting:
    """Collects entries newest first until the budget is used."""

    limits: ProjectionLimits
    _entries: list[Entry] = field(default_factory=list[Entry])
    _used: int = 0
    _full: bool = False

    def add(
        self,
        cursor: int,
        at: datetime,
        author: Author,
        body: Message | Tool,
        state: InputState | None = None,
    ) -> bool:
        """Take one more, older than all before; False when it does not fit: stop there.

        `state` is that of the input whose words a message holds.

        What is older than one that did not fit is not taken either: a hole would be called earlier.
        """
        short = self._bounded(body)
        end = None if state is None else ENDS.get(state)
        line = rendered(at, author, short, end)
        room = self.limits.budget - _MARKER_ROOM - self._used
        if not self._entries and len(line) + 2 > room:
            # The newest is never left out whole, however small the budget was made.
            short = _shortened(short, len(line) + 2 - room)
            line = rendered(at, author, short, end)
        cost = len(line) + 2
        if self._full or cost > room:
            self._full = True
            return False
        self._used += cost
        self._entries.append(Entry(cursor, short, line, author, end))
        return True

    def done(self, total: int) -> Projection:
        """Close it; `total` counts every projectable event that could have been shown."""
        return Projection(tuple(reversed(self._entries)), max(0, total - len(self._entries)))

    def _bounded(self, body: Message | Tool) -> Message | Tool:
        match body:
            case Message(source=source):
                short = None if source is None else clipped(source, NAME_LIMIT)
                return replace(body, text=clipped(body.text, self.limits.message), source=short)
            case Tool():
                detail = clipped(body.detail, self.limits.tool_detail)
                return replace(body, name=clipped(body.name, NAME_LIMIT), detail=detail)
            case _:
                assert_never(body)


def _shortened(body: Message | Tool, over: int) -> Message | Tool:
    match body:
        case Message(text=text):
            return replace(body, text=clipped(text, max(0, len(text) - over)))
        case Tool(detail=detail):
            return replace(body, detail=clipped(detail, max(0, len(detail) - over)))
        case _:
            assert_never(body)


def rendered(at: datetime, author: Author, body: Message | Tool, end: str | None) -> str:
    """One entry as a line: when, who, and what was said or done; `end` as in `Entry`."""
    when = timestamp(at)[:16].replace("T", " ")
    match body:
        case Message(role=role, text=text, source=source):
            origin = "" if source is None else f" ({source})"
            with_it = f" [{len(body.attachments)} attached]" if body.attachments else ""
            ended = "" if end is None else f" ({end})"
            return f"[{when}] {_SPEAKERS[role]}{origin}{ended}: {text}{with_it}"
        case Tool(name=name, phase=phase, detail=detail):
            return f"[{when}] {author.principal} tool {name} {phase}: {detail}"
        case _:
            assert_never(body)
