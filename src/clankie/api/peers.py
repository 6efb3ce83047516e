"""Who is at the other end of the unix socket, as the kernel says it."""

from __future__ import annotations

import socket
import struct
import sys
from typing import TYPE_CHECKING, Any, Final

from clankie.core.errors import NotAllowedError
from clankie.core.session import Peer

if TYPE_CHECKING:
    from asyncio import BaseTransport

    from starlette.types import Scope

PEER: Final = "clankie.peer"
"""Extension of the scope by which our server lets a route ask who has connected."""

_CREDENTIALS: Final = struct.Struct("3i")
"""Linux, SO_PEERCRED: process, user, group."""
_LOCAL: Final = 0
_PEERCRED: Final = 1
_PEERPID: Final = 2
"""macOS, `sys/un.h`: SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID; Python names none of them."""
_XUCRED: Final = struct.Struct("2Ih2x16I")
"""macOS, `sys/ucred.h`: version, user, number of groups, groups."""
_PID: Final = struct.Struct("i")


def peer_of(scope: Scope) -> Peer:
    """The process that connected. Raises NotAllowedError: it came over TCP."""
    extension: dict[str, Any] = scope.get("extensions", {}).get(PEER, {})
    ask = extension.get("call")
    found = None if ask is None else ask()
    if found is None:
        raise NotAllowedError(
            "A seat registers over the service's unix socket, where the kernel says who asks."
        )
    pid, uid = found
    return Peer(pid=pid, uid=uid)


def credentials(transport: BaseTransport, platform: str = sys.platform) -> tuple[int, int] | None:
    """The process and the user that connected: they are fixed when the connection is made.

    None: it is no unix socket.
    """
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    if platform == "darwin":
        _, uid, *_ = _XUCRED.unpack(connection.getsockopt(_LOCAL, _PEERCRED, _XUCRED.size))
        (pid,) = _PID.unpack(connection.getsockopt(_LOCAL, _PEERPID, _PID.size))
        return pid, uid
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid
