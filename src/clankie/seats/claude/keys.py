"""Whether an owner's words may be typed into the client's terminal now.

Rule 1: the client's register and transcript decide, and who holds the terminal; never what the
        screen looks like.
Rule 2: never into a draft, a dialog, a limit menu or another program, and never into a running
        turn, where a dialog may open between our words and Enter.
Rule 3: in doubt not. There is another way, so nothing is lost by it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from clankie.seats.process import stat

if TYPE_CHECKING:
    from clankie.host.panes import Pane
    from clankie.seats.claude.registry import Session

_GROUP, _FRONT = 2, 5
"""Fields of /proc/PID/stat behind the program's name: its group, and its terminal's front group."""


def why_not(
    session: Session | None, pane: Pane, *, limited: bool, prompted_at: datetime | None
) -> str | None:
    """Why nothing may be typed now; None when it may. `prompted_at`: a person's last prompt."""
    if session is None:
        return "the client does not say what it does"
    if limited:
        return "its usage limit is reached"
    if session.dialog:
        return f"it waits at a dialog ({session.waiting_for or session.status})"
    if not session.free:
        return "a turn runs" if session.busy else "it has not begun its first turn"
    if pane.dead or not in_front(session.pid):
        return "another program has its terminal"
    return _draft(session, pane, prompted_at)


def _draft(session: Session, pane: Pane, prompted_at: datetime | None) -> str | None:
    since = max((one for one in (session.started_at, prompted_at) if one is not None), default=None)
    if pane.touched_at is None or since is None:
        return "nobody knows whether there is a draft"
    if pane.touched_at > since:
        return "somebody touched its terminal since the last prompt: there may be a draft"
    return None


def in_front(pid: int) -> bool:
    """Whether the process's group has its terminal; False where nobody says."""
    try:
        fields = stat(pid)
        return fields[_GROUP] == fields[_FRONT]
    except (OSError, IndexError):
        return False
