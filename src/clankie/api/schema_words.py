"""The words in which schemas are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import StrEnum

Schema: TypeAlias = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
NUMBER: Final[Schema] = {"type": "number"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
CURSOR: Final[Schema] = {"type": "integer", "minimum": 1, "exclusiveMaximum": 2**53}
TIME: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "description": "RFC 3339, UTC, milliseconds",
}
NULL: Final[Schema] = {"type": "null"}
ANY_OBJECT: Final[Schema] = {"type": "object"}


def ref(name: str) -> Schema:
    """A component by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(name: str) -> Schema:
    """A list of components."""
    return {"type": "array", "items": ref(name)}


def one_of(values: type[StrEnum] | Iterable[str]) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": [str(value) for value in values]}


def shape(
    doc: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None
) -> Schema:
    """An object; members may be added to it later."""
    return {
        "type": "object",
        "description": doc,
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }
