"""Values of a seat as JSON, both ways. Hooks import this: the standard library only."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import EventKind, SeatEvent, cut

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from clankie.core.seat import Capabilities, Entry

Json = dict[str, Any]
ENTRIES: Final = 100
"""Entries of one request."""
BODY: Final = 768 * 1024 - 1024
"""Bytes of the rows of one request; a little is left for what stands around them."""
DETAIL: Final = 4_096
"""Characters of a tool's detail."""
_ID: Final = 200


def plain(text: str) -> str:
    """What the service takes as text: no NUL, and no halves of a character."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def entry_to_json(one: Entry) -> Json:
    """A row as the service takes it; members that say nothing are left out."""
    wire: Json = {"id": plain(one.id), "kind": one.kind.value, "at": one.at.isoformat()}
    if one.text:
        wire["text"] = cut(plain(one.text))
    if one.native_parent is not None:
        wire["native_parent"] = plain(one.native_parent)
    if one.tool is not None:
        wire["tool"] = _tool(one.tool)
    if one.evidence is not None:
        proof = one.evidence
        wire["delivery_evidence"] = {
            "event": proof.event,
            "attempt": proof.attempt,
            "proof": proof.proof.value,
            "value": proof.value,
        }
    if one.limit is not None:
        resets = one.limit.resets_at
        wire["limit"] = {
            "window": plain(one.limit.window),
            "occurred_at": one.limit.occurred_at.isoformat(),
            "resets_at": None if resets is None else resets.isoformat(),
        }
    if one.error is not None:
        wire["code"] = one.error.value
    return wire


def _tool(given: Mapping[str, Any]) -> Json:
    detail = given.get("detail", "")
    text = detail if isinstance(detail, str) else json.dumps(detail, default=str)
    return {
        "name": plain(str(given.get("name", "tool")))[:_ID],
        "call_id": plain(str(given.get("call_id", "")))[:_ID],
        "phase": given.get("phase", "started"),
        "detail": cut(plain(text), DETAIL),
    }


def batches(entries: Iterable[Json]) -> Generator[list[Json], None, None]:
    """Split rows into requests that are within the bounds."""
    batch: list[Json] = []
    size = 0
    for one in entries:
        weight = len(json.dumps(one)) + 2
        if batch and (len(batch) == ENTRIES or size + weight > BODY):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += weight
    if batch:
        yield batch


def capabilities_to_json(one: Capabilities) -> Json:
    """What an adapter declared, as registration takes it."""
    return {
        "kinds": sorted(kind.value for kind in one.kinds),
        "transcript": one.transcript,
        "steer": one.steer,
        "interrupt": one.interrupt,
        "version": one.version,
    }


def event_of(wire: Mapping[str, Any]) -> SeatEvent:
    """An event of a page; members that this version does not know are ignored.

    Raises KeyError, TypeError or ValueError where one that it needs is missing or wrong.
    """
    attempt, generation = wire["attempt"], wire["generation"]
    if not isinstance(attempt, int) or not isinstance(generation, int):
        raise TypeError("attempt and generation are numbers")
    cursor = wire.get("cursor")
    return SeatEvent(
        id=_text(wire, "id"),
        kind=EventKind(wire["kind"]),
        source=_text(wire, "source"),
        content=_text(wire, "content"),
        created_at=datetime.fromisoformat(wire["created_at"]),
        deadline=datetime.fromisoformat(wire["deadline"]),
        conversation=_text(wire, "conversation"),
        attempt=attempt,
        generation=generation,
        reply=wire.get("reply") is True,
        steer=wire.get("steer") is True,
        cursor=cursor if isinstance(cursor, int) else None,
        members=_strings(wire.get("members", ())),
        attribution={str(k): str(v) for k, v in dict(wire.get("attribution") or {}).items()},
    )


def _text(wire: Mapping[str, Any], name: str) -> str:
    value = wire[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is text")
    return value


def _strings(found: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in found)
