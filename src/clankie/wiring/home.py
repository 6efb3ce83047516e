"""The state directory: who may read it, the operator's token, and where a running service is."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from typing import TYPE_CHECKING, Final

from clankie.wiring.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from clankie.host.ports import Ids

TOKEN_FILE: Final = "operator.token"  # noqa: S105 - a file name, no secret
RUN_FILE: Final = "run.json"
SOCKET_FILE: Final = "service.sock"
_PRIVATE_DIRECTORY: Final = 0o700
_PRIVATE_FILE: Final = 0o600


def prepare(home: Path) -> None:
    """Make the state directory ours alone.

    Raises:
        ConfigError: it is no directory, or somebody else's.
    """
    try:
        home.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        found = home.stat()
    except OSError as error:
        raise ConfigError(
            f"The state directory {home} cannot be made: {error.strerror}."
        ) from error
    if found.st_uid != os.getuid():
        raise ConfigError(f"The state directory {home} belongs to another user. Set CLANKIE_HOME.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        home.chmod(_PRIVATE_DIRECTORY)


def operator_token(home: Path, ids: Ids) -> str:
    """The operator's secret; made at the first start.

    Raises:
        ConfigError: the file is no plain one, empty, readable by others, or cannot be made.
    """
    path = home / TOKEN_FILE
    if not os.path.lexists(path):
        # Linked into place whole: a crash half way leaves no empty token behind.
        temporary = home / f"{TOKEN_FILE}.{os.getpid()}"
        with _written(temporary, ids.secret() + "\n"), contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    return read_operator_token(home)


def read_operator_token(home: Path) -> str:
    """Read it, refusing a file that is not private. Raises ConfigError."""
    path = home / TOKEN_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"The operator token {path} cannot be read: {error.strerror}.") from error
    with os.fdopen(descriptor, encoding="ascii") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(
                f"{path} is not a plain file. Remove it; the next start makes a new one."
            )
        if stat.S_IMODE(mode) & 0o077:
            raise ConfigError(f"Others can read {path}. Remove it; the next start makes a new one.")
        secret = file.read().strip()
    if not secret:
        raise ConfigError(f"{path} is empty. Remove it; the next start makes a new one.")
    return secret


def write_run(home: Path, url: str) -> dict[str, object]:
    """Say where the service is. It proves nothing: the lock does. Raises ConfigError."""
    ready = _ready(url)
    temporary = home / f"{RUN_FILE}.{os.getpid()}"
    with _written(temporary, json.dumps(ready) + "\n"):
        temporary.replace(home / RUN_FILE)
    return ready


def _ready(url: str) -> dict[str, object]:
    return {"ready": True, "url": url, "pid": os.getpid()}


def remove_run(home: Path, url: str) -> None:
    """The service at `url` is gone. What another one has put there since stays."""
    run = home / RUN_FILE
    try:
        ours = json.loads(run.read_text(encoding="utf-8")) == _ready(url)
    except (OSError, ValueError):
        ours = True  # nobody says that it is somebody else's
    if ours:
        run.unlink(missing_ok=True)
        (home / SOCKET_FILE).unlink(missing_ok=True)


@contextlib.contextmanager
def _written(path: Path, text: str) -> Generator[None, None, None]:
    """The text in a file of its own, whole, to be put in place; afterwards the file is gone."""
    try:
        _write_private(path, text)
        yield
    except OSError as error:
        raise ConfigError(
            f"The state directory {path.parent} cannot be written ({error.strerror}). Free space "
            "there or make it writable, or name another one with CLANKIE_HOME."
        ) from error
    finally:
        path.unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, _PRIVATE_FILE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
