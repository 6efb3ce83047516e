"""The poll of a seat. A thousand of them are parked at once, so each keeps as little as it can."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

import msgspec

from clankie.api import seat_wire
from clankie.api.errors import TokenUnknownError
from clankie.api.events import parameters, seconds
from clankie.api.replies import Reply
from clankie.api.routing import plain
from clankie.api.seat_bodies import BINDING, POLL_ID
from clankie.api.sse import until_gone
from clankie.core.errors import InvalidFieldError, ShuttingDownError
from clankie.host.seats import poll
from clankie.host.waiting import caught

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from starlette.routing import Route

    from clankie.api.routing import Hot
    from clankie.host.seats.poll import Page

_BINDING: Final = re.compile(BINDING)
_POLL_ID: Final = re.compile(POLL_ID)
_encode: Final = msgspec.json.Encoder().encode


async def get_seat_events(hot: Hot) -> None:
    """The page of this poll id: at once, or when there is something within `wait` seconds."""
    given = parameters(hot.scope["query_string"])
    binding = _named(given, "binding", _BINDING, "the UUID of this bridge process").lower()
    poll_id = _named(given, "poll_id", _POLL_ID, "1 to 128 characters of A-Z a-z 0-9 . _ : -")
    wait = seconds(given)
    hot.call.allow()
    seat, house = hot.call.sits(hot.path["seat"]), hot.call.house
    wait = min(wait, house.settings.seats.poll)
    polling = poll.poll(house, seat, binding=binding, poll_id=poll_id, wait=wait)
    page = await _while_there(hot, polling)
    if page is not None and page.empty and not page.superseded and house.stopping:
        raise ShuttingDownError
    if page is not None:
        await Reply(200, _encode(seat_wire.page(page))).send(hot.send)


async def _while_there(hot: Hot, polling: Coroutine[object, object, Page]) -> Page | None:
    """The page; None when nobody is there to take it: the poll was aborted.

    It is cancelled once and not again and again: a page that is being written is written.

    Raises:
        TokenUnknownError: the token was revoked meanwhile.
    """
    revoked = False

    def revoke() -> None:
        nonlocal revoked
        revoked = True
        verb.cancel()

    async with asyncio.TaskGroup() as tasks:
        verb = tasks.create_task(caught(polling))
        # Cancelled before its first step, a task leaves the work untouched.
        verb.add_done_callback(lambda _: polling.close())
        watching = tasks.create_task(until_gone(hot.receive, verb.cancel))
        with hot.call.door.streams.parked(hot.call.caller, revoke):
            await asyncio.wait({verb})
        watching.cancel()
    if verb.cancelled():
        if revoked:
            raise TokenUnknownError
        return None
    found = verb.result()
    if isinstance(found, Exception):
        raise found
    return found.value


def _named(given: Mapping[str, str], name: str, rule: re.Pattern[str], said: str) -> str:
    value = given.get(name, "")
    if rule.fullmatch(value) is None:
        raise InvalidFieldError(name, said)
    return value


def routes() -> list[Route]:
    """One."""
    return [plain("GET", "/v1/seats/{seat}/events", get_seat_events)]
