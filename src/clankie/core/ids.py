"""Names that come from outside, checked before they reach anything else.

A name is checked once, at the door it comes in by; what is inside the house is already clean.
"""

from __future__ import annotations

import re
from typing import Final

from clankie.core.errors import InvalidFieldError

HEAD: Final = "global-default"
"""The conversation that always exists and cannot be deleted."""

_DELIVERY: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_STORED_DELIVERY: Final = re.compile(r"(?:[a-z][a-z0-9-]{0,63}/)?[A-Za-z0-9._:-]{1,128}")
_CONVERSATION: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_NAME_LIMIT: Final = 80


def delivery_id(given: str) -> str:
    """Check a delivery id that a caller chose: 1 to 128 of ``[A-Za-z0-9._:-]``.

    Raises:
        InvalidFieldError: anything else, ``/`` included, which is the host's own separator.
    """
    if _DELIVERY.fullmatch(given) is None:
        raise InvalidFieldError("delivery_id", "1 to 128 characters of A-Z a-z 0-9 . _ : -")
    return given


def stored_delivery_id(given: str) -> str:
    """Check a delivery id as receipts show it: a bare id, or ``principal/id``."""
    if _STORED_DELIVERY.fullmatch(given) is None:
        raise InvalidFieldError(
            "delivery_id", "an id as receipts show it, such as m-1 or discord/123"
        )
    return given


def conversation_id(given: str) -> str:
    """Check a conversation id: 1 to 64 of ``[a-z0-9-]``, not beginning with a dash."""
    if _CONVERSATION.fullmatch(given) is None:
        raise InvalidFieldError("conversation", "1 to 64 characters of a-z 0-9 -")
    return given


def conversation_name(given: str) -> str:
    """Check a readable name: 1 to 80 printable characters, not only blanks."""
    if not (1 <= len(given) <= _NAME_LIMIT) or not given.isprintable() or not given.strip():
        raise InvalidFieldError("name", "1 to 80 printable characters")
    return given


def qualified(principal: str, given: str) -> str:
    """The id a delivery is stored under: the operator's own stay bare, others are prefixed."""
    return given if principal == "operator" else f"{principal}/{given}"
