"""A page of a log as lines of text, for whoever looks at logs through a tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from clankie.host.framing import one_line

if TYPE_CHECKING:
    from clankie.host.storage import EventPage

CHARACTERS: Final = 32_768
"""Of all lines together."""
_LINE: Final = 2_000

ALL: Final = frozenset({"message", "tool", "notice", "turn", "handoff", "reset"})
SAID: Final = frozenset({"message"})


def lines(page: EventPage, kinds: frozenset[str], limit: int) -> tuple[list[str], int | None]:
    """The newest events that fit, oldest first, and the cursor of the first of them."""
    found: list[str] = []
    room, first = CHARACTERS, None
    for stored in reversed(page.events):
        event: dict[str, Any] = json.loads(stored.data)
        line = _line(event) if event.get("kind") in kinds else None
        if line is None:
            continue
        room -= len(line) + 1
        if room < 0 or len(found) >= limit:
            break
        found.append(line)
        first = stored.cursor
    return found[::-1], first


def _line(event: dict[str, Any]) -> str | None:
    who = event.get("author", {}).get("id", "")
    head = f"{event['cursor']} {event['at']} {event['kind']}"
    match event["kind"]:
        case "message":
            rest = f"{event.get('role', '')} {who}: {event.get('text', '')}"
        case "tool":
            rest = f"{event.get('name', '')} {event.get('phase', '')}: {event.get('detail', '')}"
        case "notice":
            rest = f"{event.get('code', '')}: {event.get('text', '')}"
        case "turn":
            rest = f"{event.get('phase', '')} {event.get('code', '')}"
        case "handoff":
            rest = f"{event.get('span', '')} {event.get('phase', '')}"
        case _:
            rest = ""
    return one_line(f"{head} {rest}", _LINE)
