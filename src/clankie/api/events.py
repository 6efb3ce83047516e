"""The log of a conversation: as pages, as a long poll, and as a stream."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from clankie.api.replies import Reply
from clankie.api.routing import plain
from clankie.api.sse import changed_within, stream
from clankie.core import ids
from clankie.core.errors import ConversationNotFoundError, InvalidFieldError
from clankie.host.feed import BehindError, Place, event_frame

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from starlette.routing import Route

    from clankie.api.routing import Hot
    from clankie.host.feed import Channel
    from clankie.host.house import House
    from clankie.host.storage import EventPage

CURSORS: Final = 2**53
PAGE: Final = 500
PAGE_DEFAULT: Final = 100
WAIT: Final = 30.0
"""Seconds that a poll waits at most, whatever it asks for."""

_FIELDS: Final = 32
_BEHIND: Final = b"event: behind\ndata: {}\n\n"


@dataclass(frozen=True, slots=True)
class Query:
    """What a reader asks for: `before` pages backwards, else `after` forwards. `wait`: seconds."""

    after: int = 0
    before: int | None = None
    limit: int = PAGE_DEFAULT
    wait: float = 0.0


async def get_events(hot: Hot) -> None:
    """A page, or a stream when the caller accepts one."""
    conversation = ids.conversation_id(hot.path["conversation"])
    query = read_query(hot.scope["query_string"])
    streaming = b"text/event-stream" in hot.head.get(b"accept", b"")
    start = _last_event(hot.head, query.after) if streaming else query.after
    hot.call.allow()
    hot.call.sees(conversation)
    house = hot.call.house
    if streaming:
        # Whatever can be refused is refused here, as long as there is a status to say it with.
        await house.store.conversations.events_after(conversation, start, 1)
        await stream(hot, _while_seen(hot, conversation, start))
    else:
        page = await page_within(house, conversation, query)
        await Reply(200, encoded(page, query)).send(hot.send)


async def _while_seen(hot: Hot, conversation: str, after: int) -> AsyncGenerator[list[bytes], None]:
    """As `follow`, until the caller may not see it any more: a seat that was let go."""
    async with aclosing(follow(hot.call.house, conversation, after)) as source:
        async for frames in source:
            try:
                hot.call.sees(conversation)
            except ConversationNotFoundError:
                return
            yield frames


async def page_within(house: House, conversation: str, query: Query) -> EventPage:
    """The page; when it is empty, the one that comes within `wait` seconds."""
    log = house.store.conversations
    if query.before is not None:
        return await log.events_before(conversation, query.before, query.limit)
    page = await log.events_after(conversation, query.after, query.limit)
    if page.events or query.wait <= 0:
        return page
    channel, place = house.feed.join(conversation), Place(query.after)
    try:
        async with asyncio.timeout(query.wait):
            # Once more, now as a reader: what is committed from here on moves the channel.
            page = await log.events_after(conversation, query.after, query.limit)
            while not page.events and not house.stopping:
                changed = channel.waiter()
                if _grew(channel, place):
                    page = await log.events_after(conversation, query.after, query.limit)
                else:
                    await changed.wait()
    except TimeoutError:
        return page
    finally:
        house.feed.leave(conversation)
    return page


def _grew(channel: Channel, place: Place) -> bool:
    """Whether the log did: drafts wake readers too, and need no look at the store."""
    before = place.cursor
    return _taken(channel, place) is None or place.cursor > before


async def follow(house: House, conversation: str, after: int) -> AsyncGenerator[list[bytes], None]:
    """Frames from the store until the ring reaches them, then from the ring; [] is a heartbeat.

    A reader that was live and fell out of the ring is told so, and its stream ends.
    """
    channel, place = house.feed.join(conversation), Place(after)
    read = live = False
    try:
        while True:
            changed = channel.waiter()
            frames = _taken(channel, place) if read else None
            if frames is None and live:
                yield [_BEHIND]
                return
            if frames is None:
                async for older in _stored(house, conversation, place):
                    yield older
                read = True
                continue
            live = True
            if frames:
                yield frames
            if house.stopping:
                return
            if not frames and not await changed_within(changed, house.settings.streams.heartbeat):
                yield []
    finally:
        house.feed.leave(conversation)


def _taken(channel: Channel, place: Place) -> list[bytes] | None:
    """What is new; None when the ring does not reach back to the place."""
    try:
        return channel.take(place)
    except BehindError:
        return None


async def _stored(
    house: House, conversation: str, place: Place
) -> AsyncGenerator[list[bytes], None]:
    more = True
    while more and not house.stopping:
        page = await house.store.conversations.events_after(conversation, place.cursor, PAGE)
        more = page.has_more
        if page.events:
            place.cursor = page.events[-1].cursor
            yield [event_frame(one).data for one in page.events]


def encoded(page: EventPage, query: Query) -> bytes:
    """The page as JSON: the events are joined as they were stored, not encoded again.

    `next_cursor` continues the way the page went: the next `after`, or the next `before`.
    """
    if query.before is None:
        onward = page.events[-1].cursor if page.events else query.after
    else:
        onward = page.events[0].cursor if page.events else query.before
    return b'{"events":[%b],"next_cursor":%d,"head_cursor":%d,"has_more":%b}' % (
        b",".join([one.data for one in page.events]),
        onward,
        page.head,
        b"true" if page.has_more else b"false",
    )


def read_query(raw: bytes) -> Query:
    """Check what stands behind the question mark.

    Raises:
        InvalidFieldError: names the parameter.
    """
    given = parameters(raw)
    before = _whole(given, "before", 1, CURSORS)
    after = _whole(given, "after", 0, CURSORS)
    if before is not None and after is not None:
        raise InvalidFieldError("before", "given without after: a page goes one way")
    limit = _whole(given, "limit", 1, PAGE + 1)
    return Query(
        after=after or 0,
        before=before,
        limit=PAGE_DEFAULT if limit is None else limit,
        wait=min(seconds(given), WAIT),
    )


def parameters(raw: bytes) -> Mapping[str, str]:
    """What stands behind the question mark; of a repeated name the last.

    Raises:
        InvalidFieldError: there are too many.
    """
    try:
        return dict(
            parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=_FIELDS)
        )
    except ValueError as error:
        raise InvalidFieldError("query", f"at most {_FIELDS} parameters") from error


def _whole(given: Mapping[str, str], name: str, low: int, high: int) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > len(str(high)):
        raise InvalidFieldError(name, f"a whole number from {low} to {high - 1}")
    if not low <= int(text) < high:
        raise InvalidFieldError(name, f"a whole number from {low} to {high - 1}")
    return int(text)


def seconds(given: Mapping[str, str]) -> float:
    """The parameter `wait`, not below 0. Raises InvalidFieldError."""
    try:
        wait = float(given.get("wait", "0"))
    except ValueError as error:
        raise InvalidFieldError("wait", "seconds") from error
    if math.isnan(wait):
        raise InvalidFieldError("wait", "seconds")
    return max(wait, 0.0)


def _last_event(head: Mapping[bytes, bytes], after: int) -> int:
    given = head.get(b"last-event-id")
    if given is None:
        return after
    name = "Last-Event-ID"
    return _whole({name: given.decode("latin-1")}, name, 0, CURSORS) or 0


def routes() -> list[Route]:
    """One."""
    return [plain("GET", "/v1/conversations/{conversation}/events", get_events)]
