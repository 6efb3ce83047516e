"""What seats look like from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clankie.core.conversation import conversation_to_wire, timestamp
from clankie.host.seats import roster

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from clankie.core.conversation import Conversation
    from clankie.core.seat import SeatEvent
    from clankie.host.house import House
    from clankie.host.seats.approvals import Approval
    from clankie.host.seats.poll import Page
    from clankie.host.seats.roster import SeatView


def view(one: SeatView) -> dict[str, Any]:
    """A row of the roster."""
    seat = one.seat
    return _known(
        {
            "seat": seat.id,
            "harness": seat.harness,
            "state": one.state,
            "conversation": seat.conversation,
            "registered_at": timestamp(seat.registered_at),
            "since": _at(one.since),
            "last_ask": _at(one.last_ask),
            "hold_until": _at(one.hold_until),
            "grace_until": _at(one.grace_until),
            "parked_until": _at(seat.parked_until),
            "activity": seat.activity,
            "pane": seat.occupant.pane,
            "native": {
                "session_id": seat.occupant.native.session_id,
                "pid": seat.occupant.native.pid,
            },
            "version": seat.capabilities.version or None,
            "steer": seat.capabilities.steer,
            "interrupt": seat.capabilities.interrupt,
            "waiting": one.waiting,
            "in_flight": one.in_flight,
        }
    )


def conversation(house: House, one: Conversation) -> dict[str, Any]:
    """A conversation as lists show it, with what drives it now."""
    return conversation_to_wire(one, roster.driver(house, one.id))


def page(one: Page) -> dict[str, Any]:
    """What a poll answers; members that say nothing are left out."""
    wire: dict[str, Any] = {"events": [event(each) for each in one.events]}
    if one.superseded:
        wire["superseded"] = True
    if one.interrupts:
        wire["interrupts"] = [
            {"event": name, "attempt": attempt} for name, attempt in one.interrupts
        ]
    if one.decisions:
        wire["decisions"] = [
            {"approval": name, "decision": decision} for name, decision in one.decisions
        ]
    if one.renew:
        wire["renew"] = True
    return wire


def event(one: SeatEvent) -> dict[str, Any]:
    """One event at a seat."""
    wire: dict[str, Any] = {
        "id": one.id,
        "kind": one.kind,
        "source": one.source,
        "steer": one.steer,
        "content": one.content,
        "created_at": timestamp(one.created_at),
        "deadline": timestamp(one.deadline),
        "reply": one.reply,
        "conversation": one.conversation,
        "attempt": one.attempt,
        "generation": one.generation,
    }
    if one.cursor is not None:
        wire["cursor"] = one.cursor
    if one.members:
        wire["members"] = list(one.members)
    if one.attribution:
        wire["attribution"] = one.attribution
    return wire


def approval(one: Approval, *, unwatched: bool = False) -> dict[str, Any]:
    """A question of a harness, for its owner. `unwatched`: it may no longer be open."""
    more = {"unwatched": True} if unwatched else {}
    return {
        **more,
        "id": one.id,
        "seat": one.seat,
        "conversation": one.conversation,
        "summary": one.summary,
        "detail": one.detail,
        "state": one.state,
        "created_at": timestamp(one.created_at),
    }


def _at(when: datetime | None) -> str | None:
    return None if when is None else timestamp(when)


def _known(wire: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wire.items() if value is not None}
