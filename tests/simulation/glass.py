"""Looks at the database file through a connection of its own, which cannot write."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import apsw

from clankie.core.admission import Mode
from clankie.core.projection import Projection
from clankie.host.ports import TurnRequest
from clankie.host.storage import Call

Row = dict[str, Any]

_EARLIER = """
SELECT id FROM input WHERE conversation = (SELECT n FROM conversation WHERE id = ?)
  AND state = 'queued' AND origin = 'owner' AND mode <> 'steer' AND message_cursor < ?"""
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

    @property
    def states(self) -> dict[str, str]:
        """Inputs and attempts by id."""
        return {one["id"]: one["state"] for one in (*self.inputs, *self.attempts)}

    def input(self, delivery: str) -> Row | None:
        return next((one for one in self.inputs if one["id"] == delivery), None)


def _with_conversation(table: str, order: str) -> str:
    return (
        f"SELECT {table}.*, conversation.id AS conversation FROM {table} "
        f"JOIN conversation ON conversation.n = {table}.conversation ORDER BY {order}"
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
        )

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
        if delivery.mode is not Mode.STEER:
            for one in self._rows(_EARLIER, request.conversation, delivery.message_cursor):
                yield f"{delivery.id} runs before {one['id']}, which came first"

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
