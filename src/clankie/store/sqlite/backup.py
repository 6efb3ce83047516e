"""Copies of the database: online, consistent, readable by the owner only, without credentials.

A copy is one file. The bytes of attachments, files of their own otherwise, are in a table of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import apsw

from clankie.core.errors import InvalidFieldError, StorageUnavailableError
from clankie.store.sqlite import connect
from clankie.store.sqlite.sql import rows, value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clankie.host.ports import Ids
    from clankie.store.sqlite.sql import Database

_COPY: Final = "VACUUM INTO ?"
_KEEPS_ATTACHMENTS: Final = "SELECT 1 FROM sqlite_master WHERE name = 'attachment'"
_ATTACHED: Final = "SELECT digest FROM attachment WHERE state = 'kept'"
_INSIDE: Final = """
CREATE TABLE attachment_data (digest TEXT NOT NULL PRIMARY KEY, data BLOB NOT NULL) STRICT"""
_PUT: Final = "INSERT INTO attachment_data (digest, data) VALUES (?, ?)"
_LOST: Final = "UPDATE attachment SET state = 'damaged' WHERE digest = ?"
_NO_TOKENS: Final = "UPDATE token SET revoked = 1, sha256 = NULL"


def backup(
    connection: Database, target: Path, ids: Ids, read: Callable[[str], bytes | None] | None = None
) -> None:
    """Write a copy to a new file of mode 0600. It appears whole or not at all.

    `read` gives the bytes of an attachment, None when they are lost. Without it the copy has none:
    one that stays beside the files.

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
            _finish(part, read)
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


def _finish(part: Path, read: Callable[[str], bytes | None] | None) -> None:
    copy = connect.plain(part)
    try:
        # Otherwise the hashes would stay readable in the freed bytes of their pages.
        copy.execute("PRAGMA secure_delete = ON")
        copy.execute("PRAGMA journal_mode = MEMORY")
        copy.execute(_NO_TOKENS)
        if read is not None and value(copy, _KEEPS_ATTACHMENTS):
            _take_in(copy, read)
    finally:
        copy.close()


def _take_in(copy: Database, read: Callable[[str], bytes | None]) -> None:
    copy.execute(_INSIDE)
    for (digest,) in rows(copy, _ATTACHED):
        data = read(digest)
        if data is None:
            copy.execute(_LOST, (digest,))
        else:
            copy.execute(_PUT, (digest, data))


def sync(path: Path) -> None:
    """Wait until a file or a directory is on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
