"""Native sessions, and which of their rows were taken.

Each is pinned to the conversation in which it was first shown something, given something, or wrote
something. What it writes goes there and nowhere else. A reset retires those of its conversation;
what is retired writes nowhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from clankie.core.seat_errors import SessionConflictError
from clankie.store.sqlite.values import millis

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.unit import Transaction

_KNOWN: Final = """
SELECT n, conversation, retired_at, answer_cursor, rested, said FROM native_session
WHERE harness = ? AND session = ?"""
_HOME: Final = """
SELECT (SELECT id FROM conversation WHERE n = native_session.conversation) FROM native_session
WHERE harness = ? AND session = ? AND retired_at IS NULL"""
_PIN: Final = """
INSERT INTO native_session (harness, session, conversation, since) VALUES (?, ?, ?, ?)
RETURNING n"""
_ANSWERED: Final = "UPDATE native_session SET answer_cursor = ? WHERE n = ?"
_RESTS: Final = "UPDATE native_session SET rested = ? WHERE n = ?"
_SAID: Final = "UPDATE native_session SET said = ? WHERE n = ?"
KEPT: Final = 64
"""Of how many of the words that were said in one turn it is remembered when."""
_RETIRE: Final = """
UPDATE native_session SET retired_at = ? WHERE conversation = ? AND retired_at IS NULL"""
# The one that sits there, although it has not written yet.
_PIN_OCCUPANT: Final = """
INSERT OR IGNORE INTO native_session (harness, session, conversation, since)
SELECT harness, session, conversation, ? FROM seat WHERE conversation = ?"""
# What a retired session goes on to say of its turn is refused, so its turn holds nothing back.
_NO_TURN: Final = """
UPDATE seat SET activity = NULL, activity_session = NULL, activity_at = NULL
WHERE conversation = ?"""
_ENTRY: Final = "INSERT OR IGNORE INTO native_entry (session, id, cursor) VALUES (?, ?, ?)"
_STOOD: Final = "SELECT cursor FROM native_entry WHERE session = ? AND id = ?"
_STANDS: Final = "UPDATE native_entry SET cursor = ? WHERE session = ? AND id = ?"


class Words(NamedTuple):
    """That somebody said something to a session: when, by the harness's clock.

    `answered`: where its newest answer stood then. `shown`: the attempt whose words they are.
    """

    at: int
    answered: int | None
    shown: str | None


@dataclass(slots=True)
class Session:
    """One that may write to its conversation.

    `rested`: the end of a turn was told since somebody last said something to it. `said`: the words
    that no end of a turn was told for yet, as JSON.
    """

    n: int
    answer_cursor: int | None = None
    rested: int = 0
    said: str = "[]"

    def later(self, at: datetime | None, now: int) -> Sequence[Words]:
        """What was said to it after that moment; nothing for None.

        A moment beyond `now` is from before a clock was set back, and says nothing of an order.
        """
        if at is None:
            return ()
        until = millis(at)
        every = [Words(*one) for one in json.loads(self.said)]
        first = next((n for n, one in enumerate(every) if until < one.at <= now), len(every))
        return every[first:]


def home(tx: Transaction, harness: str, session: str) -> str | None:
    """The conversation that it is pinned to; None when it is pinned nowhere, or retired."""
    conversation: str | None = tx.value(_HOME, (harness, session))
    return conversation


def _find(tx: Transaction, head: Head, harness: str, session: str) -> Session | None:
    """The one pinned here; None when it is pinned nowhere yet.

    Raises:
        SessionConflictError: it belongs to another conversation, or was retired.
    """
    row = tx.row(_KNOWN, (harness, session))
    if row is None:
        return None
    n, conversation, retired_at, answer_cursor, rested, said = row
    if conversation != head.n or retired_at is not None:
        raise SessionConflictError(session)
    return Session(n, answer_cursor, rested, said)


def pin(tx: Transaction, head: Head, harness: str, session: str) -> Session:
    """The one pinned here, from now on if it was nowhere. Raises SessionConflictError."""
    found = _find(tx, head, harness, session)
    if found is not None:
        return found
    return Session(tx.value(_PIN, (harness, session, head.n, tx.at)))


def take(tx: Transaction, session: Session, entry: str) -> bool:
    """Whether a row is new; it is known from now on."""
    return tx.changed(_ENTRY, (session.n, entry, None))


def stands(tx: Transaction, session: Session, entry: str, cursor: int) -> None:
    """Where a row stands in the log."""
    tx.run(_STANDS, (cursor, session.n, entry))


def stood(tx: Transaction, session: Session, entry: str) -> int | None:
    """Where a row that was taken before stands."""
    cursor: int | None = tx.value(_STOOD, (session.n, entry))
    return cursor


def answered(tx: Transaction, session: Session, cursor: int) -> None:
    """Where its newest answer stands."""
    session.answer_cursor = cursor
    tx.run(_ANSWERED, (cursor, session.n))


def rests(tx: Transaction, session: Session, *, rested: bool) -> None:
    """Its turn is over, or somebody says something to it."""
    session.rested = int(rested)
    tx.run(_RESTS, (session.rested, session.n))


def hears(tx: Transaction, session: Session, words: Words) -> None:
    """Somebody said something to it."""
    _keep(tx, session, [*json.loads(session.said), words][-KEPT:])


def over(tx: Transaction, session: Session, later: Sequence[Words]) -> None:
    """Its turn is over, but for that of what was said later."""
    if not later:
        rests(tx, session, rested=True)
    _keep(tx, session, later)


def _keep(tx: Transaction, session: Session, words: Sequence[Words]) -> None:
    said = json.dumps(words, separators=(",", ":"))
    if said != session.said:
        session.said = said
        tx.run(_SAID, (said, session.n))


def retire(tx: Transaction, head: Head) -> None:
    """Those of this conversation write nowhere any more, the one that sits there included."""
    tx.run(_PIN_OCCUPANT, (tx.at, head.n))
    tx.run(_RETIRE, (tx.at, head.n))
    tx.run(_NO_TURN, (head.n,))
