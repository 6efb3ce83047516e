"""Holds what the service promised and did against what is in its database, after everything.

It reads the file itself, not through the service: what the service says of itself is one thing to
check. The record of effects lies outside of the database and was written before each effect.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from clankie.core.delivery import (
    FINAL,
    INPUT,
    OPEN_SEAT,
    SEAT,
    SERVICE,
    InputState,
    SeatState,
    ServiceState,
    Transition,
    replay,
)

Row = dict[str, Any]
MARK = re.compile(r"\[([^]]+)\]")


@dataclass
class Account:
    """What became of everything. `violations` are sentences; there should be none.

    `started` counts, for each mark (what stands in brackets in a text), the turns that may have
    asked a model about it.
    """

    inputs: int = 0
    wakes: int = 0
    states: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    started: Counter[str] = field(default_factory=Counter)
    uncertain_after_effect: int = 0
    uncertain_before_effect: int = 0
    twice: int = 0
    lost: int = 0
    violations: list[str] = field(default_factory=list)


@dataclass
class Found:
    """The database and the record of effects, as rows."""

    conversations: list[Row]
    inputs: list[Row]
    attempts: list[Row]
    spans: list[Row]
    calls: list[Row]
    events: list[Row]
    moves: list[Transition]
    effects: list[dict[str, str]]
    integrity: str


def check(database: Path, effects: Path, promised: set[str]) -> Account:
    """Everything that is wrong, and the numbers. `promised`: what was answered 200 or 202."""
    found = read(database, effects)
    account = Account(inputs=len(found.inputs))
    account.wakes = sum(one["origin"] == "wake" for one in found.inputs)
    account.states.update(one["state"] for one in found.inputs)
    failed = [one for one in found.attempts if one["state"] in {"failed", "stalled"}]
    account.failures.update(f"{one['state']} {one['code']}" for one in failed)
    account.started.update(marks(found))
    lost = promised - {one["id"] for one in found.inputs}
    account.lost = len(lost)
    account.violations += [f"{one}: promised, and not there" for one in sorted(lost)]
    for rule in (integrity, logs, counts, ends, answers, tries, moves, evidence):
        account.violations += rule(found)
    twice = list(repeated(found))
    account.twice = len(twice)
    account.violations += twice
    touched = {one["mark"] for one in found.effects if one["what"] == "effect"}
    for one in found.inputs:
        if one["state"] == InputState.UNCERTAIN:
            account.uncertain_after_effect += one["id"] in touched
            account.uncertain_before_effect += one["id"] not in touched
    return account


def marks(found: Found) -> Iterator[str]:
    """The mark of each attempt that was started."""
    texts = {one["id"]: MARK.findall(one["text"]) for one in found.inputs if one["text"]}
    for attempt in found.attempts:
        if attempt["asked_at"] is not None:
            yield from texts.get(attempt["delivery"], [])


def read(database: Path, effects: Path) -> Found:
    """Look at the files; nothing is written."""
    connection = apsw.Connection(str(database), apsw.SQLITE_OPEN_READONLY)
    try:
        moved = _rows(connection, "SELECT record, before, after FROM transition ORDER BY seq")
        return Found(
            conversations=_rows(connection, "SELECT * FROM conversation"),
            inputs=_rows(connection, _named("input", "input.n")),
            attempts=_rows(connection, _named("attempt", "attempt.delivery, attempt.n")),
            spans=_rows(connection, "SELECT * FROM span"),
            calls=_rows(connection, "SELECT * FROM tool_call"),
            events=_rows(connection, _named("event", "event.conversation, event.cursor")),
            moves=[Transition(one["record"], one["before"], one["after"]) for one in moved],
            effects=_lines(effects),
            integrity=str(connection.execute("PRAGMA integrity_check").get),
        )
    finally:
        connection.close()


def _named(table: str, order: str) -> str:
    """All rows, with the id of their conversation instead of its number."""
    return (
        f"SELECT {table}.*, conversation.id AS conversation FROM {table} "
        f"JOIN conversation ON conversation.n = {table}.conversation ORDER BY {order}"
    )


def _rows(connection: apsw.Connection, statement: str) -> list[Row]:
    cursor = connection.execute(statement)
    rows: list[Row] = []
    for row in cursor:
        names = [column[0] for column in cursor.get_description()]
        rows.append(dict(zip(names, row, strict=True)))
    return rows


def _lines(effects: Path) -> list[dict[str, str]]:
    if not effects.exists():
        return []
    return [json.loads(line) for line in effects.read_text(encoding="utf-8").splitlines()]


def integrity(found: Found) -> Iterator[str]:
    """The file is whole."""
    if found.integrity != "ok":
        yield f"integrity_check says {found.integrity}"


def logs(found: Found) -> Iterator[str]:
    """Cursors are 1, 2, 3 … and the conversation knows the last."""
    for conversation in found.conversations:
        name = conversation["id"]
        cursors = [one["cursor"] for one in found.events if one["conversation"] == name]
        if cursors != list(range(1, conversation["cursor"] + 1)):
            yield f"{name}: its cursors are {cursors}, its head is {conversation['cursor']}"


def counts(found: Found) -> Iterator[str]:
    """What lists show of a conversation agrees with its inputs."""
    for conversation in found.conversations:
        inputs = [one for one in found.inputs if one["conversation"] == conversation["id"]]
        states = Counter(one["state"] for one in inputs)
        counted = {
            "running": states[InputState.RUNNING],
            "waiting": states[InputState.QUEUED],
            "held": sum(one["held"] is not None for one in inputs),
            "uncertain": states[InputState.UNCERTAIN],
        }
        for name, number in counted.items():
            if conversation[name] != number:
                yield f"{conversation['id']}: {name} says {conversation[name]}, there are {number}"


def at_seat(found: Found) -> dict[str, str]:
    """The inputs whose last attempt was at a seat, with its state."""
    last = {one["delivery"]: one for one in found.attempts}
    return {name: one["state"] for name, one in last.items() if one["seat"] is not None}


def ends(found: Found) -> Iterator[str]:
    """Nothing is left half way: each input has ended, is uncertain, or is held for a reason.

    What a seat has, or what waits for it, is not left: its harness goes on.
    """
    theirs = {name for name, state in at_seat(found).items() if state in OPEN_SEAT}
    for one in found.inputs:
        known = one["state"] in FINAL or one["state"] == InputState.UNCERTAIN
        if not known and one["held"] is None and one["id"] not in theirs:
            yield f"{one['id']}: left {one['state']}"


def answers(found: Found) -> Iterator[str]:
    """The words of an input stand in the log once; an answer once where it settled, else never."""
    said: Counter[str | None] = Counter()
    replied: Counter[str | None] = Counter()
    seated = at_seat(found)
    for event in found.events:
        body = json.loads(event["body"])
        if event["kind"] == "message":
            (replied if body["role"] == "agent" else said)[body.get("delivery_id")] += 1
    for one in found.inputs:
        if said[one["id"]] != 1:
            yield f"{one['id']}: its words stand in the log {said[one['id']]} times"
        if seated.get(one["id"]) not in {None, SeatState.REPLIED}:
            continue  # what a harness says stands in the log as its transcript
        settled = one["state"] == InputState.SETTLED
        if replied[one["id"]] != settled:
            yield f"{one['id']}: {one['state']}, and answered {replied[one['id']]} times"
        if settled and one["reply_cursor"] is None:
            yield f"{one['id']}: settled, and its receipt names no answer"


def tries(found: Found) -> Iterator[str]:
    """Only what was given back, or a wake that failed, is tried again; an uncertain one never."""
    again: set[str] = {ServiceState.RELEASED, SeatState.REFUSED}
    after_failure = again | {ServiceState.FAILED, ServiceState.STALLED}
    for one in found.inputs:
        states = [a["state"] for a in found.attempts if a["delivery"] == one["id"]]
        allowed = after_failure if one["origin"] == "wake" else again
        if not set(states[:-1]) <= allowed:
            yield f"{one['id']}: its attempts were {states}"
        if not {ServiceState.RESERVED, ServiceState.RUNNING}.isdisjoint(states):
            yield f"{one['id']}: an attempt is still open: {states}"


def moves(found: Found) -> Iterator[str]:
    """Each move is in the tables, and added up they give the states that the rows show."""
    seated = {one["id"] for one in found.attempts if one["seat"] is not None}
    spans = {one["id"] for one in found.spans}
    for move in found.moves:
        table: Any = SERVICE if "#" in move.record else INPUT
        if move.record in seated:
            table = SEAT
        if move.record in spans:
            continue  # the store's own tests and the simulation walk those
        if move.before is not None and move.after not in table[move.before]:
            yield f"{move.record}: moved from {move.before} to {move.after}"
    shown = {
        one["id"]: one["state"]
        for one in (*found.inputs, *found.attempts, *found.spans)
        if not one.get("pruned")  # of which only id, fingerprint and state are kept
    }
    if (added := replay(found.moves)) != shown:
        yield f"the moves give {added}, the rows {shown}"


def evidence(found: Found) -> Iterator[str]:
    """Nothing ran and nothing had an effect without its record, made beforehand."""
    started = {one["id"] for one in found.attempts if one["asked_at"] is not None}
    begun = {one["call_id"] for one in found.calls if one["effect"]}
    pruned = {one["id"] for one in found.inputs if one["pruned"]}
    for one in found.effects:
        run = one["what"] == "run"
        name = one["attempt" if run else "call"]
        if name.rpartition("#")[0] in pruned:
            continue  # its evidence was removed on purpose
        if run and name not in started:
            yield f"{name}: it ran, and nothing says that it was started"
        if not run and name not in begun:
            yield f"{name}: it had an effect, and nothing says that it was begun"


def repeated(found: Found) -> Iterator[str]:
    """No turn and no effect happens twice, and no input but a wake has two turns."""
    wakes = {one["id"] for one in found.inputs if one["origin"] == "wake"}
    done: Counter[str] = Counter()
    for one in found.effects:
        names = ["attempt", "delivery"] if one["what"] == "run" else ["call", "mark"]
        if one.get("delivery") in wakes:
            names.remove("delivery")
        done.update(f"{name} {one[name]}" for name in names)
    for what, times in done.items():
        if times > 1:
            yield f"{what}: {times} times"
