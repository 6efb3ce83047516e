"""Bytes beside the database, each in a file named by its digest. Blocks; no database here."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from clankie.store.sqlite.backup import sync

FOLDER: Final = "attachments"


class Files:
    """``attachments/ab/abcd…`` beside the database, for the owner's eyes only."""

    def __init__(self, database: Path) -> None:
        self._root: Final = database.parent / FOLDER

    def place(self, digest: str) -> Path:
        """Where the bytes of a digest are."""
        return self._root / digest[:2] / digest

    def write(self, digest: str, data: bytes) -> None:
        """Put the bytes there, whole and on disk when this returns. Raises OSError."""
        place = self.place(digest)
        part = _part(place)
        for folder in (self._root, place.parent):
            if not folder.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync(folder.parent)
        try:
            with os.fdopen(os.open(part, _FRESH, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        sync(place.parent)

    def read(self, digest: str) -> bytes | None:
        """The bytes; None when they are not there or not what they were."""
        place = self.place(digest)
        try:
            data = place.read_bytes() if place.is_file() else b""
        except OSError:
            return None
        return data if sha256(data) == digest else None

    def remove(self, digest: str) -> None:
        """Take them away, with what an interrupted `write` left. Raises OSError."""
        place = self.place(digest)
        _part(place).unlink(missing_ok=True)
        place.unlink(missing_ok=True)


_FRESH: Final = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


def _part(place: Path) -> Path:
    return place.with_name(f"{place.name}.part")


def sha256(data: bytes) -> str:
    """The digest of bytes, hexadecimal."""
    return hashlib.sha256(data).hexdigest()
