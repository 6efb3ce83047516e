"""The row of an attempt at a seat, its moves, and the input that follows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import SYSTEM, Turn, TurnPhase
from clankie.core.delivery import OPEN_SEAT, InputState, SeatState, seat_step
from clankie.core.errors import TransitionRefusedError
from clankie.core.receipt import explain
from clankie.store.sqlite import attempts, events, heads, inputs, receipts
from clankie.store.sqlite.inputs import Input, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.driver import Fence, ToSeat
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.receipts import Run
    from clankie.store.sqlite.unit import Transaction

_COLUMNS: Final = (
    "id, delivery, (SELECT id FROM conversation WHERE n = attempt.conversation), n, state, seat, "
    "occupant, node, started_at, asked_at, ended_at, code, joined, start_cursor, binding, poll_id, "
    "place, steer, acknowledged_at, proof, "
    "shown_in, shown_cursor, stop_asked"
)
_BY_NUMBER: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE delivery = ? AND n = ? AND seat = ?"""
_AT_ANY: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE delivery = ? AND n = ? AND seat IS NOT NULL"""
_OPEN: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE delivery = ? AND {attempts.OPEN} AND seat IS NOT NULL"""
_OFFERED: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE seat = ? AND state = 'offered' ORDER BY started_at, id"""
_IN_FLIGHT: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE seat = ? AND state IN ('attempting', 'taken', 'accepted')
ORDER BY asked_at, start_cursor"""
_MEMBERS: Final = f"SELECT {_COLUMNS} FROM attempt WHERE joined = ? ORDER BY place"
_PAGE: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE seat = ? AND poll_id = ? AND binding = ? ORDER BY place"""
_EVERYWHERE: Final = f"""
SELECT {_COLUMNS} FROM attempt WHERE state IN ('attempting', 'taken', 'accepted')
ORDER BY asked_at, start_cursor"""
_STORED_ANYWHERE: Final = f"SELECT {_COLUMNS} FROM attempt WHERE state = 'offered'"
_UNSETTLED: Final = """
SELECT 1 FROM (
  SELECT conversation FROM attempt
  WHERE seat = ? AND state IN ('attempting', 'taken', 'accepted')
  UNION ALL SELECT conversation FROM attempt WHERE seat = ? AND state = 'uncertain')
WHERE conversation = (SELECT n FROM conversation WHERE id = ?) LIMIT 1"""
_INSERT: Final = """
INSERT INTO attempt (id, delivery, conversation, n, state, node, token, started_at, seat, occupant)
VALUES (?, ?, ?, ?, 'offered', ?, ?, ?, ?, ?)"""
_MOVE: Final = """
UPDATE attempt SET state = ?, asked_at = ?, ended_at = ?, code = ?, joined = ?, start_cursor = ?,
  binding = ?, poll_id = ?, place = ?, steer = ?, acknowledged_at = ?, proof = ?,
  shown_in = ?, shown_cursor = ?
WHERE id = ? AND state = ?"""
_STOP: Final = f"UPDATE attempt SET stop_asked = 1 WHERE (id = ? OR joined = ?) AND {attempts.OPEN}"

INTERRUPTED: Final = "interrupted"
"""The code of an end that somebody asked the harness for."""

_PHASES: Final = {
    InputState.RUNNING: TurnPhase.STARTED,
    InputState.SETTLED: TurnPhase.COMPLETED,
    InputState.ABSORBED: TurnPhase.COMPLETED,
    InputState.QUEUED: TurnPhase.ADMITTED,
    InputState.FAILED: TurnPhase.FAILED,
    InputState.CANCELLED: TurnPhase.CANCELLED,
    InputState.NOT_SENT: TurnPhase.CANCELLED,
    InputState.UNCERTAIN: TurnPhase.UNCERTAIN,
}


@dataclass(slots=True)
class Given:
    """An attempt's row. `joined`: the attempt of the event under whose id it was handed over.

    `shown_in`, `shown_cursor`: the session in which a row showed its words, and where the log ended
    then; an answer to it is of that session and stands behind.
    """

    id: str
    delivery: str
    conversation: str
    n: int
    state: str
    seat: str
    occupant: str
    node: str
    started_at: int
    asked_at: int | None = None
    ended_at: int | None = None
    code: str | None = None
    joined: str | None = None
    start_cursor: int | None = None
    binding: str | None = None
    poll_id: str | None = None
    place: int | None = None
    steer: int = 0
    acknowledged_at: int | None = None
    proof: str | None = None
    shown_in: int | None = None
    shown_cursor: int | None = None
    stop_asked: int = 0

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.state in OPEN_SEAT


def read(run: Run, seat: str, delivery: str, n: int) -> Given | None:
    """The attempt of this number at this seat, if there ever was one."""
    row = run(_BY_NUMBER, (delivery, n, seat)).fetchone()
    return None if row is None else Given(*row)


def at_any(run: Run, delivery: str, n: int) -> Given | None:
    """The attempt of this number, if it was at a seat, whichever."""
    row = run(_AT_ANY, (delivery, n)).fetchone()
    return None if row is None else Given(*row)


def offered(run: Run, seat: str) -> Sequence[Given]:
    """What is stored there and was not given out."""
    return [Given(*row) for row in run(_OFFERED, (seat,)).fetchall()]


def in_flight(run: Run, seat: str | None) -> Sequence[Given]:
    """What a seat (None: any) may have seen and has not ended."""
    found = run(_EVERYWHERE, ()) if seat is None else run(_IN_FLIGHT, (seat,))
    return [Given(*row) for row in found.fetchall()]


def unsettled(run: Run, seat: str, conversation: str) -> bool:
    """Whether the seat was given something there of which it may still show what became."""
    return run(_UNSETTLED, (seat, seat, conversation)).fetchone() is not None


def stored_anywhere(run: Run) -> Sequence[Given]:
    """What is stored at any seat."""
    return [Given(*row) for row in run(_STORED_ANYWHERE, ()).fetchall()]


def open_of(run: Run, delivery: str) -> Given | None:
    """The open attempt of an input, when it is at a seat."""
    row = run(_OPEN, (delivery,)).fetchone()
    return None if row is None else Given(*row)


def members(run: Run, one: Given) -> Sequence[Given]:
    """Those that went with it, oldest first."""
    return [Given(*row) for row in run(_MEMBERS, (one.id,)).fetchall()]


def page(run: Run, seat: str, binding: str, poll_id: str) -> Sequence[Given]:
    """What a poll was given, members too, in order."""
    return [Given(*row) for row in run(_PAGE, (seat, poll_id, binding)).fetchall()]


def offer(tx: Transaction, head: Head, fence: Fence, one: Input, to: ToSeat) -> Given:
    """Store an input at a seat for its next poll; it goes on waiting."""
    n = attempts.last(tx, one.id) + 1
    made = Given(
        id=attempts.identity(one.id, n),
        delivery=one.id,
        conversation=head.id,
        n=n,
        state=SeatState.OFFERED,
        seat=to.seat,
        occupant=to.occupant,
        node=fence.node,
        started_at=tx.at,
    )
    it = made.id, one.id, head.n, n
    tx.run(_INSERT, (*it, fence.node, fence.token, tx.at, to.seat, to.occupant))
    record(tx, made.id, None, made.state)
    return made


def move(
    tx: Transaction, head: Head, given: Given, after: SeatState, code: str | None = None
) -> None:
    """Move an attempt; its input follows, and the log tells of it. The caller saves the head.

    What else changes of the attempt stands on it already.

    Raises:
        TransitionRefusedError: core has no such move, or the row is not what was read.
    """
    move_with(tx, head, given, inputs.read(tx, given.delivery), after, code)


def move_with(
    tx: Transaction,
    head: Head,
    given: Given,
    one: Input,
    after: SeatState,
    code: str | None = None,
) -> None:
    """As `move`, for an input that was read and on which what the attempt gave it stands."""
    before = SeatState(given.state)
    step = seat_step(
        given.id,
        (before, after),
        one.id,
        InputState(one.state),
        member=given.joined is not None,
        cancelled=bool(given.stop_asked) and code == INTERRUPTED,
    )
    _write(tx, given, before, after, code)
    for state in step.inputs:
        one.code = None if state in {InputState.QUEUED, InputState.RUNNING} else code
        inputs.move(tx, head, one, state)
    if step.inputs:
        _tell(tx, head, one, code)


def _write(
    tx: Transaction, given: Given, before: SeatState, after: SeatState, code: str | None
) -> None:
    given.state, given.code = after, code
    if after is SeatState.ATTEMPTING:
        given.asked_at = tx.at
    given.ended_at = None if given.open else tx.at
    values = (
        after,
        given.asked_at,
        given.ended_at,
        code,
        given.joined,
        given.start_cursor,
        given.binding,
        given.poll_id,
        given.place,
        given.steer,
        given.acknowledged_at,
        given.proof,
        given.shown_in,
        given.shown_cursor,
        given.id,
        before,
    )
    if not tx.changed(_MOVE, values):
        raise TransitionRefusedError(f"The attempt {given.id!r}", before, after)
    record(tx, given.id, before, after)


def _tell(tx: Transaction, head: Head, one: Input, code: str | None) -> None:
    """The turn of it. Why it waits again is a matter of routing, and no failure."""
    waits = one.state == InputState.QUEUED
    unknown = one.state == InputState.UNCERTAIN
    told = Turn(
        phase=_PHASES[InputState(one.state)],
        delivery_id=one.id,
        code=None if waits else code,
        detail=explain(receipts.of(tx.run, one)) if unknown else one.detail,
        routing_reason=code if waits else None,
    )
    events.append(tx, head, SYSTEM, told)


def stop(tx: Transaction, delivery: str) -> tuple[str, int] | None:
    """See DeliveryStore.stop."""
    one = open_of(tx.run, delivery)
    if one is None or one.state == SeatState.OFFERED:
        return None
    heads.decided(tx, one.conversation)
    event = one.joined or one.id
    tx.run(_STOP, (event, event))
    return attempts.delivery_of(event), int(event.rpartition("#")[2])


def cancelled(tx: Transaction, head: Head, one: Input) -> None:
    """An input that waits again, and that the owner did not want any more."""
    inputs.move(tx, head, one, InputState.CANCELLED)
    _tell(tx, head, one, None)


def release(tx: Transaction, head: Head, given: Given, reason: str) -> None:
    """What was stored at a seat waits for a driver again, with the reason on its receipt."""
    move(tx, head, given, SeatState.RELEASED, reason)


def failed(tx: Transaction, head: Head, one: Input, code: str) -> None:
    """An input that waits ends failed; its `detail` stands on it already."""
    one.code = code
    inputs.move(tx, head, one, InputState.FAILED)
    _tell(tx, head, one, code)


def undelivered(tx: Transaction, head: Head, one: Input, reason: str) -> None:
    """An input that may reach nobody else ends as never sent."""
    one.code = reason
    inputs.move(tx, head, one, InputState.NOT_SENT)
    _tell(tx, head, one, reason)
