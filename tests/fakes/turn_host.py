"""The port TurnHost without a host: it records what a turn asked of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from clankie.core.admission import Mode, Origin, fingerprint
from clankie.core.conversation import OPERATOR, Author, Conversation, Kind, Usage
from clankie.core.delivery import InputState
from clankie.core.errors import AttachmentNotFoundError
from clankie.core.projection import Projection
from clankie.core.receipt import Delivery
from clankie.core.settings import DEFAULTS, Settings
from clankie.core.wake import Wake
from clankie.host.ports import ToolReport, TurnRequest
from clankie.host.storage import Call, EventPage
from fakes.clock import START

CONVERSATION = "global-default"


def delivery(
    text: str, *, n: int = 1, origin: Origin = Origin.OWNER, author: Author = OPERATOR
) -> Delivery:
    return Delivery(
        id=f"m-{n}",
        conversation=CONVERSATION,
        origin=origin,
        author=author,
        text=text,
        mode=Mode.AUTO,
        fingerprint=fingerprint(CONVERSATION, Mode.AUTO, text),
        state=InputState.RUNNING,
        admitted_at=START,
        message_cursor=n,
    )


def turn(
    given: str | Delivery,
    *,
    settings: Settings = DEFAULTS,
    attempt: str = "attempt-1",
    conversation: str = CONVERSATION,
) -> TurnRequest:
    return TurnRequest(
        conversation=conversation,
        delivery=delivery(given) if isinstance(given, str) else given,
        attempt=attempt,
        settings=settings,
    )


class FakeTurnHost:
    """`steering` holds batches of messages that join, one batch for each time the lane asks."""

    def __init__(self, projection: Projection | None = None) -> None:
        self.log = projection or Projection((), 0)
        self.usage: Usage | None = None
        self.drafts: list[str] = []
        self.marks = 0
        self.calls: list[Call] = []
        self.ended: list[tuple[str, bool, str]] = []
        self.wakes: list[Wake] = []
        self.steering: list[list[Delivery]] = []
        self.asked_for_steering = 0
        self.projections = 0
        self.refuse_wake: Exception | None = None
        self.refuse_tool: Exception | None = None
        self.attached: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.kind = Kind.GLOBAL
        self.directory: str | None = None
        self.page = EventPage([], head=0, oldest=1, has_more=False)
        self.read: list[tuple[str | None, int | None, int]] = []
        self.finished: list[bool] = []

    def progress(self) -> None:
        self.marks += 1

    def draft(self, text: str) -> None:
        self.drafts.append(text)

    def spent(self, usage: Usage) -> None:
        self.usage = usage

    async def steered(self) -> Sequence[Delivery]:
        self.asked_for_steering += 1
        return self.steering.pop(0) if self.steering else []

    async def projection(self) -> Projection:
        self.projections += 1
        return self.log

    @asynccontextmanager
    async def tool(self, call: Call) -> AsyncIterator[ToolReport]:
        if self.refuse_tool is not None:
            raise self.refuse_tool
        self.calls.append(call)
        report = ToolReport(detail=call.detail)
        try:
            yield report
        except Exception:
            self.ended.append((call.call_id, False, report.detail))
            raise
        self.ended.append((call.call_id, True, report.detail))

    async def self_state(self) -> dict[str, object]:
        return {"name": "Clankie", "wakes": [wake.id for wake in self.wakes]}

    async def attachment(self, digest: str) -> bytes:
        self.fetched.append(digest)
        if digest not in self.attached:
            raise AttachmentNotFoundError(digest)
        return self.attached[digest]

    async def here(self) -> Conversation:
        return Conversation(
            id=CONVERSATION,
            name="here",
            kind=self.kind,
            revision=0,
            cursor=0,
            created_at=START,
            directory=self.directory,
        )

    async def workspace(self) -> str | None:
        return self.directory

    async def read_conversation(
        self, conversation: str | None, *, before: int | None, limit: int
    ) -> EventPage:
        self.read.append((conversation, before, limit))
        return self.page

    async def finish_goal(self, *, reached: bool) -> None:
        self.finished.append(reached)

    async def schedule_wake(self, *, due_at: datetime, text: str, call_id: str) -> Wake:
        if self.refuse_wake is not None:
            raise self.refuse_wake
        wake = Wake(
            id=call_id,
            conversation=CONVERSATION,
            due_at=due_at,
            text=text,
            depth=1,
            created_at=START,
        )
        self.wakes.append(wake)
        return wake

    @property
    def shown(self) -> str:
        """The draft as a reader saw it."""
        return "".join(self.drafts)
