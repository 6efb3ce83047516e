"""Harnesses: programs beside the service, which outlive it and die by themselves."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from clankie.core.conversation import timestamp
from clankie.core.errors import ClankieError
from clankie.core.seat import (
    Activity,
    Capabilities,
    Entry,
    EntryKind,
    EventKind,
    Evidence,
    Limited,
    Mishap,
    Native,
    Proof,
    SeatEvent,
    delivery_uuid,
)
from clankie.host.house import House
from clankie.host.seats import bank, session, transcript
from clankie.seats.port import Declaration, Handed, Refused, Seen, Taken, Unknown
from simulation.ledger import Given, Ledger
from simulation.world import World

HARNESS = "claude"
ALL = Capabilities(interrupt=True)
SOME = Capabilities(kinds=frozenset({EventKind.TURN, EventKind.MESSAGE}))
EXACT = (Proof.UUID, Proof.CLIENT_ID, Proof.SOCKET)
SECTIONS = (("persona",), ("reach", "persona"), ("persona", "conversation"), ("conversation",))


class AdapterError(Exception):
    """An adapter that fails."""


@dataclass(frozen=True, slots=True)
class Word:
    """An event whose words are in the harness, and how its row will name it."""

    event: SeatEvent
    proof: Proof
    typed_at: str


@dataclass(slots=True)
class Session:
    """A native session with the rows of its transcript; the first `sent` of them were taken."""

    name: str
    rows: list[Entry] = field(default_factory=list)
    sent: int = 0


class Program:
    """One harness process."""

    def __init__(self, world: World, ledger: Ledger, pid: int) -> None:
        self._world, self._ledger = world, ledger
        self.pid, self.alive = pid, True
        self.capabilities = SOME if world.likely(0.15) else ALL
        self._sessions = self._calls = 0
        self.session = self._next()
        self.former: list[Session] = []
        self.inbox: list[Word] = []
        self.unanswered: list[Word] = []
        self.busy = self._stopped = False

    @property
    def declaration(self) -> Declaration:
        """As the pump's port wants it."""
        return Declaration(harness=HARNESS, ways={}, capabilities=self.capabilities)

    @property
    def native(self) -> Native:
        """The session that it runs now."""
        return Native(self.session.name, self.pid)

    def _next(self) -> Session:
        self._sessions += 1
        return Session(f"n-{self.pid}-{self._sessions}")

    # ── words come in ────────────────────────────────────────────────────────────────────────────

    async def hand_over(self, event: SeatEvent) -> Handed:
        """Take the words, refuse them, or leave it open whether they came."""
        world = self._world
        if world.calm:
            return self._takes(event)
        await world.pause(0.3)
        if not self.alive:
            return Unknown("it is gone")
        fate = world.chance.random()
        if fate < 0.12:
            # Often so late that somebody else sits there.
            await world.pause(15.0)
            world.tell("refuses", event.id)
            return Refused("busy")
        if fate < 0.15:
            return Unknown("nothing came back")
        if fate < 0.16:
            raise AdapterError
        taken = self._takes(event)
        if fate < 0.19:
            return Unknown("it came, and nothing came back")
        if fate < 0.21:
            await world.clock.sleep(100.0)
        return taken

    def _takes(self, event: SeatEvent) -> Handed:
        world, ledger = self._world, self._ledger
        words = (*event.members, event.id) if event.pieces else ()
        for sentence in _arrives(ledger, event, words):
            world.wrong(sentence)
        world.tell("given", event.id, event.attempt, words)
        ledger.seats.given.append(Given(event.id, event.attempt, str(self.pid), words))
        typed = event.kind is EventKind.TURN and len(words) == 1 and world.likely(0.3)
        proof = Proof.TEXT if typed else world.chance.choice(EXACT)
        self.inbox.append(Word(event, proof, timestamp(world.clock.now())))
        return Taken(proof)

    async def interrupt(self, event: str) -> bool:
        """Stop what is done of it, where it is not too late and nothing comes between."""
        word = next((one for one in self.inbox if one.event.id == event), None)
        if not self.alive or self._world.likely(0.2):
            return False
        if word is None:
            self._stopped = self.busy
        elif word.event.pieces:
            # It waited behind another turn, and is taken out by its name.
            self.inbox.remove(word)
            self._ends_badly(Mishap.INTERRUPTED, word)
        return True

    def _ends_badly(self, error: Mishap, word: Word | None = None) -> None:
        """A row that says so: of what it names, else of the turn that ran."""
        evidence = None
        if word is not None:
            key = word.event.id, word.event.attempt
            self._proofs.add(key)
            value = delivery_uuid(*key)
            evidence = Evidence(event=key[0], attempt=key[1], proof=Proof.CLIENT_ID, value=value)
        self._ledger.seats.mishaps += 1
        self._world.tell(self.session.name, error, evidence and evidence.event)
        name, at = f"{self.session.name}-r{len(self.session.rows)}", self._world.clock.now()
        row = Entry(id=name, kind=EntryKind.ERROR, at=at, evidence=evidence, error=error)
        self.session.rows.append(row)

    async def answer(self, question: str, *, approve: bool) -> bool:
        """Answer a question; nothing waits for it."""
        del question, approve
        return False

    async def seen(self) -> AsyncIterator[Seen]:
        """What it writes is read from its rows."""
        for nothing in list[Seen]():
            yield nothing

    # ── its transcript ───────────────────────────────────────────────────────────────────────────

    def writes(self, kind: EntryKind, text: str, evidence: Evidence | None = None) -> None:
        """A row with words of its own, so that it can be found in the log."""
        name = f"{self.session.name}-r{len(self.session.rows)}"
        proves = evidence is not None and (evidence.event, evidence.attempt) in self._proofs
        if evidence is None or evidence.proof is not Proof.TEXT:
            text = f"row {name} {text}"
            self._ledger.seats.rows[text] = (proves, False)
        at = self._world.clock.now()
        self.session.rows.append(Entry(id=name, kind=kind, at=at, text=text, evidence=evidence))

    @property
    def _proofs(self) -> set[tuple[str, int]]:
        return self._ledger.seats.proofs

    def _shows(self, word: Word) -> None:
        """The row that holds an event's words."""
        event, value = word.event, None
        if word.proof is Proof.TEXT:
            value = word.typed_at
        elif word.proof is not Proof.SOCKET:
            value = delivery_uuid(event.id, event.attempt)
        self._proofs.add((event.id, event.attempt))
        text = event.pieces[-1].text if word.proof is Proof.TEXT else "its words"
        proof = Evidence(event=event.id, attempt=event.attempt, proof=word.proof, value=value)
        self.writes(EntryKind.USER, text, proof)

    def confuses(self, event: SeatEvent) -> None:
        """A row that looks like an event's words, and proves nothing."""
        other, chance = event.attempt + 100, self._world.chance
        old = timestamp(self._world.clock.now() - timedelta(seconds=11))
        text = event.pieces[-1].text if event.pieces else event.content
        evidence = chance.choice(
            (
                Evidence(
                    event=event.id,
                    attempt=event.attempt,
                    proof=Proof.UUID,
                    value=delivery_uuid(event.id, other),
                ),
                Evidence(
                    event=event.id,
                    attempt=other,
                    proof=Proof.CLIENT_ID,
                    value=delivery_uuid(event.id, other),
                ),
                Evidence(event=event.id, attempt=event.attempt, proof=Proof.TEXT, value=old),
                Evidence(event=event.id, attempt=event.attempt, proof=Proof.CLIENT_ID),
            )
        )
        self._world.tell("confuses", event.id, evidence.proof)
        self.writes(EntryKind.USER, text, evidence)
        if not self.alive or chance.random() < 0.5:
            return
        name = f"{self.session.name}-r{len(self.session.rows)}"
        row = Entry(id=name, kind=EntryKind.USER, at=self._world.clock.now(), text=text)
        self.session.rows.append(row)

    async def sync(
        self, house: House, seat: str, activity: Activity | None, of: Session | None = None
    ) -> None:
        """Send what was not sent, and now and then what was."""
        one, world = of or self.session, self._world
        back = min(one.sent, 2) if world.likely(0.2) else 0
        batch = one.rows[one.sent - back : one.sent + 50]
        end = one.sent - back + len(batch)
        retired = one.name in self._ledger.seats.retired
        synced = await transcript.sync(
            house, seat, session_id=one.name, entries=batch, activity=activity
        )
        world.alive()
        if retired:
            world.wrong(f"the session {one.name} was retired by a reset, and writes on")
        world.tell("synced", one.name, end, activity, synced.proven)
        shown = {event for event, _ in self._proofs}
        if unproven := set(synced.proven) - shown:
            world.wrong(f"{unproven} is taken for proven, and no row shows it")
        one.sent = max(one.sent, end)
        rows = self._ledger.seats.rows
        for row in batch:
            if row.text in rows:
                rows[row.text] = (rows[row.text][0], True)

    # ── what it does ─────────────────────────────────────────────────────────────────────────────

    async def turn(
        self, house: House, seat: str, reply: Callable[[Word], object], pause: float
    ) -> None:
        """One native turn, over all that came in."""
        words, self.inbox = self.inbox, []
        for word in words:
            self._shows(word)
        self.unanswered += [word for word in words if word.event.reply]
        self.busy, self._stopped = True, False
        await self.sync(house, seat, Activity.RESPONDING)
        if not self._world.calm:
            await self._world.pause(pause)
        if self._stopped or not (self._world.calm or self._world.likely(0.95)):
            self._ends_badly(Mishap.INTERRUPTED if self._stopped else Mishap.API_ERROR)
        else:
            self.writes(EntryKind.ASSISTANT, "answers")
            for word in self.unanswered:
                reply(word)
            self.unanswered.clear()
        await self.ends(house, seat)

    async def ends(self, house: House, seat: str) -> None:
        """Its turn is over."""
        await self.sync(house, seat, Activity.WAITING)
        self.busy = False

    async def types(self, house: House, seat: str) -> None:
        """Its person works with it, and nothing of that came from us."""
        self.writes(EntryKind.USER, "typed")
        if self._world.likely(0.5):
            self.writes(EntryKind.ASSISTANT, "answers")
        await self.sync(house, seat, self._world.chance.choice((None, *Activity)))

    async def limited(self, house: House, seat: str) -> None:
        """It takes no turns for a while."""
        now, seconds = self._world.clock.now(), self._world.chance.choice((None, 90, 700))
        resets = None if seconds is None else now + timedelta(seconds=seconds)
        limit = Limited(window="five hours", occurred_at=now, resets_at=resets)
        name = f"{self.session.name}-r{len(self.session.rows)}"
        self.session.rows.append(Entry(id=name, kind=EntryKind.LIMIT, at=now, limit=limit))
        self._ledger.seats.limits += 1
        self._world.tell("limited", self.session.name, seconds)
        await self.sync(house, seat, None)

    async def begins(self, house: House, seat: str, source: str, *, same: bool = True) -> None:
        """A session starts in it: the same, another of the same process, or a foreign one."""
        world = self._world
        if not same:
            self.former.append(self.session)
            self.session = self._next()
        world.tell("session", self.session.name, source)
        sections = world.chance.choice(SECTIONS)
        chair = house.desk.chair(seat)
        left = chair.seat.conversation
        before = 0 if left is None else (await house.store.conversations.get(left)).cursor
        shown = await session.start(
            house, seat, session_id=self.session.name, source=source, sections=sections
        )
        world.alive()
        # Attached meanwhile, it was shown the log that it drives now.
        place = chair.seat.conversation
        if not world.calm:
            await world.pause(1.0)
            if world.likely(0.2):
                return
        if place is not None and "conversation" in sections:
            after = (await house.store.conversations.get(place)).cursor
            self._ledger.seats.projections[place].append(after)
        await session.confirm(house, seat, shown.projection_id)
        world.alive()
        if place is not None and place == left and "conversation" in sections:
            self._ledger.seats.has(place, before)
        world.tell("confirmed", self.session.name, before)

    async def wakes(self, house: House, seat: str) -> None:
        """It uses its tools."""
        self._calls += 1
        world, name = self._world, f"call-{self.pid}-{self._calls}"
        due = world.clock.now() + timedelta(seconds=world.chance.choice((31, 200, 2_000)))
        place = house.desk.chair(seat).seat.conversation
        wake = await bank.schedule_wake(house, seat, due, f"wake {name}", name)
        world.alive()
        if place is not None and wake.conversation == place:
            self._ledger.wakes.setdefault(wake.id, place)
        try:
            await bank.watch(house, seat, conversation=place, call_id=name)
            await bank.self_state(house, seat)
            await bank.read_conversation(house, seat, None, None, 5)
        except ClankieError as error:
            world.tell("bank", error.code)
        world.alive()


def _arrives(ledger: Ledger, event: SeatEvent, words: tuple[str, ...]) -> list[str]:
    """What is wrong when these words come into a harness now."""
    seats, wrong = ledger.seats, list[str]()
    if any(one.event == event.id and not one.deliveries for one in seats.given):
        wrong.append(f"the handoff {event.id} was given twice")
    for one in words:
        if seats.given_of(one):
            wrong.append(f"{one} was given to harnesses twice")
        if ledger.joined.get(one):
            wrong.append(f"{one} was given to a harness and had joined {ledger.joined[one]}")
        if ledger.runs_of(one) and not one.startswith("captain/"):
            wrong.append(f"{one} was given to a harness and had run on the service lane")
        if one in ledger.cancelled:
            wrong.append(f"{one} was given to a harness although it was cancelled")
    return wrong
