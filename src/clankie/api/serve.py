"""uvicorn on a TCP socket and on the unix socket at once, inside the caller's own event loop.

uvicorn's own main loop is not used: it owns signals and a timer, and the wiring has its own.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clankie.api.app import create_app
from clankie.api.door import ApiConfig
from clankie.api.guard import HEAD_LIMIT
from clankie.api.peers import PEER, credentials
from clankie.api.sse import ABORT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.types import ASGIApp

    from clankie.host.house import House

BACKLOG: Final = 2_048
KEEP_ALIVE: Final = 75
"""Seconds an idle connection is kept."""
_LAST_WORDS: Final = 3
"""Seconds that answers under way get at the end; streams were ended before."""
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::", "[::]"})  # noqa: S104 - recognised, not bound
_HEAD_REFUSED: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class Protocol(HttpToolsProtocol):
    """uvicorn's, with a bound on heads that never end, and a way to drop a stuck connection."""

    _pending = 0
    _in_head = True

    def data_received(self, data: bytes) -> None:
        """Count what comes before a head is complete; its completion sets the count back."""
        if self._in_head:
            self._pending += len(data)
        super().data_received(data)
        if self._pending > 2 * HEAD_LIMIT and not self.transport.is_closing():
            # No answer is owed yet: the gate never saw this request.
            self.transport.write(_HEAD_REFUSED)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """The head is complete; the gate judges its size exactly."""
        self._in_head, self._pending = False, 0
        self.scope["extensions"] = {
            ABORT: {"call": self.transport.abort},
            PEER: {"call": self._peer},
        }
        super().on_headers_complete()

    def _peer(self) -> tuple[int, int] | None:
        return credentials(self.transport)

    def on_message_complete(self) -> None:
        """What follows is another head."""
        self._in_head = True
        super().on_message_complete()


class Server:
    """The house on its sockets. `start` it once, then `drain` and `close` it."""

    def __init__(
        self, house: House, *, config_names: Sequence[str] = (), console: Path | None = None
    ) -> None:
        self._house = house
        self._console = console
        self._names = tuple(config_names)
        self._running: list[tuple[uvicorn.Server, socket.socket]] = []

    async def start(
        self,
        *,
        host: str,
        port: int,
        socket: Path,
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> str:
        """Listen, and return the address people use. Backups go beside the socket.

        Raises:
            OSError: the port is taken, or the socket's path cannot be used.
        """
        over_tcp, over_unix = tcp(host, port), unix(socket)
        bound = over_tcp.getsockname()[1]
        config = ApiConfig(
            port=bound,
            names=(*self._names, *_named(host)),
            backups=socket.parent / "backups",
            console=self._console,
        )
        app = create_app(self._house, config)
        await self._listen(app, over_tcp, certificate, key)
        await self._listen(app, over_unix)
        scheme = "http" if certificate is None else "https"
        return f"{scheme}://{_reachable(host)}:{bound}"

    async def drain(self) -> None:
        """Wait, within a bound, for requests under way: `house.stopping` ends polls and streams."""
        tasks = {task for server, _ in self._running for task in server.server_state.tasks}
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS)

    async def close(self) -> None:
        """Stop listening; what still runs is cut off after its last words."""
        running, self._running = self._running, []
        for server, listening in running:
            await server.shutdown([listening])

    async def _listen(
        self,
        app: ASGIApp,
        listening: socket.socket,
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        config = _config(app, certificate, key)
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        self._running.append((server, listening))
        await server.startup([listening])


def tcp(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Raises OSError when it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    listening.settimeout(0)
    return listening


def unix(path: Path) -> socket.socket:
    """A listening unix socket that only our own user may open; a stale file gives way.

    The caller holds the state's lock, so whatever is there belongs to nobody.
    """
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(BACKLOG)
        listening.settimeout(0)
    except OSError:
        listening.close()
        raise
    return listening


def _named(host: str) -> tuple[str, ...]:
    """The address we bind is a name of ours, unless it means every address."""
    return () if host in _EVERYWHERE else (_reachable(host),)


def _reachable(host: str) -> str:
    if host in _EVERYWHERE:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _config(app: ASGIApp, certificate: Path | None, key: Path | None) -> uvicorn.Config:
    settings: dict[str, Any] = {
        "http": Protocol,
        "ws": "none",
        "lifespan": "off",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "proxy_headers": False,
        "backlog": BACKLOG,
        "timeout_keep_alive": KEEP_ALIVE,
        "timeout_graceful_shutdown": _LAST_WORDS,
        "ssl_certfile": certificate,
        "ssl_keyfile": key,
    }
    return uvicorn.Config(app, **settings)
