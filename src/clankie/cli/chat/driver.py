"""Who drives a conversation, in the words of the status line."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from clankie.cli.clean import line
from clankie.cli.wire import part

if TYPE_CHECKING:
    from clankie.cli.wire import Json

NAMES: Final = {
    "claude": "Claude Code",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "pi": "pi",
    "opencode": "opencode",
}
_SEAT: Final = re.compile(r"^The seat \S+ \(([a-z-]+)\)")
LISTENS: Final = frozenset({"live", "holding"})


def harness(name: object) -> str:
    """A harness as people call it."""
    return NAMES.get(str(name), line(str(name or ""), 40) or "The harness")


def named(text: str) -> str:
    """A sentence of the service that begins with a harness's id, or names a seat with it."""
    text = _SEAT.sub(lambda found: harness(found[1]), text)
    first, space, rest = text.partition(" ")
    return f"{NAMES.get(first, first)}{space}{rest}"


def seat_of(conversation: Json) -> Json | None:
    """What the list says of the seat that drives; None where the service does."""
    driver = part(conversation, "driver")
    return driver if driver.get("kind") == "seat" else None


def name_of(conversation: Json) -> str | None:
    """The harness that has what is said now; None where the service lane does."""
    seat = seat_of(conversation)
    if seat is None or seat.get("state") not in LISTENS:
        return None
    return harness(seat.get("harness"))


def words(seat: Json, now: datetime) -> str:
    """One phrase: it drives, or why it does not and what happens next."""
    name = harness(seat.get("harness"))
    match seat.get("state"):
        case "holding":
            left = _left(seat.get("hold_until") or seat.get("grace_until"), now)
            then = "what comes is kept for it" if left is None else f"takeover in {left} s"
            return f"{name} is silent, {then}"
        case "parked":
            return f"{name} is at its usage limit, the service answers"
        case "absent" | "unattached":
            return f"{name} is away, the service answers"
        case _:
            return f"{name} drives"


def _left(until: object, now: datetime) -> int | None:
    try:
        moment = datetime.fromisoformat(str(until))
    except ValueError:
        return None
    return max(0, -int((now - moment).total_seconds() // 1))


HANDOFFS: Final = {
    "open": "From here the service answers; the harness gets it in one piece when it is back.",
    "attempting": "What the service did meanwhile is on its way to the harness.",
    "delivered": "The harness has what the service did meanwhile.",
    "uncertain": (
        "It is not known whether the harness got what the service did meanwhile. "
        "It is not sent again; all of it stands here."
    ),
}
"""Steps of a handoff that a reader of the log is told of."""
