"""What the suites of the store work with: a world that stays while stores come and go."""

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from clankie.core.admission import Mode, Offer, Origin
from clankie.core.conversation import CAPTAIN, OPERATOR, Author, Kind, Principal
from clankie.core.delivery import ServiceState
from clankie.core.driver import Fence
from clankie.core.ids import HEAD
from clankie.core.receipt import Delivery
from clankie.core.wake import Wake
from clankie.host.ports import CrashPoint
from clankie.host.storage import (
    Call,
    Committed,
    NewConversation,
    Outcome,
    Reservation,
    Store,
    Stored,
)
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash

BOUND = 1_000
SOMEBODY = Author(Principal.ROOM, "ada")
DONE = Outcome(state=ServiceState.COMPLETED, text="Here you are.")
CALL = Call(call_id="c-1", name="write", effect=True, arguments_sha256="ab" * 32, detail="a file")


@dataclass
class Told:
    """What the host heard of commits."""

    events: list[Stored] = field(default_factory=list)
    touched: list[frozenset[str]] = field(default_factory=list)

    def __call__(self, events: Sequence[Stored], touched: frozenset[str]) -> None:
        self.events += events
        self.touched.append(touched)


Make = Callable[[FakeClock, FakeIds, CrashPoint, Committed], AbstractAsyncContextManager[Store]]


@dataclass
class World:
    """One state on disk, with its time and its ids. `open` may be called again and again."""

    make: Make
    clock: FakeClock = field(default_factory=FakeClock)
    ids: FakeIds = field(default_factory=FakeIds)
    told: Told = field(default_factory=Told)

    def open(self, crash: CrashPoint | None = None) -> AbstractAsyncContextManager[Store]:
        return self.make(self.clock, self.ids, crash or NoCrash(), self.told)


def offer(delivery: str, text: str = "Hello", **more: Any) -> Offer:
    return Offer(
        delivery_id=delivery, conversation=more.pop("conversation", HEAD), text=text, **more
    )


def from_room(delivery: str, text: str = "Hello", **more: Any) -> Offer:
    return offer(delivery, text, origin=Origin.ROOM, author=SOMEBODY, mode=Mode.STEER, **more)


def workspace(name: str, kind: Kind = Kind.WORKSPACE) -> NewConversation:
    return NewConversation(id=name, request_id=f"make-{name}", name=name, kind=kind)


async def made(store: Store, name: str, kind: Kind = Kind.WORKSPACE) -> str:
    conversation, _ = await store.conversations.create(workspace(name, kind), OPERATOR)
    return conversation.id


async def admitted(store: Store, delivery: str, text: str = "Hello", **more: Any) -> Delivery:
    return (await store.deliveries.admit(offer(delivery, text, **more), BOUND)).delivery


async def reserved(store: Store, conversation: str = HEAD) -> Reservation:
    reservation = await store.deliveries.reserve(conversation)
    assert isinstance(reservation, Reservation)
    return reservation


async def started(store: Store, conversation: str = HEAD) -> Reservation:
    reservation = await reserved(store, conversation)
    await store.deliveries.start(reservation)
    return reservation


async def answered(store: Store, delivery: str, text: str = "Hello", **more: Any) -> Delivery:
    """Admit it, run it and settle it."""
    one = await admitted(store, delivery, text, **more)
    return await store.deliveries.settle(await started(store, one.conversation), DONE)


async def lost(store: Store, delivery: str, **more: Any) -> None:
    """An input whose run was cut short by a restart: nobody knows how it ended."""
    await admitted(store, delivery, **more)
    await started(store, more.get("conversation", HEAD))
    await store.boot()


def wake(name: str, world: World, due_in: float = 60.0, **more: Any) -> Wake:
    now = world.clock.now()
    return Wake(
        id=name,
        conversation=more.pop("conversation", HEAD),
        due_at=now + timedelta(seconds=due_in),
        text=more.pop("text", "Look again."),
        depth=more.pop("depth", 1),
        created_at=now,
        **more,
    )


def woken(one: Wake) -> Offer:
    """The offer that a due wake becomes."""
    return offer(
        f"captain/{one.id}",
        one.text,
        conversation=one.conversation,
        origin=Origin.WAKE,
        author=CAPTAIN,
        wake=one.id,
        depth=one.depth,
    )


def elsewhere(reservation: Reservation) -> Reservation:
    """The same reservation with a token that is not the conversation's any more."""
    old = Fence(reservation.fence.node, reservation.fence.token - 1)
    return Reservation(reservation.delivery, reservation.attempt, old)


def writes(store: Store, held: Reservation) -> dict[str, Callable[[], Awaitable[object]]]:
    """Everything that an executor writes, by name."""
    failed = Outcome(state=ServiceState.FAILED, code="no_driver")
    deliveries = store.deliveries
    return {
        "start": lambda: deliveries.start(held),
        "release": lambda: deliveries.release(held, "elsewhere"),
        "refuse": lambda: deliveries.refuse(held, failed),
        "join": lambda: deliveries.join(held),
        "tool_started": lambda: deliveries.tool_started(held, CALL),
        "tool_ended": lambda: deliveries.tool_ended(held, CALL, ok=True, detail="done"),
        "settle": lambda: deliveries.settle(held, DONE),
    }


BEFORE_START = frozenset({"start", "release", "refuse"})
WRITES = ("start", "release", "refuse", "join", "tool_started", "tool_ended", "settle")


async def log(store: Store, conversation: str = HEAD) -> list[dict[str, Any]]:
    """The events of a conversation, as a reader gets them."""
    page = await store.conversations.events_after(conversation, 0, 500)
    return [json.loads(event.data) for event in page.events]


async def turns(store: Store, delivery: str, conversation: str = HEAD) -> list[str]:
    """The phases of a delivery's turn, as the log tells them."""
    return [
        event["phase"]
        for event in await log(store, conversation)
        if event["kind"] == "turn" and event["delivery_id"] == delivery
    ]
