"""The app-server of a seat: started, joined again when it is the one we know, and ended.

Rule 1: a server is joined only when it stands by `proof`; else another one is started.
Rule 2: a server that a person's terminal is joined to outlives the driver: their work goes on.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from clankie.host.ports import Clock
from clankie.seats import process
from clankie.seats.codex import launch, proof, sockets, trust
from clankie.seats.codex.rpc import RpcError, connected
from clankie.seats.folder import Folder
from clankie.seats.launch import Means, Place

LOG: Final = "codex.log"
DRIVER: Final = "driver.pid"
"""Where a driver writes its process id."""
_PATIENCE: Final = 30.0
_STEP: Final = 0.05
_LEAVE: Final = 10.0
_TOLD: Final = 600


class CodexError(Exception):
    """Codex could not be started; the text says why, and what helps."""


class Child:
    """A process of ours in a session of its own, which may be left behind.

    Those of `asyncio` and `subprocess` end with the object, or complain.
    """

    def __init__(self, argv: tuple[str, ...], place: Place, log: int) -> None:
        outside = (
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
        )
        # The shell finds it on the PATH of the place, and goes to the directory.
        self.pid = os.posix_spawn(
            "/bin/sh",
            ("sh", "-c", 'cd "$0" && exec "$@"', place.directory, *argv),
            dict(place.environment),
            file_actions=outside,
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ),
        )
        self._runs = True

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        if self._runs:
            try:
                self._runs = os.waitpid(self.pid, os.WNOHANG)[0] == 0
            except ChildProcessError:
                self._runs = False
        return self._runs


@dataclass
class Server:
    """A server that runs, and what is kept of it. `child` is None where it was joined."""

    record: proof.Record
    child: Child | None
    notes: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether it is still the very one."""
        if self.record.began:
            return proof.stands(self.record)
        # No kernel says here who holds a socket: only our own child is certain.
        return self.child is not None and self.child.runs


@asynccontextmanager
async def running(means: Means) -> AsyncGenerator[Server]:
    """The server of this seat: the one that runs, or a new one. Raises CodexError."""
    folder = Folder(str(means.place.folder))
    known = proof.kept(folder)
    if known is not None and proof.stands(known):
        server = Server(known, None)
    else:
        await _swept(folder, means.clock)
        server = await _trusted(means, folder, known.thread if known else "")
    try:
        yield server
    finally:
        # Ours is closed by now: what is left belongs to a person's terminal.
        if not proof.joined(server.record, os.getpid()):
            await _end(server, means.clock)


async def _swept(folder: Folder, clock: Clock) -> None:
    """End servers of ours that nobody drives, watches or waits for: they hold their threads."""
    for where in await asyncio.to_thread(_siblings, folder):
        record = proof.kept(where)
        if record is None or _driven(where) or not proof.stands(record):
            continue
        if not proof.joined(record, os.getpid()):
            await _end(Server(record, None), clock)


def _siblings(folder: Folder) -> list[Folder]:
    found = [Folder(str(one)) for one in Path(folder.path).parent.iterdir()]
    return [one for one in found if one.path != folder.path and Path(one.path).is_dir()]


def _driven(folder: Folder) -> bool:
    """Whether a driver of that seat runs; another process with its id counts as one."""
    try:
        return process.alive(int(folder.get(DRIVER)), "")
    except (OSError, ValueError):
        return False


async def _trusted(means: Means, folder: Folder, thread: str) -> Server:
    """Start one; once more without our hook where Codex does not trust it."""
    server = await _start(means, folder, thread, hooks=True)
    try:
        async with connected(Path(server.record.link)) as rpc:
            found = await trust.ours(rpc, means.place.directory, launch.hook(means.place))
            if found and means.place.trust and not all(one.trusted for one in found):
                await trust.give(rpc, found)
                found = await trust.ours(rpc, means.place.directory, launch.hook(means.place))
    except RpcError as error:
        await _end(server, means.clock)
        raise CodexError(f"Codex's app-server does not answer: {error}.") from error
    if found and all(one.trusted for one in found):
        return server
    await _end(server, means.clock)
    server = await _start(means, folder, thread, hooks=False)
    server.notes = (trust.sentence(found),)
    return server


async def _start(means: Means, folder: Folder, thread: str, *, hooks: bool) -> Server:
    # Codex refuses a path that a server of before still listens at, so each has its own.
    path = launch.socket(means.place, means.ids.new("x"))
    with _log(folder) as log:
        try:
            argv = launch.server(means.place, path, hooks=hooks)
            child = Child(argv, means.place, log.fileno())
        except OSError as error:
            raise CodexError(f"Codex cannot be started: {error}.") from error
    record = proof.Record(pid=child.pid, began="", link=str(path), socket="", thread=thread)
    server = Server(record, child)
    deadline = means.clock.monotonic() + _PATIENCE
    while (pid := _listens(path, child.pid)) is None:
        if not child.runs or means.clock.monotonic() > deadline:
            said = folder.get(LOG).decode(errors="replace").strip()[-_TOLD:]
            await _end(server, means.clock)
            raise CodexError(f"Codex's app-server did not start: {said or 'it said nothing'}")
        await means.clock.sleep(_STEP)
    began, where = process.started_at(pid), proof.resolved(path)
    server.record = replace(record, pid=pid, began=began, socket=where, hooks=hooks)
    proof.keep(folder, server.record)
    return server


def _listens(path: Path, child: int) -> int | None:
    """Which process listens there: a launcher of npm may stand between us and the server."""
    if not path.exists():
        return None
    where = proof.resolved(path)
    listening = {one.inode for one in sockets.ends() if one.path == where and one.listens}
    if not process.started_at(child):
        return child  # nothing can be asked here but whether there is a socket
    return next((pid for pid in sockets.session(child) if listening & sockets.held(pid)), None)


def _log(folder: Folder) -> IO[bytes]:
    folder.put(LOG, b"")
    return os.fdopen(folder.appending(LOG), "ab")


async def _end(server: Server, clock: Clock) -> None:
    """Ask it to end, and make it after a while."""
    for order in (signal.SIGTERM, signal.SIGKILL):
        if not _signal(server, order):
            break
        deadline = clock.monotonic() + _LEAVE
        while _runs(server) and clock.monotonic() < deadline:
            await clock.sleep(_STEP)
    _forget(server)


def _forget(server: Server) -> None:
    Path(server.record.link).unlink(missing_ok=True)


def _runs(server: Server) -> bool:
    if server.child is not None:
        return server.child.runs
    return proof.lives(server.record)


def _signal(server: Server, order: signal.Signals) -> bool:
    """Whether there was somebody to tell."""
    if not _runs(server):
        return False
    try:
        if server.child is not None:
            # It leads a session, so that a launcher and the server are told both.
            os.killpg(server.child.pid, order)
        else:
            os.kill(server.record.pid, order)
    except ProcessLookupError:
        return False
    return True
