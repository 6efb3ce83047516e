"""What a service manager is given: files, all of them the owner's alone, and commands."""

from __future__ import annotations

import os
import plistlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME: Final = "clankie.service"
LABEL: Final = "dev.clankie.service"
KEPT: Final = (
    "CLANKIE_HOST",
    "CLANKIE_PORT",
    "CLANKIE_DATABASE",
    "CLANKIE_NAMES",
    "CLANKIE_TLS_CERT",
    "CLANKIE_TLS_KEY",
    "CLANKIE_TRUSTED_PROXY",
    "CLANKIE_CREDENTIALS",
)
"""Variables of this shell that the service keeps. Keys of providers are not among them."""

_UNIT: Final = """\
[Unit]
Description=Clankie
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart={program}
EnvironmentFile={environment}
Restart=on-failure
RestartSec=2
TimeoutStopSec=45
UMask=0077

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`files` to write, then `start`; or `stop`, remove the files, then `after`."""

    program: str
    unit: Path
    files: Mapping[Path, str]
    start: Sequence[Sequence[str]]
    stop: Sequence[Sequence[str]]
    after: Sequence[Sequence[str]] = field(default_factory=tuple)
    hint: str = ""


def plan(environ: Mapping[str, str], home: str, *, mac: bool) -> Plan:
    """What to do on this kind of machine, for the state in `home`."""
    variables = {name: environ[name] for name in KEPT if environ.get(name)}
    variables |= {"CLANKIE_HOME": home, "CLANKIE_LOG": "file"}
    command = [sys.executable, "-P", "-m", "clankie", "serve"]
    return _launchd(command, variables) if mac else _systemd(environ, command, variables, home)


def write_private(path: Path, text: str) -> None:
    """Put a file in place whole, readable by its owner alone. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.new")
    part.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)


def _systemd(
    environ: Mapping[str, str], command: Sequence[str], variables: Mapping[str, str], home: str
) -> Plan:
    config = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    unit, environment = config / "systemd" / "user" / NAME, Path(home) / "service.env"
    lines = "".join(f"{name}={_quoted(value)}\n" for name, value in sorted(variables.items()))
    program = " ".join(_quoted(part).replace("%", "%%").replace("$", "$$") for part in command)
    text = _UNIT.format(program=program, environment=str(environment).replace("%", "%%"))
    manager = ("systemctl", "--user")
    return Plan(
        program="systemctl",
        unit=unit,
        files={environment: lines, unit: text},
        start=((*manager, "daemon-reload"), (*manager, "enable", "--now", NAME)),
        stop=((*manager, "disable", "--now", NAME),),
        after=((*manager, "daemon-reload"),),
        hint="It runs while you are logged in; `loginctl enable-linger` lets it run always.",
    )


def _launchd(command: Sequence[str], variables: Mapping[str, str]) -> Plan:
    unit = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(sorted(variables.items())),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    here = f"gui/{os.getuid()}"
    return Plan(
        program="launchctl",
        unit=unit,
        files={unit: plistlib.dumps(agent).decode()},
        start=(("launchctl", "bootstrap", here, str(unit)),),
        stop=(("launchctl", "bootout", f"{here}/{LABEL}"),),
    )


def _quoted(text: str) -> str:
    """As systemd reads it: in double quotes, with its own escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
