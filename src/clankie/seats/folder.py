"""The folder of one seat on the person's side.

    CLANKIE_HOME/seats/NAME/       0700, and every file 0600
        place.json                 what was opened, and how
        grant.json                 until it is exchanged; its path is CLANKIE_SEAT_GRANT
        seat.json                  the seat, its token and who sits there (`registration`)
        taken.jsonl                what was handed over (`journal`)
        offsets.json               how far each transcript was read (`tail`)
        pid                        the harness, where a pane started it

Rule 1: nothing is read from a folder that others could write to, and no link is followed in it.
Rule 2: only plain files are opened (`Folder.opened`): a pipe in the place of one would hang a hook,
        and with it somebody's session.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

# Hooks import this, and pathlib would cost them milliseconds.
# ruff: noqa: PTH103, PTH105, PTH108, PTH118, PTH120, PTH100, PTH102

Json = dict[str, Any]
VARIABLE: Final = "CLANKIE_SEAT_GRANT"
SEATS: Final = "seats"
SOCKET: Final = "service.sock"
PLACE: Final = "place.json"
LARGEST: Final = 4 * 1024 * 1024
_OTHERS: Final = 0o077
_SAFELY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STRANGE: Final = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP)
"""What opening a link, a pipe without a reader, a socket or a folder fails with."""


class SeatFolderError(Exception):
    """The seat's folder cannot be used; the text says why and what to do."""


class NotASeatError(SeatFolderError):
    """Nobody opened a seat here."""


class StrangeFileError(SeatFolderError):
    """A link, a pipe, a folder or somebody else's file stands in the place of one of ours."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is not a plain file of yours. Remove it, and open the seat again."
        )
        self.path = path


class Folder:
    """A seat's folder. Every method may raise SeatFolderError or OSError."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        above, self.name = os.path.split(self.path)
        self.home = os.path.dirname(above)
        self.socket = os.path.join(self.home, SOCKET)

    def file(self, name: str) -> str:
        """The path of a file in here."""
        return os.path.join(self.path, name)

    def check(self) -> None:
        """Raises SeatFolderError: it is gone, or it is not ours alone."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            raise NotASeatError(
                "This seat is gone. Open it again with `clankie seat open`."
            ) from None
        if (
            not stat.S_ISDIR(found.st_mode)
            or found.st_uid != os.getuid()
            or found.st_mode & _OTHERS
        ):
            raise SeatFolderError(
                f"{self.path} is not a folder of yours alone. Remove it, and open the seat again."
            )

    def opened(self, name: str, flags: int) -> int:
        """A descriptor of a plain file of ours, 0600 where the flags make it; close it.

        Raises StrangeFileError, FileNotFoundError.
        """
        path = self.file(name)
        try:
            descriptor = os.open(path, flags | _SAFELY, 0o600)
        except OSError as error:
            if error.errno in _STRANGE:
                raise StrangeFileError(path) from error
            raise
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            os.close(descriptor)
            raise StrangeFileError(path)
        return descriptor

    def get(self, name: str) -> bytes:
        """The content of a file; empty when there is none."""
        try:
            descriptor = self.opened(name, os.O_RDONLY)
        except FileNotFoundError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            return file.read(LARGEST)

    def read(self, name: str) -> Json | None:
        """A JSON object, or None when there is no such file, or it holds none."""
        try:
            found = json.loads(self.get(name))
        except ValueError:
            return None
        return cast("Json", found) if isinstance(found, dict) else None

    def write(self, name: str, value: Json) -> None:
        """Replace a file at once: a reader sees the old or the new one, never half of it."""
        self.put(name, json.dumps(value).encode())

    def put(self, name: str, content: bytes) -> None:
        """As `write`, with bytes as they are."""
        aside = f".{name}.{os.getpid()}"
        descriptor = self.opened(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(self.file(aside), self.file(name))

    def appending(self, name: str) -> int:
        """A descriptor that writes behind what a file holds; close it."""
        return self.opened(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there is fine."""
        try:
            os.unlink(self.file(name))
        except FileNotFoundError:
            return

    @contextmanager
    def locked(self, name: str, *, wait: bool = True) -> Generator[None, None, None]:
        """Hold a lock of this name; other processes wait.

        Raises BlockingIOError: another one has it, and `wait` is False.
        """
        descriptor = self.opened(f"{name}.lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield
        finally:
            os.close(descriptor)


def made(home: str, name: str) -> Folder:
    """A new folder of this name under the state directory. Raises FileExistsError."""
    above = os.path.join(home, SEATS)
    os.makedirs(above, mode=0o700, exist_ok=True)
    os.mkdir(os.path.join(above, name), mode=0o700)
    return Folder(os.path.join(above, name))


def current(environment: Mapping[str, str]) -> Folder:
    """The folder that the environment names. Raises NotASeatError or SeatFolderError."""
    grant = environment.get(VARIABLE)
    if not grant:
        raise NotASeatError("This session sits in no seat. Open one with `clankie seat open`.")
    folder = Folder(os.path.dirname(os.path.abspath(grant)))
    folder.check()
    return folder
