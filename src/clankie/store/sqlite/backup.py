"""Copies of the database: online, consistent, readable by the owner only, without credentials."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import apsw

from clankie.core.errors import InvalidFieldError, StorageUnavailableError
from clankie.store.sqlite import connect

if TYPE_CHECKING:
    from pathlib import Path

    from clankie.host.ports import Ids
    from clankie.store.sqlite.sql import Database

_COPY: Final = "VACUUM INTO ?"
_NO_TOKENS: Final = "UPDATE token SET revoked = 1, sha256 = NULL"


def backup(connection: Database, target: Path, ids: Ids) -> None:
    """Write a copy to a new file of mode 0600. It appears whole or not at all.

    Raises:
        InvalidFieldError: the file exists already.
        StorageUnavailableError: it could not be written; nothing is left of it.
    """
    part = target.with_name(f"{target.name}.{ids.new('part')}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        try:
            connection.execute(_COPY, (str(part),))
            _without_tokens(part)
            sync(part)
            _place(part, target)
        finally:
            part.unlink()
        sync(target.parent)
    except (OSError, apsw.Error) as error:
        raise StorageUnavailableError(str(error)) from error


def _place(part: Path, target: Path) -> None:
    try:
        # A link, not a rename: it fails where something stands already.
        os.link(part, target)
    except FileExistsError as error:
        raise InvalidFieldError("target", "a file that does not exist yet") from error


def _without_tokens(part: Path) -> None:
    copy = connect.plain(part)
    try:
        # Otherwise the hashes would stay readable in the freed bytes of their pages.
        copy.execute("PRAGMA secure_delete = ON")
        copy.execute("PRAGMA journal_mode = MEMORY")
        copy.execute(_NO_TOKENS)
    finally:
        copy.close()


def sync(path: Path) -> None:
    """Wait until a file or a directory is on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
