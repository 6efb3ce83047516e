"""Who holds which end of a unix socket, from the kernel: `/proc` and `sock_diag(7)`.

Linux alone answers this. Elsewhere every question gets an empty answer, and nothing is proven.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clankie.seats import process

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_DONE: Final = 3
_ERROR: Final = 2
_REQUEST_DUMP: Final = 0x0001 | 0x0300
_SHOW_NAME_AND_PEER: Final = 0x1 | 0x4
_NAME, _PEER = 0, 2
_LISTENS: Final = 10
"""TCP_LISTEN of the kernel, which goes for these sockets too."""
_ALL_STATES: Final = 0xFFFFFFFF
_HEADER: Final = struct.Struct("=LHHLL")
_ASK: Final = struct.Struct("=BBHLLLLL")
_FOUND: Final = struct.Struct("=BBBxLLL")
_ATTRIBUTE: Final = struct.Struct("=HH")
_ROUNDS: Final = 10_000
"""Datagrams of one answer; far more sockets than a machine has."""
_SECONDS: Final = 2.0
_GROUP, _SESSION, _FOREGROUND = 2, 3, 5
"""Fields of /proc/PID/stat, counted behind the name of the program."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a unix socket. `peer` is 0 where it listens; `path` is empty where unnamed.

    `listens`: others can connect to it; it has its path a moment before.
    """

    inode: int
    peer: int
    path: str
    listens: bool


def ends() -> list[End]:
    """Every unix socket of this machine's network namespace; none where that cannot be asked."""
    if not hasattr(socket, "AF_NETLINK"):
        return []
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_SECONDS)
            body = _ASK.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_NAME_AND_PEER, 0, 0)
            size = _HEADER.size + len(body)
            kernel.send(_HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + body)
            return list(_answers(kernel))
    except OSError:
        return []


def _answers(kernel: socket.socket) -> Iterator[End]:
    for _ in range(_ROUNDS):
        data, at = kernel.recv(1 << 18), 0
        while at + _HEADER.size <= len(data):
            size, kind, *_rest = _HEADER.unpack_from(data, at)
            if kind in {_DONE, _ERROR} or size < _HEADER.size:
                return
            yield _end(data[at + _HEADER.size : at + size])
            at += size + 3 & ~3


def _end(data: bytes) -> End:
    _family, _type, state, inode, _low, _high = _FOUND.unpack_from(data)
    at, peer, path = _FOUND.size, 0, ""
    while at + _ATTRIBUTE.size <= len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, at)
        if size < _ATTRIBUTE.size:
            break
        value = data[at + _ATTRIBUTE.size : at + size]
        if kind == _PEER and len(value) == struct.calcsize("=L"):
            (peer,) = struct.unpack("=L", value)
        elif kind == _NAME:
            path = value.rstrip(b"\0").decode(errors="replace")
        at += size + 3 & ~3
    return End(inode, peer, path, state == _LISTENS)


def held(pid: int) -> frozenset[int]:
    """The inodes of the sockets that a process holds; none when it is gone or not ours."""
    found: set[int] = set()
    try:
        for one in Path(f"/proc/{pid}/fd").iterdir():
            try:
                name = str(one.readlink())
            except OSError:
                continue  # closed meanwhile
            if name.startswith("socket:["):
                found.add(int(name[8:-1]))
    except OSError:
        return frozenset()
    return frozenset(found)


def foreground(leader: int) -> tuple[int, ...]:
    """The processes in the foreground of the terminal that this one sits on, in order of id."""
    fields = _stat(leader)
    if len(fields) <= _FOREGROUND or int(fields[_FOREGROUND]) <= 0:
        return ()
    return _having(_GROUP, fields[_FOREGROUND])


def dead(pid: int) -> bool:
    """Whether it has ended, and only its parent has not looked yet."""
    return _stat(pid)[:1] == ["Z"]


def session(leader: int) -> tuple[int, ...]:
    """The processes of the session that this one leads, in order of id."""
    return _having(_SESSION, str(leader))


def _having(field: int, value: str) -> tuple[int, ...]:
    try:
        every = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
    except OSError:
        return ()
    return tuple(sorted(pid for pid in every if _stat(pid)[field : field + 1] == [value]))


def _stat(pid: int) -> list[str]:
    """The fields of a process; none of one that is gone."""
    try:
        return process.stat(pid)
    except OSError:
        return []
