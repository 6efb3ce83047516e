"""A seat as tests use it: what a bridge and its hooks say over HTTP."""

import asyncio
import os
from dataclasses import dataclass, field
from typing import Any

from api.kit import Answer, Api
from clankie.core.ids import HEAD
from clankie.core.seat import Capabilities, Native
from clankie.core.session import Peer
from clankie.host.seats import grants, registration

BINDING = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
SESSION = "session-1"


@dataclass(slots=True)
class Bridge:
    """One process beside a harness."""

    api: Api
    seat: str
    token: str
    binding: str = BINDING
    polls: int = field(default=0)

    @property
    def path(self) -> str:
        return f"/v1/seats/{self.seat}"

    def query(self, wait: float = 0, poll_id: str | None = None) -> str:
        if poll_id is None:
            self.polls += 1
            poll_id = f"p-{self.polls}"
        return f"wait={wait}&binding={self.binding}&poll_id={poll_id}"

    async def ask(self, wait: float = 30, poll_id: str | None = None) -> Answer:
        """A poll: answered when something is there, or when so much time was let pass."""
        return await self.api.get(
            f"{self.path}/events?{self.query(wait, poll_id)}", token=self.token
        )

    async def poll(self, poll_id: str | None = None) -> Answer:
        """A poll that binds, and for which time passes if nothing is there."""
        async with asyncio.TaskGroup() as tasks:
            polling = tasks.create_task(self.ask(1, poll_id))
            await self.api.hall.clock.settle()
            if not polling.done():
                await self.api.hall.clock.advance(1)
        return polling.result()

    async def events(self, poll_id: str | None = None) -> list[dict[str, Any]]:
        answer = await self.poll(poll_id)
        assert answer.status == 200, answer.raw
        found: list[dict[str, Any]] = answer.json["events"]
        return found

    async def say(self, event: dict[str, Any], what: str, **more: Any) -> Answer:
        """Acknowledge, refuse or answer an event."""
        body = {"binding": self.binding, "attempt": event["attempt"], **more}
        return await self.post(f"events/{event['id']}/{what}", body)

    async def sync(self, *entries: dict[str, Any], **more: Any) -> Answer:
        body = {"session_id": SESSION, "entries": list(entries), **more}
        return await self.post("transcript", body)

    async def post(self, path: str, body: object) -> Answer:
        return await self.api.post(f"{self.path}/{path}", body, token=self.token)


async def seated(api: Api, conversation: str = HEAD, session: str = SESSION, **how: Any) -> Bridge:
    """A seat that is registered and attached there; it has never asked."""
    house = api.hall.house
    _, secret = await grants.issue(
        house,
        conversation=conversation,
        harness="claude",
        uid=os.getuid(),
        new=False,
        expected=how.pop("expected", grants.UNSET),
    )
    seat, token = await registration.register(
        house,
        secret=secret,
        harness="claude",
        native=Native(session, os.getpid()),
        pane=None,
        fleet="local",
        capabilities=Capabilities(**how),
        peer=Peer(pid=os.getpid(), uid=os.getuid()),
    )
    return Bridge(api, seat.id, token)
