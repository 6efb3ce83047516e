"""Claude Code's register of its running sessions: ``CONFIG/sessions/PID.json``.

It is the client's own word on what it does: busy, idle, or waiting at a dialog. The file stays
behind when the client is killed, so it counts only while that very process runs.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from clankie.seats.claude.words import object_of
from clankie.seats.folder import Folder, SeatFolderError
from clankie.seats.process import started_at

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST: Final = 65_536
_BUSY: Final = frozenset({"busy"})
_FREE: Final = frozenset({"idle", "shell"})
"""`shell`: a monitor or a shell of its own runs beside it, and it takes input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A running session as the client describes it.

    `status` is ``busy``, ``idle``, ``shell``, ``waiting`` (at a dialog, `waiting_for` says which)
    or empty before its first turn. `socket` takes messages, one JSON line each.
    """

    pid: int
    session_id: str
    directory: str = ""
    version: str = ""
    started_at: datetime | None = None
    status: str = ""
    status_at: datetime | None = None
    waiting_for: str = ""
    socket: str = ""
    pane: str = ""

    @property
    def busy(self) -> bool:
        """A turn runs."""
        return self.status in _BUSY

    @property
    def free(self) -> bool:
        """It says itself that no turn runs and no dialog is open."""
        return self.status in _FREE

    @property
    def dialog(self) -> bool:
        """It shows something that must be answered first: a question, a menu, or what is new."""
        return bool(self.status) and not (self.busy or self.free)


def config(environment: Mapping[str, str]) -> str:
    """The folder of the client's settings and state."""
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - as in `rows`
    return environment.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"


def session(folder: str, pid: int) -> Session | None:
    """What the register says of a process; None where it says nothing, or of one that is gone."""
    try:
        descriptor = Folder(f"{folder}/sessions").opened(f"{pid}.json", os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            row = object_of(json.loads(file.read(_LARGEST)))
    except (OSError, ValueError, SeatFolderError):
        return None
    found = row.get("sessionId")
    if row.get("pid") != pid or not isinstance(found, str) or not _same(pid, row.get("procStart")):
        return None
    return Session(
        pid=pid,
        session_id=found,
        directory=_text(row.get("cwd")),
        version=_text(row.get("version")),
        started_at=_moment(row.get("startedAt")),
        status=_text(row.get("status")),
        status_at=_moment(row.get("statusUpdatedAt")),
        waiting_for=_text(row.get("waitingFor")),
        socket=_text(row.get("messagingSocketPath")),
        pane=_text(row.get("tmux")).rpartition(".")[2],
    )


def transcript(folder: str, directory: str, session_id: str) -> str:
    """Where the transcript of a session that began in `directory` lies."""
    name = "".join(one if one.isalnum() and one.isascii() else "-" for one in directory)
    return f"{folder}/projects/{name}/{session_id}.jsonl"


def _same(pid: int, ticks: object) -> bool:
    """Whether the process that wrote it is the one that has this id now."""
    began = started_at(pid)
    # Where the system does not say when a process began, its id is all there is.
    return not began or not ticks or began.rpartition(":")[2] == str(ticks)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _moment(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None
