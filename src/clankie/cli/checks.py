"""What can be checked from outside, also while the service is down. Each check is one finding."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import stat
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.cli import places
from clankie.cli.client import Client, items
from clankie.cli.failures import CommandError, ServiceDownError
from clankie.cli.wire import find
from clankie.seats import harnesses, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

LITTLE: Final = 1024**3
TOO_LITTLE: Final = 128 * 1024**2
"""Bytes of free disk: the first is worth a word, below the second storing fails soon."""
SQLITE: Final = (3, 51, 3)
"""The first release without the bug that could corrupt a WAL database."""
NARROW: Final = 60
TMUX: Final = {"darwin": "brew install tmux", "linux": "sudo apt install tmux"}
"""The command that installs it, by `sys.platform`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `level`: ok, warn or fail; `fix` is empty when all is well."""

    name: str
    level: str
    sentence: str
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        """As the service's own findings."""
        return {"name": self.name, "level": self.level, "sentence": self.sentence, "fix": self.fix}


def local() -> Iterator[Finding]:
    """Everything that needs no service."""
    yield _python()
    yield _sqlite()
    yield from _state()
    yield _disk()
    yield _terminal()
    yield from _seats()


def service() -> Iterator[Finding]:
    """Whether it answers, and if so what it finds itself."""
    try:
        answer = Client(find(None)).get("/v1/doctor")
    except ServiceDownError:
        yield Finding(name="service", level="warn", sentence="It is not running.", fix="clankie up")
        return
    except CommandError as error:
        fix = "Look at `clankie logs`, and restart it"
        yield Finding(name="service", level="fail", sentence=error.detail, fix=fix)
        return
    yield Finding(name="service", level="ok", sentence=f"It answers at {places.socket_path()}.")
    for one in items(answer, "findings"):
        yield Finding(
            **{name: str(one.get(name, "")) for name in ("name", "level", "sentence", "fix")}
        )


def _python() -> Finding:
    return Finding(name="python", level="ok", sentence=f"Python {platform.python_version()}.")


def _sqlite() -> Finding:
    try:
        found = version("apsw")
    except PackageNotFoundError:
        fix = "Start Clankie with ./clankie, which makes its environment from the lock"
        return Finding(name="sqlite", level="fail", sentence="apsw is not installed.", fix=fix)
    # apsw carries its own SQLite and is numbered after it.
    number = tuple(int(part) for part in found.split(".")[:3] if part.isdigit())
    if number < SQLITE:
        fix = "Make the environment anew: remove .venv and run ./clankie"
        return Finding(name="sqlite", level="fail", sentence=f"SQLite {found} is too old.", fix=fix)
    return Finding(name="sqlite", level="ok", sentence=f"SQLite {'.'.join(map(str, number))}.")


def _state() -> Iterator[Finding]:
    home = Path(places.home())
    try:
        about = home.stat()
    except FileNotFoundError:
        sentence = f"{home} is not there yet; the first start makes it."
        yield Finding(name="state", level="ok", sentence=sentence)
        return
    except OSError as error:
        fix = f"Make {home} readable for you"
        yield Finding(name="state", level="fail", sentence=f"{home}: {error.strerror}.", fix=fix)
        return
    yield _owned(home, about)
    for name in (places.TOKEN_FILE, "credentials.json", "chat-history"):
        if (home / name).exists() and stat.S_IMODE((home / name).stat().st_mode) & 0o077:
            yield Finding(
                name="state",
                level="fail",
                sentence=f"{home / name} can be read by other users.",
                fix=f"chmod 600 {home / name}",
            )


def _owned(home: Path, about: os.stat_result) -> Finding:
    if about.st_uid != os.getuid():
        fix = f"Run as its owner, or: sudo chown -R {os.getuid()} {home}"
        return Finding(
            name="state", level="fail", sentence=f"{home} belongs to another user.", fix=fix
        )
    if stat.S_IMODE(about.st_mode) & 0o077:
        sentence = f"{home} can be read by other users."
        return Finding(name="state", level="fail", sentence=sentence, fix=f"chmod 700 {home}")
    if not os.access(home, os.W_OK | os.X_OK):
        sentence = f"{home} cannot be written."
        return Finding(name="state", level="fail", sentence=sentence, fix=f"chmod u+rwx {home}")
    return Finding(name="state", level="ok", sentence=f"{home}, for you only.")


def _disk() -> Finding:
    place = Path(places.home())
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    words = f"{free / 1024**3:.1f} GiB free at {place}."
    if free < LITTLE:
        level = "fail" if free < TOO_LITTLE else "warn"
        fix = "Free some disk space: new messages are refused when nothing can be stored"
        return Finding(name="disk", level=level, sentence=words, fix=fix)
    return Finding(name="disk", level="ok", sentence=words)


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding(name="terminal", level="ok", sentence="Output is not a terminal.")
    encoding = locale.getpreferredencoding(do_setlocale=False)
    if "utf" not in encoding.lower():
        fix = "export LANG=C.UTF-8"
        sentence = f"It is set to {encoding}; other letters are shown as question marks."
        return Finding(name="terminal", level="warn", sentence=sentence, fix=fix)
    size = shutil.get_terminal_size()
    if os.environ.get("TERM", "dumb") == "dumb" or size.columns < NARROW:
        fix = f"Use a terminal with cursor control and at least {NARROW} columns for the chat"
        sentence = f"TERM={os.environ.get('TERM', '')}, {size.columns} columns."
        return Finding(name="terminal", level="warn", sentence=sentence, fix=fix)
    sentence = f"{os.environ['TERM']}, {size.columns} by {size.lines}, {encoding}."
    return Finding(name="terminal", level="ok", sentence=sentence)


def install_tmux() -> str:
    """The command that installs tmux here."""
    return TMUX.get(sys.platform, TMUX["linux"])


def _seats() -> Iterator[Finding]:
    """What `clankie seat open` would find. Clankie itself needs none of it, so nothing fails."""
    yield _tmux()
    for name in harnesses.NAMES:
        yield _harness(name)


def _tmux() -> Finding:
    if shutil.which("tmux") is not None:
        return Finding(name="tmux", level="ok", sentence="It is there, for seats with a terminal.")
    wanted = any(shutil.which(harnesses.adapter(one).program) for one in harnesses.NAMES)
    return Finding(
        name="tmux",
        level="warn" if wanted else "ok",
        sentence="It is not installed; without it seats are opened with --headless.",
        fix=install_tmux(),
    )


def _harness(name: str) -> Finding:
    adapter = harnesses.adapter(name)
    if shutil.which(adapter.program) is None:
        sentence = f"It is not installed; `{adapter.install}` does that, if you want it as a seat."
        return Finding(name=name, level="ok", sentence=sentence)
    tested = adapter.declaration(headless=False).tested
    version = versions.installed(adapter.program, os.environ) or "of an unknown version"
    tried = "" if version in tested else f"; tried with this Clankie: {', '.join(tested)}"
    return Finding(name=name, level="ok", sentence=f"{adapter.program} {version}{tried}.")
