"""How a harness's transcript is read, row by row. Hooks import this: the standard library only.

Each harness has a module ``clankie.seats.<name>.rows`` with

- ``reader(known: Known) -> Rows``
- ``folders(environment: Mapping[str, str]) -> tuple[str, ...]``: where its transcripts may lie
- ``activity(hook: Mapping[str, object]) -> Activity | None``: what a hook's input says of the turn

and these import nothing but `clankie.core.seat`, this module and the standard library.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clankie.core.seat import Activity, Entry

WITHIN: Final = timedelta(seconds=10)
"""How long after our keystrokes a row with the same words can be theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """Words that were typed for an attempt; only their digest is kept."""

    event: str
    attempt: int
    digest: str
    at: datetime

    @property
    def moment(self) -> str:
        """When they were typed, as the `value` of an evidence: RFC 3339, UTC, milliseconds."""
        at = self.at.astimezone(UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def digest_of(text: str) -> str:
    """Of words as a transcript shows them: line ends alike, blanks around them gone."""
    words = "\n".join(text.splitlines()).strip()
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What this seat was given: ids that prove a delivery, and words that were typed.

    `ids` maps each `core.seat.delivery_uuid` to its event and attempt.
    """

    ids: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    typed: Sequence[Typed] = ()

    def by_words(self, text: str, at: datetime) -> Typed | None:
        """The one attempt whose words these are, typed shortly before; None if none or several.

        Whoever asks makes sure that only one new row has them.
        """
        digest = digest_of(text)
        found = {
            (one.event, one.attempt): one
            for one in self.typed
            if one.digest == digest and timedelta() <= at - one.at <= WITHIN
        }
        return found.popitem()[1] if len(found) == 1 else None


class Rows(Protocol):
    """Reads one transcript from where it was left off, a whole line at a time."""

    @property
    def activity(self) -> Activity | None:
        """What the rows so far say that the session does; None when they say nothing."""
        ...

    def read(self, line: bytes) -> Sequence[Entry]:
        """The entries of one line; none for what is no part of the conversation. Never raises."""
        ...
