"""pi as an adapter: from a seat's folder to a running seat."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from clankie.seats import versions
from clankie.seats.beside import beside
from clankie.seats.folder import Folder
from clankie.seats.launch import NEWEST, Launch, Means, Place
from clankie.seats.pi.adapter import DECLARATION, TESTED, PiSeat, Session
from clankie.seats.pi.link import LINE, Link, PiError

if TYPE_CHECKING:
    from clankie.seats.launch import Driven
    from clankie.seats.port import Declaration, Harness

RECORD: Final = "pi.json"
LOG: Final = "pi.log"
EXTENSION: Final = Path(__file__).parent / "extension.js"
_LEAVE: Final = 5.0


class Pi:
    """The adapter."""

    name = "pi"
    program = "pi"
    install = "npm install -g @earendil-works/pi-coding-agent"

    def declaration(self, *, headless: bool) -> Declaration:
        """What it can do; pi is always without a screen here."""
        del headless
        return DECLARATION

    def driven(self, *, headless: bool) -> bool:
        """Always: rpc mode belongs to whoever holds its pipe."""
        del headless
        return True

    def launch(self, place: Place) -> Launch:
        """The argv; `drive` is how a seat is opened."""
        return Launch(argv=_argv(place, _kept(place)))

    def join(self, means: Means) -> AbstractAsyncContextManager[Harness]:
        """There is nothing to join: its pipe has one owner."""
        del means
        raise PiError("A pi seat is driven from outside; open it with `clankie seat open pi`.")

    def drive(self, means: Means) -> AbstractAsyncContextManager[Driven]:
        """Start pi and own it. Raises PiError."""
        return _drive(means)


@asynccontextmanager
async def _drive(means: Means) -> AsyncGenerator[PiSeat]:
    folder = Folder(str(means.place.folder))
    link = await _started(means.place, folder)
    async with beside(link.read()):
        try:
            session = await _session(link, folder)
            version = await asyncio.to_thread(versions.installed, "pi", means.place.environment)
            notes = versions.untried("pi", version, TESTED)
            clock = means.clock
            seat = PiSeat(link, session, lambda: _session(link, folder), clock, notes)
            async with beside(seat.listen()):
                yield seat
        finally:
            await _end(link)


def _kept(place: Place) -> str:
    """The session file of this seat, where it ran before."""
    found = Folder(str(place.folder)).read(RECORD) or {}
    file = str(found.get("file", ""))
    return file if Path(file).is_file() else ""


def _argv(place: Place, file: str) -> tuple[str, ...]:
    base = ("pi", "--mode", "rpc", "--extension", str(EXTENSION))
    if file:
        return (*base, "--session", file)
    if place.resume == NEWEST:
        return (*base, "--continue")
    return base if place.resume is None else (*base, "--session", place.resume)


async def _started(place: Place, folder: Folder) -> Link:
    with _log(folder) as log:
        try:
            child = await asyncio.create_subprocess_exec(
                *_argv(place, _kept(place)),
                cwd=place.directory,
                env=dict(place.environment),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise PiError(f"pi cannot be started: {error}.") from error
    return Link(child)


def _log(folder: Folder) -> IO[bytes]:
    folder.put(LOG, b"")
    return os.fdopen(folder.appending(LOG), "ab")


async def _session(link: Link, folder: Folder) -> Session:
    """The session that it runs, once our extension is there. Raises PiError."""
    try:
        state = await link.ask("get_state")
        found = await link.ask("get_commands")
    except PiError as error:
        said = folder.get(LOG).decode(errors="replace").strip()[-600:]
        raise PiError(f"pi did not start: {said or error}") from error
    commands = cast("list[dict[str, Any]]", found.get("commands") or [])
    ours = ("clankie", "extension")
    if ours not in {(one.get("name"), one.get("source")) for one in commands}:
        # Without it our words would reach the model as they are wrapped, and without an id.
        raise PiError("pi did not load Clankie's extension.")
    name, file = str(state.get("sessionId")), state.get("sessionFile")
    folder.write(RECORD, {"session": name, "file": file if isinstance(file, str) else ""})
    return Session(name, Path(file) if isinstance(file, str) else None)


async def _end(link: Link) -> None:
    """Close its input, which ends it; kill it where it does not go."""
    if link.child.stdin is not None:
        link.child.stdin.close()
    try:
        async with asyncio.timeout(_LEAVE):
            await link.child.wait()
    except TimeoutError:
        link.child.kill()
        await link.child.wait()
