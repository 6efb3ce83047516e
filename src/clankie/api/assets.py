"""The console's files as they are sent.

They are read once, at the start: a name that comes from outside is looked up, never opened.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent. `tag` changes with its content; `packed` is the body in gzip."""

    body: bytes
    packed: bytes
    media_type: str
    tag: bytes


class Files:
    """Everything in the console's directory that a browser may have, by name."""

    def __init__(self, directory: Path | None) -> None:
        found = [] if directory is None else sorted(directory.iterdir())
        self._files = {one.name: _read(one) for one in found if one.suffix in TYPES}

    def get(self, name: str) -> File | None:
        """The file of that name, if there is one."""
        return self._files.get(name)


def _read(path: Path) -> File:
    body = path.read_bytes()
    digest = hashlib.sha256(body).hexdigest()[:32]
    packed = gzip.compress(body, mtime=0)
    return File(body, packed, TYPES[path.suffix], b'"%b"' % digest.encode())
