"""The page of a poll: chosen, moved to `attempting`, and read again under its poll id.

What a page holds stands in the rows of its attempts: who was given it, in which poll, at which
place. So the same poll reads the same page, and nothing is written but the moves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from clankie.core.admission import ADDRESSED, Origin
from clankie.core.conversation import Kind
from clankie.core.delivery import SeatState
from clankie.core.handoff import IN_FLIGHT, SpanState
from clankie.core.mailbox import Policy, page, policy_of, size
from clankie.host.seatstore import Taken
from clankie.store.sqlite import (
    attempts,
    given,
    handoffs,
    heads,
    inputs,
    offers,
    runs,
    seat_events,
    seats,
    sessions,
)
from clankie.store.sqlite.inputs import Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.mailbox import Batch
    from clankie.core.seat import SeatEvent
    from clankie.core.settings import SeatLimits
    from clankie.host.seatstore import Ask, Seat
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

LOOKED_AT: Final = 512
"""Stored inputs that one poll looks at; a page holds far fewer."""

_STORED: Final = f"""
SELECT {inputs.COLUMNS} FROM input
WHERE id IN (SELECT delivery FROM attempt WHERE seat = ? AND state = 'offered')
ORDER BY origin <> 'owner' AND origin <> 'escalation', message_cursor LIMIT {LOOKED_AT}"""


def take(tx: Transaction, seat: str, ask: Ask, *, limits: SeatLimits, budget: int) -> Taken:
    """See MailStore.take."""
    one = seats.read(tx.run, seat)
    again = _again(tx, seat, ask, limits)
    if again is not None:
        return Taken(again, again=True)
    parked = one.parked_until is not None and one.parked_until > tx.now
    if one.conversation is None or one.stale or parked:
        return Taken(())
    head, fence = heads.claim(tx, one.conversation)
    if attempts.run_in(tx, head) is not None:
        return Taken(())
    runs.offer(tx, head, fence, ask.standing, limits.page_events)
    span = handoffs.current(tx, head)
    if span is not None and span.state in IN_FLIGHT:
        return Taken(())
    sealed = handoffs.seal(tx, head, one, ask, budget)
    if sealed is not None:
        _pin(tx, head, one)
        heads.save(tx, head)
        return Taken((seat_events.of_span(tx.run, sealed, limits),))
    return Taken(_fresh(tx, head, one, ask, limits))


def _again(tx: Transaction, seat: str, ask: Ask, limits: SeatLimits) -> list[SeatEvent] | None:
    """What this poll was given, as far as it is open yet; None when its id is free.

    It is free before it was given anything, and again once nothing of that is open any more. What
    became uncertain meanwhile is not sent once more, nor what was refused.
    """
    span = handoffs.of_poll(tx.run, seat, ask)
    rows = given.page(tx.run, seat, ask.binding, ask.poll_id)
    if (span is None or span.state not in IN_FLIGHT) and not any(one.open for one in rows):
        return None
    told = [span] if span is not None and span.state == SpanState.ATTEMPTING else []
    return [
        *(seat_events.of_span(tx.run, one, limits) for one in told),
        *(seat_events.of(tx.run, one, limits) for one in rows if one.joined is None and one.open),
    ]


def _fresh(
    tx: Transaction, head: Head, seat: Seat, ask: Ask, limits: SeatLimits
) -> Sequence[SeatEvent]:
    stored = [Input(*row) for row in tx.rows(_STORED, (seat.id,))]
    known = {one.id: one for one in stored if one.origin != Origin.ROOM or one.id in ask.cleared}
    chosen = _chosen(tx, head, seat, ask, limits, list(known.values()))
    if not chosen:
        return ()
    _pin(tx, head, seat)
    place = 0
    attempted: list[given.Given] = []
    for batch in chosen:
        attempted.append(_give(tx, head, known, batch, ask, place))
        place += len(batch.pieces)
    heads.save(tx, head)
    return [seat_events.of(tx.run, one, limits) for one in attempted]


def _chosen(
    tx: Transaction,
    head: Head,
    seat: Seat,
    ask: Ask,
    limits: SeatLimits,
    stored: Sequence[Input],
) -> Sequence[Batch]:
    """The conversation's own mail by its policy, and what is for this occupant alone by a worker's.

    The latter goes first into the page's bounds and last into the page.
    """
    waiting = [seat_events.waiting(one) for one in stored]
    alone = [one for one in waiting if one.reach in ADDRESSED]
    own = [one for one in waiting if one.reach not in ADDRESSED]
    blocker = offers.reserved(tx, seat.occupant.id) if alone else None
    unresolved = () if blocker is None else (blocker,)
    last = page(alone, Policy.WORKER, limits, responding=ask.responding, unresolved=unresolved)
    room = replace(
        limits,
        page_events=limits.page_events - len(last),
        page_bytes=limits.page_bytes - sum(map(size, last)),
    )
    policy = policy_of(head.id, Kind(head.kind))
    return [*page(own, policy, room, responding=ask.responding), *last]


def _pin(tx: Transaction, head: Head, seat: Seat) -> None:
    """What this session writes from now on may be about this conversation: it goes there."""
    sessions.pin(tx, head, seat.harness, seat.occupant.native.session_id)


def _give(
    tx: Transaction,
    head: Head,
    known: dict[str, Input],
    batch: Batch,
    ask: Ask,
    place: int,
) -> given.Given:
    """Move one event's inputs to `attempting`: the older ones go with the newest."""
    newest = _stored_at(tx, batch.id)
    for n, piece in enumerate(batch.pieces):
        one = newest if piece.delivery == batch.id else _stored_at(tx, piece.delivery)
        one.joined = None if one is newest else newest.id
        one.binding, one.poll_id, one.place = ask.binding, ask.poll_id, place + n
        one.steer = int(batch.steer)
        one.start_cursor = head.cursor + 1  # the turn that says so
        given.move_with(tx, head, one, known[piece.delivery], SeatState.ATTEMPTING)
    return newest


def _stored_at(tx: Transaction, delivery: str) -> given.Given:
    found = given.open_of(tx.run, delivery)
    if found is None:
        message = f"{delivery} was stored at a seat a moment ago"
        raise LookupError(message)
    return found
