"""Walking a workspace: one name after the other, never through a link.

Rule 1: every step opens a name beneath the directory that is already open, and refuses links. A
        directory that is swapped for a link meanwhile is refused as well, whenever it happens.
Rule 2: only regular files are opened, looked at first and checked again once they are open: no
        device, pipe or socket is ever opened for its content.
Rule 3: what goes wrong is a sentence for the model.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from clankie.host.framing import one_line
from clankie.lanes.tools import ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

DEPTH: Final = 64
_LONGEST: Final = 4_096
_SHOWN: Final = 200
# Passing through a directory needs no right to list it, where the system can tell the two apart.
_PASS: Final = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_DIRECTORY: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def parts_of(root: str, path: str) -> list[str]:
    """The names from the workspace to `path`, which is relative, or absolute and inside of it.

    Raises:
        ToolFailedError: it leads out, or is no path.
    """
    if path == root or path.startswith(f"{root}/"):
        path = path[len(root) :].lstrip("/")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise ToolFailedError(f"{_show(path)} is not inside the workspace; give a relative path.")
    if len(parts) > DEPTH or len(path) > _LONGEST:
        raise ToolFailedError(f"{_show(path)} is too long.")
    return parts


@contextmanager
def directory(root: str, parts: Sequence[str], *, make: bool = False) -> Generator[int, None, None]:
    """The open directory, for reading its names; missing ones are made where asked to."""
    with _said("/".join(parts) or "."):
        passed = _passed(root, parts, make=make)
        try:
            descriptor = os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=passed)
        finally:
            os.close(passed)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _passed(root: str, parts: Sequence[str], *, make: bool) -> int:
    """A directory to go on from; the caller closes it."""
    base = [part for part in root.split("/") if part]
    here = os.open("/", _PASS | _DIRECTORY)
    for number, part in enumerate([*base, *parts]):
        try:
            if make and number >= len(base):
                _make(part, here)
            below = os.open(part, _PASS | _DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _make(name: str, here: int) -> None:
    try:
        os.mkdir(name, dir_fd=here)
    except FileExistsError:
        return


def open_file(here: int, name: str) -> int:
    """A regular file beneath an open directory; the caller closes it. Raises OSError."""
    if not stat.S_ISREG(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    descriptor = os.open(name, _FILE, dir_fd=here)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def below(here: int, name: str) -> int:
    """A directory beneath an open one; the caller closes it. Raises OSError."""
    return os.open(name, os.O_RDONLY | _DIRECTORY, dir_fd=here)


@contextmanager
def file(root: str, parts: Sequence[str]) -> Generator[int, None, None]:
    """An open regular file."""
    if not parts:
        raise ToolFailedError("Name a file, not the workspace itself.")
    with directory(root, parts[:-1]) as here, _said("/".join(parts)):
        descriptor = open_file(here, parts[-1])
        try:
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _said(path: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise ToolFailedError(f"{_show(path)}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT:
            return "there is no such file or directory."
        case errno.ELOOP | errno.ENOTDIR:
            return "a part of it is a link or no directory; links are not followed."
        case errno.EINVAL | errno.ENXIO | errno.EISDIR:
            return "it is not a regular file."
        case errno.EACCES | errno.EPERM:
            return "it may not be read or written."
        case _:
            return f"{error.strerror or 'it cannot be used'}."


def _show(path: str) -> str:
    return repr(one_line(path, _SHOWN))
