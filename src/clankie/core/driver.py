"""Which driver takes an input now, and who holds a conversation.

Rule 1: exactly one destination for an input: the live seat, else the service lane.
Rule 2: the exceptions are exhaustive and nothing overrides them: `never_on_service`,
        `never_to_seat`.
Rule 3: the choice is made afresh each time an input is taken up, under the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from clankie.core.admission import Origin, Reach
from clankie.core.mailbox import kind_of
from clankie.core.seat import EventKind


@dataclass(frozen=True, slots=True)
class Fence:
    """Who may write to a conversation: the node of one boot, with a token that only grows."""

    node: str
    token: int


class Presence(StrEnum):
    """How a seat stands to new input."""

    LIVE = "live"
    HOLDING = "holding"  # silent, but within its hold: input is stored for its next poll
    ABSENT = "absent"  # detached, lapsed or parked on a usage limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The seat attached to a conversation. `proven`: its room authority is established.

    `remote`: a lead seat on another machine, which has no fallback here. `kinds`: the events that
    its adapter can hand over.
    """

    seat: str
    occupant: str
    presence: Presence
    proven: bool = True
    remote: bool = False
    kinds: frozenset[EventKind] = frozenset(EventKind)


@dataclass(frozen=True, slots=True)
class ToService:
    """The service lane runs it."""


@dataclass(frozen=True, slots=True)
class ToSeat:
    """It is stored at this seat, for this occupant."""

    seat: str
    occupant: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may take it now; it stays where it is, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """It can never be run as things stand: it fails with this code."""

    code: str


Destination = ToService | ToSeat | Wait | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """What decides where an input may go.

    `refused`: the occupant that sits there now refused it once, for certain.
    """

    origin: Origin
    reach: Reach = Reach.CONVERSATION
    occupant: str | None = None
    refused: bool = False


def never_to_seat(origin: Origin) -> bool:
    """Goal continuations are the service loop's own."""
    return origin is Origin.GOAL


def never_on_service(addressed: Addressed) -> bool:
    """Signed Linear activity, and whatever is addressed past the conversation."""
    return addressed.origin is Origin.LINEAR or addressed.reach is not Reach.CONVERSATION


def select(addressed: Addressed, seat: Standing | None) -> Destination:
    """The one destination of an input, given the seat attached to its conversation now."""
    match addressed.reach:
        case Reach.OCCUPANT | Reach.HELD_QUEUE | Reach.NATIVE_PARENT:
            return _bound(addressed, seat)
        case Reach.CONVERSATION:
            return _open(addressed, seat)
        case _:
            assert_never(addressed.reach)


def _bound(addressed: Addressed, seat: Standing | None) -> Destination:
    if never_to_seat(addressed.origin):
        # Neither driver may ever have it: waiting would keep it for ever, unseen.
        return Refuse("never_at_a_seat")
    if seat is None or seat.presence is Presence.ABSENT:
        return Wait("recipient_absent")
    if seat.occupant != addressed.occupant:
        return Wait("recipient_changed")
    if addressed.refused:
        # There is no other recipient. A held Queue is the owner's, who should hear of it at once.
        held = addressed.reach is Reach.HELD_QUEUE
        return Refuse("refused_by_seat") if held else Wait("recipient_refused")
    if not _takes(addressed, seat):
        unable = kind_of(addressed.origin) not in seat.kinds
        return Wait("recipient_unable" if unable else "recipient_unproven")
    return ToSeat(seat.seat, seat.occupant)


def _open(addressed: Addressed, seat: Standing | None) -> Destination:
    if seat is not None and _takes(addressed, seat):
        return ToSeat(seat.seat, seat.occupant)
    if never_on_service(addressed):
        return Wait("no_receiver")
    if seat is not None and seat.remote:
        return Refuse("remote_lead_unavailable")
    return ToService()


def _takes(addressed: Addressed, seat: Standing) -> bool:
    if never_to_seat(addressed.origin) or seat.presence is Presence.ABSENT:
        return False
    if kind_of(addressed.origin) not in seat.kinds:
        return False
    if addressed.refused and not never_on_service(addressed):
        # As if no seat were there. What no other may run is offered again at the next poll.
        return False
    return seat.proven or addressed.origin is not Origin.ROOM
