"""Rows of a harness's transcript become part of the log, each once.

Rule 1: a row that proves a delivery is that delivery's own words: it joins them, and is no second
        message. Proof is exact (`core.session.proves`); everything else is the seat's word.
Rule 2: a usage limit ends what the harness had taken as failed. What it may not even have taken is
        left to its deadline.
Rule 3: an end without an answer that the harness reports (an interrupt, an error) is for what the
        turn that runs in that session has, and for nothing else.
Rule 4: when the session that holds the turn waits again, what wanted no reply is over: where a row
        of that session showed its words, and an answer of the same seat stands behind that row.
        Without one it is over as soon as somebody says something else: an end may come before the
        answer does. What no row shows is left to its deadline.
Rule 5: an end that says of which moment it is (`Report.at`) is the end of nothing that was said to
        the session after it: reports come on several ways, and may be older than the rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from clankie.core.admission import Origin, normalise
from clankie.core.conversation import Author, Message, Principal, Role, Tool, ToolPhase
from clankie.core.delivery import SeatState
from clankie.core.handoff import SpanEvent
from clankie.core.mailbox import wants_reply
from clankie.core.seat import Activity, EntryKind, Proof
from clankie.core.seat_errors import SeatNotFoundError, SessionConflictError
from clankie.core.session import Handed, Turn, heard, proves
from clankie.host.framing import one_line
from clankie.host.seatstore import Synced
from clankie.store.sqlite import (
    events,
    given,
    handoffs,
    heads,
    inputs,
    mishaps,
    seats,
    sessions,
)
from clankie.store.sqlite.answers import NO_ANSWER
from clankie.store.sqlite.values import millis, moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.core.seat import Entry, Evidence, Limited, Report
    from clankie.core.settings import SeatLimits
    from clankie.host.seatstore import Seat
    from clankie.store.sqlite.given import Given
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sessions import Session
    from clankie.store.sqlite.unit import Transaction

LIMITED: Final = "usage_limited"
CALL: Final = 200
"""Characters of what names a tool's call there; the wire takes no more."""
DETAIL: Final = 1_000
"""Characters of a tool's line in the log."""
_MAY_PROVE: Final = frozenset({SeatState.ATTEMPTING, SeatState.TAKEN, SeatState.UNCERTAIN})
_BY_ID: Final = frozenset({Proof.UUID, Proof.CLIENT_ID})
_NOT_HERE: Final = frozenset({SeatState.REFUSED, SeatState.RELEASED})
_HAS_IT: Final = frozenset({SeatState.TAKEN, SeatState.ACCEPTED})


@dataclass(slots=True)
class _Sync:
    """One batch on its way into the log. `words` counts new rows of a person by their text."""

    tx: Transaction
    head: Head
    seat: Seat
    session: Session
    limits: SeatLimits
    words: Counter[str]
    session_id: str
    accepted: int = 0
    shown: str | None = None  # the attempt that the row at hand proved
    proven: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])
    limited: Limited | None = None

    def mine(self) -> Sequence[Given]:
        """What the seat was given in this conversation and has not ended."""
        found = given.in_flight(self.tx.run, self.seat.id)
        return [one for one in found if one.conversation == self.head.id]

    def sat(self, seat: str | None) -> bool:
        """Whether it is this seat, or one in which this very session sat before."""
        if seat is None or seat == self.seat.id:
            return seat is not None
        return seats.sat(self.tx.run, seat, self.seat.harness, self.session_id)

    @property
    def author(self) -> Author:
        return Author(Principal.SEAT, self.seat.id)


def sync(
    tx: Transaction,
    seat: str,
    session_id: str,
    entries: Sequence[Entry],
    report: Report | None,
    limits: SeatLimits,
) -> Synced:
    """See MailStore.sync."""
    one, conversation = _place(tx, seat, session_id)
    head, _ = heads.claim(tx, conversation)
    session = sessions.pin(tx, head, one.harness, session_id)
    fresh = [entry for entry in entries if sessions.take(tx, session, entry.id)]
    if fresh:
        handoffs.drives(tx, head, head.cursor)
    words = Counter(normalise(it.text) for it in fresh if it.kind is EntryKind.USER)
    batch = _Sync(tx, head, one, session, limits, words, session_id, accepted=len(fresh))
    for entry in entries:
        if entry.kind is EntryKind.LIMIT and entry not in fresh:
            _limit_again(batch, entry)
    for entry in fresh:
        _take(batch, entry)
    _hear(batch, session_id, report)
    heads.save(tx, head)
    return Synced(
        accepted=batch.accepted,
        duplicates=len(entries) - len(fresh),
        proven=batch.proven,
        failed=batch.failed,
        limited=batch.limited,
        conversation=conversation,
    )


def _place(tx: Transaction, seat: str, session_id: str) -> tuple[Seat, str]:
    """The seat and whose log has its rows: where its session is at home, else where it sits.

    One that was let go may still show what became of what it was given there.

    Raises:
        SessionConflictError: nothing of it is open there any more.
        SeatNotFoundError: it is at home nowhere and sits nowhere.
    """
    one = seats.read(tx.run, seat)
    home = sessions.home(tx, one.harness, session_id)
    if home is None or home == one.conversation:
        return seats.attached(tx.run, seat)
    if given.unsettled(tx.run, seat, home):
        return one, home
    if one.conversation is None:
        raise SeatNotFoundError(seat)
    raise SessionConflictError(session_id)


def _take(batch: _Sync, entry: Entry) -> None:
    if entry.kind is EntryKind.USER and batch.session.rested:
        _next_turn(batch)
    answered, batch.shown = batch.session.answer_cursor, None
    stands = _proven(batch, entry)
    if stands is None:
        stands = _said(batch, entry)
    if entry.kind is EntryKind.USER:
        # A strange clock shows a moment that has not come; every end would be before it.
        words = sessions.Words(min(millis(entry.at), batch.tx.at), answered, batch.shown)
        sessions.hears(batch.tx, batch.session, words)
    if stands is not None:
        sessions.stands(batch.tx, batch.session, entry.id, stands)


def _said(batch: _Sync, entry: Entry) -> int | None:
    """Add what is no delivery's words to the log; where it stands, None when it says nothing.

    A limit stands where the log ended when it was met.
    """
    match entry.kind:
        case EntryKind.USER:
            return _message(batch, Role.EXTERNAL, entry.text)
        case EntryKind.ASSISTANT:
            cursor = _message(batch, Role.AGENT, entry.text)
            if cursor is not None:
                sessions.answered(batch.tx, batch.session, cursor)
            return cursor
        case EntryKind.TOOL:
            return events.append(batch.tx, batch.head, batch.author, _tool(entry))
        case EntryKind.LIMIT:
            _limit(batch, entry)
            return batch.head.cursor
        case EntryKind.ERROR:
            ended = mishaps.ends(batch.tx, batch.head, batch.seat, batch.session_id, entry)
            batch.failed.extend(ended)
            # Words that ended nothing of ours stand where the harness said them.
            return None if ended else _message(batch, Role.AGENT, entry.text)


def _message(batch: _Sync, role: Role, text: str) -> int | None:
    if not text.strip():
        return None
    said = Message(role=role, text=text, source=batch.seat.harness)
    return events.append(batch.tx, batch.head, batch.author, said)


def _tool(entry: Entry) -> Tool:
    told: dict[str, Any] = entry.tool or {}
    phase = str(told.get("phase", ""))
    known = phase in set(ToolPhase)
    return Tool(
        call_id=one_line(str(told.get("call_id", entry.id)), CALL),
        name=one_line(str(told.get("name", "tool")), 64),
        phase=ToolPhase(phase) if known else ToolPhase.COMPLETED,
        detail=one_line(str(told.get("detail", entry.text)), DETAIL),
    )


def _proven(batch: _Sync, entry: Entry) -> int | None:
    """Where the words stand that this row proves to be a delivery's; None when it proves none."""
    evidence = entry.evidence
    if evidence is None or entry.kind is not EntryKind.USER:
        return None
    span = handoffs.read(batch.tx.run, evidence.event)
    if span is not None:
        return _span_proven(batch, entry, span)
    one = given.read(batch.tx.run, batch.seat.id, evidence.event, evidence.attempt)
    if one is None:
        return _given_before(batch, entry, evidence)
    if one.asked_at is None or one.joined is not None or one.state in _NOT_HERE:
        return None
    newest = inputs.read(batch.tx, one.delivery)
    handed = _handed(evidence.event, one.n, newest.text, one.asked_at)
    alike = max(1, batch.words[normalise(entry.text)]) * _alike(batch, one, newest.text)
    if not proves(entry, handed, batch.limits, alike=alike):
        return None
    here = one.conversation == batch.head.id
    if here and one.state in _MAY_PROVE:
        _accept(batch, one, evidence.proof)
        batch.proven.append(one.delivery)
    # Another's words: they stand there, and settle nothing from here.
    return newest.message_cursor if here else 0


def _given_before(batch: _Sync, entry: Entry, evidence: Evidence) -> int | None:
    """Where words stand that an earlier seat of this very session was given, as their id proves.

    They are no second message; and they settle nothing: what that seat had has an end of its own.
    """
    one = given.at_any(batch.tx.run, evidence.event, evidence.attempt)
    if one is None or one.asked_at is None or one.joined is not None or one.state in _NOT_HERE:
        return None
    if evidence.proof not in _BY_ID or not batch.sat(one.seat):
        return None
    it = inputs.read(batch.tx, one.delivery)
    if not proves(entry, _handed(evidence.event, one.n, it.text, one.asked_at), batch.limits):
        return None
    return it.message_cursor if one.conversation == batch.head.id else 0


def _handed(event: str, attempt: int, text: str | None, asked_at: int) -> Handed:
    at: datetime = moment(asked_at)
    return Handed(event=event, attempt=attempt, text=text or "", at=at)


def _alike(batch: _Sync, one: Given, text: str | None) -> int:
    """How many attempts that may have been typed just now hold these very words."""
    same = 0
    for other in batch.mine():
        if other.id == one.id or other.state == SeatState.ACCEPTED:
            continue
        words = inputs.read(batch.tx, other.delivery).text
        same += normalise(words or "") == normalise(text or "")
    return same + 1


def _span_proven(batch: _Sync, entry: Entry, span: handoffs.Span) -> int | None:
    if span.seat is None or span.asked_at is None or span.to_cursor is None:
        return None
    if not batch.sat(span.seat):
        return None
    handed = _handed(span.id, span.tries, span.content, span.asked_at)
    if not proves(entry, handed, batch.limits):
        return None
    if span.conversation != batch.head.id:
        return 0
    if span.seat == batch.seat.id:
        handoffs.move(batch.tx, batch.head, span, SpanEvent.ACKNOWLEDGED)
    return span.to_cursor


def _accept(batch: _Sync, one: Given, proof: str) -> None:
    batch.shown = one.id
    for it in (*given.members(batch.tx.run, one), one):
        it.proof, it.shown_in, it.shown_cursor = proof, batch.session.n, batch.head.cursor
        it.acknowledged_at = it.acknowledged_at or batch.tx.at
        given.move(batch.tx, batch.head, it, SeatState.ACCEPTED)
    handoffs.drives(batch.tx, batch.head, one.start_cursor or 0)


def _limit(batch: _Sync, entry: Entry) -> None:
    """The harness takes no turns now; what it had taken ends, and is never moved by itself."""
    if entry.limit is None:
        return
    batch.limited = entry.limit
    for one in batch.mine():
        asked = moment(one.asked_at or one.started_at)
        if one.state in _HAS_IT and asked <= entry.limit.occurred_at:
            given.move(batch.tx, batch.head, one, SeatState.FAILED, LIMITED)
            batch.failed.append(one.delivery)


def _limit_again(batch: _Sync, entry: Entry) -> None:
    """It is sent again, since nobody said that all of it was done: the seat may not be parked yet.

    Once the session has answered it is over.
    """
    met = sessions.stood(batch.tx, batch.session, entry.id)
    if met is not None and met >= (batch.session.answer_cursor or 0):
        batch.limited = entry.limit


def _hear(batch: _Sync, session_id: str, report: Report | None) -> None:
    """What the session does now; only the one that holds the turn may end it."""
    seat, tx = batch.seat, batch.tx
    before = Turn(seat.activity_session, seat.activity)
    if report is None:
        _goes_on(batch, before)
        return
    current = seat.occupant.native.session_id
    if heard(before, report.activity, session_id, current=current) is before:
        return
    if report.activity is Activity.WAITING:
        later = batch.session.later(report.at, tx.at)
        _turn_over(batch, later)
        if later:
            _goes_on(batch, before)
            return
    seats.set_active(tx, seat.id, report.activity, session_id)


def _goes_on(batch: _Sync, turn: Turn) -> None:
    """Whatever the session that holds the turn writes is a sign of its life."""
    holds = turn.activity is Activity.RESPONDING and turn.session == batch.session_id
    if batch.accepted and holds:
        seats.set_active(batch.tx, batch.seat.id, Activity.RESPONDING, batch.session_id)


def _turn_over(batch: _Sync, later: Sequence[sessions.Words]) -> None:
    """What was answered is over; the newest answer is the answer to it.

    `later` was said after that end: it is of another turn, and so is what was answered since.
    """
    sessions.over(batch.tx, batch.session, later)
    theirs = {one.shown for one in later}
    newest = later[0].answered if later else batch.session.answer_cursor
    for one in _shown(batch):
        answer = _answer(batch, newest, one)
        if one.id not in theirs and (later or answer is not None):
            _ends(batch, one, answer)


def _next_turn(batch: _Sync) -> None:
    """A turn that was told to be over is not gone on with: what was not answered by it will not be.

    An answer that was written after its end was told counts.
    """
    sessions.rests(batch.tx, batch.session, rested=False)
    for one in _shown(batch):
        _ends(batch, one, _answer(batch, batch.session.answer_cursor, one))


def _shown(batch: _Sync) -> list[Given]:
    """What this session's rows have shown, and what its turn is all the answer to."""
    return [
        one
        for one in batch.mine()
        if one.state == SeatState.ACCEPTED
        and one.shown_in == batch.session.n
        and not wants_reply(Origin(inputs.read(batch.tx, one.delivery).origin))
    ]


def _answer(batch: _Sync, newest: int | None, one: Given) -> int | None:
    """Where the newest words of the harness stand, if they come behind its own.

    A session may go on in another seat: what is said there is not this seat's answer.
    """
    if newest is None or newest <= (one.shown_cursor or 0):
        return None
    said_by = events.said_by(batch.tx, one.conversation, newest)
    return newest if said_by == one.seat else None


def _ends(batch: _Sync, one: Given, answer: int | None) -> None:
    it = inputs.read(batch.tx, one.delivery)
    it.reply_cursor = answer
    code = None if answer is not None else NO_ANSWER
    given.move_with(batch.tx, batch.head, one, it, SeatState.DELIVERED, code)


def projected(tx: Transaction, seat: str, session_id: str, cursor: int) -> None:
    """See SeatStore.projected."""
    one, conversation = seats.attached(tx.run, seat)
    head, _ = heads.claim(tx, conversation)
    sessions.pin(tx, head, one.harness, session_id)
    handoffs.covered(tx, head, min(cursor, head.cursor))
    heads.save(tx, head)
