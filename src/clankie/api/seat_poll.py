"""The poll of a seat. A thousand of them are parked at once, so each keeps as little as it can."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from clankie.api import seat_wire
from clankie.api.errors import TokenUnknownError
from clankie.api.events import parameters, seconds
from clankie.api.replies import Reply
from clankie.api.routing import plain
from clankie.api.seat_bodies import BINDING, POLL_ID
from clankie.api.sse import until_gone
from clankie.core.errors import ClankieError, InvalidFieldError, ShuttingDownError
from clankie.host.seats import poll

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

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
    polling = partial(poll.poll, house, seat, binding=binding, poll_id=poll_id, wait=wait)
    page = await _while_there(hot, polling)
    if page is not None and page.empty and not page.superseded and house.stopping:
        raise ShuttingDownError
    if page is not None:
        await Reply(200, _encode(seat_wire.page(page))).send(hot.send)


async def _while_there(hot: Hot, polling: Callable[[], Awaitable[Page]]) -> Page | None:
    """The page; None when nobody is there to take it: the poll was aborted.

    Raises:
        TokenUnknownError: the token was revoked meanwhile.
    """
    page: Page | None = None
    failed: ClankieError | None = None
    revoked = False

    def revoke() -> None:
        nonlocal revoked
        revoked = True
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        with hot.call.door.streams.parked(hot.call.caller, revoke):
            tasks.start_soon(until_gone, hot.receive, tasks.cancel_scope.cancel)
            try:
                page = await polling()
            except ClankieError as error:
                failed = error  # raised outside: the group would wrap it
            tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed
    if revoked and page is None:
        raise TokenUnknownError
    return page


def _named(given: Mapping[str, str], name: str, rule: re.Pattern[str], said: str) -> str:
    value = given.get(name, "")
    if rule.fullmatch(value) is None:
        raise InvalidFieldError(name, said)
    return value


def routes() -> list[Route]:
    """One."""
    return [plain("GET", "/v1/seats/{seat}/events", get_seat_events)]
