"""Whatever is done in whatever order, with restarts between: the invariants hold."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from clankie.core.admission import Mode
from clankie.core.conversation import OPERATOR, Attachment
from clankie.core.delivery import ServiceState
from clankie.core.errors import ClankieError
from clankie.core.ids import HEAD
from clankie.core.settings import WakeLimits
from clankie.core.wake import Again, Hold
from clankie.host.storage import Outcome, Reservation, Store
from clankie.store.sqlite import SqliteStore
from contracts.store_kit import BOUND, CALL, SOMEBODY, Told, World, made, offer, wake, woken
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash
from store.invariants import violations

NAMES = (HEAD, "den")
STATES = (
    ServiceState.COMPLETED,
    ServiceState.FAILED,
    ServiceState.STALLED,
    ServiceState.CANCELLED,
    ServiceState.UNCERTAIN,
)


@dataclass
class Life:
    """A store, what it was told to hold, and the reservations somebody still believes in."""

    clock: FakeClock
    store: Store
    count: int = 0
    held: list[Reservation] = field(default_factory=list)

    async def do(self, verb: int, which: int) -> None:
        """One step. What is refused is refused; that is no violation."""
        steps = (
            self.admit,
            self.admit,
            self.reserve,
            self.reserve,
            self.start,
            self.start,
            self.settle,
            self.settle,
            self.retry,
            self.join,
            self.tool,
            self.release,
            self.refuse,
            self.end,
            self.change,
            self.wait,
            self.search,
        )
        try:
            await steps[verb % len(steps)](which)
        except ClankieError:
            return

    async def admit(self, which: int) -> None:
        self.count += 1
        mode = Mode.STEER if which % 3 == 0 else Mode.AUTO
        attached = []
        if which % 5 == 0:
            digest = await self.store.attachments.put(b"picture" * which, "image/png")
            attached = [Attachment(digest=digest, name="x", media_type="image/png", size=which)]
        one = offer(
            f"m-{self.count}",
            f"Text {which}",
            conversation=NAMES[which % 2],
            mode=mode,
            attachments=tuple(attached),
        )
        await self.store.deliveries.admit(one, BOUND)

    async def reserve(self, which: int) -> None:
        reservation = await self.store.deliveries.reserve(NAMES[which % 2])
        if isinstance(reservation, Reservation):
            self.held.append(reservation)

    def some(self, which: int) -> Reservation:
        """One of those that were ever given out, the latest more often."""
        if not self.held:
            message = "nothing is held"
            raise ClankieError(message)
        return self.held[-1 - (which // 2) % min(3, len(self.held))]

    async def start(self, which: int) -> None:
        await self.store.deliveries.start(self.some(which))

    async def settle(self, which: int) -> None:
        outcome = Outcome(state=STATES[which % 5], text="Words" * (which % 2), code="some_code")
        await self.store.deliveries.settle(self.some(which), outcome)

    async def retry(self, which: int) -> None:
        next_time = Again(self.clock.now() + timedelta(seconds=5))
        kept = next_time if which % 2 else Hold("attempts_exhausted")
        outcome = Outcome(state=ServiceState.FAILED, code="model_down", wake=kept)
        await self.store.deliveries.settle(self.some(which), outcome)

    async def join(self, which: int) -> None:
        await self.store.deliveries.join(self.some(which))

    async def tool(self, which: int) -> None:
        await self.store.deliveries.tool_started(self.some(which), CALL)
        if which % 2:
            await self.store.deliveries.tool_ended(self.some(which), CALL, ok=True, detail="ok")

    async def release(self, which: int) -> None:
        await self.store.deliveries.release(self.some(which), "elsewhere")

    async def refuse(self, which: int) -> None:
        kept = Hold("credential_rejected") if which % 2 else None
        outcome = Outcome(state=ServiceState.FAILED, code="no_driver", wake=kept)
        await self.store.deliveries.refuse(self.some(which), outcome)

    async def end(self, which: int) -> None:
        one = f"m-{1 + which % max(1, self.count)}"
        if which % 2:
            await self.store.deliveries.cancel_waiting(one)
        else:
            await self.store.deliveries.abandon(one)

    async def change(self, which: int) -> None:
        match which % 6:
            case 0:
                await self.store.conversations.reset(NAMES[which % 2], None, OPERATOR)
            case 1:
                await self.store.conversations.close("den", SOMEBODY)
            case 2:
                await self.store.deliveries.release_held(None)
            case 3:
                await self.store.prune(self.clock.now())
            case 4:
                await self.store.conversations.purge("den")
            case _:
                one = wake(f"w-{which}", World(lambda *_: None, self.clock))  # type: ignore[arg-type]  # its time only
                await self.store.wakes.add(one, WakeLimits())
                await self.store.deliveries.admit(woken(one), BOUND)

    async def search(self, which: int) -> None:
        await self.store.conversations.index(which)
        await self.store.conversations.search(NAMES[which % 2], "text", before=None, limit=9)

    async def wait(self, which: int) -> None:
        await self.clock.advance(which)
        if which % 3 == 0:
            await self.store.boot()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 16), st.integers(0, 59)), min_size=20, max_size=80))
def test_the_records_of_moves_replay_to_the_states_whatever_happened(
    steps: list[tuple[int, int]],
) -> None:
    # proves: FENCE-8
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "clankie.db"

        async def live() -> None:
            clock = FakeClock()
            async with SqliteStore(
                path,
                clock=clock,
                ids=FakeIds(),
                crash=NoCrash(),
                committed=Told(),
                inline=True,
                durable=False,
            ) as store:
                await store.boot()
                await made(store, "den")
                life = Life(clock, store)
                for verb, which in steps:
                    await life.do(verb, which)
                assert violations(path) == []

        asyncio.run(live())
