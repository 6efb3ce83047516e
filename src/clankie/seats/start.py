"""Becomes the harness: run in a pane as ``python -m clankie.seats.start FOLDER``.

It writes down its process id, which stays the harness's after `exec`, and takes the environment
from a file: as arguments of the host of panes the person's keys would stand in the list of
processes. The file is gone before the harness runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from clankie.seats.folder import Folder
from clankie.seats.registration import PID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.seats.folder import Json
    from clankie.seats.launch import Launch

LAUNCH: Final = "launch.json"
# What tells a program about the terminal that it runs in: the pane's, not the one of whoever asked.
_TERMINAL: Final = frozenset(
    {"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "COLUMNS", "LINES"}
)


def prepare(folder: Folder, launch: Launch, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Write down what is to be started; the argv that starts it."""
    for name, content in launch.files.items():
        folder.put(name, content.encode())
    folder.write(LAUNCH, {"argv": list(launch.argv), "env": {**environment, **launch.env}})
    return (sys.executable, "-P", "-m", "clankie.seats.start", folder.path)


def main(arguments: list[str]) -> int:
    """Become the harness. Returns only when that is impossible."""
    folder = Folder(arguments[0])
    folder.check()
    launch = folder.read(LAUNCH)
    if launch is None:
        sys.stderr.write(
            "clankie: this seat was started before. Open it with `clankie seat open`.\n"
        )
        return 1
    folder.remove(LAUNCH)
    folder.put(PID, str(os.getpid()).encode())
    argv: list[str] = launch["argv"]
    try:
        os.execvpe(argv[0], argv, _environment(launch))  # noqa: S606 - to become it is the point
    except OSError as error:
        sys.stderr.write(f"clankie: {argv[0]} cannot be started: {error.strerror}\n")
    return 1


def _environment(launch: Json) -> dict[str, str]:
    given: dict[str, str] = launch["env"]
    here = {name: os.environ[name] for name in _TERMINAL if name in os.environ}
    return {name: value for name, value in given.items() if name not in _TERMINAL} | here


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
