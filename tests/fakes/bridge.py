"""A scripted seat: what a bridge beside a harness says to the service, verb by verb."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clankie.core.conversation import OPERATOR
from clankie.core.delivery import SeatState
from clankie.core.ids import HEAD
from clankie.core.seat import (
    Activity,
    Capabilities,
    Entry,
    EntryKind,
    Evidence,
    Limited,
    Native,
    Proof,
    SeatEvent,
    delivery_uuid,
)
from clankie.core.session import Peer
from clankie.host.seats import (
    answers,
    attachment,
    grants,
    poll,
    registration,
    session,
    transcript,
)
from clankie.host.seats.poll import Page
from clankie.host.seats.session import Projected
from clankie.host.seatstore import Synced
from clankie.host.waiting import Value
from fakes.hall import Hall
from fakes.processes import UID

ALL = Capabilities(interrupt=True)
LONG = 30.0


@dataclass(slots=True)
class Mailbox:
    """What a bridge is given and says of it. `binding` is this process, `native` its session."""

    hall: Hall
    seat: str
    native: str
    binding: str = "b-1"
    polls: int = 0
    rows: int = 0
    heard: list[SeatEvent] = field(default_factory=list)

    async def poll(self, wait: float = LONG, poll_id: str | None = None) -> Page:
        """Ask once; the page, when it comes."""
        self.polls += 1
        name = poll_id or f"{self.seat}-{self.binding}-{self.polls}"
        page = await poll.poll(
            self.hall.house, self.seat, binding=self.binding, poll_id=name, wait=wait
        )
        self.heard += page.events
        return page

    def parks(
        self, wait: float = LONG, poll_id: str | None = None
    ) -> "asyncio.Task[Value[Page] | Exception]":
        """A poll beside the test; `page_of` reads what came, cancelling it breaks it off."""
        return self.hall.house.captain.spawn(self.poll(wait, poll_id))

    async def given(self, wait: float = LONG) -> SeatEvent:
        """The one event of the next page."""
        page = await self.poll(wait)
        assert len(page.events) == 1, page
        return page.events[0]

    async def nothing(self) -> None:
        """The next poll is empty, for as long as it may wait."""
        page = await self.poll()
        assert page.events == (), page

    async def ack(self, event: SeatEvent) -> SeatState:
        return await answers.ack(
            self.hall.house, self.seat, event.id, attempt=event.attempt, binding=self.binding
        )

    async def refuse(self, event: SeatEvent, reason: str = "not_now") -> SeatState:
        return await answers.refuse(
            self.hall.house,
            self.seat,
            event.id,
            attempt=event.attempt,
            binding=self.binding,
            reason=reason,
        )

    async def reply(self, event: SeatEvent, text: str) -> SeatState:
        return await answers.reply(
            self.hall.house,
            self.seat,
            event.id,
            attempt=event.attempt,
            binding=self.binding,
            text=text,
        )

    async def takes(self, wait: float = LONG) -> SeatEvent:
        """Get the next event and acknowledge it."""
        event = await self.given(wait)
        await self.ack(event)
        return event


@dataclass(slots=True)
class Bridge(Mailbox):
    """One seat as its bridge drives it: its mail, its transcript, and where it is attached."""

    async def sync(
        self,
        *entries: Entry,
        activity: Activity | None = None,
        at: datetime | None = None,
        native: str | None = None,
    ) -> Synced:
        return await transcript.sync(
            self.hall.house,
            self.seat,
            session_id=native or self.native,
            entries=entries,
            activity=activity,
            activity_at=at,
        )

    def row(
        self, kind: EntryKind, text: str = "", *, at: datetime | None = None, **facts: Any
    ) -> Entry:
        """A row of the transcript under an id of its own, written now."""
        self.rows += 1
        when = at or self.hall.clock.now()
        name = facts.pop("id", f"row-{self.native}-{self.rows}")
        return Entry(id=name, kind=kind, at=when, text=text, **facts)

    def proof(self, event: SeatEvent, text: str | None = None) -> Entry:
        """The row that holds this event's words, with the id that both sides derive."""
        value = delivery_uuid(event.id, event.attempt)
        evidence = Evidence(event=event.id, attempt=event.attempt, proof=Proof.UUID, value=value)
        return self.row(EntryKind.USER, text or event.content, evidence=evidence)

    async def works(self) -> None:
        """Its native turn runs."""
        await self.sync(activity=Activity.RESPONDING)

    async def rests(self) -> None:
        """Its native turn has ended."""
        await self.sync(activity=Activity.WAITING)

    async def answers(self, event: SeatEvent, text: str) -> Synced:
        """The harness works on it and says something: all of it in one sync."""
        return await self.sync(
            self.proof(event), self.row(EntryKind.ASSISTANT, text), activity=Activity.WAITING
        )

    async def says(self, *texts: str) -> Synced:
        """Assistant rows that nobody asked for."""
        return await self.sync(*(self.row(EntryKind.ASSISTANT, text) for text in texts))

    async def limited(
        self, resets_at: datetime | None = None, occurred_at: datetime | None = None
    ) -> Synced:
        """The harness refuses a turn for its usage limit."""
        limit = Limited(
            window="five_hour",
            occurred_at=occurred_at or self.hall.clock.now(),
            resets_at=resets_at,
        )
        return await self.sync(self.row(EntryKind.LIMIT, "You have hit your limit", limit=limit))

    async def starts(
        self, native: str | None = None, source: str = "startup", confirm: bool = True
    ) -> Projected:
        """A session start with the log in it."""
        begun = await session.start(
            self.hall.house,
            self.seat,
            session_id=native or self.native,
            source=source,
            sections=("persona", "conversation"),
        )
        if native is not None:
            self.native = native
        if confirm:
            await session.confirm(self.hall.house, self.seat, begun.projection_id)
        return begun

    async def attach(self, conversation: str = HEAD, expected: str | None = None) -> bool:
        """Attach it as the owner; whether a run is waited for."""
        made = await attachment.attach(self.hall.house, self.seat, conversation, expected, OPERATOR)
        return made.running

    async def detach(self) -> None:
        await attachment.detach(self.hall.house, self.seat, OPERATOR, "detached")


def page_of(task: "asyncio.Task[Value[Page] | Exception]") -> Page:
    """What a poll that ran beside the test returned."""
    result = task.result()
    assert isinstance(result, Value), result
    return result.value


async def opened(
    hall: Hall,
    native: str = "native-1",
    *,
    conversation: str | None = None,
    expected: Any = grants.UNSET,
    capabilities: Capabilities = ALL,
    harness: str = "claude",
    pid: int = 100,
) -> Bridge:
    """A seat that was opened as `clankie seat open` does it: granted, registered, attached."""
    _, secret = await grants.issue(
        hall.house,
        conversation=conversation,
        harness=harness,
        uid=UID,
        new=False,
        expected=expected,
    )
    seat, _token = await registration.register(
        hall.house,
        secret=secret,
        harness=harness,
        native=Native(native, pid),
        pane=None,
        fleet="local",
        capabilities=capabilities,
        peer=Peer(pid=pid, uid=UID),
    )
    return Bridge(hall, seat.id, native)


def contents(events: Sequence[SeatEvent]) -> list[str]:
    """What was said in these events."""
    return [one.content for one in events]
