"""What a seat is given: which waiting inputs make the next page, in which order, as which events.

Rule 1: one page rule, four policies. They differ in what they let a seat hold back or reserve.
Rule 2: owner turns and escalations come before everything else, each by arrival. (A handoff comes
        before both, alone; it is no input and is chosen by the store.)
Rule 3: escalations of one linked channel that wait together become one event, oldest first, under
        the newest one's id. Whole messages only: what does not fit waits for a later page.
Rule 4: a held Queue waits for the end of the seat's own turn. Nothing else does.
Rule 5: this module gives structure. Who renders untrusted text into a prompt frames it.
"""

from __future__ import annotations

import json.encoder
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from clankie.core.admission import Mode, Origin, Reach
from clankie.core.conversation import OPERATOR, Kind
from clankie.core.delivery import SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import EventKind, Piece

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clankie.core.conversation import Author
    from clankie.core.settings import SeatLimits

FRAME: Final = 512
"""Characters that framing and attribution may add to one piece of an event that has several."""

ENVELOPE: Final = 1_024
"""Bytes of an event around its content: ids, times, attribution."""

_quoted: Final = json.encoder.encode_basestring


class Policy(StrEnum):
    """What kind of mailbox a seat has at its conversation."""

    HEAD = "head"
    LEAD = "lead"
    ROOM = "room"
    WORKER = "worker"

    @property
    def holds(self) -> bool:
        """Whether silence is waited out before a takeover: at the head alone."""
        return self is Policy.HEAD

    @property
    def reserves(self) -> bool:
        """Whether one unresolved delivery keeps every other away from the seat."""
        return self is Policy.WORKER


def policy_of(conversation: str, kind: Kind) -> Policy:
    """The policy of a seat that is attached to this conversation."""
    if kind is Kind.ROOM:
        return Policy.ROOM
    return Policy.HEAD if conversation == HEAD else Policy.LEAD


def kind_of(origin: Origin) -> EventKind:
    """As what kind of event a seat is given such an input."""
    match origin:
        case Origin.OWNER:
            return EventKind.TURN
        case Origin.ESCALATION:
            return EventKind.ESCALATION
        case Origin.WATCH:
            return EventKind.WATCH
        case Origin.REPORT | Origin.ROOM:
            return EventKind.MESSAGE
        case Origin.WAKE | Origin.LINEAR | Origin.ROUND | Origin.INTERNAL:
            return EventKind.WAKE
        case Origin.GOAL:
            # `driver.select` gives no goal to a seat; this is only what it would be.
            return EventKind.WAKE
        case _:
            assert_never(origin)


def wants_reply(origin: Origin) -> bool:
    """Whether an answer by `reply` is wanted. An owner's turn is answered by the transcript."""
    return origin in {Origin.ESCALATION, Origin.ROOM}


_SOURCES: Final = {Origin.REPORT: "worker-report"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An input that is stored at a seat, as much as the page rule needs of it.

    `arrived` orders inputs: the cursor of their words. `channel` is the linked channel that an
    escalation came from; `source` what it is called, when that is not its channel or origin.
    `name` is what people call the author.
    """

    delivery: str
    origin: Origin
    arrived: int
    text: str
    author: Author = OPERATOR
    name: str = ""
    channel: str | None = None
    source: str | None = None
    mode: Mode = Mode.AUTO
    reach: Reach = Reach.CONVERSATION

    @property
    def kind(self) -> EventKind:
        """As what it reaches the seat."""
        return kind_of(self.origin)

    @property
    def called(self) -> str:
        """The event's `source` on the wire."""
        if self.source is not None:
            return self.source
        if self.channel is not None:
            return self.channel
        return _SOURCES.get(self.origin, self.origin.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One event of a page: an input, or several that one reply answers.

    `id` is the newest's delivery; `pieces` are oldest first, that one last.
    """

    id: str
    kind: EventKind
    source: str
    reply: bool
    steer: bool
    cursor: int
    pieces: tuple[Piece, ...]

    @property
    def members(self) -> tuple[str, ...]:
        """The older deliveries that go with it."""
        return tuple(piece.delivery for piece in self.pieces[:-1])

    @property
    def text(self) -> str:
        """Everything in it, unframed: for hosts of plain text and for tests, not for prompts."""
        parts = [*(piece.text for piece in self.pieces), *filter(None, [self.pieces[-1].note])]
        return "\n\n".join(parts)


class Due(NamedTuple):
    """When an attempt lapses, and what it is then."""

    at: float
    state: SeatState


def excerpt(text: str, limit: int) -> tuple[str, int]:
    """`text` when it has at most `limit` characters, else its first part; and how many are missing.

    15,000 of 16,384: the rest of the room is for the note and the frame.
    """
    if len(text) <= limit:
        return text, 0
    kept = limit * 15_000 // 16_384
    return text[:kept], len(text) - kept


def page(
    waiting: Sequence[Waiting],
    policy: Policy,
    limits: SeatLimits,
    *,
    responding: bool,
    unresolved: Collection[str] = (),
) -> tuple[Batch, ...]:
    """The next page, in the order in which the seat shall read it; what is not in it waits.

    `responding`: the seat's own turn runs. `unresolved`: deliveries that the seat may have seen and
    that have not ended.
    """
    if policy.reserves and unresolved:
        return ()
    takeable = [one for one in waiting if not (responding and one.reach is Reach.HELD_QUEUE)]
    batches = [
        _batch(group, limits, responding=responding)
        for group in _groups(sorted(takeable, key=_order), limits)
    ]
    return _bounded(batches, 1 if policy.reserves else limits.page_events, limits.page_bytes)


def deadline(
    state: SeatState,
    limits: SeatLimits,
    *,
    attempted_at: float,
    acknowledged_at: float | None,
    alive_at: float | None = None,
    gone: bool = False,
) -> Due | None:
    """When an attempt at a seat lapses; None when time alone does not end it.

    Times are seconds of any one clock; a restart counts on from what is stored. `alive_at`: the
    last sign of life of a native turn that runs; it is not cut short. `gone`: the harness, whose
    transcript would have shown the words, provably ended: what only its queue had is not known.
    """
    match state:
        case SeatState.ATTEMPTING:
            return Due(attempted_at + limits.acknowledge, SeatState.UNCERTAIN)
        case SeatState.TAKEN | SeatState.ACCEPTED:
            at = (attempted_at if acknowledged_at is None else acknowledged_at) + limits.reply
            if alive_at is not None:
                at = max(at, alive_at + limits.silent_turn)
            lost = gone and state is SeatState.TAKEN
            return Due(at, SeatState.UNCERTAIN if lost else SeatState.DELIVERED)
        case (
            SeatState.OFFERED
            | SeatState.REPLIED
            | SeatState.DELIVERED
            | SeatState.REFUSED
            | SeatState.RELEASED
            | SeatState.FAILED
            | SeatState.UNCERTAIN
        ):
            return None
        case _:
            assert_never(state)


def _order(one: Waiting) -> tuple[bool, int]:
    return one.kind not in {EventKind.TURN, EventKind.ESCALATION}, one.arrived


def _groups(ordered: Sequence[Waiting], limits: SeatLimits) -> list[list[Waiting]]:
    """Each channel's escalations together, where the oldest of them stands; what is over waits."""
    together: dict[str, list[Waiting]] = defaultdict(list)
    groups: list[list[Waiting]] = []
    for one in ordered:
        if one.kind is not EventKind.ESCALATION or one.channel is None:
            groups.append([one])
            continue
        if one.channel not in together:
            groups.append(together[one.channel])
        together[one.channel].append(one)
    return [_whole(group, limits.content) for group in groups]


def _whole(group: list[Waiting], limit: int) -> list[Waiting]:
    """The oldest of a group that fit into one event; the first always does, cut if need be."""
    kept, room = group[:1], limit - len(group[0].text) - FRAME
    for one in group[1:]:
        room -= len(one.text) + FRAME
        if room < 0:
            break
        kept.append(one)
    return kept


def _batch(group: Sequence[Waiting], limits: SeatLimits, *, responding: bool) -> Batch:
    newest = group[-1]
    return Batch(
        id=newest.delivery,
        kind=newest.kind,
        source=newest.called,
        reply=wants_reply(newest.origin),
        steer=responding and _steers(newest),
        cursor=newest.arrived,
        pieces=tuple(_piece(one, limits.content) for one in group),
    )


def _steers(one: Waiting) -> bool:
    """Whether it may join a turn that runs: what the owner says, and what asks to."""
    if one.reach is Reach.HELD_QUEUE or one.mode is Mode.QUEUE:
        return False
    return one.mode is Mode.STEER or one.kind in {EventKind.TURN, EventKind.ESCALATION}


def _piece(one: Waiting, limit: int) -> Piece:
    whole = Piece(
        delivery=one.delivery,
        author=one.author,
        source=one.called,
        cursor=one.arrived,
        text=one.text,
        name=one.name,
    )
    text, omitted = excerpt(one.text, limit)
    return replace(whole, text=text, omitted=omitted)


def _bounded(batches: Sequence[Batch], most: int, room: int) -> tuple[Batch, ...]:
    """As many as fit, without passing one over: a later one must not overtake."""
    kept: list[Batch] = []
    for batch in batches[:most]:
        room -= size(batch)
        if kept and room < 0:
            break
        kept.append(batch)
    return tuple(kept)


def size(batch: Batch) -> int:
    """Bytes that an event takes of a page, about: its texts as JSON, their frames, the envelope."""
    texts = sum(len(_quoted(one.text).encode(errors="surrogatepass")) for one in batch.pieces)
    return texts + FRAME * len(batch.pieces) + ENVELOPE
