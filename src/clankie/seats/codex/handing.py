"""How words are given to a thread of an app-server, each once.

Rule 1: they are given to the server that `proof` knows. Another one is given nothing.
Rule 2: whether a turn runs is looked at inside the reservation: `turn/start` during a turn would
        join it silently. What joins on purpose names the turn, and a wrong name is a refusal.
Rule 3: the server does not tell doubles apart: nothing is sent again that may have arrived.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.core.seat import SeatEvent, delivery_uuid
from clankie.seats.codex import launch
from clankie.seats.codex import thread as threads
from clankie.seats.codex.rollout import holds
from clankie.seats.codex.rpc import Rpc, RpcError, RpcLostError, RpcRefusedError
from clankie.seats.codex.thread import Thread, as_json
from clankie.seats.launch import Means
from clankie.seats.port import Handed, Refused, Taken, Unknown

if TYPE_CHECKING:
    from clankie.seats.codex.server import Server

_TRIES: Final = 5
"""How often a turn may end or begin under our hands before the words are refused."""
_ROW: Final = 10.0
"""Seconds until an accepted message stands in the thread; the pump waits for 25 altogether."""
_TOOLS: Final = 8.0
"""Seconds that the first words wait for our server of tools to be there."""
_LOOK: Final = 5.0
"""Seconds for an answer that changes nothing: a server that does not give it is given nothing."""
_PAUSE: Final = 0.05
_BRIEF: Final = (
    "This session is a seat of Clankie, the person's own agent: one conversation that several "
    "programs drive in turn. What it says of itself stands in front of such messages. The server "
    f"of tools {launch.SERVER!r} answers them and reads the conversation."
)


class Hands:
    """Gives words to threads of one server, one at a time. `tools`: ours are there."""

    def __init__(self, rpc: Rpc, server: Server, means: Means) -> None:
        self._rpc, self._server, self._means = rpc, server, means
        self._reserved = asyncio.Lock()
        self.tools = asyncio.Event()

    async def give(self, thread: Thread, event: SeatEvent) -> Handed:
        """Give it the words of one event, once."""
        async with self._reserved:
            refused = self._unfit(thread)
            if refused is not None:
                return refused
            await self._wait_for_tools()
            for _ in range(_TRIES):
                handed = await self._once(thread, event)
                if handed is not None:
                    return handed
                await self._means.clock.sleep(_PAUSE)
            return Refused("turns_change_too_fast")

    def _unfit(self, thread: Thread) -> Refused | None:
        if not self._server.stands or self._rpc.ended:
            return Refused("app_server_gone")
        until = thread.limited_until
        if until is not None and self._means.clock.now() < until:
            return Refused("usage_limited")
        return None

    async def _wait_for_tools(self) -> None:
        """Wait for our tools once: a request that goes out before has none of them."""
        try:
            async with asyncio.timeout(_TOOLS):
                await self.tools.wait()
        except TimeoutError:
            self.tools.set()

    async def _once(self, thread: Thread, event: SeatEvent) -> Handed | None:
        """One try; None when the turn changed meanwhile and nothing was handed over."""
        try:
            turn, active = await self._turn(thread)
        except RpcError as error:
            return Refused(str(error))  # only looked at so far
        try:
            if not active:
                return await self._start(thread, event)
            return None if turn is None else await self._steer(thread, event, turn)
        except RpcRefusedError as refused:
            return None if "active turn" in refused.message else Refused(refused.message)
        except RpcLostError as lost:
            return await self._after_loss(thread, event, str(lost))
        except RpcError as unsent:
            return Refused(str(unsent))

    async def _turn(self, thread: Thread) -> tuple[str | None, bool]:
        """The running turn as the server says, and whether there is one. Raises RpcError."""
        found = await self._rpc.call("thread/read", {"threadId": thread.id}, timeout=_LOOK)
        status = as_json(as_json(found.get("thread")).get("status"))
        if status.get("type") != "active":
            return None, False
        return thread.turn or await running_turn(self._rpc, thread.id), True

    async def _steer(self, thread: Thread, event: SeatEvent, turn: str) -> Handed:
        await self._rpc.call("turn/steer", {**_words(thread, event), "expectedTurnId": turn})
        thread.joins(delivery_uuid(event.id, event.attempt), event.id, turn)
        # It waits in the server until the next request to the model: only then is there an item.
        return Taken("socket")

    async def _start(self, thread: Thread, event: SeatEvent) -> Handed:
        client = delivery_uuid(event.id, event.attempt)
        stands = thread.expect(client, event.id)
        try:
            found = await self._rpc.call("turn/start", _words(thread, event))
            thread.within(client, str(as_json(found.get("turn")).get("id")))
            async with asyncio.timeout(_ROW):
                shown = await stands
        except TimeoutError:
            return Taken("socket")
        finally:
            thread.forget(client)
        if shown:
            return Taken("client_id")
        why = "the turn ended without showing the words"
        return await self._after_loss(thread, event, why)

    async def _after_loss(self, thread: Thread, event: SeatEvent, why: str) -> Handed:
        """What the rollout says of words that left, and of which nothing was heard."""
        if thread.path is None:
            return Unknown(why)
        client, environment = delivery_uuid(event.id, event.attempt), self._means.place.environment
        found = await asyncio.to_thread(holds, thread.path, client, environment)
        return Taken("client_id") if found else Unknown(why)


def _words(thread: Thread, event: SeatEvent) -> dict[str, Any]:
    return {
        "threadId": thread.id,
        "clientUserMessageId": delivery_uuid(event.id, event.attempt),
        "input": [{"type": "text", "text": event.content}],
    }


async def begun(rpc: Rpc, directory: str, source: str) -> Thread | None:
    """A fresh thread; `source` is what hooks are told: startup or clear. Raises RpcError.

    None where it is none that a person could sit in front of.
    """
    asked = {"cwd": directory, "sessionStartSource": source}
    fresh = threads.of((await rpc.call("thread/start", asked)).get("thread"))
    if fresh is not None:
        # Nobody else can join a thread that was never written, and words in it make that so.
        await put(rpc, fresh.id, _BRIEF)
    return fresh


async def put(rpc: Rpc, thread: str, text: str) -> bool:
    """Put words into a thread as context, without a turn; whether it has them for certain."""
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "developer", "content": content}
    try:
        await rpc.call("thread/inject_items", {"threadId": thread, "items": [item]})
    except RpcError:
        return False
    return True


async def running_turn(rpc: Rpc, thread: str) -> str | None:
    """The turn that runs in a thread now. Raises RpcError."""
    asked = {"threadId": thread, "limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"}
    found = await rpc.call("thread/turns/list", asked, timeout=_LOOK)
    last = first_of(found.get("data"))
    return str(last["id"]) if last.get("status") == "inProgress" else None


def first_of(rows: object) -> dict[str, Any]:
    """The first object of a list; an empty one where there is none."""
    return as_json(cast("list[object]", rows)[0]) if isinstance(rows, list) and rows else {}
