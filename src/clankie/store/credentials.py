"""The owner's secrets in a file of mode 0600, each bound to the origin it was stored for.

Keys in the environment count as credentials too, each for its provider's own address.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from clankie.core.errors import InvalidFieldError, StorageUnavailableError
from clankie.host.ports import Credential
from clankie.store.environment import EnvironmentKeys
from clankie.store.errors import CredentialsUnsafeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FILE: Final = "file"
_PORTS: Final = {"http": 80, "https": 443}
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class Entry(msgspec.Struct, frozen=True):
    """A secret as it is stored."""

    origin: str
    secret: str


class FileCredentials:
    """The port Credentials.

    Everything that reads raises CredentialsUnsafeError when the file is not the owner's alone.
    """

    def __init__(self, path: Path, environ: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._environment = EnvironmentKeys(os.environ if environ is None else environ)

    @property
    def source(self) -> str:
        """What lists say of a secret that is kept."""
        return FILE

    def settle(self) -> None:
        """See the port: there is nothing to choose."""

    def place(self) -> str:
        """See the port."""
        return "A file of mode 0600 keeps them."

    def list(self) -> Sequence[Credential]:
        """See the port."""
        stored = self._load()
        listed = [
            Credential(name=name, origin=entry.origin, source=self.source)
            for name, entry in sorted(stored.items())
        ]
        return [*listed, *(one for one in self._environment.list() if one.name not in stored)]

    def put(self, name: str, origin: str, secret: str) -> None:
        """See the port. Raises InvalidFieldError, StorageUnavailableError."""
        if not secret or not secret.isprintable():
            raise InvalidFieldError("secret", "printable characters, at least one")
        stored = self._load()
        stored[name] = Entry(origin_of(origin), secret)
        self._save(stored)

    def remove(self, name: str) -> bool:
        """See the port. What the environment holds cannot be removed here."""
        stored = self._load()
        if stored.pop(name, None) is None:
            return False
        self._save(stored)
        return True

    def secret_for(self, name: str, origin: str) -> str | None:
        """See the port. A stored one hides the environment's of the same name."""
        wanted = origin_of(origin)
        entry = self._load().get(name)
        if entry is not None:
            return entry.secret if entry.origin == wanted else None
        return self._environment.secret_for(name, wanted)

    def known_secrets(self) -> Sequence[str]:
        """See the port."""
        return [*(entry.secret for entry in self._load().values()), *self._environment.secrets()]

    def _load(self) -> dict[str, Entry]:
        try:
            # Non-blocking: a pipe in its place must not hold us.
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self._path, flags)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise CredentialsUnsafeError(self._path, "it is a link or cannot be read") from error
        try:
            self._require_private(os.fstat(descriptor))
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read()
        finally:
            os.close(descriptor)
        try:
            return msgspec.json.decode(data, type=dict[str, Entry])
        except msgspec.DecodeError as error:
            raise CredentialsUnsafeError(self._path, "it is damaged") from error

    def _require_private(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise CredentialsUnsafeError(self._path, "it is not a plain file")
        if found.st_uid != os.geteuid():
            raise CredentialsUnsafeError(self._path, "it belongs to another user")
        if found.st_mode & _OTHERS:
            raise CredentialsUnsafeError(self._path, "other users can read it")

    def _save(self, stored: dict[str, Entry]) -> None:
        part = self._path.with_name(self._path.name + ".new")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                part.unlink()  # of a process that died; the name is taken exclusively below
            write_private(part, msgspec.json.format(msgspec.json.encode(stored)))
            part.replace(self._path)
            _sync(self._path.parent)
        except OSError as error:
            raise StorageUnavailableError(str(error)) from error


def write_private(path: Path, data: bytes) -> None:
    """A new file that is the owner's alone, on disk when this returns. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, in lower case, the usual port left out.

    Raises:
        InvalidFieldError: it is no http or https address, or it carries a name or a password.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise InvalidFieldError("origin", "scheme://host[:port]") from error
    host = parts.hostname
    if parts.scheme not in _PORTS or not host or parts.username is not None:
        raise InvalidFieldError("origin", "http or https, as scheme://host[:port]")
    bracketed = f"[{host}]" if ":" in host else host
    suffix = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{bracketed}{suffix}"
