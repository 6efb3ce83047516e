"""Looks at the database file through a connection of its own, which cannot write."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import apsw

from clankie.core.admission import Mode
from clankie.core.projection import Projection
from clankie.core.seat import SeatEvent
from clankie.host.ports import TurnRequest
from clankie.host.storage import Call

Row = dict[str, Any]

PATIENCE, PAUSE = 3, 60_000
"""Refusals of one handoff after which others go out before it, and for how long: milliseconds."""

_EARLIER = """
SELECT id FROM input WHERE conversation = (SELECT n FROM conversation WHERE id = ?)
  AND state = 'queued' AND origin = 'owner' AND mode <> 'steer' AND message_cursor < ?
  AND reach = 'conversation'
  AND NOT EXISTS (SELECT 1 FROM attempt WHERE delivery = input.id AND seat IS NOT NULL)"""
_TRIED_AT_A_SEAT = "SELECT 1 FROM attempt WHERE delivery = ? AND seat IS NOT NULL"
_GIVEN = "SELECT state, seat, binding, poll_id, joined FROM attempt WHERE delivery = ? AND n = ?"
_SEALED = "SELECT state, seat, binding, poll_id FROM span WHERE id = ? AND tries = ?"
_CURSORS = "SELECT id, harness_cursor FROM conversation WHERE harness_cursor IS NOT NULL"
_ASKED = "SELECT id FROM seat WHERE conversation IS NOT NULL AND last_ask BETWEEN ? AND ?"
# Two may go out untold. The page was given before any harness was known to have driven there, and
# is asked for again after the start of a session said how far its harness has the log: then no
# handoff of that conversation was opened before it. Or its session refused the handoff time and
# again, and the last time was shortly before.
_UNTOLD = f"""
SELECT ran.id FROM attempt AS out
  JOIN conversation ON conversation.n = out.conversation
  JOIN attempt AS ran ON ran.conversation = out.conversation
WHERE out.delivery = ? AND out.n = ?
  AND ran.seat IS NULL AND ran.end_cursor > harness_cursor AND ran.end_cursor < out.start_cursor
  AND coalesce((SELECT min(seq) FROM transition JOIN span ON span.id = record
                WHERE span.conversation = out.conversation)
    < (SELECT seq FROM transition WHERE record = out.id AND after = 'attempting'), 1)
  AND NOT EXISTS (SELECT 1 FROM span
    WHERE span.conversation = out.conversation AND span.state = 'open'
      AND span.tries >= {PATIENCE} AND span.occupant = out.occupant
      AND out.asked_at BETWEEN span.asked_at AND span.asked_at + {PAUSE})"""
_HOME = """
SELECT id FROM conversation
WHERE n = (SELECT conversation FROM native_session WHERE session = ?)"""
_OUT = {"attempting", "taken", "accepted", "uncertain", "unresolved", "delivered"}
"""Where something is that was given out a moment ago."""
_CLOSED = "SELECT 1 FROM span WHERE id = ? AND state NOT IN ('attempting', 'unresolved')"
_STOPPING = """
SELECT delivery, n FROM attempt WHERE seat = ? AND stop_asked = 1 AND joined IS NULL
  AND state IN ('attempting', 'taken', 'accepted')"""
_TABLES = """
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
  AND name NOT LIKE 'event_words%' ORDER BY name"""
_HERE = "SELECT closed, reset_cursor FROM conversation WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Sight:
    """All of it at one moment."""

    conversations: list[Row]
    inputs: list[Row]
    attempts: list[Row]
    calls: list[Row]
    events: list[Row]
    moves: list[Row]
    wakes: list[Row]
    goals: list[Row]
    seats: list[Row]
    spans: list[Row]

    @property
    def states(self) -> dict[str, str]:
        """Inputs, attempts and handoffs by id."""
        found = (*self.inputs, *self.attempts, *self.spans)
        return {one["id"]: one["state"] for one in found}

    @property
    def last(self) -> dict[str, Row]:
        """The last attempt of each input."""
        return {one["delivery"]: one for one in self.attempts}

    def input(self, delivery: str) -> Row | None:
        return next((one for one in self.inputs if one["id"] == delivery), None)


def body_of(event: Row) -> dict[str, Any]:
    """What an event says, decoded once."""
    if "said" not in event:
        event["said"] = json.loads(event["body"])
    found: dict[str, Any] = event["said"]
    return found


def _with_conversation(table: str, order: str, join: str = "") -> str:
    return (
        f"SELECT {table}.*, conversation.id AS conversation FROM {table} "
        f"{join} JOIN conversation ON conversation.n = {table}.conversation ORDER BY {order}"
    )


class Glass:
    """One connection for each boot, opened at the first look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: apsw.Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, statement: str, *values: object) -> list[Row]:
        if self._connection is None:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            self._connection = apsw.Connection(f"file:{self._path}?mode=ro", flags)
            self._connection.row_trace = _named_row
        return cast("list[Row]", self._connection.execute(statement, values).fetchall())

    def sight(self) -> Sight:
        """Everything, as it is on disk now."""
        return Sight(
            conversations=self._rows("SELECT * FROM conversation ORDER BY n"),
            inputs=self._rows(_with_conversation("input", "input.n")),
            attempts=self._rows(_with_conversation("attempt", "attempt.delivery, attempt.n")),
            calls=self._rows("SELECT * FROM tool_call"),
            events=self._rows(_with_conversation("event", "event.conversation, event.cursor")),
            moves=self._rows("SELECT * FROM transition ORDER BY seq"),
            wakes=self._rows(_with_conversation("wake", "wake.id")),
            goals=self._rows(_with_conversation("goal", "goal.id")),
            seats=self._rows(_with_conversation("seat", "seat.n", "LEFT")),
            spans=self._rows(_with_conversation("span", "span.opened_at, span.id")),
        )

    def everything(self) -> dict[str, list[str]]:
        """Every row of every table that a unit writes, as text."""
        tables = [str(one["name"]) for one in self._rows(_TABLES)]
        return {name: [str(one) for one in self._rows(f"SELECT * FROM {name}")] for name in tables}

    def state(self, delivery: str) -> str | None:
        """Where an input is."""
        rows = self._rows("SELECT state FROM input WHERE id = ?", delivery)
        return rows[0]["state"] if rows else None

    def begins(self, request: TurnRequest) -> Iterator[str]:
        """What is wrong on disk at the moment in which a lane is asked."""
        rows = self._rows("SELECT state FROM attempt WHERE id = ?", request.attempt)
        if [one["state"] for one in rows] != ["running"]:
            yield f"{request.attempt} runs, on disk it is {rows}"
        if self._rows(_HERE, request.conversation)[0]["closed"]:
            yield f"{request.attempt} runs in a closed conversation"
        delivery = request.delivery
        if delivery.mode is not Mode.STEER and not self._rows(_TRIED_AT_A_SEAT, delivery.id):
            for one in self._rows(_EARLIER, request.conversation, delivery.message_cursor):
                yield f"{delivery.id} runs before {one['id']}, which came first"

    def given(
        self, seat: str, binding: str, poll_id: str, events: Sequence[SeatEvent]
    ) -> Iterator[str]:
        """What is wrong on disk at the moment in which a page comes."""
        for one in events:
            statement = _GIVEN if one.pieces else _SEALED
            found = self._rows(statement, one.id, one.attempt)
            row = found[0] if found else {}
            if row.get("state") not in _OUT or row.get("joined"):
                yield f"{one.id} is given out, on disk it is {row}"
            elif (row["seat"], row["binding"], row["poll_id"]) != (seat, binding, poll_id):
                yield f"{one.id} is given to {seat} {binding} {poll_id}, on disk to {row}"
            if one.pieces and (left := self._rows(_UNTOLD, one.id, one.attempt)):
                yield f"{one.id} is given out before its harness is told of {left}"

    def harness_cursors(self) -> list[tuple[str, int]]:
        """How far the harness of each conversation has the log, where one ever drove."""
        return [(one["id"], one["harness_cursor"]) for one in self._rows(_CURSORS)]

    def home(self, session: str) -> str | None:
        """The conversation that a native session belongs to, if it was ever shown any."""
        rows = self._rows(_HOME, session)
        return rows[0]["id"] if rows else None

    def told(self, handoff: str) -> bool:
        """Whether it is one that is closed."""
        return bool(self._rows(_CLOSED, handoff))

    def stopping(self, seat: str) -> list[tuple[str, int]]:
        """What is in flight there although it was to be stopped: events and attempts."""
        return [(one["delivery"], one["n"]) for one in self._rows(_STOPPING, seat)]

    def asked_within(self, now: datetime, seconds: float) -> set[str]:
        """The attached seats whose stored ask is at most that old, and not of the future."""
        at = int(now.timestamp() * 1_000)
        rows = self._rows(_ASKED, at - int(seconds * 1_000), at)
        return {one["id"] for one in rows}

    def acts(self, request: TurnRequest, call: Call) -> Iterator[str]:
        """What is wrong on disk at the moment in which a tool does its effect."""
        rows = self._rows(
            "SELECT state, effect FROM tool_call WHERE attempt = ? AND call_id = ?",
            request.attempt,
            call.call_id,
        )
        if rows != [{"state": "attempting", "effect": 1}]:
            yield f"the effect of {call.call_id} happens, on disk its call is {rows}"

    def projected(self, request: TurnRequest, projection: Projection) -> Iterator[str]:
        """What is wrong with a view that a turn is shown."""
        limits = request.settings.projection
        if len(projection.text) > limits.budget:
            yield f"a view of {len(projection.text)} characters, {limits.budget} are allowed"
        shown = [one.cursor for one in projection.entries]
        if shown != sorted(set(shown)):
            yield f"a view out of order: {shown}"
        if request.delivery.message_cursor in shown:
            yield f"{request.delivery.id} is shown its own words"
        here = self._rows(_HERE, request.conversation)[0]
        if shown and shown[0] <= here["reset_cursor"]:
            yield f"{request.delivery.id} is shown what was before the reset"


def _named_row(cursor: apsw.Cursor, row: tuple[Any, ...]) -> Row:
    # Of two columns with one name the later counts: the id of a conversation instead of its number.
    return {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}
