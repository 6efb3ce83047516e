"""Starting the harness of a seat that was granted: under a driver, in a pane, or both."""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import shlex
import shutil
import subprocess
import sys
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, Final, cast

from clankie.cli import seat_side
from clankie.cli.failures import CommandError
from clankie.host.panes import OpenPane, PaneError
from clankie.panes.tmux import inside
from clankie.seats import driving, registration, start
from clankie.seats.launch import Launch

if TYPE_CHECKING:
    from clankie.cli.frame import Frame
    from clankie.cli.wire import Json
    from clankie.host.panes import PaneHost
    from clankie.seats.folder import Folder
    from clankie.seats.launch import Adapter, Place

SESSION: Final = "clankie"
"""The session of tmux that seats join where the person is in none."""
READY_WITHIN: Final = 90.0
"""Seconds; a harness that starts for the first time takes a while."""
REGISTERED_WITHIN: Final = 20.0
"""Seconds in which a harness in a terminal usually registers; it may also ask something first."""
LOOK: Final = 0.1


def run(frame: Frame, adapter: Adapter, place: Place, folder: Folder, *, detached: bool) -> None:
    """Start it, say so, and go to its terminal unless `detached`. Raises CommandError."""
    opened: Json = {"folder": folder.path, "conversation": place.conversation}
    launch: Launch | None
    if adapter.driven(headless=place.headless):
        frame.progress(f"Starting {place.harness}.")
        ready = _driver(folder, place)
        opened |= {"seat": ready["seat"], "driver": ready["pid"]}
        launch = _screen(ready.get("screen"))
    else:
        launch = adapter.launch(place)
    notes = [] if launch is None else list(launch.notes)
    for note in notes:
        frame.progress(note)
    if launch is not None:
        opened |= _shown(place, folder, launch)
    sentence = f"{place.harness} drives {place.conversation}."
    attached = "attach" in opened and not detached and not frame.as_json
    if attached and sys.stdin.isatty() and sys.stdout.isatty():
        # The person's terminal becomes that of the harness.
        os.execvp("tmux", ["tmux", *cast("list[str]", opened["attach"])])  # noqa: S606, S607 - theirs
    if launch is not None and "seat" not in opened:
        opened["seat"] = _registered(frame, folder, str(opened["pane"]))
    if "attach" in opened:
        sentence += f" Look at it with `tmux {shlex.join(opened['attach'])}`."
    frame.done({**opened, "notes": notes}, sentence)


def _registered(frame: Frame, folder: Folder, pane: str) -> str | None:
    """The seat, once the harness has registered; None while it asks the person something first.

    Raises CommandError: the harness has ended.
    """
    frame.progress("Waiting for it to register.")
    end = perf_counter() + REGISTERED_WITHIN
    shown = folder.read(driving.SCREEN) or {}
    panes = seat_side.panes(shown.get("socket"))
    while perf_counter() < end:
        found = registration.seated(folder)
        if found is not None:
            return found.seat
        try:
            asyncio.run(_look(panes, pane))
        except PaneError as error:
            raise CommandError(
                "The harness ended before it registered. Start it by itself to see why.",
                code="harness_not_started",
            ) from error
    frame.progress("It has not registered yet; it may be asking you something in its terminal.")
    return None


async def _look(panes: PaneHost, pane: str) -> None:
    await panes.pane(pane)
    await asyncio.sleep(LOOK)


# ── a driver ─────────────────────────────────────────────────────────────────────────────────────


def _driver(folder: Folder, place: Place) -> Json:
    """Start `clankie seat drive`, and wait until it is ready. Raises CommandError."""
    log = folder.appending("driver.log")
    try:
        process = subprocess.Popen(  # noqa: S603 - this program
            [*place.program, "seat", "drive", folder.path],
            cwd=place.directory,
            env=dict(place.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
    pipe = cast("IO[bytes]", process.stdout)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        ready = _read(pipe) if selector.select(READY_WITHIN) else {}
    pipe.close()
    if ready.get("ready") is not True:
        process.terminate()
        process.wait()
        why = str(ready.get("error") or "it did not become ready")
        raise CommandError(f"The harness did not start: {why}", code="harness_not_started")
    return ready


def _read(pipe: IO[bytes]) -> Json:
    try:
        found: Any = json.loads(pipe.readline())
    except ValueError:
        return {}
    return cast("Json", found) if isinstance(found, dict) else {}


def _screen(found: Json | None) -> Launch | None:
    if found is None:
        return None
    return Launch(
        argv=tuple(found["argv"]),
        env=found["env"],
        files=found["files"],
        notes=tuple(found["notes"]),
    )


# ── a pane ───────────────────────────────────────────────────────────────────────────────────────


def _shown(place: Place, folder: Folder, launch: Launch) -> Json:
    """Run it in a pane; which one, and how to look at it. Raises CommandError.

    A seat that was taken up again may still have its pane.
    """
    before = _still(folder)
    if before is not None:
        return before
    argv = start.prepare(folder, launch, place.environment)
    size = shutil.get_terminal_size((160, 50))
    try:
        here = inside(os.environ)
        ask = OpenPane(
            argv=argv,
            directory=place.directory,
            session=SESSION if here is None else here.session,
            title=place.harness,
            columns=size.columns,
            rows=size.lines,
        )
        socket = None if here is None else here.socket
        pane = asyncio.run(seat_side.panes(socket).open(ask))
    except PaneError as error:
        raise CommandError(str(error), code="pane_failed") from error
    folder.write(driving.SCREEN, {"pane": pane.id, "socket": socket})
    shown: Json = {"pane": pane.id, "session": pane.session}
    if here is None:
        shown["attach"] = ["attach-session", "-t", f"={pane.session}"]
    return shown


def _still(folder: Folder) -> Json | None:
    shown = folder.read(driving.SCREEN)
    if shown is None:
        return None
    try:
        pane = asyncio.run(seat_side.panes(shown.get("socket")).pane(str(shown["pane"])))
    except PaneError:
        return None
    return {
        "pane": pane.id,
        "session": pane.session,
        "attach": ["attach-session", "-t", f"={pane.session}"],
    }
