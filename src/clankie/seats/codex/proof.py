"""Is this the app-server that we know, and who looks at it. One proof for every question.

Rule 1: a server is the one of the record only while its process has the same id and the same start,
        and holds the listening socket of the record's path.
Rule 2: a terminal shows a server only if exactly one process in its foreground holds the other end
        of one of the server's own connections. None, or several: nothing is known.
Rule 3: looking changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from clankie.core.seat import Native
from clankie.seats import process
from clankie.seats.codex import sockets
from clankie.seats.folder import Folder

RECORD: Final = "codex.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What we keep of the server that we started.

    `link` is where it was told to listen, `socket` the same without links: there it does listen.
    `hooks`: it was started with our hook, and the person trusts that. `greeted`: the thread was
    given the log already.
    """

    pid: int
    began: str
    link: str
    socket: str
    thread: str = ""
    hooks: bool = False
    greeted: bool = False

    @property
    def native(self) -> Native:
        """The session as the service knows it."""
        return Native(self.thread, self.pid, self.began)


@dataclass(frozen=True, slots=True)
class View:
    """A process whose screen shows the server: its id, its start, and its end of the connection."""

    pid: int
    began: str
    inode: int


def keep(folder: Folder, record: Record) -> None:
    """Write the record down."""
    folder.write(RECORD, asdict(record))


def kept(folder: Folder) -> Record | None:
    """The record of this seat; None when there is none that can be read."""
    found = folder.read(RECORD)
    try:
        return None if found is None else Record(**found)
    except TypeError:
        return None


def resolved(path: Path) -> str:
    """A socket's path without links: the server keeps its socket elsewhere and links to it."""
    return str(path.resolve())


def lives(record: Record) -> bool:
    """Whether the very process of the record runs. One that ended and was not buried does not."""
    same = record.began != "" and process.started_at(record.pid) == record.began
    return same and not sockets.dead(record.pid)


def stands(record: Record, ends: list[sockets.End] | None = None) -> bool:
    """Whether the server of the record runs still, and is what listens at its socket."""
    if not lives(record):
        return False
    every = sockets.ends() if ends is None else ends
    holds = sockets.held(record.pid)
    return any(one.path == record.socket and one.listens and one.inode in holds for one in every)


def views(record: Record, leader: int) -> list[View]:
    """Who, in the foreground of the terminal that `leader` sits on, is joined to the server.

    Empty as well when the server is not the one of the record.
    """
    every = sockets.ends()
    if not stands(record, every):
        return []
    holds = sockets.held(record.pid)
    # The kernel names the server's end of a connection by the path that it listens at.
    ours = {one.peer for one in every if one.path == record.socket and one.inode in holds}
    return [
        View(pid, process.started_at(pid), inode)
        for pid in sockets.foreground(leader)
        for inode in sorted(sockets.held(pid) & (ours - {0}))
    ]


def view(record: Record, leader: int) -> View | None:
    """The one view of this terminal; None where there is none, or it is ambiguous."""
    found = views(record, leader)
    return found[0] if len({one.pid for one in found}) == 1 else None


def joined(record: Record, mine: int) -> int:
    """How many connections the server has besides those that process `mine` holds."""
    every = sockets.ends()
    holds = sockets.held(record.pid)
    own = sockets.held(mine)
    return sum(
        1
        for one in every
        if one.path == record.socket and one.peer and one.inode in holds and one.peer not in own
    )
