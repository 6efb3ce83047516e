"""What an end without an answer, as the harness itself reports it, ends of what it was given.

Rule 1: only what the turn that runs in that very session is shown to have; what it may have besides
        is left to its deadline, unless the row names it by exact evidence.
Rule 2: what wants a reply may be answered after its turn: an end is its own only while nothing
        newer was taken in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.admission import Origin
from clankie.core.delivery import SeatState
from clankie.core.mailbox import wants_reply
from clankie.core.seat import Mishap, delivery_uuid
from clankie.host.framing import one_line
from clankie.store.sqlite import given, inputs
from clankie.store.sqlite.values import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.seat import Entry, Evidence
    from clankie.host.seatstore import Seat
    from clankie.store.sqlite.given import Given
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

DETAIL: Final = 1_000
"""Characters of what the harness said of it."""
CODES: Final = {Mishap.INTERRUPTED: given.INTERRUPTED, Mishap.API_ERROR: "harness_error"}
"""The code on the receipt."""
_NAMED: Final = frozenset({SeatState.TAKEN, SeatState.ACCEPTED, SeatState.UNCERTAIN})


def ends(tx: Transaction, head: Head, seat: Seat, session: str, entry: Entry) -> Sequence[str]:
    """End what this row of that session is the end of; the deliveries, oldest first."""
    if entry.error is None:
        return ()
    ended: list[str] = []
    for one in _its_own(tx, head, seat, session, entry):
        it = inputs.read(tx, one.delivery)
        it.detail = one_line(entry.text, DETAIL) or None
        given.move_with(tx, head, one, it, SeatState.FAILED, CODES[entry.error])
        ended.append(one.delivery)
    return ended


def _its_own(tx: Transaction, head: Head, seat: Seat, session: str, entry: Entry) -> list[Given]:
    """What it ends."""
    if entry.evidence is not None:
        return _named(tx, head, seat, entry.evidence)
    if session != seat.occupant.native.session_id:
        return []
    open_here = [
        one
        for one in given.in_flight(tx.run, seat.id)
        if one.conversation == head.id and one.occupant == seat.occupant.id
    ]
    had = [
        one
        for one in open_here
        if one.state == SeatState.ACCEPTED and moment(one.asked_at or one.started_at) <= entry.at
    ]
    newest = (had[-1].joined or had[-1].id) if had else None
    return [one for one in had if (one.joined or one.id) == newest or not _wants_reply(tx, one)]


def _named(tx: Transaction, head: Head, seat: Seat, evidence: Evidence) -> list[Given]:
    event = evidence.event, evidence.attempt
    one = given.read(tx.run, seat.id, *event)
    if one is None or one.conversation != head.id or evidence.value != delivery_uuid(*event):
        return []
    family = (*given.members(tx.run, one), one)
    return [it for it in family if it.state in _NAMED]


def _wants_reply(tx: Transaction, one: Given) -> bool:
    return wants_reply(Origin(inputs.read(tx, one.delivery).origin))
