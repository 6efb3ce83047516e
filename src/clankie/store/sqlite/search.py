"""Finding words in the log: an index that follows the log some way behind, and what it finds.

The index holds words alone, no text. It must be told the very same words again to forget them, so
`words` may change only with a migration that empties the index and starts `search_state` at 0.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.core.errors import ConversationNotFoundError, InvalidFieldError
from clankie.host.storage import Found, SearchPage
from clankie.store.sqlite.sql import rows, value
from clankie.store.sqlite.values import moment

if TYPE_CHECKING:
    from clankie.store.sqlite.sql import Database, Row
    from clankie.store.sqlite.unit import Transaction

WORDS_LIMIT: Final = 32
SNIPPET: Final = 160
"""Characters of a snippet, its dots not counted."""
_PREFIX: Final = 3
"""A last word of as many letters also finds longer ones; a shorter one would find most words."""
_LEAD: Final = 40

_CONVERSATION: Final = "SELECT n, cursor FROM conversation WHERE id = ?"
_REACHED: Final = """
SELECT cursor FROM event WHERE conversation = ? AND n <= (SELECT indexed FROM search_state)
ORDER BY cursor DESC LIMIT 1"""
_BELOW: Final = "SELECT n FROM event WHERE conversation = ? AND cursor >= ? ORDER BY cursor LIMIT 1"
# Newest first by number: the index stops as soon as there are enough, however many there were.
_FIND: Final = """
SELECT event.cursor, event.at, event.body
FROM event_words JOIN event ON event.n = event_words.rowid
WHERE event_words MATCH ? AND event_words.rowid < ?
ORDER BY event_words.rowid DESC LIMIT ?"""
_INDEXED: Final = "SELECT indexed FROM search_state"
_NEXT: Final = """
SELECT n, conversation, ordinal, body FROM event WHERE n > ? ORDER BY n LIMIT ?"""
_ADD: Final = "INSERT INTO event_words (rowid, place, words) VALUES (?, ?, ?)"
_FORGET: Final = """
INSERT INTO event_words (event_words, rowid, place, words) VALUES ('delete', ?, ?, ?)"""
_ADVANCE: Final = "UPDATE search_state SET indexed = ?"

_SEPARATORS: Final = re.compile(r"[\W_]+")
# Scripts that put no blank between words: each sign is a word.
_SIGNS: Final = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
_WORD: Final = re.compile(r"[^\W_]+")

_decode: Final = msgspec.json.Decoder().decode


def words(text: str) -> str:
    """Lower case, without accents, one blank between words."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text.casefold())
        bare = "".join(sign for sign in apart if unicodedata.category(sign)[0] != "M")
        text = _SIGNS.sub(r" \1 ", bare)
    return _SEPARATORS.sub(" ", text.lower()).strip()


def index(tx: Transaction, limit: int) -> int:
    """See ConversationStore.index."""
    after: int = tx.value(_INDEXED)
    entries = tx.rows(_NEXT, (after, limit))
    for n, conversation, ordinal, body in entries:
        told = _told(ordinal, body)
        if told:
            tx.run(_ADD, (n, _place(conversation), told))
    if entries:
        tx.run(_ADVANCE, (entries[-1][0],))
    return len(entries)


def forget(tx: Transaction, n: int, conversation: int, ordinal: int | None, body: str) -> None:
    """Take an event's words out again, if they are in."""
    told = _told(ordinal, body)
    if told and n <= tx.value(_INDEXED):
        tx.run(_FORGET, (n, _place(conversation), told))


def _place(conversation: int) -> str:
    return f"c{conversation}"


def _told(ordinal: int | None, body: str) -> str:
    """The words of an event that is searched for; none of any other."""
    if ordinal is None:
        return ""
    fields = _decode(body)
    return "" if "purged" in fields else words(_text(fields))


def _text(fields: dict[str, Any]) -> str:
    if fields["kind"] == "tool":
        return f"{fields['name']} {fields['detail']}"
    names = [one["name"] for one in fields.get("attachments", ())]
    return " ".join([fields["text"], *names])


def search(
    connection: Database, conversation: str, query: str, *, before: int | None, limit: int
) -> SearchPage:
    """See ConversationStore.search."""
    row = connection.execute(_CONVERSATION, (conversation,)).fetchone()
    if row is None:
        raise ConversationNotFoundError(conversation)
    n, head = row
    wanted = words(query).split()
    if not 1 <= len(wanted) <= WORDS_LIMIT:
        raise InvalidFieldError("q", f"1 to {WORDS_LIMIT} words")
    below = 2**62 if before is None else value(connection, _BELOW, (n, before)) or 2**62
    found = rows(connection, _FIND, (_match(n, wanted), below, limit + 1))
    results = [_found(hit, wanted) for hit in found[:limit]]
    reached = head if not head else value(connection, _REACHED, (n,)) or 0
    return SearchPage(results, len(found) > limit, reached)


def _match(conversation: int, wanted: list[str]) -> str:
    """The question in the words of the index; a quoted word is nothing but a word to it."""
    last = "*" if len(wanted[-1]) >= _PREFIX else ""
    terms = " AND ".join(f'words : "{word}"' for word in wanted)
    return f'place : "{_place(conversation)}" AND {terms} {last}'


def _found(hit: Row, wanted: list[str]) -> Found:
    cursor, at, body = hit
    fields = _decode(body)
    return Found(
        cursor=cursor,
        at=moment(at),
        kind=fields["kind"],
        role=fields.get("role", "agent"),
        snippet=snippet(_text(fields), wanted),
        source=fields.get("source"),
    )


def snippet(text: str, wanted: list[str]) -> str:
    """One line of plain text around the first of the words, with dots where it was cut."""
    start = max(0, _first(text, wanted) - _LEAD)
    if start:
        # Not from the middle of a word, if one begins soon.
        blank = text.find(" ", start, start + _LEAD)
        start = start if blank < 0 else blank + 1
    line = " ".join(text[start : start + SNIPPET].split())
    return f"{'…' if start else ''}{line}{'…' if len(text) > start + SNIPPET else ''}"


def _first(text: str, wanted: list[str]) -> int:
    """Where the first of the words begins."""
    if text.isascii():
        hit = _plainly(wanted).search(text.lower())
        return 0 if hit is None else hit.start()
    exact, last = frozenset(wanted), wanted[-1]
    for word in _WORD.finditer(text):
        for folded in words(word.group()).split():
            if folded in exact or (len(last) >= _PREFIX and folded.startswith(last)):
                return word.start()
    return 0


def _plainly(wanted: list[str]) -> re.Pattern[str]:
    """Finds the same in plain letters, many times faster."""
    *others, last = wanted
    ending = "" if len(last) >= _PREFIX else "(?![a-z0-9])"
    whole = "".join(f"{word}(?![a-z0-9])|" for word in others)
    return re.compile(f"(?<![a-z0-9])(?:{whole}{last}{ending})")
