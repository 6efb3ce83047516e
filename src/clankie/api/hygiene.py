"""JSON from outside, made harmless before anything looks at it.

One document, UTF-8, no duplicate names, no NaN or infinity, no nesting beyond 32: else 400. No NUL
and no lone surrogates in any text: else 422, naming the place. Both only come in by escapes (a raw
one is not JSON or not UTF-8), so a body without a backslash and u is not walked at all.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from clankie.api.errors import BadJsonError, UnsupportedMediaTypeError
from clankie.core.errors import InvalidFieldError

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH_LIMIT: Final = 32
_EXACT: Final = 2**53
_TEXT_RULE: Final = "text without NUL and without lone surrogates"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadJsonError("a name occurs twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise BadJsonError(f"{name} is not a JSON number")


def _number(text: str) -> float | int:
    """``2.0`` is the whole number 2, as JSON Schema has it; ``1e999`` is no number at all."""
    value = float(text)
    if math.isinf(value):
        raise BadJsonError("a number is too large")
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_number
)


def decode(raw: bytes) -> object:
    """The document in `raw`.

    Raises:
        BadJsonError: it is not one, or nested too deeply.
        InvalidFieldError: a text in it holds NUL or half a surrogate pair.
    """
    try:
        value: object = _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise BadJsonError("it is not UTF-8") from error
    except RecursionError as error:
        raise BadJsonError("it is nested too deeply") from error
    except ValueError as error:
        raise BadJsonError("it does not parse") from error
    nested = raw.count(b"{") + raw.count(b"[") > DEPTH_LIMIT
    if nested or b"\\u" in raw:
        _walk(value)
    return value


def json_content(media_type: bytes | None) -> None:
    """Raises UnsupportedMediaTypeError unless it is JSON."""
    kind = (media_type or b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise UnsupportedMediaTypeError


def clean_text(text: str) -> bool:
    """Whether it holds neither NUL nor half a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= one <= "\udfff" for one in text)


def _walk(value: object) -> None:
    waiting: list[tuple[object, str, int]] = [(value, "", 1)]
    while waiting:
        here, path, depth = waiting.pop()
        if isinstance(here, str) and not clean_text(here):
            raise InvalidFieldError(path or "body", _TEXT_RULE)
        inner = list(_members(here, path))
        if depth > DEPTH_LIMIT and isinstance(here, dict | list):
            raise BadJsonError(f"it is nested more than {DEPTH_LIMIT} deep")
        waiting.extend((one, at, depth + 1) for at, one in inner)


def _members(here: object, path: str) -> Iterator[tuple[str, object]]:
    before = f"{path}." if path else ""
    if isinstance(here, list):
        for index, one in enumerate(cast("list[object]", here)):
            yield f"{before}{index}", one
    if isinstance(here, dict):
        for name, one in cast("dict[str, object]", here).items():
            if not clean_text(name):
                raise InvalidFieldError(path or "body", f"names are {_TEXT_RULE}")
            yield f"{before}{name}", one
