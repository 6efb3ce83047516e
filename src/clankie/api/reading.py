"""Reading a conversation as people do: rendered answers, search, and everything as JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from fastapi import Query

from clankie.api.call import Asked, Here
from clankie.api.replies import Json
from clankie.api.routing import plain, router
from clankie.core import ids
from clankie.core.conversation import timestamp
from clankie.core.errors import CursorAheadError, InvalidFieldError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.routing import Route

    from clankie.api.routing import Hot
    from clankie.host.house import House
    from clankie.host.storage import Found

routes = router("conversations")

HTML_MOST: Final = 50
QUERY_LIMIT: Final = 200
PAGE: Final = 500
LINES: Final = "application/jsonl"
_HERE: Final = "/v1/conversations/{conversation}"
_RULE: Final = f"1 to {HTML_MOST} cursors with commas between"
_CURSORS: Final = {"pattern": r"^[1-9][0-9]{0,14}(,[1-9][0-9]{0,14}){0,49}$"}
_MOST: Final = 2**53
_decode: Final = msgspec.json.Decoder().decode


@routes.get(f"{_HERE}/html")
async def read_html(
    call: Asked,
    conversation: Here,
    cursors: Annotated[str, Query(max_length=1_000, json_schema_extra=_CURSORS)],
) -> Json:
    """The messages at these cursors as HTML that may be shown; what is no message is left out."""
    wanted = sorted(set(_cursors(cursors)))
    call.sees(conversation)
    made: dict[str, str] = {}
    for cursor, text in await _messages(call.house, conversation, wanted):
        made[str(cursor)] = await call.door.rendered.html(conversation, cursor, text)
    return Json({"html": made})


def _cursors(given: str) -> Iterator[int]:
    parts = given.split(",")
    if len(parts) > HTML_MOST:
        raise InvalidFieldError("cursors", _RULE)
    for part in parts:
        if not part.isascii() or not part.isdigit() or not 1 <= int(part) < _MOST:
            raise InvalidFieldError("cursors", _RULE)
        yield int(part)


async def _messages(
    house: House, conversation: str, wanted: Sequence[int]
) -> Sequence[tuple[int, str]]:
    """Cursor and words of the messages among `wanted`, which are in order.

    What a reader looks at stands close together, so one page serves many.
    """
    found: list[tuple[int, str]] = []
    left = list(wanted)
    while left:
        try:
            page = await house.store.conversations.events_after(
                conversation, left[0] - 1, HTML_MOST
            )
        except CursorAheadError:
            break
        if not page.events:
            break
        asked, last = set(left), page.events[-1].cursor
        for one in page.events:
            event: dict[str, Any] = _decode(one.data) if one.cursor in asked else {}
            if event.get("kind") == "message":
                found.append((one.cursor, str(event["text"])))
        left = [cursor for cursor in left if cursor > last]
    return found


@routes.get(f"{_HERE}/search")
async def search(
    call: Asked,
    conversation: Here,
    q: Annotated[str, Query(min_length=1, max_length=QUERY_LIMIT)],
    before: Annotated[int | None, Query(ge=1, lt=_MOST)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
) -> Json:
    """What holds every word of `q`, newest first; `before` goes on below a cursor."""
    page = await call.house.store.conversations.search(
        call.sees(conversation), q, before=before, limit=limit
    )
    return Json(
        {
            "results": [_hit(one) for one in page.results],
            "has_more": page.has_more,
            "indexed": page.indexed,
        }
    )


def _hit(found: Found) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "cursor": found.cursor,
        "at": timestamp(found.at),
        "role": found.role,
        "kind": found.kind,
        "snippet": found.snippet,
    }
    return wire if found.source is None else wire | {"source": found.source}


async def get_export(hot: Hot) -> None:
    """Everything, an event a line, up to where the log ends now; a page in memory at a time."""
    conversation = ids.conversation_id(hot.path["conversation"])
    hot.call.allow()
    log = hot.call.house.store.conversations
    after = (await log.get(hot.call.sees(conversation))).oldest - 1
    page = await log.events_after(conversation, after, PAGE)
    end = page.head
    name = f'attachment; filename="{conversation}.jsonl"'.encode()
    head = [(b"content-type", LINES.encode()), (b"content-disposition", name)]
    await hot.send({"type": "http.response.start", "status": 200, "headers": head})
    while page.events and after < end:
        lines = b"".join(one.data + b"\n" for one in page.events if one.cursor <= end)
        await hot.send({"type": "http.response.body", "body": lines, "more_body": True})
        after = page.events[-1].cursor
        page = await log.events_after(conversation, after, PAGE)
    await hot.send({"type": "http.response.body", "body": b""})


def hot_routes() -> list[Route]:
    """One."""
    return [plain("GET", f"{_HERE}/export", get_export)]
