"""Installs the pinned harnesses into a cache folder and prints the folder.

Rule 1: only what `clients/package-lock.json` names, by its hashes; no script of a package runs but
        the one of Claude Code that puts its binary in place.
Rule 2: built aside and renamed when whole, so an interrupted install never counts as good.
Rule 3: where that cannot be done nothing is tested, and that is said loudly: exit 69.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CLIENTS: Final = Path(__file__).parent / "clients"
UNAVAILABLE: Final = 69
"""EX_UNAVAILABLE of sysexits.h."""
_TRIES: Final = 3
_TIMEOUT: Final = 600
_CLAUDES: Final = ("@anthropic-ai/claude-code", "claude-code-before")


class NotInstalledError(Exception):
    """The harnesses are not here and could not be brought."""


@dataclass(frozen=True)
class Harnesses:
    """Where the programs are. `claude_before` is an older Claude Code, for its transcripts."""

    folder: Path

    def __post_init__(self) -> None:
        if not self.claude.exists():
            raise NotInstalledError(f"{self.folder} holds no harnesses")

    @property
    def claude(self) -> Path:
        return self._module("@anthropic-ai/claude-code/bin/claude.exe")

    @property
    def claude_before(self) -> Path:
        return self._module("claude-code-before/bin/claude.exe")

    @property
    def codex(self) -> Path:
        return self._module(".bin/codex")

    @property
    def pi(self) -> Path:
        return self._module(".bin/pi")

    def _module(self, name: str) -> Path:
        return self.folder / "node_modules" / name


def cache() -> Path:
    """The folder of this lock."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256((CLIENTS / "package-lock.json").read_bytes()).hexdigest()[:16]
    return Path(home) / "clankie-harnesses" / digest


def install() -> Path:
    """The folder with the harnesses, filled if it was not.

    Raises:
        NotInstalledError: npm is missing, or the registry did not answer.
    """
    folder = cache()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules").is_dir():
            _fill(folder)
    return folder


def _fill(folder: Path) -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise NotInstalledError("there is no npm here; install Node.js 20 or newer")
    building = folder.with_suffix(".building")
    _say(f"Installing Claude Code, Codex and pi into {folder} ...")
    for _ in range(_TRIES):
        shutil.rmtree(building, ignore_errors=True)
        shutil.copytree(CLIENTS, building)
        if _ran(building, "npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"):
            break
    else:
        raise NotInstalledError("npm could not bring them (see above); is the registry reachable?")
    for name in _CLAUDES:
        if not _ran(building / "node_modules" / name, "node", "install.cjs"):
            raise NotInstalledError(f"the binary of {name} could not be put in place")
    building.rename(folder)


def _ran(folder: Path, *command: str) -> bool:
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def main() -> int:
    """Print the folder; 69 and a loud line where there is none."""
    try:
        folder = install()
    except NotInstalledError as problem:
        _say(f"!!! NOT RUN: the tests with real harnesses: {problem}.")
        return UNAVAILABLE
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
