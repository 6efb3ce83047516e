"""Pictures and text files that come with a message: looked at, kept once, named by their digest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Attachment
from clankie.core.errors import InvalidFieldError, ShuttingDownError
from clankie.core.pictures import TYPES, measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.host.house import House

NAME_LIMIT: Final = 120
NAME_RULE: Final = f"1 to {NAME_LIMIT} printable characters, no slashes, not only blanks"
DIGEST: Final = r"[0-9a-f]{64}"

# Text that programs call by another name. All of it must be UTF-8.
_TEXTS: Final = frozenset(
    f"application/{one}"
    for one in ("json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-sh", "sql", "x-ndjson")
)
_TEXT: Final = re.compile(r"text/[a-z0-9][a-z0-9.+-]{0,63}")
_MEGA: Final = 1_000_000


def checked_name(given: str, path: str = "name") -> str:
    """Check the name of a file. Raises InvalidFieldError naming `path`."""
    plain = given.isprintable() and "/" not in given and "\\" not in given
    if not plain or not given.strip() or len(given) > NAME_LIMIT:
        raise InvalidFieldError(path, NAME_RULE)
    return given


def kept_type(given: str) -> str | None:
    """The media type to keep, without parameters; None when nothing of that type is taken."""
    kind = given.partition(";")[0].strip().lower()
    return kind if kind in TYPES or kind in _TEXTS or _TEXT.fullmatch(kind) else None


async def keep(house: House, name: str, media_type: str, data: bytes) -> Attachment:
    """Keep the bytes under their digest; the same bytes are kept once, under their first type.

    Raises:
        InvalidFieldError: name, size or content; a picture with too many pixels too.
        ShuttingDownError, StorageUnavailableError: nothing was kept.
    """
    if house.stopping:
        raise ShuttingDownError
    checked_name(name)
    limit = house.settings.attachments.bytes
    if not 1 <= len(data) <= limit:
        raise InvalidFieldError("body", f"1 to {limit} bytes")
    _check(media_type, data, house.settings.attachments.megapixels)
    digest = await house.store.attachments.put(data, media_type)
    stored_as, size = await house.store.attachments.facts(digest)
    return Attachment(digest=digest, name=name, media_type=stored_as, size=size)


async def named(house: House, given: Sequence[tuple[str, str]]) -> tuple[Attachment, ...]:
    """What a message names by digest and name, with what the store knows of it.

    Raises:
        InvalidFieldError: more than the settings allow.
        AttachmentNotFoundError: one was never kept, or is gone.
    """
    most = house.settings.attachments.count
    if len(given) > most:
        raise InvalidFieldError("attachments", f"at most {most}")
    found: list[Attachment] = []
    for digest, name in given:
        media_type, size = await house.store.attachments.facts(digest)
        found.append(Attachment(digest=digest, name=name, media_type=media_type, size=size))
    return tuple(found)


def _check(media_type: str, data: bytes, megapixels: float) -> None:
    if media_type not in TYPES:
        _check_text(data)
        return
    picture = measured(data)
    if picture is None or picture.media_type != media_type:
        raise InvalidFieldError("body", f"a picture of the type {media_type}, as its header says")
    if picture.pixels > megapixels * _MEGA:
        rule = f"a picture of at most {megapixels:g} million pixels"
        raise InvalidFieldError("body", f"{rule}, not {picture.width} by {picture.height}")


def _check_text(data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidFieldError("body", "text in UTF-8") from error
    if "\0" in text:
        raise InvalidFieldError("body", "text without NUL")
