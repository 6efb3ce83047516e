"""What the host needs of the rooms around it. Rooms implement these; only `wiring` sees both sides.

The store's part stands in `storage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from clankie.core.conversation import Conversation, Usage
from clankie.core.driver import Standing
from clankie.core.projection import Projection
from clankie.core.receipt import Delivery
from clankie.core.settings import Models, Settings
from clankie.core.wake import Wake
from clankie.host.storage import Call, EventPage

# ── time, ids, crash points ──────────────────────────────────────────────────────────────────────


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """Wall clock, UTC, whole milliseconds: for records and for what people agreed on."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back and do not count a sleeping machine: for deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long on the monotonic clock."""
        ...


class Ids(Protocol):
    """The only source of identifiers and secrets."""

    def new(self, prefix: str) -> str:
        """A fresh id, ``prefix-`` and 26 characters of a-z 0-9, ordered by time of making."""
        ...

    def secret(self) -> str:
        """256 random bits, URL-safe."""
        ...


class CrashPoint(Protocol):
    """A named place where a test may end the process. In the product it does nothing."""

    def reach(self, name: str) -> None:
        """Called before and after each commit, on the thread that commits."""
        ...


# ── the service lane ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """One turn to run: answer `delivery`. `settings` are as they stood when the turn began."""

    conversation: str
    delivery: Delivery
    attempt: str
    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResult:
    """The lane's own account of a turn that ended by itself."""

    text: str
    usage: Usage = field(default_factory=Usage)


class LaneError(Exception):
    """A turn that failed in a known way. `code` and `detail` go on the receipt.

    `partial`: what was written of an answer before.
    """

    def __init__(
        self, code: str, detail: str, *, partial: str = "", usage: Usage | None = None
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.partial, self.usage = code, detail, partial, usage


class TurnReach(Protocol):
    """What the tools of a running turn may reach."""

    async def self_state(self) -> dict[str, object]:
        """What `get_self_state` shows: conversation, settings in short, waiting wakes, time."""
        ...

    async def attachment(self, digest: str) -> bytes:
        """The bytes of something attached to this input. Raises AttachmentNotFoundError."""
        ...

    async def here(self) -> Conversation:
        """The conversation as it stands now."""
        ...

    async def workspace(self) -> str | None:
        """The directory this conversation may work in; None where it has none."""
        ...

    async def read_conversation(
        self, conversation: str | None, *, before: int | None, limit: int
    ) -> EventPage:
        """Events of this conversation (None) or of another one this conversation may read.

        Raises:
            ConversationNotFoundError: there is none, or it is not for this conversation to see.
        """
        ...

    async def finish_goal(self, *, reached: bool) -> None:
        """End the goal of this conversation. Raises GoalNotFoundError."""
        ...

    async def schedule_wake(self, *, due_at: datetime, text: str, call_id: str) -> Wake:
        """Set a wake for this conversation; the same call sets it once."""
        ...


class TurnHost(TurnReach, Protocol):
    """What a running turn may ask of the host. Each call counts as a sign of life."""

    def progress(self) -> None:
        """Something happened that is not text."""
        ...

    def draft(self, text: str) -> None:
        """More of the answer; shown at once, stored at the end."""
        ...

    def spent(self, usage: Usage) -> None:
        """What the turn cost so far, all of it: it counts where the turn is cut off."""
        ...

    async def steered(self) -> Sequence[Delivery]:
        """Messages that join the run now. Ask before each model request and before ending."""
        ...

    async def projection(self) -> Projection:
        """The bounded log before this input."""
        ...

    def tool(self, call: Call) -> AbstractAsyncContextManager[ToolReport]:
        """Wrap the run of a tool: committed before, outcome after, under a shield.

        Its body has the tool's own time limit; an exception in it is recorded as `failed`.
        """
        ...


@dataclass(slots=True)
class ToolReport:
    """A tool fills in what the log tells of it."""

    detail: str = ""


class Lane(Protocol):
    """A runner of turns. Cancelling `run` ends the model request and running tools promptly."""

    async def run(self, request: TurnRequest, host: TurnHost) -> LaneResult:
        """Run one turn. Raises LaneError for every known failure; anything else is a defect."""
        ...

    def evict(self, conversation: str) -> None:
        """Forget the session: the next turn starts from the projection."""
        ...

    def status(self) -> dict[str, object]:
        """For doctor and status: model, endpoint, sessions."""
        ...


# ── what there is to choose from ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that could answer. `model` is None where the provider is known and no model is.

    `source`: settings, credential, environment, local or practice. `ready`: it can be used as it
    is. `sentence` says what it is or needs. `address`: where a local one answers.
    """

    provider: str
    model: str | None
    source: str
    ready: bool
    sentence: str
    address: str | None = None


class ModelChoices(Protocol):
    """Which model answers now, why, and which others there are."""

    def current(self, settings: Settings) -> ModelChoice:
        """The one that answers; never waits."""
        ...

    async def choices(self, settings: Settings) -> Sequence[ModelChoice]:
        """All there are, in the order in which they would be taken."""
        ...

    def announcement(self, models: Models) -> str | None:
        """What the owner is told before a paid key that was found is first used; else None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class McpStatus:
    """A server of further tools. `state`: ready, starting, failed, changed or off.

    `hash` identifies the list of tools that it offers now; agreeing names it.
    """

    name: str
    state: str
    tools: Sequence[str] = ()
    sentence: str = ""
    hash: str = ""


class McpBank(Protocol):
    """The servers of further tools, as the settings name them."""

    def status(self) -> Sequence[McpStatus]:
        """One for each server in the settings, in order of their names."""
        ...

    def settings_changed(self) -> None:
        """End at once what the settings do not name so any more."""
        ...

    async def agree(self, name: str, hash_: str) -> None:
        """Use the tools that the server offers now.

        Raises:
            McpServerNotFoundError: the settings name none so.
            TransitionRefusedError: what it offers is not what `hash_` names.
        """
        ...


# ── where work may happen ────────────────────────────────────────────────────────────────────────


class Workspaces(Protocol):
    """Which directories may become a workspace."""

    async def check(self, path: str) -> str:
        """The directory as it is kept: absolute, and without links in its name.

        Raises:
            InvalidFieldError: it cannot be one: it is no directory, or /, the home directory, or
                one that holds or lies in the state of the service.
        """
        ...


# ── seats and rooms ──────────────────────────────────────────────────────────────────────────────


class Seats(Protocol):
    """Who is attached where."""

    def standing(self, conversation: str) -> Standing | None:
        """The attached seat as it stands now; None when there is none."""
        ...


class Processes(Protocol):
    """What the kernel says of the processes of this machine."""

    @property
    def proves(self) -> bool:
        """Whether it can say anything; elsewhere seats stay unproven."""
        ...

    def started_at(self, pid: int) -> str | None:
        """``linux:<boot id>:<ticks>``: no other process ever has both; None: there is none."""
        ...

    def ancestors(self, pid: int) -> Sequence[int]:
        """Its parent, that one's parent, and so on."""
        ...

    def uid(self, pid: int) -> int | None:
        """Whose it is; None: there is none."""
        ...


class Rooms(Protocol):
    """What a room's input must still hold when it runs."""

    async def check(self, delivery: Delivery) -> None:
        """Refresh actor and route. Raises RefusedError when the authority is gone."""
        ...


# ── secrets of the owner ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A secret as lists show it. It is sent to `origin` (scheme, host, port) and nowhere else."""

    name: str
    origin: str
    source: str


class Credentials(Protocol):
    """Where secrets of the owner are kept: never in settings, logs, prompts or errors."""

    def list(self) -> Sequence[Credential]:
        """Names and origins, never secrets."""
        ...

    def settle(self) -> None:
        """Choose where secrets are kept, if that is still open.

        It may take seconds, so it is called beside the event loop, before the first `put`.
        """
        ...

    def place(self) -> str:
        """Where secrets are kept and why there, in one sentence."""
        ...

    def put(self, name: str, origin: str, secret: str) -> None:
        """Keep or replace one."""
        ...

    def remove(self, name: str) -> bool:
        """Forget one; False when there was none."""
        ...

    def secret_for(self, name: str, origin: str) -> str | None:
        """The secret of that name, only if it was stored for exactly this origin."""
        ...

    def known_secrets(self) -> Sequence[str]:
        """Every secret there is, for redaction by value."""
        ...
