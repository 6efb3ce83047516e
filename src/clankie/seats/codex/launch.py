"""How Codex is started for a seat: one app-server, and a terminal that joins it.

Rule: the person's own configuration and login are used as they are. What a seat adds stands on the
command line (`-c`), for this server alone, and nothing of it is written anywhere.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Final

from clankie.core.seat import Capabilities, EventKind
from clankie.seats.launch import Launch, Place
from clankie.seats.port import Declaration, Way

TESTED: Final = ("0.171.0",)
SERVER: Final = "clankie"
"""The name of our server of tools inside Codex."""
_HOOK: Final = ("prompt", "--seat", "--sections", "persona,reach,conversation")
_PASSED: Final = ("CLANKIE_HOME", "CLANKIE_SEAT_GRANT")
_HOOK_SECONDS: Final = 20
_ALWAYS: Final = (
    # Else every terminal copies the program and leaves a server and an updater behind.
    "features.daemon_auto_start=false",
)
_WAY: Final = Way(
    delivers="turn/start, or turn/steer into the turn that runs",
    proof="the userMessage item with our id, also in the rollout",
    refusal="an error of the app-server, such as a turn that has ended",
)
DECLARATION: Final = Declaration(
    harness="codex",
    ways=dict.fromkeys(EventKind, _WAY),
    capabilities=Capabilities(interrupt=True),
    tested=TESTED,
    rejoins=True,
)


def hook(place: Place) -> str:
    """The command of our hook. Trust covers exactly this, so it is the same for every seat."""
    return shlex.join((*place.program, *_HOOK))


def socket(place: Place, name: str) -> Path:
    """Where a server is told to listen; Codex makes this a link to a socket elsewhere."""
    return place.folder / f"codex-{name[-8:]}.sock"


def server(place: Place, path: Path, *, hooks: bool) -> tuple[str, ...]:
    """The argv of an app-server that listens there, with or without our hook."""
    program, *rest = place.program
    tools = f"mcp_servers.{SERVER}"
    more = [
        f"{tools}.command={_toml(program)}",
        f"{tools}.args=[{', '.join(map(_toml, (*rest, 'bridge')))}]",
        f"{tools}.env_vars=[{', '.join(map(_toml, _PASSED))}]",
        f"{tools}.startup_timeout_sec=20",
    ]
    if hooks:
        handler = f'{{type="command", command={_toml(hook(place))}, timeout={_HOOK_SECONDS}}}'
        more.append(f"hooks.SessionStart=[{{hooks=[{handler}]}}]")
    options = [part for one in (*_ALWAYS, *more) for part in ("-c", one)]
    return ("codex", "app-server", *options, "--listen", f"unix://{path}")


def screen(link: str, thread: str, notes: tuple[str, ...] = ()) -> Launch:
    """The terminal of a person, joined to the server there and to this thread."""
    options = [part for one in _ALWAYS for part in ("-c", one)]
    remote = ("--remote", f"unix://{link}")
    return Launch(argv=("codex", "resume", thread, *options, *remote), notes=notes)


def _toml(text: str) -> str:
    """A basic string of TOML: as in JSON, but for characters beyond the first plane and DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
