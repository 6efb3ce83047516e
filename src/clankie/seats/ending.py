"""Why a pump stopped."""

from __future__ import annotations

from enum import StrEnum


class Ending(StrEnum):
    """Why a pump stopped. `sentence` is for people."""

    ENDED = "ended"
    SUPERSEDED = "superseded"
    CLOSED = "closed"
    MISSING = "missing"
    BROKEN = "broken"

    @property
    def sentence(self) -> str:
        """What happened, and what to do."""
        return _SENTENCES[self]


_SENTENCES = {
    Ending.ENDED: "The harness has ended.",
    Ending.SUPERSEDED: "Another bridge or session has this seat now; this one stops.",
    Ending.CLOSED: "This seat's token opens nothing any more. Open the seat again with "
    "`clankie seat open`.",
    Ending.MISSING: "The service knows this seat no longer. Open it again with "
    "`clankie seat open`.",
    Ending.BROKEN: "The harness could not be given an event; nothing more is taken for it. "
    "Open the seat again with `clankie seat open`.",
}
