"""Files that go with a message: read here, stored by the service, named by their digest."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.cli.failures import CommandError
from clankie.cli.wire import Call

if TYPE_CHECKING:
    from clankie.cli.wire import Json

LONGEST: Final = 64 * 1024 * 1024
"""Bytes; the service's own bound is a setting and smaller."""
_TEXT: Final = "text/plain"
_PICTURES: Final = "image/"


def upload(given: str) -> Call:
    """The request that stores a file.

    Raises:
        CommandError: it cannot be read, or is far too long.
    """
    path = Path(given).expanduser()
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.", code="no_file") from error
    if not data or len(data) > LONGEST:
        raise CommandError(f"{path} is empty or longer than {LONGEST} bytes.", code="bad_file")
    kind = mimetypes.guess_type(path.name)[0] or _TEXT
    if not kind.startswith((_PICTURES, "text/")):
        # Much that programs read is text under another name; the service looks whether it is.
        kind = _TEXT
    name = path.name[-120:]
    return Call(
        method="POST", path="/v1/attachments", query={"name": name}, raw=data, media_type=kind
    )


def named(stored: Json) -> Json:
    """What a message says of it: digest and name."""
    return {"digest": stored["digest"], "name": stored["name"]}
