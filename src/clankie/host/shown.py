"""The log as a harness reads it: one text, in which only the owner's words stand bare.

Rule 1: every other entry (the agent's own, tools, rooms, whatever came from outside, an owner's
        message that ended without an answer) stands framed: nothing in it can pass for a
        line of the owner's or for a heading of ours.
Rule 2: the budget stays a hard maximum. The frames take their share of it, the oldest give way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Message, Role
from clankie.core.projection import Projection, clipped
from clankie.host.framing import Untrusted, framed, one_line

if TYPE_CHECKING:
    from clankie.core.projection import Entry
    from clankie.host.ports import Ids

_MARKER: Final = "[{count} earlier events omitted]"
_ROOM: Final = len(_MARKER.format(count=2**53)) + 2
_OWNER: Final = "owner: "
_WHEN: Final = len("[2026-11-30 12:00] ")
_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class Shown:
    """The text, and what of the projection stands in it."""

    text: str
    projection: Projection


def as_text(projection: Projection, budget: int, ids: Ids) -> Shown:
    """The projection as text of at most `budget` characters, newest entries first into it."""
    left = budget - _ROOM
    pieces: list[str] = []
    kept: list[Entry] = []
    for entry in reversed(projection.entries):
        piece = _piece(entry, ids)
        if not kept and len(piece) + 2 > left:
            # The newest is never left out whole.
            entry = _cut(entry, len(piece) + 2 - left)  # noqa: PLW2901 - the same entry, shorter
            piece = _piece(entry, ids)
        left -= len(piece) + 2
        if left < 0:
            break
        pieces.append(piece)
        kept.append(entry)
    omitted = projection.omitted + len(projection.entries) - len(kept)
    marker = [_MARKER.format(count=omitted)] if omitted else []
    text = "\n\n".join([*marker, *reversed(pieces)])
    return Shown(text, Projection(tuple(reversed(kept)), omitted))


def _piece(entry: Entry, ids: Ids) -> str:
    when, body = entry.line[:_WHEN], entry.body
    if isinstance(body, Message) and body.role is Role.OWNER and entry.end is None:
        return f"{when}{_OWNER}{body.text}{_files(body)}"
    if isinstance(body, Message):
        who = "you" if body.role is Role.AGENT else body.role.value
        who = who if entry.end is None else f"{who} ({entry.end})"
        source, text = body.source or body.role.value, body.text
    else:
        who, source = "tool", one_line(body.name, _NAME)
        text = f"{body.phase}: {body.detail}"
    author = f"{entry.author.principal}:{entry.author.id}"
    block = framed(Untrusted(source=source, author=author, text=text), ids)
    return f"{when}{who}{_files(body)}:\n{block}"


def _files(body: object) -> str:
    number = len(body.attachments) if isinstance(body, Message) else 0
    return f" [{number} attached]" if number else ""


def _cut(entry: Entry, over: int) -> Entry:
    body = entry.body
    if isinstance(body, Message):
        return replace(entry, body=replace(body, text=_shorter(body.text, over)))
    return replace(entry, body=replace(body, detail=_shorter(body.detail, over)))


def _shorter(text: str, over: int) -> str:
    return clipped(text, max(0, len(text) - over))
