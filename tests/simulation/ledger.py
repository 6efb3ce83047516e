"""What was seen from outside of the house, written down as it happened and never taken back."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from clankie.core.admission import Offer
from clankie.core.receipt import Delivery


@dataclass(frozen=True, slots=True)
class Run:
    """A lane was asked to run a turn: from here on the model may have seen the words."""

    delivery: str
    attempt: str
    boot: int
    owner_releases: int


@dataclass(frozen=True, slots=True)
class Effect:
    """A tool did something in the world."""

    call: str
    delivery: str
    attempt: str


@dataclass(frozen=True, slots=True)
class Given:
    """Words arrived in a harness: from here on its model may see them.

    `deliveries` are all whose words they are, none of a handoff.
    """

    event: str
    attempt: int
    seat: str
    deliveries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A page brought a handoff. The harness had the log up to `had` before the poll began."""

    span: str
    attempt: int
    conversation: str
    content: str
    had: int


@dataclass(slots=True)
class AtSeats:
    """What was seen of seats.

    `given`: what arrived in harnesses. `acks`, `refusals`: what was said of (seat, event, attempt),
    with the bindings that said it; `replies`: the texts of answers. `proofs`: (event, attempt) that
    a row of a transcript names exactly. `projections`: up to which cursor a conversation's harness
    was shown the log. `drove`: the harness cursor of a conversation when it was first seen to have
    one. `had`: up to which cursor it certainly had the log, or a reset put it aside. `retired`:
    native sessions that a reset ended. `rows`: texts of rows that were sent, with whether they are
    a delivery's own words and whether the service confirmed to have them. `stops`: which seat was
    asked to stop which event and attempt. `mishaps`: how often a turn ended without an answer.
    """

    given: list[Given] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    acks: dict[tuple[str, str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    refusals: dict[tuple[str, str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    replies: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    proofs: set[tuple[str, int]] = field(default_factory=set)
    limits: int = 0
    mishaps: int = 0
    stops: dict[tuple[str, int], str] = field(default_factory=dict)
    projections: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    drove: dict[str, int] = field(default_factory=dict)
    had: dict[str, int] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)
    rows: dict[str, tuple[bool, bool]] = field(default_factory=dict)

    def has(self, conversation: str, cursor: int) -> None:
        """The harness there needs to be told nothing up to this cursor."""
        self.had[conversation] = max(self.had.get(conversation, 0), cursor)

    def given_of(self, delivery: str) -> list[Given]:
        """How often its words arrived in a harness."""
        return [one for one in self.given if delivery in one.deliveries]


@dataclass(slots=True)
class Ledger:
    """Offers and answers, runs and effects.

    `offered`: by id, the fingerprints that were offered under it. `unknown`: how many offers of
    an id have no answer. `promised`: admitted ids with fingerprint and message cursor. `returned`:
    what a lane answered, by attempt. `joined`: which attempts took a steering message in.
    `requested`: ids whose cancelling was promised before any run of them had begun, with the boot.
    """

    offered: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    unknown: Counter[str] = field(default_factory=Counter)
    promised: dict[str, tuple[str, int]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    returned: dict[str, str] = field(default_factory=dict)
    joined: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    effects: list[Effect] = field(default_factory=list)
    final: dict[str, tuple[str, str | None, int | None]] = field(default_factory=dict)
    uncertain: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    requested: dict[str, int] = field(default_factory=dict)
    abandoned: set[str] = field(default_factory=set)
    wakes: dict[str, str] = field(default_factory=dict)
    removing: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    revisions: dict[str, int] = field(default_factory=dict)
    settings: int = 0
    releases: int = 0
    seats: AtSeats = field(default_factory=AtSeats)

    def offer(self, offer: Offer) -> None:
        """Somebody is about to offer this."""
        self.offered[offer.delivery_id].add(offer.fingerprint)

    def runs_of(self, delivery: str) -> list[Run]:
        """The turns that lanes were asked to run for it."""
        return [one for one in self.runs if one.delivery == delivery]

    def effects_of(self, attempt: str) -> list[Effect]:
        """What this attempt's tools did."""
        return [one for one in self.effects if one.attempt == attempt]

    def saw(self, delivery: Delivery) -> tuple[str, str | None, int | None]:
        """What a reader saw of a delivery, in short."""
        return (delivery.state, delivery.code, delivery.reply_cursor)
