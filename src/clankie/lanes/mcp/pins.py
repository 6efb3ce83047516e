"""What each server offered when it was first used, or when the owner agreed: kept on disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from clankie.core.errors import StorageUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from clankie.core.mcp import McpServer

_LARGEST: Final = 1_048_576


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """`hash` is of the offer, `identity` of what is started or called; `agreed` by the owner."""

    identity: str
    hash: str
    agreed: bool = False


class Pins(Protocol):
    """Where pins are kept."""

    def get(self, name: str) -> Pin | None:
        """The pin of a server. Raises StorageUnavailableError when it cannot be told."""
        ...

    def put(self, name: str, pin: Pin) -> None:
        """Keep or replace one. Raises StorageUnavailableError."""
        ...


def identity(server: McpServer) -> str:
    """The same for the same program or address. Another one has to be agreed to anew."""
    whole = json.dumps([server.command, list(server.args), server.url])
    return hashlib.sha256(whole.encode()).hexdigest()


class FilePins:
    """A file of mode 0600, replaced whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> Pin | None:
        """See the port."""
        return self._load().get(name)

    def put(self, name: str, pin: Pin) -> None:
        """See the port."""
        pins = self._load()
        pins[name] = pin
        part = self._path.with_name(f"{self._path.name}.new")
        try:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()  # of a process that died; below the name is taken exclusively
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(pins)))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
        except OSError as error:
            raise StorageUnavailableError(f"{self._path.name}: {error.strerror}") from error

    def _load(self) -> dict[str, Pin]:
        try:
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self._path, flags)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageUnavailableError(f"{self._path.name}: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StorageUnavailableError(f"{self._path.name} is no plain file")
            data = file.read(_LARGEST)
        try:
            return msgspec.json.decode(data, type=dict[str, Pin])
        except msgspec.DecodeError as error:
            # Never taken for an empty one: then every list would count as the first that was seen.
            raise StorageUnavailableError(f"{self._path.name} is damaged; remove it") from error
