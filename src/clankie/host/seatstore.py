"""What the host needs of the store for seats. Every verb is one transaction, as in `storage`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from clankie.core.conversation import Author
from clankie.core.delivery import SeatState
from clankie.core.driver import Standing
from clankie.core.receipt import Delivery
from clankie.core.seat import (
    Activity,
    Capabilities,
    Entry,
    Limited,
    Occupant,
    Report,
    SeatEvent,
)
from clankie.core.settings import SeatLimits
from clankie.host.bearer import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Leave to register one seat, once. `secret_sha256` is all that is kept of its secret.

    `expected`: the seat that was attached when it was given; registration takes its place.
    """

    secret_sha256: str
    conversation: str
    harness: str
    uid: int
    expected: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A seat as it is stored. `granted` is the conversation its grant named.

    `last_ask` is kept to within some seconds. `parked_until` and `park_reason`: a usage limit.
    `activity` was last reported by the session `activity_session` at `activity_at`. `stale`: the
    occupant's session was retired by a reset, or belongs to another conversation; nothing is for it
    until another session begins.
    """

    id: str
    harness: str
    occupant: Occupant
    capabilities: Capabilities
    registered_at: datetime
    granted: str
    token: str
    conversation: str | None = None
    attached_at: datetime | None = None
    last_ask: datetime | None = None
    parked_until: datetime | None = None
    park_reason: str | None = None
    activity: Activity | None = None
    activity_session: str | None = None
    activity_at: datetime | None = None
    stale: bool = False
    retired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """An event that a seat may have seen and that has not ended.

    `since`: when the page was written, and once it was acknowledged, when that was. Handoffs under
    way too; an unresolved one is `uncertain`. `stop_asked`: the owner wants it to end.
    """

    seat: str
    event: SeatEvent
    state: SeatState
    since: datetime
    stop_asked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A conversation wants to hear when something happens in another, or to a delivery.

    `target` is the id of either, `since` the cursor of a conversation's last event when it was set;
    `depth` as that of a wake.
    """

    id: str
    conversation: str
    target: str
    text: str
    created_at: datetime
    since: int = 0
    depth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A poll that asks for its page.

    `responding`: the native turn runs, so held Queues are withheld. `cleared`: deliveries of rooms
    whose authority was checked just now; others of rooms are not given. `standing`: how the seat
    stands; with it, what waits there and may go to it is stored at it first, but for rooms' words.
    """

    binding: str
    poll_id: str
    responding: bool = False
    cleared: frozenset[str] = frozenset()
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """The page of a poll. `again`: this poll id had it before."""

    events: Sequence[SeatEvent]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Synced:
    """What came of a batch of transcript rows.

    `proven` are deliveries that a row proved; `failed` those that a limit ended. `conversation`:
    whose log has the rows, which a seat that was let go may have left.
    """

    accepted: int
    duplicates: int
    proven: Sequence[str] = ()
    failed: Sequence[str] = ()
    limited: Limited | None = None
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """What waits at a seat (`offered`), and what it may have seen (attempting, taken, accepted)."""

    waiting: int
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEnd:
    """Held Queues that ended, and those that were `left`: a driver is about to be chosen for them.

    What is left may come back to wait, so whoever ended the others looks again.
    """

    ended: Sequence[str] = ()
    left: Sequence[str] = ()


class SeatStore(Protocol):
    """Seats and where they are attached."""

    async def add_grant(self, grant: Grant) -> None:
        """Keep one. Raises ConversationNotFoundError, ConversationClosedError."""
        ...

    async def grant(self, secret_sha256: str) -> Grant | None:
        """An unused one, expired or not; None when it was used or never was."""
        ...

    async def register(
        self, grant: Grant, seat: Seat, token: Token, token_sha256: str
    ) -> tuple[Seat, str | None]:
        """Use the grant: keep the seat with its token and attach it.

        The same occupant again is the same seat with the new token; the second value is the id of
        the token that died. Compare and set: the attached seat must be what the grant expected, or
        this one.

        Raises:
            GrantUnknownError: it was used, or never was.
            AttachmentConflictError: another seat was attached meanwhile.
        """
        ...

    async def get(self, seat: str) -> Seat:
        """Raises SeatNotFoundError, for retired ones too."""
        ...

    async def all(self) -> Sequence[Seat]:
        """Those that are not retired, in order of registration."""
        ...

    async def attach(
        self, seat: str, conversation: str, expected: str | None, by: Author
    ) -> tuple[Seat, bool]:
        """Attach it in place of `expected`; whether a run is open there (it will be waited for).

        A seat is attached to one conversation: it leaves the one before. What the seat it replaces
        had stored is released; what that one may have seen stays with it. Writes a notice. The same
        attachment again changes nothing.

        Raises:
            SeatNotFoundError, ConversationNotFoundError, ConversationClosedError.
            AttachmentConflictError: another seat is attached than expected.
        """
        ...

    async def detach(self, seat: str, reason: str, by: Author | None) -> tuple[Seat, str | None]:
        """Let it go; the conversation it left, None when it was attached nowhere.

        What was stored at it is released with the reason; what it may have seen stays. Held Queues
        end `not_sent`. Writes a notice.
        """
        ...

    async def retire(self, seat: str, reason: str, by: Author | None) -> str | None:
        """Detach it, revoke its token, and offer it nothing again. The conversation it left."""
        ...

    async def occupied(self, seat: str, occupant: Occupant) -> Seat:
        """The same process goes on with another session: the seat's occupant from now on."""
        ...

    async def asked(self, seat: str) -> None:
        """Note that it asked now."""
        ...

    async def park(self, seat: str, until: datetime | None, reason: str) -> str | None:
        """No input goes to it before then. What was stored at it is released, once with a notice.

        Returns the conversation. Held Queues stay for their grace. None: it takes input again.
        """
        ...

    async def projected(self, seat: str, session_id: str, cursor: int) -> None:
        """The harness has the log up to here: its cursor moves, a span that is covered closes."""
        ...


class WatchStore(Protocol):
    """What conversations watch; whoever tends the watches offers the input and forgets them."""

    async def add(self, watch: Watch) -> None:
        """Keep it, once for its id. Raises ConversationNotFoundError: where it belongs."""
        ...

    async def all(self) -> Sequence[Watch]:
        """All that are kept, in order of making."""
        ...

    async def remove(self, watch: str) -> None:
        """Forget one; also one that is not there."""
        ...


class MailStore(Protocol):
    """What seats are given, and what they showed of it."""

    async def take(self, seat: str, ask: Ask, *, limits: SeatLimits, budget: int) -> Taken:
        """Move what the next page holds to `attempting`, or read the page of this poll id again.

        An open handoff span with something in it comes first and alone; while one is in flight
        nothing else is given. `budget`: characters of a handoff. Empty while a run of the service
        lane is open.
        """
        ...

    async def ack(self, seat: str, event: str, attempt: int, binding: str) -> SeatState:
        """`attempting` or `uncertain` to `taken`; the same again changes nothing.

        For a handoff it moves the harness cursor.

        Raises:
            EventNotFoundError: this seat never had it.
            SeatSupersededError: another binding took it.
        """
        ...

    async def refuse(
        self, seat: str, event: str, attempt: int, binding: str, reason: str
    ) -> SeatState:
        """`attempting` to `refused`; every member too. Raises TransitionRefusedError, as `ack`."""
        ...

    async def reply(
        self, seat: str, event: str, attempt: int, binding: str | None, text: str
    ) -> SeatState:
        """Publish the answer, end the attempt `replied`, its older members `absorbed`.

        Without a binding it comes through the seat's own tools, whose token says whose it is.

        Raises:
            as `ack`, and DeliveryConflictError: it was answered with another text.
            TransitionRefusedError: no answer is wanted, or it has ended.
        """
        ...

    async def sync(
        self,
        seat: str,
        session_id: str,
        entries: Sequence[Entry],
        report: Report | None,
        limits: SeatLimits,
    ) -> Synced:
        """Take transcript rows into the log, each once, and believe their exact evidence.

        Raises:
            SessionConflictError: the session belongs to another conversation, or was retired.
            SeatNotFoundError: it is attached nowhere.
        """
        ...

    async def lapse(
        self,
        seat: str,
        event: str,
        attempt: int,
        *,
        gone: bool = False,
        unacknowledged: bool = False,
    ) -> SeatState:
        """Its time is up, by the caller's clock, which does not jump.

        `attempting` becomes `uncertain`; `taken` and `accepted` become `delivered` without an
        answer; what has ended stays as it is. Members too. An unresolved handoff is `uncertain`,
        which is said in the log. `gone`: its harness provably ended; what was only `taken`, where a
        transcript would have shown the words, is `uncertain` then. `unacknowledged`: what is not
        `attempting` any more stays as it is, for another deadline.
        """
        ...

    async def in_flight(self, seat: str | None = None) -> Sequence[InFlight]:
        """What seats may have seen and has not ended: at this one, or (None) at any, also retired.

        In the order in which it was given.
        """
        ...

    async def offered(self, seat: str) -> Sequence[Delivery]:
        """What is stored at it for its next poll, in order of arrival."""
        ...

    async def withdraw(self, seat: str, delivery: str, code: str, detail: str) -> bool:
        """It may not go out any more: its attempt is released, its input fails with the code.

        False when it is not stored at this seat any more.
        """
        ...

    async def take_over(self, seat: str, reason: str, notice: str | None) -> Sequence[str]:
        """Release what is stored at it (`offered`), but for held Queues; the deliveries.

        With `notice`, and if it released something or something waits, say so in the log.
        """
        ...

    async def end_queue(self, seat: str | None, reason: str) -> QueueEnd:
        """Held Queues that were not taken end `not_sent`.

        This seat's, or (None) every one whose occupant sits in no seat any more.
        """
        ...

    async def counts(self, seat: str) -> Counts:
        """What waits and what is in flight at it."""
        ...
