"""What must hold of a database at any moment, read from the file itself."""

import json
from collections import Counter
from pathlib import Path

import apsw

from clankie.core.delivery import Transition, replay

_COUNTED = {"queued": "waiting", "running": "running", "uncertain": "uncertain"}

_INPUTS = "SELECT conversation, state, held FROM input"
_LOG = "SELECT cursor, ordinal, kind, body FROM event WHERE conversation = ? ORDER BY cursor"


def violations(path: Path) -> list[str]:
    """Every sentence that is not true; none is as it should be."""
    database = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        return [
            *_whole(database),
            *_moves(database),
            *_counts(database),
            *_logs(database),
            *_attempts(database),
        ]
    finally:
        database.close()


def _whole(database: apsw.Connection) -> list[str]:
    said = [str(row[0]) for row in database.execute("PRAGMA integrity_check")]
    broken = [str(row) for row in database.execute("PRAGMA foreign_key_check")]
    return [*(line for line in said if line != "ok"), *broken]


def _moves(database: apsw.Connection) -> list[str]:
    moves = [
        Transition(record, before, after)
        for record, before, after in database.execute(
            "SELECT record, before, after FROM transition ORDER BY seq"
        )
    ]
    columns = dict(
        database.execute(
            "SELECT id, state FROM input WHERE pruned = 0 UNION ALL SELECT id, state FROM attempt"
        )
    )
    replayed = replay(moves)
    return [
        f"{record}: its column says {columns.get(record)}, its moves say {replayed.get(record)}"
        for record in columns.keys() | replayed.keys()
        if columns.get(record) != replayed.get(record)
    ]


def _counts(database: apsw.Connection) -> list[str]:
    counted: Counter[tuple[int, str]] = Counter()
    for conversation, state, held in database.execute(_INPUTS):
        counted[conversation, _COUNTED.get(state, "")] += 1
        counted[conversation, "held"] += held is not None
    return [
        f"conversation {n}: {name} says {value}, there are {counted[n, name]}"
        for n, *values in database.execute(
            "SELECT n, waiting, running, uncertain, held FROM conversation"
        )
        for name, value in zip(("waiting", "running", "uncertain", "held"), values, strict=True)
        if value != counted[n, name]
    ]


def _logs(database: apsw.Connection) -> list[str]:
    wrong: list[str] = []
    for n, head, top in database.execute("SELECT n, cursor, ordinal FROM conversation"):
        events = list(database.execute(_LOG, (n,)))
        if [row[0] for row in events] != list(range(1, head + 1)):
            wrong.append(f"conversation {n}: its cursors have gaps")
        ordinals = [row[1] for row in events if row[1] is not None]
        if ordinals != list(range(1, top + 1)):
            wrong.append(f"conversation {n}: its ordinals have gaps")
        wrong += [f"{n}:{row[0]}: kind" for row in events if json.loads(row[3])["kind"] != row[2]]
    return wrong


def _attempts(database: apsw.Connection) -> list[str]:
    """An input runs if and only if an attempt of it does; it ran to an answer once at most."""
    wrong: list[str] = []
    for delivery, state, running, completed in database.execute(
        "SELECT input.id, input.state, coalesce(sum(attempt.state = 'running'), 0),"
        " coalesce(sum(attempt.state = 'completed'), 0)"
        " FROM input LEFT JOIN attempt ON attempt.delivery = input.id"
        " WHERE input.pruned = 0 GROUP BY input.id"
    ):
        if (state == "running") != (running == 1):
            wrong.append(f"{delivery}: {state}, with {running} running attempts")
        if completed != (state in {"settled", "absorbed"}):
            wrong.append(f"{delivery}: {state}, with {completed} completed attempts")
    return wrong
