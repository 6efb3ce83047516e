"""What the suites of seats work with: seats that sit at conversations, and their mail."""

from datetime import timedelta
from typing import Any

from clankie.core.admission import Origin
from clankie.core.conversation import OPERATOR, Author, Principal
from clankie.core.delivery import AttemptState, SeatState
from clankie.core.driver import Presence, Standing
from clankie.core.ids import HEAD
from clankie.core.seat import Capabilities, Native, Occupant, SeatEvent
from clankie.core.settings import SeatLimits
from clankie.host.bearer import Token
from clankie.host.seatstore import Ask, Grant, Seat
from clankie.host.storage import Offered, Store
from contracts.store_kit import World, admitted

LIMITS = SeatLimits()
BUDGET = 24_000
BRIDGE, OTHER = "b-1", "b-2"
ADA = Author(Principal.ROOM, "ada")


def occupant(session: str = "n-1", pid: int = 7, harness: str = "claude") -> Occupant:
    return Occupant(harness=harness, native=Native(session, pid, "linux:boot:1"))


def grant_of(world: World, conversation: str = HEAD, **more: Any) -> Grant:
    return Grant(
        secret_sha256=more.pop("secret", "a" * 64),
        conversation=conversation,
        harness=more.pop("harness", "claude"),
        uid=1000,
        expected=more.pop("expected", None),
        expires_at=world.clock.now() + timedelta(minutes=5),
    )


def seat_of(world: World, name: str = "s-1", sits: Occupant | None = None, **more: Any) -> Seat:
    return Seat(
        id=name,
        harness="claude",
        occupant=sits or occupant(),
        capabilities=more.pop("capabilities", Capabilities()),
        registered_at=world.clock.now(),
        granted=more.pop("granted", HEAD),
        token=more.pop("token", f"t-{name}"),
    )


def token_of(world: World, seat: str, name: str | None = None) -> Token:
    principal = Author(Principal.SEAT, seat)
    return Token(
        id=name or f"t-{seat}", principal=principal, label="", created_at=world.clock.now()
    )


async def seated(
    store: Store,
    world: World,
    name: str = "s-1",
    conversation: str = HEAD,
    sits: Occupant | None = None,
    expected: str | None = None,
    **more: Any,
) -> Standing:
    """A seat that registered and sits at a conversation, as it stands: live."""
    sits = sits or occupant(session=f"n-{name}")
    grant = grant_of(world, conversation, secret=f"g-{name}", expected=expected)
    await store.seats.add_grant(grant)
    seat = seat_of(world, name, sits, granted=conversation, **more)
    await store.seats.register(grant, seat, token_of(world, name), f"sha-{name}")
    return Standing(seat=name, occupant=sits.id, presence=Presence.LIVE)


async def offered(
    store: Store, standing: Standing, delivery: str, text: str = "Hello", **more: Any
) -> str:
    """Admit an input and store it at the seat."""
    one = await admitted(store, delivery, text, **more)
    await stored(store, standing, one.conversation)
    return delivery


async def stored(store: Store, standing: Standing, conversation: str = HEAD) -> list[str]:
    """Store what waits at the seat, as far as it is the destination."""
    names: list[str] = []
    while isinstance(found := await reserve(store, standing, conversation), Offered):
        names.append(found.delivery.id)
    assert found is None
    return names


async def reserve(store: Store, standing: Standing | None, conversation: str = HEAD) -> object:
    return await store.deliveries.reserve(conversation, seat=standing)


async def poll(
    store: Store,
    seat: str = "s-1",
    poll_id: str = "p-1",
    binding: str = BRIDGE,
    **more: Any,
) -> list[SeatEvent]:
    """What one poll is given."""
    limits = more.pop("limits", LIMITS)
    ask = Ask(binding=binding, poll_id=poll_id, **more)
    return [*(await store.mail.take(seat, ask, limits=limits, budget=BUDGET)).events]


async def given(
    store: Store, standing: Standing, delivery: str = "m-1", text: str = "Hello", **more: Any
) -> SeatEvent:
    """An input that a poll was given: its bridge may hand it over now."""
    await offered(store, standing, delivery, text, **more)
    events = await poll(store, standing.seat, poll_id=f"p-{delivery}")
    assert [one.id for one in events] == [delivery]
    return events[0]


async def taken(
    store: Store, standing: Standing, delivery: str = "m-1", text: str = "Hello", **more: Any
) -> SeatEvent:
    """An input that the bridge acknowledged."""
    event = await given(store, standing, delivery, text, **more)
    await store.mail.ack(standing.seat, event.id, event.attempt, BRIDGE)
    return event


async def state(store: Store, delivery: str) -> tuple[str, AttemptState]:
    """Of the input and its last attempt."""
    one = await store.deliveries.get(delivery)
    return one.state, one.attempts[-1].state


ESCALATION: dict[str, Any] = {"origin": Origin.ESCALATION, "author": ADA, "name": "Ada"}
TAKEN, UNCERTAIN = SeatState.TAKEN, SeatState.UNCERTAIN
BY = OPERATOR
