"""Lanes that do whatever a lane may do, and some of what it must not."""

import asyncio
from datetime import timedelta

from clankie.core.admission import Origin
from clankie.core.conversation import Usage
from clankie.core.errors import ClankieError, NotAllowedError
from clankie.core.receipt import Delivery
from clankie.core.wake import CREDENTIAL_REJECTED
from clankie.host.ports import LaneError, LaneResult, TurnHost, TurnRequest
from clankie.host.storage import Call
from simulation.glass import Glass
from simulation.ledger import Effect, Ledger, Run
from simulation.world import World

STEP = 10
"""Tokens of a turn, so that goals come to an end."""

CODES = ("model_unreachable", "model_overloaded", "answer_too_long", CREDENTIAL_REJECTED)


class UnruledError(Exception):
    """A lane failed in a way that it should not."""


class RandomLane:
    """The port Lane."""

    def __init__(self, world: World, ledger: Ledger, glass: Glass) -> None:
        self._world, self._ledger, self._glass = world, ledger, glass
        self._active: dict[str, list[TurnHost]] = {}

    def evict(self, conversation: str) -> None:
        self._world.tell("evict", conversation)

    def status(self) -> dict[str, object]:
        return {}

    async def run(self, request: TurnRequest, host: TurnHost) -> LaneResult:
        self._world.alive()
        self._begins(request, host)
        try:
            return await _Play(self._world, self._ledger, self._glass, request, host).result()
        finally:
            self._active[request.conversation].remove(host)

    def _begins(self, request: TurnRequest, host: TurnHost) -> None:
        world, ledger, delivery = self._world, self._ledger, request.delivery.id
        world.tell("run", request.attempt)
        here = self._active.setdefault(request.conversation, [])
        if any(not getattr(one, "over", False) for one in here):
            world.wrong(f"two turns run in {request.conversation}")
        here.append(host)
        if delivery in ledger.cancelled:
            world.wrong(f"{delivery} runs although it was cancelled")
        if ledger.seats.given_of(delivery):
            world.wrong(f"{delivery} runs although a harness was given it")
        if ledger.requested.get(delivery) == world.boot and not ledger.runs_of(delivery):
            world.wrong(f"{delivery} runs although its cancelling was promised before")
        if not world.usurped:
            for sentence in self._glass.begins(request):
                world.wrong(sentence)
        ledger.runs.append(Run(delivery, request.attempt, world.boot, ledger.releases))


class _Play:
    """One turn, as chance has it."""

    def __init__(
        self, world: World, ledger: Ledger, glass: Glass, request: TurnRequest, host: TurnHost
    ) -> None:
        self._world, self._ledger, self._glass = world, ledger, glass
        self._request, self._host = request, host
        self._calls = 0
        self._said: list[str] = []

    async def result(self) -> LaneResult:
        if self._world.weather.gloom and self._request.delivery.origin is Origin.WAKE:
            for _ in range(0 if self._world.calm else self._world.chance.randrange(3)):
                await self._one()
            raise LaneError("model_unreachable", "Nobody answers.")
        if self._world.calm:
            return self._answer()
        # Some lanes go on for a while although they were cancelled.
        deaf = self._world.likely(0.06)
        try:
            return await self._acts()
        except asyncio.CancelledError:
            if not deaf or self._world.dead:
                raise
            self._world.tell("deaf", self._request.attempt)
            await self._world.clock.sleep(self._world.chance.choice((0.0, 3.0, 30.0)))
            self._world.alive()
            return await self._acts()

    async def _acts(self) -> LaneResult:
        for _ in range(self._world.chance.randrange(5)):
            await self._one()
            await self._world.pause(2.0)
        while await self._steered() and not self._world.likely(0.1):
            await self._world.pause(1.0)
        return await self._ends()

    async def _one(self) -> None:
        acts = (self._draft, self._quietly, self._steered, self._looks, self._tool, self._wake)
        await self._world.chance.choices((*acts, self._reached), (6, 2, 2, 2, 4, 4, 1))[0]()

    async def _draft(self) -> None:
        word = f"word{len(self._said)} "
        self._host.draft(word)
        self._said.append(word)

    async def _quietly(self) -> None:
        # Often short, now and then beyond every limit.
        await self._world.clock.sleep(self._world.chance.choice((0.5, 20.0, 100.0, 400.0)))
        self._world.alive()
        self._host.progress()

    async def _looks(self) -> None:
        if self._world.likely(0.5):
            await self._host.self_state()
            return
        projection = await self._host.projection()
        for sentence in self._glass.projected(self._request, projection):
            self._world.wrong(sentence)

    async def _steered(self) -> bool:
        joined = await self._host.steered()
        self._world.alive()
        for one in joined:
            self._world.tell("joins", one.id, self._request.attempt)
            self._ledger.joined[one.id].append(self._request.attempt)
            if self._ledger.seats.given_of(one.id):
                self._world.wrong(f"{one.id} joins a run although a harness was given it")
        return bool(joined)

    async def _tool(self) -> None:
        world, request = self._world, self._request
        self._calls += 1
        effect = world.likely(0.6)
        call = Call(
            call_id=f"{request.attempt}-{self._calls}",
            name="post" if effect else "look",
            effect=effect,
            arguments_sha256="0" * 64,
            detail="a detail",
        )
        async with self._host.tool(call) as report:
            world.alive()
            if effect:
                world.tell("effect", call.call_id)
                if not world.usurped:
                    for sentence in self._glass.acts(request, call):
                        world.wrong(sentence)
                effects = self._ledger.effects
                effects.append(Effect(call.call_id, request.delivery.id, request.attempt))
            await world.pause(world.chance.choice((0.5, 5.0, 400.0)))
            report.detail = "did it"
            if world.likely(0.1):
                raise LaneError("tool_broke", "The tool broke.")

    async def _wake(self) -> None:
        world, request = self._world, self._request
        self._calls += 1
        due = world.clock.now() + timedelta(seconds=world.chance.choice((10, 31, 60, 200, 9_000)))
        call_id = f"{request.attempt}-{self._calls}"
        try:
            wake = await self._host.schedule_wake(
                due_at=due, text=f"wake {call_id}", call_id=call_id
            )
        except ClankieError as error:
            world.tell("no wake", error.code)
            return
        world.alive()
        world.tell("wake", wake.id)
        self._ledger.wakes[wake.id] = request.conversation

    async def _reached(self) -> None:
        try:
            await self._host.finish_goal(reached=self._world.likely(0.5))
        except ClankieError as error:
            self._world.tell("no goal", error.code)

    async def _ends(self) -> LaneResult:
        ends = (self._answer, self._fails, self._hangs, self._breaks, self._says_nothing)
        ended = self._world.chance.choices(ends, (70, 20, 4, 2, 4))[0]()
        return ended if isinstance(ended, LaneResult) else await ended

    def _answer(self) -> LaneResult:
        text = "".join(self._said) + f"answer to {self._request.attempt}"
        self._ledger.returned[self._request.attempt] = text
        self._world.tell("answer", self._request.attempt)
        return LaneResult(text=text, usage=Usage(input_tokens=STEP, requests=1))

    def _says_nothing(self) -> LaneResult:
        self._ledger.returned[self._request.attempt] = ""
        return LaneResult(text="", usage=Usage(input_tokens=STEP, requests=1))

    def _fails(self) -> LaneResult:
        raise LaneError(self._world.chance.choice(CODES), "It failed.")

    def _breaks(self) -> LaneResult:
        raise UnruledError

    async def _hangs(self) -> LaneResult:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


class RandomRooms:
    """The port Rooms: answers late, refuses, breaks, or never answers."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def check(self, delivery: Delivery) -> None:
        world = self._world
        if world.calm:
            return
        await world.pause(2.0)
        kind = world.chance.random()
        if kind < 0.05:
            world.tell("room hangs", delivery.id)
            await asyncio.Event().wait()
        if kind < 0.1:
            raise UnruledError
        if kind < 0.2:
            raise NotAllowedError("The room took it back.")
