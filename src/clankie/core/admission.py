"""The fence at the door: what is admitted, what is the same again, what is refused.

Order (the protocol's): rights; then a known delivery id, which is answered with its receipt before
any revision is compared; then the revision; then the bound of the queue. A refusal records nothing.
"""

from __future__ import annotations

import hashlib
import json.encoder
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from clankie.core.conversation import OPERATOR, Role
from clankie.core.delivery import RETRYABLE, InputState
from clankie.core.errors import (
    BackpressureError,
    ConversationClosedError,
    ConversationReadOnlyError,
    DeliveryConflictError,
    DeliveryNotFoundError,
    ReceiptExpiredError,
    RevisionConflictError,
    TransitionRefusedError,
    UnconfirmedError,
)

if TYPE_CHECKING:
    from clankie.core.conversation import Attachment, Author

TEXT_LIMIT: Final = 65_536
"""Characters of one input; the wire's bound, not a setting."""

_quoted: Final = json.encoder.encode_basestring
"""A text as JSON has it; an encoder for whole lists would be made anew for each."""


class Mode(StrEnum):
    """How an input wants to reach a busy driver."""

    AUTO = "auto"
    STEER = "steer"
    QUEUE = "queue"


class Origin(StrEnum):
    """What kind of input it is; decides which drivers it may reach."""

    OWNER = "owner"
    ROOM = "room"
    ESCALATION = "escalation"
    REPORT = "report"
    WAKE = "wake"
    WATCH = "watch"
    LINEAR = "linear"
    ROUND = "round"
    GOAL = "goal"
    INTERNAL = "internal"

    @property
    def role(self) -> Role:
        """How the log labels the words."""
        if self is Origin.OWNER:
            return Role.OWNER
        return Role.ROOM if self is Origin.ROOM else Role.EXTERNAL

    @property
    def retries(self) -> bool:
        """Whether a known failure is tried again by itself: only wakes are."""
        return self is Origin.WAKE


class Reach(StrEnum):
    """Whom an input was addressed to when it was admitted; fixed for ever."""

    CONVERSATION = "conversation"
    OCCUPANT = "occupant"  # one occupant, no other
    HELD_QUEUE = "held_queue"  # queued by the owner behind a seat's own turn
    NATIVE_PARENT = "native_parent"  # a parent that exists only in its harness


ADDRESSED: Final = frozenset({Reach.OCCUPANT, Reach.NATIVE_PARENT})
"""One of these reserves its recipient until it is known what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An input somebody offers. `delivery_id` is the stored one; `text` is as it was sent.

    `expected_revision` is what an interactive client saw; host inputs carry none.
    `automatic`: nobody asked for this anew; a program repeats what it could not confirm.
    `wake`: the waiting wake that this input is; `depth`: how many wakes led to it. `reach` and
    `occupant`: the recipient, fixed by the admission. `channel`: the linked channel that it came
    from; `name`: what people call its author.
    """

    delivery_id: str
    conversation: str
    text: str
    origin: Origin = Origin.OWNER
    author: Author = OPERATOR
    mode: Mode = Mode.AUTO
    expected_revision: int | None = None
    retry_of: str | None = None
    attachments: tuple[Attachment, ...] = ()
    automatic: bool = False
    wake: str | None = None
    depth: int = 0
    reach: Reach = Reach.CONVERSATION
    occupant: str | None = None
    channel: str | None = None
    name: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what makes it the same input: conversation, mode, text and attachments."""
        digests = tuple(one.digest for one in self.attachments)
        return fingerprint(self.conversation, self.mode, self.text, digests)


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored under the offered id."""

    fingerprint: str
    state: InputState
    pruned: bool


class Place(Protocol):
    """As much of a conversation as the decision needs; `closed` may be 0 or 1."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def revision(self) -> int:
        """What the owner did there, counted."""
        ...

    @property
    def cursor(self) -> int:
        """The last event's."""
        ...

    @property
    def waiting(self) -> int:
        """Inputs that wait."""
        ...

    @property
    def closed(self) -> int:
        """Whether nothing can be sent there any more."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether it is run by its room."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All that the decision needs to know of the conversation, read under its lock.

    `unresolved`: an uncertain delivery here with the offered fingerprint. `retried`: the state of
    the delivery named by `retry_of`. `reserved`: an unresolved delivery to the same occupant, which
    keeps every other away. `bound`: how many inputs may wait.
    """

    conversation: Place
    known: Known | None = None
    unresolved: str | None = None
    retried: InputState | None = None
    reserved: str | None = None
    bound: int


class Verdict(StrEnum):
    """What to do with an offer that is not refused."""

    ADMIT = "admit"
    REPEAT = "repeat"


def normalise(text: str) -> str:
    """Line ends as line feeds, blanks around it trimmed: what a fingerprint compares."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def fingerprint(conversation: str, mode: Mode, text: str, attachments: tuple[str, ...] = ()) -> str:
    """SHA-256, hexadecimal, of an unambiguous encoding; `attachments` are content digests.

    Not JSON's ASCII form: it writes one character beyond U+FFFF and two lone surrogates alike.
    """
    parts = (conversation, mode, normalise(text))
    whole = f"[{','.join(map(_quoted, parts))},[{','.join(map(_quoted, attachments))}]]"
    return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()


def decide(offer: Offer, standing: Standing) -> Verdict:
    """Whether the offer is new, the same again, or refused.

    Raises:
        ConversationReadOnlyError: the owner cannot send there.
        DeliveryConflictError, UnconfirmedError, ReceiptExpiredError: the id is known.
        ConversationClosedError: nothing can be sent there any more.
        DeliveryNotFoundError, TransitionRefusedError: what it wants to try again is not there, or
            has not ended badly.
        RevisionConflictError: the owner's client is behind.
        BackpressureError: too much waits already.
    """
    conversation = standing.conversation
    if conversation.read_only and offer.origin is Origin.OWNER:
        raise ConversationReadOnlyError(conversation.id)
    if standing.known is not None:
        return _known(offer, standing.known)
    if conversation.closed:
        raise ConversationClosedError(conversation.id)
    if offer.automatic and standing.unresolved is not None:
        raise UnconfirmedError(standing.unresolved)
    if offer.reach in ADDRESSED and standing.reserved is not None:
        raise UnconfirmedError(standing.reserved)
    _check_retry(offer, standing.retried)
    seen = offer.expected_revision
    if seen is not None and seen != conversation.revision:
        raise RevisionConflictError(conversation.revision, conversation.cursor)
    if conversation.waiting >= standing.bound:
        raise BackpressureError
    return Verdict.ADMIT


def _check_retry(offer: Offer, retried: InputState | None) -> None:
    if offer.retry_of is None:
        return
    if retried is None:
        raise DeliveryNotFoundError(offer.retry_of)
    if retried not in RETRYABLE:
        raise TransitionRefusedError(f"The delivery {offer.retry_of!r}", retried, "retried")


def _known(offer: Offer, known: Known) -> Verdict:
    if known.fingerprint != offer.fingerprint:
        if known.state is InputState.UNCERTAIN:
            raise UnconfirmedError(offer.delivery_id)
        raise DeliveryConflictError(offer.delivery_id)
    if known.pruned:
        raise ReceiptExpiredError(offer.delivery_id)
    if known.state is InputState.UNCERTAIN and offer.automatic:
        raise UnconfirmedError(offer.delivery_id)
    return Verdict.REPEAT
