"""How Claude Code is started as a seat: its arguments, its settings, its plugin.

Rule 1: `autoContinueAtUsageLimit` is off: a client that goes on by itself after a limit would run a
        refused input a second time.
Rule 2: the messaging socket lies in a folder that nobody else can enter, at a path short enough for
        a socket.
Rule 3: other versions than the tested ones are started all the same, with a word to the person.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import clankie
from clankie.seats import versions
from clankie.seats.claude import channel, registry
from clankie.seats.launch import NEWEST, Launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.seats.launch import Place

PROGRAM: Final = "claude"
TESTED: Final = ("2.1.332", "2.1.197")
RUN: Final = "CLANKIE_RUN"
"""The variable with the command of `clankie`, quoted for the shell of the plugin."""
SETTINGS: Final = {"autoContinueAtUsageLimit": False, "crossSessionInbound": "accept"}
TOOLS: Final = "mcp__plugin_clankie_clankie"
"""What the client calls the tools of our plugin's server; their use is not asked about."""
LONGEST: Final = 100
"""Characters of a socket's path; the system's own bound is a little above."""


class PluginMissingError(Exception):
    """The plugin for Claude Code was not installed with Clankie."""

    def __init__(self) -> None:
        super().__init__("The plugin for Claude Code is missing; install Clankie again.")


def launch(place: Place) -> Launch:
    """How it is started in a pane."""
    argv = (
        PROGRAM,
        *_common(place),
        "--messaging-socket-path",
        str(socket_path(place.folder)),
        *(channel.FLAGS if channel.wanted(place.environment) else ()),
    )
    return Launch(argv=argv, env=environment(place), notes=notes(place.environment))


def stream(place: Place) -> Launch:
    """How it is started for a driver that speaks JSON lines with it."""
    argv = (
        PROGRAM,
        "-p",
        *("--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
        *("--replay-user-messages", "--permission-prompt-tool", "stdio"),
        *_common(place),
    )
    return Launch(argv=argv, env=environment(place), notes=notes(place.environment))


def environment(place: Place) -> Mapping[str, str]:
    """What is added to the person's environment."""
    return {RUN: shlex.join(place.program), "DISABLE_AUTOUPDATER": "1"}


def plugin() -> Path:
    """The folder of the plugin: in the package, or in the checkout. Raises PluginMissingError."""
    package = Path(clankie.__file__).resolve().parent
    for folder in (package / "plugins" / PROGRAM, package.parents[1] / "plugins" / PROGRAM):
        if (folder / ".claude-plugin" / "plugin.json").is_file():
            return folder
    raise PluginMissingError


def notes(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What the person should know first. Nothing is said of a version that nobody can tell."""
    version = versions.installed(PROGRAM, environment)
    return versions.untried("Claude Code", version, TESTED) if version else ()


def socket_path(folder: Path) -> Path:
    """Where the client makes its messaging socket.

    Where the seat's own folder lies too deep, in one of ours under that for temporary files.

    Raises:
        OSError: that folder belongs to somebody else.
    """
    here = folder / "claude.sock"
    if len(os.fsencode(here)) <= LONGEST:
        return here
    short = Path(tempfile.gettempdir()) / f"clankie-{os.getuid()}"
    short.mkdir(mode=0o700, exist_ok=True)
    found = short.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise OSError(f"{short} is not a folder of yours alone")
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return short / f"{name}.sock"


def _common(place: Place) -> tuple[str, ...]:
    settings, session = json.dumps(SETTINGS), resumed(place)
    return (
        *("--plugin-dir", str(plugin()), "--settings", settings, "--allowedTools", TOOLS),
        *(() if session is None else ("--resume", session)),
    )


def resumed(place: Place) -> str | None:
    """The id of the session to go on with; None for a fresh one."""
    return _newest(place) if place.resume == NEWEST else place.resume


def _newest(place: Place) -> str | None:
    folder = registry.config(place.environment)
    directory = os.path.realpath(place.directory)
    there = Path(registry.transcript(folder, directory, "x")).parent.glob("*.jsonl")
    newest = max(there, key=lambda file: file.stat().st_mtime_ns, default=None)
    return None if newest is None else newest.stem
