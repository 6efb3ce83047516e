"""`clankie seat open`: a grant, a folder, and the harness in a pane or under a driver."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import selectors
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from clankie.cli import places, reads, seat_side
from clankie.cli.client import segment
from clankie.cli.failures import CommandError
from clankie.host.panes import OpenPane, PaneError
from clankie.panes.tmux import inside
from clankie.seats import driving, harnesses, registration, start
from clankie.seats import place as seat_places
from clankie.seats.folder import VARIABLE, Folder, made
from clankie.seats.launch import Launch, Place
from clankie.seats.wire import capabilities_to_json

if TYPE_CHECKING:
    from clankie.cli.frame import Frame
    from clankie.cli.wire import Json
    from clankie.seats.launch import Adapter

SESSION: Final = "clankie"
"""The session of tmux that seats join where the person is in none."""
READY_WITHIN: Final = 90.0
"""Seconds; a harness that starts for the first time takes a while."""
TMUX: Final = {"darwin": "brew install tmux", "linux": "sudo apt install tmux"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody asked for."""

    harness: str
    directory: str
    conversation: str | None = None
    new: bool = False
    resume: str | None = None
    headless: bool = False
    replace: str | None = None
    trust_hooks: bool = False
    dry_run: bool = False
    detached: bool = False


def opened(frame: Frame, wanted: Wanted) -> None:
    """Open a seat. Raises CommandError."""
    adapter = harnesses.adapter(wanted.harness)
    _equipped(adapter, wanted)
    place = _place(frame, wanted)
    if wanted.dry_run:
        _told(frame, adapter, place, wanted)
        return
    place, folder = _granted(frame, adapter, place, wanted)
    try:
        _run(frame, adapter, place, folder, wanted)
    except BaseException:
        _undone(frame, folder)
        raise


def _undone(frame: Frame, folder: Folder) -> None:
    """Leave nothing of a seat that did not start; an unused grant dies by itself."""
    found = registration.seated(folder)
    if found is not None:
        with suppress(CommandError):
            frame.client.delete(f"/v1/seats/{segment(found.seat)}")
    shutil.rmtree(folder.path, ignore_errors=True)


def _equipped(adapter: Adapter, wanted: Wanted) -> None:
    if shutil.which(adapter.program) is None:
        raise CommandError(
            f"{adapter.program} is not installed. Install it with `{adapter.install}`.",
            code="harness_missing",
            install=adapter.install,
        )
    if not wanted.headless and shutil.which("tmux") is None:
        install = TMUX.get(sys.platform, TMUX["linux"])
        raise CommandError(
            f"tmux is not installed. Install it with `{install}`, or open the seat with "
            "--headless.",
            code="tmux_missing",
            install=install,
        )


def _place(frame: Frame, wanted: Wanted) -> Place:
    conversation = "" if wanted.new else "global-default"
    if wanted.conversation is not None:
        conversation = str(reads.conversation(frame.client, wanted.conversation)["id"])
    name = f"{wanted.harness}-{secrets.token_hex(4)}"
    folder = Path(places.home()) / "seats" / name
    grant = str(folder / registration.GRANT)
    return Place(
        folder=folder,
        harness=wanted.harness,
        conversation=conversation,
        directory=wanted.directory,
        environment={**os.environ, "CLANKIE_HOME": places.home(), VARIABLE: grant},
        program=(sys.executable, "-P", "-m", "clankie"),
        resume=wanted.resume,
        headless=wanted.headless,
        trust=wanted.trust_hooks,
    )


def _granted(frame: Frame, adapter: Adapter, place: Place, wanted: Wanted) -> tuple[Place, Folder]:
    body: Json = {"harness": wanted.harness, "new": wanted.new}
    if wanted.conversation is not None:
        body["conversation"] = place.conversation
    if wanted.replace is not None:
        body["expected"] = wanted.replace
    grant = frame.client.post("/v1/seats/grants", body)
    place = replace(place, conversation=str(grant["conversation"]))
    folder = made(places.home(), place.folder.name)
    declared = adapter.declaration(headless=wanted.headless)
    folder.write(
        registration.GRANT,
        {
            "grant": grant["grant"],
            "conversation": place.conversation,
            "harness": place.harness,
            "capabilities": capabilities_to_json(declared.capabilities),
        },
    )
    seat_places.keep(folder, place, driven=adapter.driven(headless=wanted.headless))
    return place, folder


def _run(frame: Frame, adapter: Adapter, place: Place, folder: Folder, wanted: Wanted) -> None:
    opened: Json = {"folder": folder.path, "conversation": place.conversation}
    launch: Launch | None
    if adapter.driven(headless=wanted.headless):
        frame.progress(f"Starting {wanted.harness}.")
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
    sentence = f"{wanted.harness} drives {place.conversation}."
    attached = "attach" in opened and not wanted.detached and not frame.as_json
    if attached and sys.stdin.isatty() and sys.stdout.isatty():
        # The person's terminal becomes that of the harness.
        os.execvp("tmux", ["tmux", *cast("list[str]", opened["attach"])])  # noqa: S606, S607 - theirs
    if "attach" in opened:
        sentence += f" Look at it with `tmux {shlex.join(opened['attach'])}`."
    frame.done({**opened, "notes": notes}, sentence)


# ── a driver ─────────────────────────────────────────────────────────────────────────────────────


def _driver(folder: Folder, place: Place) -> Json:
    """Start `clankie seat drive`, and wait until it is ready. Raises CommandError."""
    log = os.open(
        folder.file("driver.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600
    )
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
    """Run it in a pane; which one, and how to look at it. Raises CommandError."""
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


# ── a dry run ────────────────────────────────────────────────────────────────────────────────────


def _told(frame: Frame, adapter: Adapter, place: Place, wanted: Wanted) -> None:
    """Say what would be done. Nothing is granted, written or started."""
    driven = adapter.driven(headless=wanted.headless)
    declared = adapter.declaration(headless=wanted.headless)
    launch = None if driven else adapter.launch(place)
    argv = list(launch.argv) if launch is not None else [*place.program, "seat", "drive", "DIR"]
    data: Json = {
        "dry_run": True,
        "harness": wanted.harness,
        "conversation": place.conversation or None,
        "directory": place.directory,
        "argv": argv,
        "driven": driven,
        "terminal": not wanted.headless,
        "notes": [] if launch is None else list(launch.notes),
        "ways": {kind.value: way.delivers for kind, way in declared.ways.items()},
    }
    frame.emit(data, lambda: _dry(data))


def _dry(data: Json) -> Any:  # noqa: ANN401 - rich is imported by the time it is one of its tables
    from clankie.cli.look import pairs  # noqa: PLC0415 - rich is not paid for by --json

    rows = [
        ("would run", shlex.join(data["argv"])),
        ("in", str(data["directory"])),
        ("where", "a window of tmux" if data["terminal"] else "without a terminal"),
        ("to drive", str(data["conversation"] or "a conversation of its own, made then")),
    ]
    rows += [(f"gives a {kind}", words) for kind, words in data["ways"].items()]
    rows += [("note", note) for note in data["notes"]]
    return pairs(rows)
