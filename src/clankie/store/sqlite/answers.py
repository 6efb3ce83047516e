"""What a seat says of the events that it was given: acknowledged, refused, answered, too late.

Exact evidence alone counts: this seat, this delivery, this attempt, and the binding that took it.
Everything said twice is said once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.core.admission import Origin, Reach
from clankie.core.conversation import SYSTEM, Author, Message, Notice, Principal, Role
from clankie.core.delivery import FINAL, InputState, SeatState
from clankie.core.driver import Addressed, never_on_service
from clankie.core.errors import DeliveryConflictError, TransitionRefusedError
from clankie.core.handoff import SpanEvent, SpanState
from clankie.core.mailbox import deadline, wants_reply
from clankie.core.seat import refusal
from clankie.core.seat_errors import (
    EventNotFoundError,
    OccupantChangedError,
    SeatSupersededError,
)
from clankie.core.settings import SeatLimits
from clankie.store.sqlite import events, given, handoffs, heads, inputs, seats

if TYPE_CHECKING:
    from clankie.store.sqlite.given import Given
    from clankie.store.sqlite.handoffs import Span
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.inputs import Input
    from clankie.store.sqlite.unit import Transaction

NO_ANSWER: Final = "no_reply"
LEFT: Final = "seat_left"
REFUSED: Final = "seat_refused"
GONE: Final = "harness_gone"
_TO_COME: Final = frozenset({SeatState.ATTEMPTING, SeatState.UNCERTAIN})
_HAS_IT: Final = frozenset({SeatState.TAKEN, SeatState.ACCEPTED})
_WHY: Final = {
    SeatState.ATTEMPTING: "unacknowledged",
    SeatState.TAKEN: NO_ANSWER,
    SeatState.ACCEPTED: NO_ANSWER,
}


def ack(tx: Transaction, seat: str, event: str, attempt: int, binding: str) -> SeatState:
    """See MailStore.ack."""
    span = handoffs.read(tx.run, event)
    if span is not None:
        return _span(tx, seat, span, attempt, binding, SpanEvent.ACKNOWLEDGED)
    one = _found(tx, seat, event, attempt)
    _require_taker(tx, seat, one, binding)
    if one.state in _TO_COME:
        head = _head(tx, one.conversation)
        _acknowledge(tx, head, one)
        heads.save(tx, head)
    return SeatState(one.state)


def refuse(
    tx: Transaction, seat: str, event: str, attempt: int, binding: str, reason: str
) -> SeatState:
    """See MailStore.refuse."""
    span = handoffs.read(tx.run, event)
    if span is not None:
        return _span(tx, seat, span, attempt, binding, SpanEvent.REFUSED)
    one = _found(tx, seat, event, attempt)
    _require_taker(tx, seat, one, binding)
    if one.state != SeatState.REFUSED:
        head = _head(tx, one.conversation)
        for it in (*given.members(tx.run, one), one):
            given.move(tx, head, it, SeatState.REFUSED, reason)
            _ends_with_it(tx, head, it)
        _told(tx, head, one, reason)
        heads.save(tx, head)
    return SeatState.REFUSED


def _told(tx: Transaction, head: Head, refused: Given, reason: str) -> None:
    """Say in the log that it goes on without the harness, for the owner watched it go there."""
    one = inputs.read(tx, refused.delivery)
    addressed = Addressed(origin=Origin(one.origin), reach=Reach(one.reach))
    if one.state != InputState.QUEUED or never_on_service(addressed):
        return
    harness = seats.harness_of(tx.run, refused.seat) or "The seat"
    text = refusal(harness, reason)
    events.append(tx, head, SYSTEM, Notice(code=REFUSED, text=text, delivery_id=one.id))


def _ends_with_it(tx: Transaction, head: Head, refused: Given) -> None:
    """What the owner had asked to stop goes to nobody else.

    Nor has what was queued for an occupant who sits there no more anybody left to go to.
    """
    one = inputs.read(tx, refused.delivery)
    if one.state != InputState.QUEUED:
        return
    if refused.stop_asked:
        given.cancelled(tx, head, one)
        return
    ends_unseated(tx, head, one)


def ends_unseated(tx: Transaction, head: Head, one: Input) -> None:
    """What was queued for an occupant who sits there no more has nobody left to go to."""
    if one.state != InputState.QUEUED or one.reach != Reach.HELD_QUEUE:
        return
    there = seats.attached_to(tx.run, head)
    if there is None or there.occupant.id != one.occupant:
        given.undelivered(tx, head, one, LEFT)


def reply(
    tx: Transaction, seat: str, event: str, attempt: int, binding: str | None, text: str
) -> SeatState:
    """See MailStore.reply."""
    one = _found(tx, seat, event, attempt)
    if binding is not None:
        _require_taker(tx, seat, one, binding)
    newest = inputs.read(tx, one.delivery)
    if one.state == SeatState.REPLIED:
        if events.text_at(tx, newest.conversation, newest.reply_cursor) != text:
            raise DeliveryConflictError(event)
        return SeatState.REPLIED
    _require_answerable(one, newest)
    head = _head(tx, one.conversation)
    harness = seats.harness_of(tx.run, seat)
    said = Message(role=Role.AGENT, text=text, delivery_id=newest.id, source=harness)
    cursor = events.append(tx, head, Author(Principal.SEAT, seat), said)
    if one.acknowledged_at is None:
        one.acknowledged_at = tx.at  # an answer implies it
    members = given.members(tx.run, one)
    _answered(tx, head, one, newest, cursor)
    for member in members:
        older = inputs.read(tx, member.delivery)
        older.absorbed_by, older.reply_delivery_id = "reply", newest.id
        _answered(tx, head, member, older, cursor)
    handoffs.drives(tx, head, one.start_cursor or head.cursor)
    heads.save(tx, head)
    return SeatState.REPLIED


def lapse(
    tx: Transaction,
    seat: str,
    event: str,
    attempt: int,
    *,
    gone: bool = False,
    unacknowledged: bool = False,
) -> SeatState:
    """See MailStore.lapse."""
    span = handoffs.read(tx.run, event)
    if span is not None:
        return _lapse_span(tx, seat, span, attempt)
    one = _found(tx, seat, event, attempt)
    before = SeatState(one.state)
    if unacknowledged and before is not SeatState.ATTEMPTING:
        # Its word came while the caller was on the way: the deadline that passed is another one.
        return before
    gone = gone and seats.shows(tx.run, seat)
    # When is the caller's matter, what it becomes is the law's.
    due = deadline(before, SeatLimits(), attempted_at=0.0, acknowledged_at=None, gone=gone)
    if due is None:
        return before
    lost = due.state is SeatState.UNCERTAIN and before is SeatState.TAKEN
    head = _head(tx, one.conversation)
    for it in (*given.members(tx.run, one), one):
        given.move(tx, head, it, due.state, GONE if lost else _WHY[before])
    heads.save(tx, head)
    return due.state


def withdraw(tx: Transaction, seat: str, delivery: str, code: str, detail: str) -> bool:
    """See MailStore.withdraw."""
    stored = given.open_of(tx.run, delivery)
    if stored is None or stored.seat != seat or stored.state != SeatState.OFFERED:
        return False
    head = _head(tx, stored.conversation)
    given.release(tx, head, stored, code)
    one = inputs.read(tx, delivery)
    one.detail = detail
    given.failed(tx, head, one, code)
    heads.save(tx, head)
    return True


def _acknowledge(tx: Transaction, head: Head, one: Given) -> None:
    """The words are in the harness's own queue, those of its members too."""
    for it in (*given.members(tx.run, one), one):
        it.acknowledged_at = tx.at
        given.move(tx, head, it, SeatState.TAKEN)
    handoffs.drives(tx, head, one.start_cursor or head.cursor)


def _answered(tx: Transaction, head: Head, one: Given, it: Input, cursor: int) -> None:
    it.reply_cursor, it.detail = cursor, None
    given.move_with(tx, head, one, it, SeatState.REPLIED)


def _require_answerable(one: Given, newest: Input) -> None:
    """Raises TransitionRefusedError: no answer is wanted, or it ended without."""
    if not wants_reply(Origin(newest.origin)):
        raise TransitionRefusedError(f"The event {one.delivery!r}", "no answer wanted", "replied")
    if newest.state in FINAL or one.state not in _TO_COME | _HAS_IT:
        raise TransitionRefusedError(f"The event {one.delivery!r}", one.state, "replied")


def _found(tx: Transaction, seat: str, event: str, attempt: int) -> Given:
    """Raises EventNotFoundError: this seat was never given it, or only as a part of another."""
    one = given.read(tx.run, seat, event, attempt)
    if one is None or one.binding is None or one.joined is not None:
        raise EventNotFoundError(event)
    return one


def _require_taker(tx: Transaction, seat: str, one: Given, binding: str) -> None:
    """Raises SeatSupersededError, OccupantChangedError: it is not the one that was given it."""
    if one.binding != binding:
        raise SeatSupersededError(seat)
    if one.state == SeatState.UNCERTAIN and seats.occupant_of(tx.run, seat) != one.occupant:
        raise OccupantChangedError(seat)


def _span(
    tx: Transaction, seat: str, span: Span, attempt: int, binding: str, said: SpanEvent
) -> SeatState:
    if span.seat != seat or span.tries < attempt or attempt < 1:
        raise EventNotFoundError(span.id)
    if span.tries != attempt:
        # It was refused then, and handed over again.
        return SeatState.REFUSED
    if span.binding != binding:
        raise SeatSupersededError(seat)
    again = said is SpanEvent.REFUSED and span.state == SpanState.OPEN
    if not again:
        head = _head(tx, span.conversation)
        handoffs.move(tx, head, span, said)
        heads.save(tx, head)
    return span.at_seat


def _lapse_span(tx: Transaction, seat: str, span: Span, attempt: int) -> SeatState:
    if span.seat != seat:
        raise EventNotFoundError(span.id)
    if span.tries == attempt and span.state in {SpanState.ATTEMPTING, SpanState.UNRESOLVED}:
        head = _head(tx, span.conversation)
        handoffs.move(tx, head, span, SpanEvent.LAPSED)
        heads.save(tx, head)
    return span.at_seat


def _head(tx: Transaction, conversation: str) -> Head:
    return heads.claim(tx, conversation)[0]
