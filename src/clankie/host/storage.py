"""What the host needs of the store.

Every verb that writes is one transaction. It either returns what it did, or raises a typed error
and did nothing, or raises `CommitUnknownError`: then repeat it with the same ids. Writes of an
executor name the fence they hold; after a takeover they raise `FencedError`. So does every other
write of the node that was taken over, the owner's decisions included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol

from clankie.core.admission import Offer
from clankie.core.conversation import Author, Conversation, Kind, Usage
from clankie.core.delivery import InputState, ServiceState
from clankie.core.driver import Fence, Standing
from clankie.core.errors import RefusedError
from clankie.core.projection import Projection
from clankie.core.receipt import Delivery
from clankie.core.settings import ProjectionLimits, Settings
from clankie.core.wake import Again, Hold
from clankie.host.bearer import Token

if TYPE_CHECKING:
    from clankie.host.planstore import GoalStore, WakeStore
    from clankie.host.seatstore import MailStore, SeatStore, WatchStore


class FencedError(RefusedError):
    """Another node took the conversation over; whoever sees this must stop and write nothing."""

    code = "fenced"


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it went to disk, encoded once. `data` is its wire form, one JSON object."""

    conversation: str
    cursor: int
    data: bytes


class Committed(Protocol):
    """Called on the event loop after each commit, in commit order, with the events it added.

    `touched` are all conversations whose row changed, so that lists can be brought up to date.
    """

    def __call__(self, events: Sequence[Stored], touched: frozenset[str]) -> None:
        """Take note; must not fail and must not wait."""
        ...


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order of their cursors, already encoded."""

    events: Sequence[Stored]
    head: int
    oldest: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation:
    """A conversation to make. The same `request_id` makes it once.

    `any_name`: nobody chose its name, so a repetition finds it whatever it is called now.
    """

    id: str
    request_id: str
    name: str
    kind: Kind
    directory: str | None = None
    any_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An event whose words were searched for. `snippet` is plain text around the first hit.

    `source`: where words came from that are not the owner's nor the agent's own; a harness's name.
    """

    cursor: int
    at: datetime
    kind: str
    role: str
    snippet: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Hits, newest first. `indexed` is the last cursor that the index has reached."""

    results: Sequence[Found]
    has_more: bool
    indexed: int


class ConversationStore(Protocol):
    """Conversations and their logs."""

    async def create(self, new: NewConversation, by: Author) -> tuple[Conversation, bool]:
        """Make it, or return the one this request id made (False).

        Raises:
            DeliveryConflictError: this request id made a conversation of another name or kind.
        """
        ...

    async def get(self, conversation: str) -> Conversation:
        """Read one. Raises ConversationNotFoundError."""
        ...

    async def list(self) -> Sequence[Conversation]:
        """All of them, closed ones too, in order of creation."""
        ...

    async def rename(self, conversation: str, name: str, expected_revision: int) -> Conversation:
        """Raises RevisionConflictError, ConversationClosedError."""
        ...

    async def reset(
        self, conversation: str, expected_revision: int | None, by: Author
    ) -> Conversation:
        """Append the marker.

        Raises:
            RunInProgressError, RevisionConflictError, ConversationReadOnlyError.
        """
        ...

    async def close(self, conversation: str, by: Author) -> Conversation:
        """Close it; what waits becomes `not_sent`.

        Raises:
            RunInProgressError: wait or cancel first.
            NotAllowedError: it is the head.
        """
        ...

    async def notice(self, conversation: str, code: str, text: str) -> None:
        """Append a notice of the service itself."""
        ...

    async def events_after(self, conversation: str, after: int, limit: int) -> EventPage:
        """A page upwards, at most 1 MiB. Raises CursorAheadError, CursorGoneError."""
        ...

    async def events_before(self, conversation: str, before: int, limit: int) -> EventPage:
        """The page that ends just below `before`, in order; at most 1 MiB."""
        ...

    async def project(
        self, conversation: str, limits: ProjectionLimits, *, without: str | None = None
    ) -> Projection:
        """The bounded view since the last reset; its cost follows the budget.

        Words of inputs that still wait are not part of it, nor those of the delivery `without`.
        """
        ...

    async def search(
        self, conversation: str, query: str, *, before: int | None, limit: int
    ) -> SearchPage:
        """Messages and tool actions that hold every word of `query`, newest first.

        Raises:
            InvalidFieldError: there is no word in it.
        """
        ...

    async def index(self, limit: int) -> int:
        """Take the next events into the search index; how many, 0 when it is up to date."""
        ...

    async def set_model(
        self, conversation: str, model: str | None, expected_revision: int
    ) -> Conversation:
        """Let another model answer here; None: the one of the settings.

        Raises:
            RevisionConflictError, ConversationClosedError.
        """
        ...

    async def purge(self, conversation: str) -> None:
        """Remove the content of a closed conversation for good; ids and fingerprints stay.

        Raises:
            RunInProgressError: it is not closed.
            NotAllowedError: it is the head.
        """
        ...


@dataclass(frozen=True, slots=True)
class Admitted:
    """An answer to an offer. `fresh` is False when the id was known and nothing was added."""

    delivery: Delivery
    fresh: bool
    revision: int
    cursor: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """An input kept for the service lane, under the fence. `model` is the conversation's own."""

    delivery: Delivery
    attempt: str
    fence: Fence
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """An input that was stored at a seat for its next poll; its delivery is as it is then."""

    delivery: Delivery
    seat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended. `text` is the answer, or what there was of one.

    `wake`: what becomes of a wake that failed in a known way; None for everything else.
    """

    state: ServiceState
    text: str = ""
    code: str | None = None
    detail: str | None = None
    usage: Usage | None = None
    wake: Again | Hold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call about to run. `arguments_sha256` identifies what it was called with."""

    call_id: str
    name: str
    effect: bool
    arguments_sha256: str
    detail: str


class DeliveryStore(Protocol):
    """Inputs, their attempts, and the evidence."""

    async def admit(self, offer: Offer, bound: int) -> Admitted:
        """Decide (`core.admission`) and record in one transaction: input, message, turn."""
        ...

    async def get(self, delivery: str) -> Delivery:
        """The receipt. Raises DeliveryNotFoundError, ReceiptExpiredError."""
        ...

    async def list(
        self,
        *,
        conversation: str | None = None,
        states: frozenset[InputState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Delivery]:
        """Receipts in order of admission; `after` is the last id of the page before."""
        ...

    async def reserve(
        self,
        conversation: str,
        without: frozenset[str] = frozenset(),
        seat: Standing | None = None,
    ) -> Reservation | Offered | None:
        """Take the conversation if need be, and give its oldest input that is due a destination.

        `core.driver.select` chooses for each in turn, given how the attached seat stands: reserved
        for the service lane (also what it refuses, so that its refusal is written down), stored at
        the seat, or passed over. What this occupant refused is chosen as if no seat were there.

        None when nothing has a destination, also while a run is open there. Steering inputs come
        before the others. The deliveries `without` are passed over: their driver is not there now.
        One that this node reserved and did not start is returned again: the caller, one for each
        conversation, never heard of it.
        """
        ...

    async def start(self, reservation: Reservation) -> None:
        """`reserved` to `running`: after this commit the model may be asked. Raises FencedError."""
        ...

    async def release(self, reservation: Reservation, code: str) -> None:
        """Give an attempt back that was never started; its input waits again."""
        ...

    async def refuse(self, reservation: Reservation, outcome: Outcome) -> None:
        """End a reserved attempt `failed` or `stalled`: preparation did not succeed."""
        ...

    async def join(self, reservation: Reservation) -> Sequence[Delivery]:
        """Waiting steering inputs join this run; they end with it. Empty when there are none."""
        ...

    async def tool_started(self, reservation: Reservation, call: Call) -> None:
        """Commit the call before it runs. Raises FencedError."""
        ...

    async def tool_ended(
        self, reservation: Reservation, call: Call, *, ok: bool, detail: str
    ) -> None:
        """Commit what came of it."""
        ...

    async def settle(self, reservation: Reservation, outcome: Outcome) -> Delivery:
        """End the attempt, its members and their inputs; append answer and turn.

        Raises:
            FencedError: the conversation was taken over.
            TransitionRefusedError: it has ended already.
        """
        ...

    async def cancel_waiting(self, delivery: str) -> bool:
        """`queued` to `cancelled` if it still waits and no attempt is open; else False."""
        ...

    async def stop(self, delivery: str) -> tuple[str, int] | None:
        """Note that the owner wants to end what a seat may have of it.

        Returns the event and attempt under which the seat knows it; None: no seat has it. Refused
        after that, it is cancelled; interrupted, it ends `cancelled`.
        """
        ...

    async def abandon(self, delivery: str) -> Delivery:
        """The owner closes an uncertain delivery as unknown. Raises TransitionRefusedError."""
        ...

    async def release_held(self, conversation: str | None, reason: str | None = None) -> int:
        """Held wakes may run again (with a fresh count); returns how many. None: everywhere."""
        ...


class AttachmentStore(Protocol):
    """Bytes by their own digest: the same bytes are kept once."""

    async def put(self, data: bytes, media_type: str) -> str:
        """Keep them; returns the SHA-256, hexadecimal. Raises StorageUnavailableError."""
        ...

    async def facts(self, digest: str) -> tuple[str, int]:
        """Media type and size. Raises AttachmentNotFoundError."""
        ...

    async def get(self, digest: str) -> tuple[str, bytes]:
        """Media type and bytes. Raises AttachmentNotFoundError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage:
    """What the turns that ended on one day (UTC) cost. `cost_usd` covers those with a price."""

    day: date
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens


class OwnerStore(Protocol):
    """Settings, tokens and what was used."""

    async def settings(self) -> tuple[int, Settings]:
        """Revision and tree."""
        ...

    async def save_settings(self, settings: Settings, expected_revision: int) -> int:
        """Raises SettingsConflictError; returns the new revision."""
        ...

    async def add_token(self, token: Token, secret_sha256: str) -> None:
        """Keep a new token."""
        ...

    async def usage(self, days: int, now: datetime) -> Sequence[DayUsage]:
        """What the last days (UTC, with today) cost, newest first; empty days are left out."""
        ...

    async def tokens(self) -> Sequence[tuple[Token, str]]:
        """All of them with their hashes, revoked ones too."""
        ...

    async def revoke_token(self, token: str) -> None:
        """Raises TokenNotFoundError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What the start of a node found. Ids of deliveries."""

    uncertain: Sequence[str] = ()
    released: Sequence[str] = ()


class Store(Protocol):
    """The whole of it. Entering it opens and migrates; leaving it writes what was accepted."""

    conversations: ConversationStore
    deliveries: DeliveryStore
    wakes: WakeStore
    goals: GoalStore
    attachments: AttachmentStore
    owner: OwnerStore
    seats: SeatStore
    mail: MailStore
    watches: WatchStore

    async def boot(self) -> Recovered:
        """Begin as a new node: earlier nodes are dead, and what they had in flight is settled.

        Also makes the head conversation when it is missing.
        """
        ...

    async def prune(self, before: datetime) -> int:
        """Drop the evidence of deliveries that ended before; ids and fingerprints stay.

        Also which rows were taken of native sessions that a reset retired before.
        """
        ...

    async def backup(self, target: str) -> None:
        """Write a consistent copy to a new file, online. Raises StorageUnavailableError."""
        ...

    async def outlived(self) -> None:
        """Return once a write was refused because a later node has taken over."""
        ...

    def backlog(self) -> int:
        """Units that wait for the writer now."""
        ...

    async def facts(self) -> dict[str, object]:
        """For doctor and status: `sqlite`, `schema`, `bytes` and more, all cheap to read."""
        ...
