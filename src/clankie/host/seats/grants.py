"""Leave to register a seat: made for one conversation and harness, used once, within minutes."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from clankie.core.conversation import OPERATOR, Kind, timestamp
from clankie.core.driver import Presence
from clankie.core.errors import ShuttingDownError
from clankie.core.ids import HEAD
from clankie.core.seat_errors import AttachmentConflictError
from clankie.host.seatstore import Grant
from clankie.host.storage import NewConversation
from clankie.host.tokens import digest

if TYPE_CHECKING:
    from clankie.host.house import House


class Unset(Enum):
    """Nothing was said."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""The caller names no seat that it may replace: only one that is not there any more is."""


async def issue(  # noqa: PLR0913 - what a client asks for, member by member
    house: House,
    *,
    conversation: str | None,
    harness: str,
    uid: int,
    new: bool,
    expected: str | Literal[Unset.UNSET] | None,
    request_id: str | None = None,
) -> tuple[Grant, str]:
    """A grant and its secret, which is returned here and nowhere else.

    Without a conversation it is for the head, or for a fresh conversation when `new` says so. The
    same `request_id` again for the same harness is another grant for the conversation that it made:
    of the first one nothing but a hash is left, and an unused one dies by itself.

    Raises:
        ConversationNotFoundError, ConversationClosedError.
        AttachmentConflictError: a live seat has it, and the caller did not name that one.
    """
    if house.stopping:
        raise ShuttingDownError
    place = conversation or (await _fresh(house, harness, request_id) if new else HEAD)
    grant = Grant(
        secret_sha256=digest(secret := house.ids.secret()),
        conversation=place,
        harness=harness,
        uid=uid,
        expected=_expected(house, place, expected),
        expires_at=house.clock.now() + timedelta(seconds=house.settings.seats.grant),
    )
    await house.store.seats.add_grant(grant)
    return grant, secret


def _expected(house: House, place: str, expected: str | Literal[Unset.UNSET] | None) -> str | None:
    standing = house.desk.standing(place)
    current = None if standing is None else standing.seat
    if not isinstance(expected, Unset):
        if expected != current:
            raise AttachmentConflictError(place, current)
        return expected
    if standing is not None and standing.presence is not Presence.ABSENT:
        raise AttachmentConflictError(place, current)
    return current


async def _fresh(house: House, harness: str, request_id: str | None) -> str:
    when = timestamp(house.clock.now())[:16].replace("T", " ")
    # A hash, so that it is nobody's request id for a conversation without a seat.
    known = None if request_id is None else digest(f"{harness} {request_id}")
    request = house.ids.new("seat") if known is None else f"seat-{known}"
    new = NewConversation(
        id=house.ids.new("c"),
        request_id=request,
        name=f"{harness} {when}",
        kind=Kind.GLOBAL,
        any_name=True,
    )
    made, _ = await house.store.conversations.create(new, OPERATOR)
    return made.id
