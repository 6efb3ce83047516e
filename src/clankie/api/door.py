"""What the routes share: the house, and what only the door keeps (streams, login codes)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clankie.api.assets import Files
from clankie.api.bank_sessions import McpSessions
from clankie.api.login_codes import LoginCodes
from clankie.api.markdown import Rendered
from clankie.api.streams import Streams

if TYPE_CHECKING:
    from pathlib import Path

    from clankie.host.house import House


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiConfig:
    """Where we are: our port, further names we answer to, the directory backups go to.

    `console` is the directory of the console's files; without one there is no console.
    """

    port: int
    backups: Path
    names: tuple[str, ...] = ()
    console: Path | None = None


@dataclass(slots=True)
class Door:
    """Everything a route needs."""

    house: House
    config: ApiConfig
    streams: Streams = field(default_factory=Streams)
    codes: LoginCodes = field(default_factory=LoginCodes)
    rendered: Rendered = field(default_factory=Rendered)
    mcp: McpSessions = field(default_factory=McpSessions)
    files: Files = field(init=False)

    def __post_init__(self) -> None:
        """Read the console."""
        self.files = Files(self.config.console)
