"""Events as a seat is given them, made of the rows of attempts, inputs and spans."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.conversation import Author, Principal
from clankie.core.delivery import SeatState
from clankie.core.handoff import SOURCE
from clankie.core.mailbox import Policy, Waiting, page
from clankie.core.seat import EventKind, SeatEvent
from clankie.host.seatstore import InFlight
from clankie.store.sqlite import given, handoffs, inputs, owner
from clankie.store.sqlite.inputs import Input
from clankie.store.sqlite.values import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.settings import SeatLimits
    from clankie.store.sqlite.given import Given
    from clankie.store.sqlite.handoffs import Span
    from clankie.store.sqlite.receipts import Run
    from clankie.store.sqlite.sql import Database

_GENERATION: Final = "SELECT max(generation) FROM node WHERE dead = 0"


def waiting(one: Input) -> Waiting:
    """An input as the page rule sees it."""
    return Waiting(
        delivery=one.id,
        origin=Origin(one.origin),
        arrived=one.message_cursor,
        text=one.text or "",
        author=Author(Principal(one.principal), one.author),
        name=one.name or "",
        channel=one.channel,
        mode=Mode(one.mode),
        reach=Reach(one.reach),
    )


def of(run: Run, one: Given, limits: SeatLimits) -> SeatEvent:
    """The event of an attempt that is no member of another's, as it was given out."""
    members = given.members(run, one)
    rows = [run(inputs.BY_ID, (it.delivery,)).fetchone() for it in (*members, one)]
    group = [Input(*row) for row in rows if row is not None]
    # The same rule on the same inputs makes the same event again; one of it is a whole page.
    batch = page([waiting(it) for it in group], Policy.HEAD, limits, responding=bool(one.steer))[0]
    newest = group[-1]
    attribution = {"principal": newest.principal, "id": newest.author}
    if newest.name:
        attribution["name"] = newest.name
    asked_at = moment(one.asked_at or one.started_at)
    return SeatEvent(
        id=one.delivery,
        kind=batch.kind,
        source=batch.source,
        content="\n\n".join(piece.text for piece in batch.pieces),
        created_at=moment(newest.admitted_at),
        deadline=asked_at + timedelta(seconds=limits.acknowledge),
        conversation=one.conversation,
        attempt=one.n,
        generation=_generation(run),
        reply=batch.reply,
        steer=bool(one.steer),
        cursor=newest.message_cursor,
        members=tuple(it.delivery for it in members),
        attribution=attribution,
        pieces=batch.pieces,
    )


def of_span(run: Run, span: Span, limits: SeatLimits) -> SeatEvent:
    """The event of a handoff that is under way."""
    return SeatEvent(
        id=span.id,
        kind=EventKind.MESSAGE,
        source=SOURCE,
        content=span.content or "",
        created_at=moment(span.opened_at),
        deadline=moment(span.asked_at or span.opened_at) + timedelta(seconds=limits.acknowledge),
        conversation=span.conversation,
        attempt=span.tries,
        generation=_generation(run),
    )


def in_flight(connection: Database, seat: str | None) -> Sequence[InFlight]:
    """See MailStore.in_flight."""
    run = connection.execute
    limits = owner.settings(connection)[1].seats
    spans = [one for one in handoffs.under_way(run) if seat is None or one.seat == seat]
    attempts = [one for one in given.in_flight(run, seat) if one.joined is None]
    return [
        *(
            InFlight(
                seat=one.seat or "",
                event=of_span(run, one, limits),
                state=one.at_seat,
                since=moment(one.asked_at or one.opened_at),
            )
            for one in spans
        ),
        *(
            InFlight(
                seat=one.seat,
                event=of(run, one, limits),
                state=SeatState(one.state),
                since=moment(one.acknowledged_at or one.asked_at or one.started_at),
                stop_asked=bool(one.stop_asked),
            )
            for one in attempts
        ),
    ]


def _generation(run: Run) -> int:
    row = run(_GENERATION, ()).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])
