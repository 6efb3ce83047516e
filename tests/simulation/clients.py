"""Clients that do whatever a client may do, in any order, and go away in the middle of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from clankie.api.events import follow
from clankie.core.admission import Mode, Offer, Origin, Reach
from clankie.core.conversation import OPERATOR, Author, Kind, Principal
from clankie.core.delivery import FINAL, InputState
from clankie.core.errors import (
    ClankieError,
    CommitUnknownError,
    DeliveryNotFoundError,
    SettingsConflictError,
)
from clankie.core.ids import HEAD
from clankie.core.receipt import Delivery
from clankie.host import (
    conversations,
    deliveries,
    doctor,
    goals,
    selfstate,
    settings,
    status,
    wakes,
)
from clankie.host.admit import admit
from clankie.host.cancel import CancelOutcome, cancel
from clankie.host.house import House
from clankie.host.storage import Admitted
from clankie.host.waiting import caught
from simulation.glass import Glass
from simulation.lanes import STEP
from simulation.ledger import Ledger
from simulation.owner import Owner, asked_to_stop
from simulation.world import World

SOMEBODY = Author(Principal.ROOM, "somebody")
ORIGINS = (Origin.OWNER, Origin.ROOM, Origin.ESCALATION, Origin.REPORT, Origin.LINEAR)
OFTEN = (64, 9, 18, 6, 3)


class Clients:
    """Several hands of one owner. What they learn goes into the ledger."""

    def __init__(self, world: World, ledger: Ledger, glass: Glass) -> None:
        self._world, self._ledger, self._glass = world, ledger, glass
        self._house: House | None = None
        self.places = [HEAD]
        self.offers: list[Offer] = []
        self.heard: dict[str, list[int]] = {}
        self._made = 0
        self._verbs: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (40, self._send),
            (8, self._repeat),
            (3, self._twist),
            (10, self._cancel),
            (6, self._read),
            (6, self._reset),
            (3, self._create),
            (4, self._close),
            (4, self._abandon),
            (3, self._release),
            (2, self._remove_wake),
            (3, self._settings),
            (2, self._look),
            (4, self._goal),
            (1, self._forget_goal),
            *Owner(world, ledger, lambda: self.house, lambda: self.places).verbs(),
        ]

    def more(self, verbs: Sequence[tuple[int, Callable[[], Awaitable[None]]]]) -> None:
        """What else they may do."""
        self._verbs += verbs

    def enter(self, house: House) -> None:
        """The house of this boot."""
        self._house = house

    @property
    def house(self) -> House:
        assert self._house is not None
        return self._house

    async def hand(self, count: int) -> None:
        """One of them: `count` things, one after the other."""
        weights, verbs = zip(*self._verbs, strict=True)
        for _ in range(count):
            await self._world.pause(3.0)
            verb = self._world.chance.choices(verbs, weights)[0]
            if self._world.likely(0.1):
                await self._leaves(verb)
            else:
                await self._tries(verb)

    async def _tries(self, verb: Callable[[], Awaitable[None]]) -> None:
        try:
            await verb()
        except ClankieError as error:
            self._world.tell(verb.__name__, error.code)

    async def _leaves(self, verb: Callable[[], Awaitable[None]]) -> None:
        """The client is gone before it has its answer."""
        async with asyncio.TaskGroup() as tasks:
            request = tasks.create_task(self._tries(verb))
            await self._world.pause(0.01)
            request.cancel()

    # ── sending ──────────────────────────────────────────────────────────────────────────────────

    async def _send(self) -> None:
        chance = self._world.chance
        self._made += 1
        place = chance.choice((HEAD, *self.places))
        name = f"m-{self._made}"
        offer = Offer(
            delivery_id=name,
            conversation=place,
            text=f"words of {name}" if chance.random() < 0.9 else "the same words",
            origin=(origin := chance.choices(ORIGINS, OFTEN)[0]),
            author=OPERATOR if (owner := origin is Origin.OWNER) else SOMEBODY,
            mode=chance.choice((Mode.AUTO, Mode.AUTO, Mode.QUEUE, Mode.QUEUE, Mode.STEER)),
            expected_revision=await self._seen(place) if owner else None,
            retry_of=self._retried(),
            automatic=chance.random() < 0.05,
            channel=chance.choice("aaab") if origin is Origin.ESCALATION else None,
        )
        offer = self._addressed(offer)
        self.offers.append(offer)
        twins = [offer]
        if origin is Origin.ESCALATION and self._world.likely(0.5):
            # In one moment, so that they may become one event.
            twins.append(replace(offer, delivery_id=f"{name}b"))
        async with asyncio.TaskGroup() as tasks:
            for one in twins:
                tasks.create_task(caught(self._offer(one)))

    def _addressed(self, offer: Offer) -> Offer:
        """Now and then it is for whoever sits there now, and for nobody else."""
        chair = self.house.desk.at(offer.conversation)
        owner = offer.origin is Origin.OWNER
        if chair is None or owner or not self._world.likely(0.2):
            return offer
        return replace(offer, reach=Reach.OCCUPANT, occupant=chair.seat.occupant.id)

    async def _seen(self, place: str) -> int | None:
        if not self._world.likely(0.3):
            return None
        here = await self.house.store.conversations.get(place)
        return here.revision - self._world.likely(0.2)

    def _retried(self) -> str | None:
        known = sorted(self._ledger.uncertain | self._ledger.final.keys())
        return self._world.chance.choice(known) if known and self._world.likely(0.1) else None

    async def _repeat(self) -> None:
        if self.offers:
            await self._offer(self._world.chance.choice(self.offers[-8:]))

    async def _twist(self) -> None:
        """The same id with other words: never an input of its own."""
        if self.offers:
            old = self._world.chance.choice(self.offers)
            await self._offer(
                Offer(delivery_id=old.delivery_id, conversation=old.conversation, text="others")
            )

    async def _offer(self, offer: Offer) -> None:
        ledger, world = self._ledger, self._world
        world.tell("offer", offer.delivery_id, offer.conversation, offer.mode)
        ledger.offer(offer)
        # Open until there is an answer, and for ever when there is none.
        ledger.unknown[offer.delivery_id] += 1
        try:
            admitted = await admit(self.house, offer)
        except CommitUnknownError:
            raise
        except ClankieError:
            ledger.unknown[offer.delivery_id] -= 1
            raise
        world.alive()
        self._admitted(offer, admitted)

    def _admitted(self, offer: Offer, admitted: Admitted) -> None:
        ledger, got = self._ledger, admitted.delivery
        self._world.tell("admitted", got.id, got.state, admitted.fresh)
        before = ledger.promised.get(got.id)
        promise = (got.fingerprint, got.message_cursor)
        if before is not None and (admitted.fresh or before != promise):
            self._world.wrong(f"{got.id} was admitted again: {before}, {promise}")
        if got.fingerprint != offer.fingerprint:
            self._world.wrong(f"{got.id} was offered and answered with another content")
        ledger.promised[got.id] = promise
        self._revision(got.conversation, admitted.revision)
        self._saw(got)

    def _revision(self, conversation: str, revision: int) -> None:
        known = self._ledger.revisions
        known[conversation] = max(known.get(conversation, 0), revision)

    def _saw(self, delivery: Delivery) -> None:
        ledger, now = self._ledger, self._ledger.saw(delivery)
        if delivery.state is InputState.UNCERTAIN:
            ledger.uncertain.add(delivery.id)
        if delivery.state in FINAL and ledger.final.setdefault(delivery.id, now) != now:
            self._world.wrong(f"{delivery.id} was {ledger.final[delivery.id]}, now it is {now}")

    # ── other verbs ──────────────────────────────────────────────────────────────────────────────

    def _any_delivery(self) -> str | None:
        known = sorted(self._ledger.promised)
        return self._world.chance.choice(known[-12:]) if known else None

    async def _cancel(self) -> None:
        world, ledger = self._world, self._ledger
        delivery = self._any_delivery() if world.likely(0.7) else None
        place = world.chance.choice(self.places)
        if delivery is not None and world.likely(0.9):
            place = (await self.house.store.deliveries.get(delivery)).conversation
        answer = await cancel(self.house, place, delivery)
        world.alive()
        got = answer.delivery
        world.tell("cancel", place, delivery, answer.outcome, got and got.state)
        if got is None:
            return
        self._saw(got)
        if answer.outcome is CancelOutcome.CANCELLED:
            ledger.cancelled.add(got.id)
        elif answer.outcome is CancelOutcome.REQUESTED and not self._began(got):
            ledger.requested[got.id] = world.boot
        elif answer.outcome is CancelOutcome.REQUESTED:
            asked_to_stop(ledger, got)

    def _began(self, delivery: Delivery) -> bool:
        """Also at a seat: what comes of it there the harness reports."""
        ledger, name = self._ledger, delivery.id
        at_seat = any(one.seat is not None for one in delivery.attempts)
        return at_seat or bool(ledger.runs_of(name) or ledger.joined.get(name))

    async def _read(self) -> None:
        delivery = self._any_delivery()
        if delivery is None:
            return
        wait = self._world.chance.choice((0.0, 0.0, 5.0, 60.0))
        try:
            got = await deliveries.read(self.house, delivery, wait)
        except DeliveryNotFoundError:
            self._world.wrong(f"{delivery} was promised and cannot be read")
            return
        self._world.alive()
        self._saw(got)

    async def _reset(self) -> None:
        place = self._world.chance.choice((HEAD, *self.places))
        before = (await self.house.store.conversations.get(place)).cursor
        sits = _session_at(self.house, self._glass, place)
        after = await conversations.reset(self.house, place, await self._seen(place), OPERATOR)
        self._world.alive()
        self._ledger.seats.has(place, before)
        stayed = sits == _session_at(self.house, self._glass, place)
        if sits is not None and stayed and not self._world.weather.slow:
            self._ledger.seats.retired.add(sits)
        self._world.tell("reset", place)
        self._revision(place, after.revision)

    async def _create(self) -> None:
        name = f"place-{self._world.chance.randrange(4)}"
        made, _ = await conversations.create(
            self.house,
            request_id=name,
            name=name,
            kind=Kind.GLOBAL,
            directory=None,
            by=OPERATOR,
        )
        self._world.alive()
        self._world.tell("made", made.id)
        if made.id not in self.places:
            self.places.append(made.id)
        self._revision(made.id, made.revision)

    async def _close(self) -> None:
        # The head cannot be.
        place = self._world.chance.choice(self.places[1:] or self.places)
        after = await conversations.close(self.house, place, OPERATOR)
        self._world.alive()
        self._world.tell("closed", place)
        self._revision(place, after.revision)

    async def _abandon(self) -> None:
        open_ones = sorted(self._ledger.uncertain - self._ledger.abandoned)
        if not open_ones:
            return
        delivery = self._world.chance.choice(open_ones)
        got = await deliveries.abandon(self.house, delivery)
        self._world.alive()
        self._world.tell("abandoned", delivery)
        self._ledger.abandoned.add(delivery)
        self._saw(got)

    async def _release(self) -> None:
        # Counted before it is asked: its answer may be lost, its effect not.
        self._ledger.releases += 1
        await wakes.release(self.house)

    async def _remove_wake(self) -> None:
        await _without_a_wake(self._world, self._ledger, self.house)

    async def _settings(self) -> None:
        await _other_settings(self._world, self._ledger, self.house)

    async def _goal(self) -> None:
        place, budget = self._world.chance.choice(self.places), self._world.chance.randint(1, 4)
        goal = await goals.put(self.house, place, "the objective", budget * STEP)
        self._world.alive()
        self._world.tell("goal", place, goal.id, budget)

    async def _forget_goal(self) -> None:
        await goals.remove(self.house, self._world.chance.choice(self.places))

    async def _look(self) -> None:
        await _looked(self.house, self._world.chance.choice(self.places))

    # ── following ────────────────────────────────────────────────────────────────────────────────

    async def follower(self, place: str) -> None:
        """Follow a log for ever; what was heard must be all of it, once, in order."""
        heard = self.heard.setdefault(place, [])
        while True:
            try:
                async for frames in follow(self.house, place, heard[-1] if heard else 0):
                    self._world.alive()
                    heard += [cursor for frame in frames if (cursor := _cursor(frame))]
            except ClankieError as error:
                self._world.tell("follower", error.code)
            if self.house.stopping:
                return
            await self._world.clock.sleep(1.0)


async def _looked(house: House, place: str) -> None:
    await status.status(house)
    await doctor.examine(house)
    await selfstate.prompt(house, place, selfstate.SECTIONS)


async def _without_a_wake(world: World, ledger: Ledger, house: House) -> None:
    known = sorted(ledger.wakes.keys() - ledger.removed)
    if known:
        wake = world.chance.choice(known)
        ledger.removing.add(wake)
        await wakes.remove(house, wake)
        world.alive()
        world.tell("removed", wake)
        ledger.removed.add(wake)


async def _other_settings(world: World, ledger: Ledger, house: House) -> None:
    chance = world.chance
    changes: tuple[dict[str, object], ...] = (
        {"persona": {"name": f"name {chance.randrange(9)}"}},
        {"watchdog": {"idle": chance.choice((60.0, 300.0))}},
        {"models": {"model": f"openai-chat:m{chance.randrange(9)}"}},
    )
    change = chance.choice(changes)
    ledger.releases += "models" in change
    seen = house.settings_revision
    try:
        revision, _ = await settings.patch(house, change, seen)
    except SettingsConflictError as error:
        if error.facts["revision"] == seen:
            world.wrong(f"a change to settings of revision {seen} was refused")
        raise
    world.alive()
    ledger.settings = max(ledger.settings, revision)


def _cursor(frame: bytes) -> int:
    """The cursor of a log event, 0 for a draft or a comment."""
    if not frame.startswith(b"id: "):
        return 0
    head, _, data = frame.partition(b"\ndata: ")
    cursor: int = json.loads(data)["cursor"]
    return cursor if int(head[4:]) == cursor else -1


def _session_at(house: House, glass: Glass, place: str) -> str | None:
    """The native session of the seat there, but for one that a reset there does not end.

    A seat that was moved may run a session that belongs to another conversation: it goes on there.
    """
    chair = house.desk.at(place)
    session = None if chair is None else chair.seat.occupant.native.session_id
    belongs = session is not None and glass.home(session) in {None, place}
    return session if belongs else None
