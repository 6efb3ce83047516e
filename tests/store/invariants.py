"""What must hold of a database at any moment, read from the file itself."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import apsw

from clankie.core.delivery import Transition, replay

_COUNTED = {"queued": "waiting", "running": "running", "uncertain": "uncertain"}

_OPEN_SPANS = "SELECT id FROM span WHERE conversation = ? AND ended_at IS NULL"
_INPUTS = "SELECT conversation, state, held FROM input"
_LOG = "SELECT cursor, ordinal, kind, body FROM event WHERE conversation = ? ORDER BY cursor"

_INDEXED = "SELECT rowid FROM event_words WHERE event_words MATCH ?"
_MEANT = (
    "SELECT n FROM event WHERE conversation = ? AND ordinal IS NOT NULL"
    " AND n <= (SELECT indexed FROM search_state) AND body ->> 'purged' IS NULL"
)
_LEFT = (
    "SELECT n, (SELECT count(*) FROM event WHERE conversation = c.n"
    " AND body ->> 'purged' IS NULL AND body ->> 'code' IS NOT 'purged'),"
    " (SELECT count(*) FROM input WHERE conversation = c.n AND pruned = 0)"
    " FROM conversation c WHERE purged = 2"
)


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
            *_handoffs(database),
            *_seats(database),
            *_search(database),
            *_attachments(database, path),
            *_purges(database),
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
            " UNION ALL SELECT id, state FROM span"
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
        "SELECT input.id, input.state, coalesce(sum(attempt.state IN"
        " ('running', 'attempting', 'taken', 'accepted')), 0), coalesce(sum(attempt.state IN"
        " ('completed', 'replied', 'delivered')), 0)"
        " FROM input LEFT JOIN attempt ON attempt.delivery = input.id"
        " WHERE input.pruned = 0 GROUP BY input.id"
    ):
        if state == "abandoned":
            continue  # what came to be known of it later stands on its attempt alone
        if (state == "running") != (running == 1):
            wrong.append(f"{delivery}: {state}, with {running} running attempts")
        if completed != (state in {"settled", "absorbed"}):
            wrong.append(f"{delivery}: {state}, with {completed} completed attempts")
    return wrong


def _handoffs(database: apsw.Connection) -> list[str]:
    """No harness is told what it was told, and none is left out without a word."""
    wrong: list[str] = []
    for n, cursor, harness, service in database.execute(
        "SELECT n, cursor, harness_cursor, service_cursor FROM conversation"
    ):
        spans = list(
            database.execute(
                "SELECT id, from_cursor, to_cursor FROM span WHERE conversation = ? AND"
                " state IN ('delivered', 'uncertain') ORDER BY ended_at, opened_at, id",
                (n,),
            )
        )
        if harness is not None and harness > cursor:
            wrong.append(f"conversation {n}: the harness is ahead of the log")
        open_spans = list(database.execute(_OPEN_SPANS, (n,)))
        if harness is not None and service > harness and not open_spans:
            wrong.append(f"conversation {n}: something is to be told, and no handoff is open")
        wrong += [f"{one[0]}: told beyond the cursor" for one in spans if one[2] > (harness or 0)]
        wrong += [
            f"{later[0]}: tells again what {former[0]} told"
            for former, later in pairwise(spans)
            if later[1] < former[2]
        ]
    return wrong


def _seats(database: apsw.Connection) -> list[str]:
    """What is stored at a seat is stored where the seat sits, for whoever sits there."""
    return [
        f"{row[0]}: stored at {row[1]}, which does not sit there"
        for row in database.execute(
            "SELECT attempt.id, seat.id FROM attempt JOIN seat ON seat.id = attempt.seat"
            " WHERE attempt.state = 'offered' AND (seat.conversation IS NOT attempt.conversation"
            " OR seat.occupant <> attempt.occupant)"
        )
    ]


def _search(database: apsw.Connection) -> list[str]:
    """The index holds exactly what it has come past and what still has words."""
    wrong: list[str] = []
    for (n,) in list(database.execute("SELECT n FROM conversation")):
        told = {row[0] for row in database.execute(_INDEXED, (f"place : c{n}",))}
        meant = {row[0] for row in database.execute(_MEANT, (n,))}
        if told != meant:
            wrong.append(f"conversation {n}: the index has {told}, and should have {meant}")
    return wrong


def _attachments(database: apsw.Connection, path: Path) -> list[str]:
    """Each kept row has its file, and no file is without a row."""
    rows = dict(database.execute("SELECT digest, state FROM attachment"))
    files = {file.name for file in path.parent.glob("attachments/*/*")}
    kept = {digest for digest, state in rows.items() if state == "kept"}
    lost = [f"attachment {one}: no file" for one in kept - files]
    known = rows.keys() | {f"{digest}.part" for digest in rows}
    return [*lost, *(f"attachment {one}: no row" for one in files - known)]


def _purges(database: apsw.Connection) -> list[str]:
    """Nothing is left of a conversation whose purge has ended."""
    return [
        f"conversation {n}: purged, but something is left"
        for n, events, inputs in database.execute(_LEFT)
        if events or inputs
    ]
