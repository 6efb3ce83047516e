"""The owner's secrets: kept for one origin each, and what a renewed one sets free."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from clankie.core.errors import InvalidFieldError
from clankie.host import wakes

if TYPE_CHECKING:
    from clankie.host.house import House

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
SECRET_LIMIT: Final = 8_192


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, in one spelling: ``https://api.example.com:443``.

    Raises:
        InvalidFieldError: no http or https address, or one with a user name in it.
    """
    rule = "an http or https address without user name"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidFieldError("origin", rule) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise InvalidFieldError("origin", rule)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}"


async def put(house: House, name: str, origin: str, secret: str) -> None:
    """Keep a secret for exactly this origin; wakes that a rejected one held may try again.

    Raises:
        InvalidFieldError: name, origin or secret out of bounds. The message never shows the secret.
    """
    if _NAME.fullmatch(name) is None:
        raise InvalidFieldError("name", "1 to 64 characters of a-z 0-9 . _ -")
    if not (1 <= len(secret) <= SECRET_LIMIT) or not secret.isascii() or not secret.isprintable():
        raise InvalidFieldError("secret", f"1 to {SECRET_LIMIT} printable ASCII characters")
    house.credentials.put(name, origin_of(origin), secret)
    await wakes.release(house, reason="credential_rejected")
