"""Words of ours on their way into a session, and the rows that show that they arrived.

Rule: they are proven by our own uuid in a row, or by exactly our words entering the client's queue
      or a row. Framed words name their event, so they stand in no other row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from clankie.seats.claude.words import object_of, text_of, words
from clankie.seats.rows import digest_of

if TYPE_CHECKING:
    from clankie.host.ports import Clock

Json = dict[str, Any]

POLL: Final = 0.1
LOST: Final = 60.0
"""Seconds after which words that never came do not hold back the report of an idle session."""
_TAKEN_UP: Final = frozenset({"absorbed_mid_turn"})


@dataclass(eq=False, kw_only=True)
class Expected:
    """Words on their way. `since` is on the monotonic clock; `proof` says how they were found.

    `shown`: a row has them, or the client says that their turn has begun. `lost`: they cannot be
    proven any more.
    """

    text: str
    since: float
    uuid: str | None = None
    proof: str = ""
    shown: bool = False
    lost: bool = False
    _digest: str = field(init=False)

    def __post_init__(self) -> None:
        self._digest = digest_of(self.text)

    def same(self, text: str) -> bool:
        """Whether these are the words."""
        return self._digest in {digest_of(text), digest_of(words(text))}


class Receipts:
    """What is on its way to one session."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: list[Expected] = []

    @property
    def open(self) -> bool:
        """Whether words are on their way that no row shows yet."""
        now = self._clock.monotonic()
        return any(now - one.since < LOST for one in self._expected)

    def expect(self, text: str, uuid: str | None = None) -> Expected:
        """Look out for these words from now on; ask before they leave."""
        one = Expected(text=text, uuid=uuid, since=self._clock.monotonic())
        self._expected.append(one)
        return one

    def forget(self, one: Expected) -> None:
        """These words did not leave."""
        if one in self._expected:
            self._expected.remove(one)

    def lose(self) -> None:
        """The session is another one, or gone: what was not proven will not be."""
        for one in self._expected:
            one.lost = True
        self._expected.clear()

    def queued(self, uuid: object) -> None:
        """The client itself says that it has the message of this id in its queue."""
        for one in self._expected:
            if one.uuid is not None and one.uuid == uuid:
                one.proof = one.proof or "the client says that it is queued"

    def begun(self, uuid: object) -> None:
        """The client itself says that the turn with this message has begun."""
        self.queued(uuid)
        for one in self._expected:
            if one.uuid is not None and one.uuid == uuid:
                one.shown = True

    async def proof(self, one: Expected, seconds: float) -> str:
        """How it was proven within that time; empty when it was not."""
        until = self._clock.monotonic() + seconds
        while not (one.proof or one.lost) and self._clock.monotonic() < until:
            await self._clock.sleep(POLL)
        return one.proof

    def take(self, row: Json) -> None:
        """A row that is new."""
        match row.get("type"):
            case "queue-operation":
                self._queue(row)
            case "attachment":
                held = object_of(row.get("attachment"))
                if held.get("type") == "queued_command":
                    self._found(held.get("source_uuid"), text_of(held.get("prompt")))
            case "user":
                content = object_of(row.get("message")).get("content")
                self._found(row.get("uuid"), text_of(content))
            case _:
                return

    def _queue(self, row: Json) -> None:
        text = row.get("content")
        if not isinstance(text, str):
            return
        for one in [one for one in self._expected if one.same(text)]:
            if row.get("operation") == "enqueue":
                one.proof = one.proof or "it stands in the client's queue"
            elif row.get("reason") not in _TAKEN_UP:
                self._expected.remove(one)  # a person took it back out of the queue

    def _found(self, uuid: object, text: str) -> None:
        for one in self._expected:
            by_id = one.uuid is not None and uuid == one.uuid
            if by_id or (text and one.same(text)):
                one.proof = "a row has its id" if by_id else "one new row has its words"
                one.shown = True
                self._expected.remove(one)
                return
