"""The rows of attachments. A row is there before its file is, and until its file is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from clankie.core.conversation import Attachment
from clankie.core.errors import AttachmentNotFoundError
from clankie.store.sqlite.sql import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clankie.store.sqlite.heads import Head
    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction

_FACTS: Final = "SELECT media_type, size FROM attachment WHERE digest = ? AND state = 'kept'"
# The media type is the first one's: nobody changes what an attachment is by sending it once more.
_COMING: Final = """
INSERT INTO attachment (digest, media_type, size, added_at, state) VALUES (?, ?, ?, ?, 'coming')
ON CONFLICT (digest) DO UPDATE SET state = 'coming', added_at = excluded.added_at"""
_KEPT: Final = "UPDATE attachment SET state = 'kept', added_at = ? WHERE digest = ?"
_DAMAGED: Final = "UPDATE attachment SET state = 'damaged' WHERE digest = ? AND state = 'kept'"
_USE: Final = "INSERT OR IGNORE INTO attachment_use (digest, conversation) VALUES (?, ?)"
_OF: Final = "SELECT digest FROM attachment_use WHERE conversation = ?"
_UNUSE: Final = "DELETE FROM attachment_use WHERE conversation = ?"
_GO: Final = """
UPDATE attachment SET state = 'going' WHERE digest = ?
  AND NOT EXISTS (SELECT 1 FROM attachment_use WHERE attachment_use.digest = attachment.digest)"""
_OLD_GO: Final = """
UPDATE attachment SET state = 'going' WHERE added_at < ? AND state = 'kept'
  AND NOT EXISTS (SELECT 1 FROM attachment_use WHERE attachment_use.digest = attachment.digest)"""
# One that a message names stays: whether its file is whole shows when it is read.
_INTERRUPTED: Final = """
UPDATE attachment SET state = CASE
    WHEN EXISTS (SELECT 1 FROM attachment_use WHERE attachment_use.digest = attachment.digest)
    THEN 'kept' ELSE 'going' END
WHERE state = 'coming'"""
_GOING: Final = "SELECT digest FROM attachment WHERE state = 'going'"
_GONE: Final = "DELETE FROM attachment WHERE digest = ? AND state = 'going'"

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(tuple[Attachment, ...]).decode


def facts(connection: Database, digest: str) -> tuple[str, int]:
    """See AttachmentStore.facts."""
    row = connection.execute(_FACTS, (digest,)).fetchone()
    if row is None:
        raise AttachmentNotFoundError(digest)
    media_type, size = row
    return media_type, size


def coming(tx: Transaction, digest: str, media_type: str, size: int) -> None:
    """Its file is about to be written."""
    tx.run(_COMING, (digest, media_type, size, tx.at))


def kept(tx: Transaction, digest: str) -> None:
    """Its file is on disk."""
    tx.run(_KEPT, (tx.at, digest))


def damaged(tx: Transaction, digest: str) -> None:
    """Its file is missing, or not what it was. The same bytes once more mend it."""
    tx.run(_DAMAGED, (digest,))


def use(tx: Transaction, head: Head, attached: Iterable[Attachment]) -> None:
    """A message of this conversation names them. Raises AttachmentNotFoundError."""
    for one in attached:
        if tx.row(_FACTS, (one.digest,)) is None:
            raise AttachmentNotFoundError(one.digest)
        tx.run(_USE, (one.digest, head.n))


def unuse(tx: Transaction, conversation: int) -> None:
    """No message of this conversation names any, any more: those that none else names go."""
    used = [digest for (digest,) in tx.rows(_OF, (conversation,))]
    tx.run(_UNUSE, (conversation,))
    for digest in used:
        tx.run(_GO, (digest,))


def prune(tx: Transaction, before: int) -> None:
    """Those that came before and that no message ever named go."""
    tx.run(_OLD_GO, (before,))


def interrupted(tx: Transaction) -> None:
    """At a start: files that were being written are given up."""
    tx.run(_INTERRUPTED)


def going(connection: Database) -> Sequence[str]:
    """Those whose files are to be removed."""
    return [digest for (digest,) in rows(connection, _GOING)]


def gone(tx: Transaction, digest: str) -> None:
    """Its file is removed."""
    tx.run(_GONE, (digest,))


def encode(attached: Sequence[Attachment]) -> str | None:
    """As they stand in the row of an input."""
    return _encode([one.to_wire() for one in attached]).decode() if attached else None


def decode(stored: str | None) -> tuple[Attachment, ...]:
    """The way back."""
    return () if stored is None else _decode(stored)


def from_wire(fields: dict[str, Any]) -> tuple[Attachment, ...]:
    """Those of a message in the log."""
    return tuple(Attachment(**one) for one in fields.get("attachments", ()))
