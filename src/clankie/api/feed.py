"""One stream for lists: which conversations changed, and how they stand now. A hint, no more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.api import seat_wire
from clankie.api.routing import plain
from clankie.api.sse import changed_within, stream
from clankie.core.errors import ConversationNotFoundError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.routing import Route

    from clankie.api.routing import Hot
    from clankie.core.conversation import Conversation
    from clankie.host.house import House

PAUSE: Final = 0.25
"""Seconds between two reports: a busy conversation is told of four times in one."""

_FIELDS: Final = ("cursor", "revision", "state", "driver", "unread_reports", "uncertain")
_MANY: Final = 32
"""More changed conversations than this are read as one list."""


async def get_feed(hot: Hot) -> None:
    """The stream: first how every open conversation stands, then what changes."""
    hot.call.allow()
    await stream(hot, follow(hot.call.house))


async def follow(house: House) -> AsyncGenerator[list[bytes], None]:
    """Frames of rows; [] is a heartbeat."""
    version, _ = house.feed.changed_since(0)
    listed = await house.store.conversations.list()
    yield [row(house, one) for one in listed if not one.closed]
    while not house.stopping:
        changed = house.feed.listed()
        now, names = house.feed.changed_since(version)
        if not names:
            if not await changed_within(changed, house.settings.streams.heartbeat):
                yield []
            continue
        version = now
        frames = await _rows(house, names)
        if frames:
            yield frames
        await house.clock.sleep(PAUSE)


async def _rows(house: House, names: list[str]) -> list[bytes]:
    if len(names) > _MANY:
        wanted = set(names)
        listed = await house.store.conversations.list()
        return [row(house, one) for one in listed if one.id in wanted]
    found = await asyncio.gather(*(_one(house, name) for name in names))
    return [row(house, one) for one in found if one is not None]


async def _one(house: House, name: str) -> Conversation | None:
    try:
        return await house.store.conversations.get(name)
    except ConversationNotFoundError:
        return None  # it was removed since; its absence is what the next list shows


def row(house: House, conversation: Conversation) -> bytes:
    """One event: how a conversation stands."""
    wire = seat_wire.conversation(house, conversation)
    body: dict[str, Any] = {"conversation": conversation.id}
    body.update((name, wire[name]) for name in _FIELDS)
    return b"data: %b\n\n" % msgspec.json.encode(body)


def routes() -> list[Route]:
    """One."""
    return [plain("GET", "/v1/feed", get_feed)]
