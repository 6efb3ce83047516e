"""Claude Code's channels: messages that its servers of tools may send by themselves.

The vendor opens them for each account, and the client never says whether it took a message, so they
are used only where the owner said that they are open: `CLANKIE_CLAUDE_CHANNELS=yes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.core.seat import SeatEvent
    from clankie.seats.launch import Means

VARIABLE: Final = "CLANKIE_CLAUDE_CHANNELS"
METHOD: Final = "notifications/claude/channel"
FLAGS: Final = ("--dangerously-load-development-channels", "plugin:clankie@inline")
"""The vendor lists the channels that it knows; for any other the client asks the person first."""


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether the owner says that channels are open."""
    return environment.get(VARIABLE, "").strip().lower() in {"yes", "1", "true"}


def open_to(means: Means) -> bool:
    """Whether an event can be sent that way."""
    return means.notify is not None and wanted(means.place.environment)


async def notify(means: Means, event: SeatEvent, text: str) -> None:
    """Send one event. The client shows the names of `meta` as attributes."""
    if means.notify is None:
        return
    meta = {"event": event.id, "kind": event.kind.value, "source": event.source}
    await means.notify(METHOD, {"content": text, "meta": meta})
