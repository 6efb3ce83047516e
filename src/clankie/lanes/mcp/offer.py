"""What a server offers, bounded and cleaned, and the hash that identifies it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.host.framing import clean, one_line
from clankie.lanes.model import ToolSpec
from clankie.lanes.tools import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clankie.host.ports import Ids

TOOLS: Final = 128
"""Tools of one server."""

NAME: Final = 64
"""Characters of a tool's name; providers of models allow no more."""

_WORDS: Final = 4_000
_SCHEMA: Final = 32_768
_DEPTH: Final = 24
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
# What stands below these is named by the server's author: there a key is a name, not a keyword.
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
# Words for people reach the model framed, so the schema itself holds none.
_WORDY: Final = frozenset({"description", "title", "$comment", "examples", "default"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A tool as its server describes it: raw, and not trusted."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool that may be used. `name` is ours, `remote` its own."""

    name: str
    remote: str
    spec: ToolSpec
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All that a server offers. `left_out` are tools that cannot be used as they are described."""

    hash: str
    tools: tuple[Offered, ...]
    left_out: int


def offer(server: str, described: Sequence[Described], ids: Ids) -> Offer:
    """What of it can be used, under names that no other server's tools and none of ours have."""
    tools: dict[str, Offered] = {}
    for one in described:
        name = f"{server}__{_OTHER.sub('_', one.name)}"
        usable = one.name and len(name) <= NAME and name not in tools and len(tools) < TOOLS
        schema = _schema(one.schema) if usable else None
        if schema is not None:
            tools[name] = Offered(
                name=name,
                remote=one.name,
                spec=ToolSpec(name=name, description=_told(server, one, ids), schema=schema),
                read_only=one.read_only,
            )
    left_out = len(described) - len(tools)
    return Offer(hash=digest(described), tools=tuple(tools.values()), left_out=left_out)


def digest(described: Sequence[Described]) -> str:
    """SHA-256, hexadecimal, over everything that a model or a decision of ours is based on."""
    whole = sorted(
        json.dumps(
            [one.name, one.title, one.description, one.schema, one.read_only], sort_keys=True
        )
        for one in described
    )
    return hashlib.sha256("\n".join(whole).encode()).hexdigest()


def _told(server: str, one: Described, ids: Ids) -> str:
    lines = [one.title, one.description]
    properties = one.schema.get("properties")
    if isinstance(properties, dict):
        for name, about in cast("dict[str, object]", properties).items():
            words = cast("dict[str, object]", about).get("description") if _is_map(about) else None
            if isinstance(words, str):
                lines.append(f"- {one_line(name, NAME)}: {one_line(words, 400)}")
    text = clean("\n".join(line for line in lines if line))[:_WORDS]
    head = f"A tool of the MCP server {server}, which describes it like this:"
    return f"{head}\n{quoted(ids, 'mcp', server, text or '(not at all)')}"


def _schema(given: Mapping[str, Any]) -> dict[str, object] | None:
    """The bare schema; None where it is none, or too large."""
    try:
        bare = _bare(given, 0, names=False)
        size = len(json.dumps(bare))
    except (RecursionError, ValueError, TypeError):
        return None
    if not isinstance(bare, dict) or size > _SCHEMA:
        return None
    schema = cast("dict[str, object]", bare)
    return {**schema, "type": "object"} if schema.get("type", "object") == "object" else None


def _bare(given: object, depth: int, *, names: bool) -> object:
    if depth > _DEPTH:
        raise ValueError
    if isinstance(given, dict):
        return {
            clean(key): _bare(value, depth + 1, names=key in _NAMED and not names)
            for key, value in cast("dict[str, object]", given).items()
            if names or key not in _WORDY
        }
    if isinstance(given, list):
        return [_bare(one, depth + 1, names=False) for one in cast("list[object]", given)]
    return clean(given) if isinstance(given, str) else given


def _is_map(given: object) -> bool:
    return isinstance(given, dict)
