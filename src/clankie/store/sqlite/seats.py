"""The row of a seat: who sits there, what it can do, where it is attached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.core.seat import Activity, Capabilities, EventKind, Native, Occupant
from clankie.core.seat_errors import SeatNotFoundError
from clankie.host.seatstore import Counts, Seat
from clankie.store.sqlite import heads
from clankie.store.sqlite.sql import rows
from clankie.store.sqlite.values import millis, moment, moment_or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.driver import Standing
    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.receipts import Run
    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_COLUMNS: Final = """
SELECT seat.id, seat.harness, fleet, pane, seat.session, pid, process_started_at, capabilities,
  registered_at, (SELECT id FROM conversation WHERE n = seat.granted), token,
  (SELECT id FROM conversation WHERE n = seat.conversation), attached_at, last_ask, parked_until,
  park_reason, activity, activity_session, activity_at, retired,
  EXISTS (SELECT 1 FROM native_session AS native WHERE native.harness = seat.harness
    AND native.session = seat.session
    AND (native.retired_at IS NOT NULL OR native.conversation <> seat.conversation))
FROM seat"""
_BY_ID: Final = f"{_COLUMNS} WHERE seat.id = ? AND retired = 0"
_BY_OCCUPANT: Final = f"{_COLUMNS} WHERE seat.occupant = ? AND retired = 0"
_THERE: Final = f"{_COLUMNS} WHERE seat.conversation = ?"
_ALL: Final = f"{_COLUMNS} WHERE retired = 0 ORDER BY seat.n"
_STILL: Final = "SELECT 1 FROM seat WHERE id = ? AND occupant = ? AND conversation = ?"
_OCCUPANT: Final = "SELECT occupant FROM seat WHERE id = ?"
_HARNESS: Final = "SELECT harness FROM seat WHERE id = ?"
_SAT: Final = "SELECT 1 FROM seat WHERE id = ? AND harness = ? AND session = ?"
_CAPABILITIES: Final = "SELECT capabilities FROM seat WHERE id = ?"
_INSERT: Final = """
INSERT INTO seat (id, harness, occupant, fleet, pane, session, pid, process_started_at,
  capabilities, registered_at, granted, token)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT n FROM conversation WHERE id = ?), ?)"""
_AGAIN: Final = """
UPDATE seat SET capabilities = ?, granted = (SELECT n FROM conversation WHERE id = ?), token = ?
WHERE id = ?"""
_OCCUPIED: Final = """
UPDATE seat SET occupant = ?, fleet = ?, pane = ?, session = ?, pid = ?, process_started_at = ?,
  activity = NULL, activity_session = NULL, activity_at = NULL
WHERE id = ?"""
_ATTACH: Final = "UPDATE seat SET conversation = ?, attached_at = ? WHERE id = ?"
_ASKED: Final = "UPDATE seat SET last_ask = ? WHERE id = ? AND retired = 0"
_PARK: Final = "UPDATE seat SET parked_until = ?, park_reason = ? WHERE id = ?"
_ACTIVE: Final = """
UPDATE seat SET activity = ?, activity_session = ?, activity_at = ? WHERE id = ?"""
_RETIRE: Final = "UPDATE seat SET retired = 1 WHERE id = ?"
_COUNTS: Final = """
SELECT (SELECT count(*) FROM attempt WHERE seat = :seat AND state = 'offered'),
  (SELECT count(*) FROM attempt
    WHERE seat = :seat AND state IN ('attempting', 'taken', 'accepted'))"""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def read(run: Run, seat: str) -> Seat:
    """One that is not retired. Raises SeatNotFoundError."""
    row = run(_BY_ID, (seat,)).fetchone()
    if row is None:
        raise SeatNotFoundError(seat)
    return _seat(row)


def by_occupant(run: Run, occupant: str) -> Seat | None:
    """Where this native session sits."""
    row = run(_BY_OCCUPANT, (occupant,)).fetchone()
    return None if row is None else _seat(row)


def attached_to(run: Run, head: Head) -> Seat | None:
    """The seat at this conversation."""
    row = run(_THERE, (head.n,)).fetchone()
    return None if row is None else _seat(row)


def attached(run: Run, seat: str) -> tuple[Seat, str]:
    """A seat and the conversation it is attached to. Raises SeatNotFoundError: to none."""
    found = read(run, seat)
    if found.conversation is None:
        raise SeatNotFoundError(seat)
    return found, found.conversation


def occupant_of(run: Run, seat: str) -> str | None:
    """Who sits there now, in a retired one too."""
    row = run(_OCCUPANT, (seat,)).fetchone()
    return None if row is None else row[0]


def harness_of(run: Run, seat: str) -> str | None:
    """What runs there, in a retired one too."""
    row = run(_HARNESS, (seat,)).fetchone()
    return None if row is None else row[0]


def sat(run: Run, seat: str, harness: str, session: str) -> bool:
    """Whether this native session is, or was to its end, the one of that seat."""
    return run(_SAT, (seat, harness, session)).fetchone() is not None


def shows(run: Run, seat: str) -> bool:
    """Whether its transcript shows what it was given, of a retired one too."""
    row = run(_CAPABILITIES, (seat,)).fetchone()
    return row is not None and _capable(row[0]).transcript


def everyone(connection: Database) -> Sequence[Seat]:
    """See SeatStore.all."""
    return [_seat(row) for row in rows(connection, _ALL)]


def still(tx: Transaction, head: Head, standing: Standing | None) -> Standing | None:
    """The standing, if that seat is attached here yet, with that occupant."""
    if standing is None:
        return None
    there = tx.row(_STILL, (standing.seat, standing.occupant, head.n)) is not None
    return standing if there else None


def add(tx: Transaction, seat: Seat) -> None:
    """Keep a new one, attached nowhere."""
    occupant = seat.occupant
    values = (
        seat.id,
        seat.harness,
        occupant.id,
        *_where(occupant),
        _capabilities(seat.capabilities),
        millis(seat.registered_at),
        seat.granted,
        seat.token,
    )
    tx.run(_INSERT, values)


def renew(tx: Transaction, seat: str, anew: Seat) -> None:
    """The same occupant registered again, perhaps with other capabilities."""
    values = (_capabilities(anew.capabilities), anew.granted, anew.token, seat)
    tx.run(_AGAIN, values)


def occupy(tx: Transaction, seat: str, occupant: Occupant) -> None:
    """Another session sits there; what the one before did says nothing of it."""
    tx.run(_OCCUPIED, (occupant.id, *_where(occupant), seat))


def place(tx: Transaction, seat: str, head: Head | None) -> None:
    """Attach it there, or nowhere; its former conversation shows it too."""
    at = (None, None) if head is None else (head.n, tx.at)
    tx.run(_ATTACH, (*at, seat))


def asked(tx: Transaction, seat: str) -> None:
    """See SeatStore.asked."""
    if not tx.changed(_ASKED, (tx.at, seat)):
        raise SeatNotFoundError(seat)


def set_parked(tx: Transaction, seat: str, until: int | None, reason: str | None) -> None:
    """Until when it takes nothing."""
    tx.run(_PARK, (until, reason, seat))


def set_active(tx: Transaction, seat: str, activity: Activity, session: str) -> None:
    """What the session that holds the turn does now."""
    tx.run(_ACTIVE, (activity, session, tx.at, seat))


def set_retired(tx: Transaction, seat: str) -> None:
    """Offer it nothing again."""
    tx.run(_RETIRE, (seat,))


def counts(connection: Database, seat: str) -> Counts:
    """See MailStore.counts."""
    waiting, in_flight = rows(connection, _COUNTS, {"seat": seat})[0]
    return Counts(waiting, in_flight)


def conversation_of(tx: Transaction, seat: Seat) -> Head | None:
    """The row of the conversation it is attached to, taken for this node."""
    return None if seat.conversation is None else heads.claim(tx, seat.conversation)[0]


def _where(occupant: Occupant) -> tuple[Any, ...]:
    native = occupant.native
    started = native.process_started_at
    return occupant.fleet, occupant.pane, native.session_id, native.pid, started


def _capabilities(can: Capabilities) -> str:
    wire = {
        "kinds": sorted(can.kinds),
        "transcript": can.transcript,
        "steer": can.steer,
        "interrupt": can.interrupt,
        "version": can.version,
    }
    return _encode(wire).decode()


def _capable(stored: str) -> Capabilities:
    wire: dict[str, Any] = _decode(stored)
    return Capabilities(
        kinds=frozenset(EventKind(kind) for kind in wire["kinds"]),
        transcript=wire["transcript"],
        steer=wire["steer"],
        interrupt=wire["interrupt"],
        version=wire["version"],
    )


def _seat(row: tuple[Any, ...]) -> Seat:
    (seat, harness, fleet, pane, session, pid, started, capabilities, registered, granted) = row[
        :10
    ]
    (token, conversation, attached_at, last_ask, parked, park_reason) = row[10:16]
    (activity, activity_session, activity_at, retired, stale) = row[16:]
    native = Native(session, pid, started)
    return Seat(
        id=seat,
        harness=harness,
        occupant=Occupant(fleet=fleet, pane=pane, harness=harness, native=native),
        capabilities=_capable(capabilities),
        registered_at=moment(registered),
        granted=granted,
        token=token,
        conversation=conversation,
        attached_at=moment_or_none(attached_at),
        last_ask=moment_or_none(last_ask),
        parked_until=moment_or_none(parked),
        park_reason=park_reason,
        activity=None if activity is None else Activity(activity),
        activity_session=activity_session,
        activity_at=moment_or_none(activity_at),
        stale=bool(stale),
        retired=bool(retired),
    )
