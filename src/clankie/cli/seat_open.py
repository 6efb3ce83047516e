"""`clankie seat open`: a grant, a folder, and the harness in a pane or under a driver."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clankie.cli import places, reads
from clankie.cli.checks import install_tmux
from clankie.cli.client import new_delivery_id, segment
from clankie.cli.failures import CommandError
from clankie.cli.seat_orphans import orphan
from clankie.cli.seat_start import run
from clankie.cli.seat_sweep import sweep
from clankie.host.clock import SystemClock
from clankie.seats import harnesses, registration
from clankie.seats import place as seat_places
from clankie.seats.folder import VARIABLE, Folder, made
from clankie.seats.launch import Place
from clankie.seats.wire import capabilities_to_json

if TYPE_CHECKING:
    from clankie.cli.frame import Frame
    from clankie.cli.wire import Json
    from clankie.seats.launch import Adapter

# What another harness, in whose shell this may run, says of itself.
FOREIGN: Final = (
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION",
    "CLAUDE_CODE_MESSAGING_",
    "CLAUDE_CODE_LAUNCHED_BY_",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_TOOL_CALL_ID",
)


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
    placed = wanted.new or wanted.replace is not None  # then another conversation is meant
    if adapter.declaration(headless=wanted.headless).rejoins and not placed:
        left = orphan(place, None if wanted.conversation is None else place.conversation)
        if left is not None:
            folder, place = left
            run(frame, adapter, place, folder, detached=wanted.detached)
            return
    place, folder = _granted(frame, adapter, place, wanted)
    with suppress(CommandError):
        # What is left of old seats can wait for another day; this one cannot.
        sweep(frame.client, places.home(), SystemClock())
    try:
        run(frame, adapter, place, folder, detached=wanted.detached)
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


def _screen(adapter: Adapter, wanted: Wanted) -> bool:
    """Whether the person gets a terminal of it."""
    return not wanted.headless and adapter.declaration(headless=False).screen


def _equipped(adapter: Adapter, wanted: Wanted) -> None:
    if shutil.which(adapter.program) is None:
        raise CommandError(
            f"{adapter.program} is not installed. Install it with `{adapter.install}`.",
            code="harness_missing",
            install=adapter.install,
        )
    if _screen(adapter, wanted) and shutil.which("tmux") is None:
        install = install_tmux()
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
        environment={**_environment(), "CLANKIE_HOME": places.home(), VARIABLE: grant},
        program=(sys.executable, "-P", "-m", "clankie"),
        resume=wanted.resume,
        headless=wanted.headless,
        trust=wanted.trust_hooks,
    )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def _granted(frame: Frame, adapter: Adapter, place: Place, wanted: Wanted) -> tuple[Place, Folder]:
    body: Json = {"harness": wanted.harness, "new": wanted.new}
    if wanted.new:
        body["request_id"] = new_delivery_id()
    if wanted.conversation is not None:
        body["conversation"] = place.conversation
    if wanted.replace is not None:
        body["expected"] = wanted.replace
    grant = frame.client.insist("/v1/seats/grants", body)
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
        "terminal": _screen(adapter, wanted),
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
    rows += [(f"{kind} events", words) for kind, words in data["ways"].items()]
    rows += [("note", note) for note in data["notes"]]
    return pairs(rows)
