"""Panes in tmux, through libtmux: each verb is one or two commands, run on a thread.

Words are pasted from a file of ours that nobody else can read: as an argument they would stand in
the list of processes. The paste is bracketed, and its line ends stay newlines, so that a program
that does not know of brackets still sees no Enter in the middle.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from libtmux import Server
from libtmux.exc import LibTmuxException

from clankie.host.panes import (
    NotTypableError,
    OpenPane,
    Pane,
    PaneError,
    PaneGoneError,
    PanesMissingError,
    typable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from libtmux.common import tmux_cmd

_FACTS: Final = (
    "pane_id",
    "session_name",
    "pane_pid",
    "pane_tty",
    "pane_dead",
    "pane_in_mode",
    "session_activity",
    "pane_current_command",
    "pane_current_path",
)
_FORMAT: Final = "\t".join(f"#{{{name}}}" for name in _FACTS)
_BUFFER: Final = "clankie"


@dataclass(frozen=True, slots=True)
class Inside:
    """A tmux that somebody is in: its socket, and the session they look at."""

    socket: str
    session: str


def inside(environment: Mapping[str, str]) -> Inside | None:
    """The tmux that this environment is of; None outside of one.

    Raises PanesMissingError.
    """
    socket, pane = environment.get("TMUX", "").split(",")[0], environment.get("TMUX_PANE")
    if not socket or not pane:
        return None
    panes = TmuxPanes(socket=socket)
    told = panes.run("display-message", "-p", "-t", pane, "#{session_name}")
    return Inside(socket, told[0]) if told else None


class TmuxPanes:
    """The panes of one tmux server. `socket`: its path; None: the person's usual one."""

    def __init__(self, *, socket: str | None = None, config: str | None = None) -> None:
        self._server = Server(socket_path=socket, config_file=config)

    async def open(self, ask: OpenPane) -> Pane:
        """Run a program in a window of its own."""
        return await asyncio.to_thread(self._open, ask)

    async def panes(self) -> Sequence[Pane]:
        """All panes of the server."""
        return [one for one, _ in await asyncio.to_thread(self._panes)]

    async def pane(self, pane: str) -> Pane:
        """Its facts now."""
        return (await self._found(pane))[0]

    async def type(self, pane: str, text: str) -> None:
        """Paste words into its input."""
        words = typable(text)
        _, in_mode = await self._found(pane)
        if in_mode:
            raise NotTypableError("in_mode")
        await asyncio.to_thread(self._paste, pane, words)

    async def enter(self, pane: str) -> None:
        """Press Enter."""
        await self.pane(pane)
        await asyncio.to_thread(self.run, "send-keys", "-t", pane, "Enter")

    async def capture(self, pane: str) -> str:
        """Its screen as text."""
        await self.pane(pane)
        return "\n".join(await asyncio.to_thread(self.run, "capture-pane", "-p", "-t", pane))

    async def kill(self, pane: str) -> None:
        """End it."""
        try:
            await self.pane(pane)
        except PaneGoneError:
            return
        await asyncio.to_thread(self.run, "kill-pane", "-t", pane)

    async def _found(self, pane: str) -> tuple[Pane, bool]:
        for one, in_mode in await asyncio.to_thread(self._panes):
            if one.id == pane:
                return one, in_mode
        raise PaneGoneError(pane)

    def run(self, command: str, *arguments: str) -> list[str]:
        """Run a command of tmux; the lines of its answer. Raises PaneError."""
        done = self._command(command, *arguments)
        if done.returncode or done.stderr:
            raise PaneError(f"tmux {command}: {' '.join(done.stderr) or 'failed'}")
        return done.stdout

    def _command(self, command: str, *arguments: str) -> tmux_cmd:
        if shutil.which("tmux") is None:
            raise PanesMissingError("tmux is not installed.")
        try:
            return self._server.cmd(command, *arguments)
        except LibTmuxException as error:
            raise PaneError(f"tmux {command}: {error}") from error

    def _open(self, ask: OpenPane) -> Pane:
        what = ["-P", "-F", _FORMAT, "-n", ask.title, "-c", ask.directory]
        program = f"exec {shlex.join(ask.argv)}"
        if self._command("has-session", "-t", f"={ask.session}").returncode == 0:
            # Without the colon tmux may take the name for a window's.
            told = self.run("new-window", "-t", f"={ask.session}:", *what, program)
        else:
            size = ["-x", str(ask.columns), "-y", str(ask.rows)]
            told = self.run("new-session", "-d", "-s", ask.session, *size, *what, program)
        if not told:
            raise PaneError("tmux opened a pane and did not say which.")
        return _pane(told[0])[0]

    def _panes(self) -> list[tuple[Pane, bool]]:
        """Each pane once, and whether somebody scrolls in it."""
        done = self._command("list-panes", "-a", "-F", _FORMAT)
        if done.returncode:
            return []  # where no server runs there are no panes; tmux calls that a failure
        found: dict[str, tuple[Pane, bool]] = {}
        for pane, in_mode in map(_pane, done.stdout):
            # Several sessions may show it; whoever pressed a key last counts.
            before = found.get(pane.id)
            if before is None or _touched(pane) > _touched(before[0]):
                found[pane.id] = (pane, in_mode)
        return list(found.values())

    def _paste(self, pane: str, words: str) -> None:
        descriptor, path = tempfile.mkstemp(prefix="clankie-paste-")
        buffer = f"{_BUFFER}-{os.getpid()}-{pane.lstrip('%')}"
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(words)
            self.run("load-buffer", "-b", buffer, path)
            self.run("paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane)
        finally:
            Path(path).unlink()


def _pane(line: str) -> tuple[Pane, bool]:
    facts = dict(zip(_FACTS, line.split("\t", len(_FACTS) - 1), strict=True))
    active = facts["session_activity"]
    pane = Pane(
        id=facts["pane_id"],
        session=facts["session_name"],
        pid=int(facts["pane_pid"]),
        tty=facts["pane_tty"],
        dead=facts["pane_dead"] == "1",
        command=facts["pane_current_command"],
        directory=facts["pane_current_path"],
        touched_at=datetime.fromtimestamp(int(active), UTC) if active else None,
    )
    return pane, facts["pane_in_mode"] not in {"", "0"}


def _touched(pane: Pane) -> datetime:
    return pane.touched_at or datetime.min.replace(tzinfo=UTC)
