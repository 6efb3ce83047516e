"""Removing the content of a closed conversation for good.

What stays: cursors, kinds, times and authors of events, so that the log has no gaps; ids,
fingerprints and states of inputs, so that none runs again. It goes in slices, so that others get
their turn, and is taken up again at the next start if the process ends meanwhile. The file is
compacted at the end: what was overwritten or deleted, now or earlier, is not in it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.core.conversation import SYSTEM, Notice
from clankie.core.delivery import InputState
from clankie.core.errors import NotAllowedError, RunInProgressError
from clankie.core.ids import HEAD
from clankie.store.sqlite import attachments, events, heads, inputs, prune, search
from clankie.store.sqlite.inputs import Input
from clankie.store.sqlite.sql import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

SLICE: Final = 200
"""Cursors of one transaction."""

PURGED: Final = "purged"
_NAME: Final = "(purged)"
_UNDER_WAY: Final = 1
_STATE: Final = "SELECT purged FROM conversation WHERE n = ?"
_BEGIN: Final = """
UPDATE conversation SET purged = 1, name = ?, directory = NULL, model = NULL WHERE n = ?"""
_END: Final = "UPDATE conversation SET purged = 2 WHERE id = ? AND purged = 1"
_UNFINISHED: Final = "SELECT id FROM conversation WHERE purged = 1 ORDER BY n"
_GOAL_GOES: Final = "DELETE FROM goal WHERE conversation = ?"
_WAKES_GO: Final = "DELETE FROM wake WHERE conversation = ?"
_EVENTS: Final = """
SELECT n, cursor, ordinal, body FROM event
WHERE conversation = ? AND cursor > ? ORDER BY cursor LIMIT ?"""
_OVERWRITE: Final = "UPDATE event SET body = ? WHERE n = ?"
_INPUTS: Final = f"""
SELECT {inputs.COLUMNS} FROM input
WHERE conversation = ? AND message_cursor > ? AND message_cursor <= ? AND pruned = 0"""
_COMPACT: Final = "VACUUM"
_FOLD: Final = "PRAGMA wal_checkpoint(TRUNCATE)"

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def begin(tx: Transaction, conversation: str) -> bool:
    """Whether there is anything to remove; what stands beside the log goes at once.

    Raises:
        ConversationNotFoundError, NotAllowedError, RunInProgressError: it cannot be purged.
    """
    if conversation == HEAD:
        raise NotAllowedError("The head conversation cannot be purged. Reset it instead.")
    head = heads.read(tx, conversation)
    if not head.closed:
        raise RunInProgressError(conversation)
    state: int = tx.value(_STATE, (head.n,))
    if state:
        return state == _UNDER_WAY
    events.append(tx, head, SYSTEM, Notice(code=PURGED, text="Its content was removed for good."))
    heads.save(tx, head)
    tx.run(_BEGIN, (_NAME, head.n))
    tx.run(_GOAL_GOES, (head.n,))
    tx.run(_WAKES_GO, (head.n,))
    attachments.unuse(tx, head.n)
    return True


def one_slice(tx: Transaction, conversation: str, after: int) -> int | None:
    """Purge the next events above a cursor, with their inputs; the last one, None at the end."""
    head = heads.read(tx, conversation)
    entries = tx.rows(_EVENTS, (head.n, after, SLICE))
    if not entries:
        return None
    for n, _, ordinal, body in entries:
        fields: dict[str, Any] = _decode(body)
        if PURGED not in fields and fields.get("code") != PURGED:
            search.forget(tx, n, head.n, ordinal, body)
            tx.run(_OVERWRITE, (_encode(_emptied(fields)).decode(), n))
    last: int = entries[-1][1]
    _forget_inputs(tx, head, after, last)
    return last


def _emptied(fields: dict[str, Any]) -> dict[str, Any]:
    """The event without its words; texts that every reader expects are there, and empty."""
    for name in ("attachments", "partial"):
        fields.pop(name, None)
    for name in ("text", "detail"):
        if name in fields:
            fields[name] = ""
    return {**fields, PURGED: True}


def _forget_inputs(tx: Transaction, head: Head, after: int, last: int) -> None:
    for row in tx.rows(_INPUTS, (head.n, after, last)):
        one = Input(*row)
        if one.state == InputState.UNCERTAIN:
            # Its evidence goes, so nobody will ever know.
            inputs.move(tx, head, one, InputState.ABANDONED)
            heads.save(tx, head)
        prune.forget(tx, one.id)


def compact(connection: Database) -> bool:
    """Write the file anew without what was removed; False when a reader still sees the old one."""
    connection.execute(_COMPACT)
    busy: int = rows(connection, _FOLD)[0][0]
    return not busy


def end(tx: Transaction, conversation: str) -> None:
    """Nothing of it is left."""
    tx.run(_END, (conversation,))


def unfinished(connection: Database) -> Sequence[str]:
    """Conversations whose purge was interrupted."""
    return [conversation for (conversation,) in rows(connection, _UNFINISHED)]
