"""A registered seat at work: its pump, its transcript, and what a session of it begins with."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from clankie.seats import registration
from clankie.seats.client import connected
from clankie.seats.folder import NotASeatError
from clankie.seats.patience import INSIST, Patience
from clankie.seats.pump import Pump, Workings
from clankie.seats.service import SeatWireError
from clankie.seats.sync import Source, notice
from clankie.seats.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clankie.host.ports import Clock, Ids
    from clankie.seats.ending import Ending
    from clankie.seats.folder import Folder
    from clankie.seats.journal import Journal
    from clankie.seats.launch import Driven
    from clankie.seats.port import Harness
    from clankie.seats.registration import Seated
    from clankie.seats.service import Service

SECTIONS: Final = ("persona", "reach", "conversation")
_REPLACED: Final = "clear"
"""How a session begins that takes another's place within its process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a seat needs on this side. `jitter` gives numbers from 0 to 1."""

    clock: Clock
    ids: Ids
    jitter: Callable[[], float]
    say: Callable[[str], None]
    environment: Mapping[str, str]

    def uuid(self) -> str:
        """A UUID nobody else has."""
        digest = hashlib.sha256(self.ids.secret().encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))


def reason(error: BaseException) -> str:
    """A failure in a sentence: of several that came together, the first."""
    if isinstance(error, BaseExceptionGroup):
        return reason(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return str(error) or type(error).__name__


@dataclass(frozen=True, slots=True)
class Greeted:
    """A driven harness: how its first session began, and who waits until it has read the log."""

    harness: Driven
    source: str
    ready: Callable[[], None]


async def pumped(
    folder: Folder,
    harness: Harness,
    journal: Journal,
    tools: Tools,
    greeted: Greeted | None = None,
) -> Ending:
    """Run the pump of a registered seat to its end; says why it ended."""
    seated = registration.seated(folder)
    if seated is None:
        raise NotASeatError("This seat is not registered.")
    watch = Watch(
        folder=folder,
        harness=harness,
        environment=tools.environment,
        clock=tools.clock,
        say=tools.say,
    )

    def token() -> str:
        found = registration.seated(folder)
        return seated.token if found is None else found.token

    async with connected(folder.socket, seated.seat, token) as service:
        greeting = Greeting(service, folder, None if greeted is None else greeted.harness, tools)
        workings = Workings(
            clock=tools.clock,
            jitter=tools.jitter,
            binding=tools.uuid(),
            poll_id=tools.uuid,
            say=tools.say,
            began=greeting.began,
            before=watch.look,
            renew=greeting.renewed,
            alone=greeted is not None and greeted.harness.screen() is None,
        )
        if greeted is not None:
            await greeting.began(harness.native.session_id, greeted.source)
            greeted.ready()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch.run())
            try:
                return await Pump(service, harness, journal, workings).run()
            finally:
                watching.cancel()


@dataclass(frozen=True, slots=True)
class Greeting:
    """Gives a new native session the log, where no hook of the harness does.

    A session that replaces another in the same process is told to the service at once also where a
    hook will give it the log: until then the seat takes nothing, and the hook waits for a turn.
    """

    service: Service
    folder: Folder
    harness: Driven | None
    tools: Tools

    async def began(self, session_id: str, source: str) -> None:
        """A session began. The log is confirmed as read only when the harness has it."""
        harness = self.harness
        if harness is None or not (harness.greets or source == _REPLACED):
            return
        patience = Patience(clock=self.tools.clock, jitter=self.tools.jitter)
        try:
            await patience.insist(lambda: self._greet(harness, session_id, source), INSIST)
        except SeatWireError as error:
            self.tools.say(f"The session {session_id} began without the log ({error}).")

    async def renewed(self) -> bool:
        """Let the harness begin a fresh session in place of the one it has; whether it did."""
        session = None if self.harness is None else await self.harness.renew()
        if session is None:
            return False
        self.tools.say(f"The harness goes on with a new session, {session}.")
        await self.began(session, _REPLACED)
        return True

    async def _greet(self, harness: Driven, session_id: str, source: str) -> None:
        begun = await self.service.begin(session_id, source, SECTIONS)
        seated = registration.seated(self.folder)
        if seated is not None and seated.session_id != session_id:
            registration.sit(self.folder, replace(seated, session_id=session_id))
            self._from_its_beginning(harness, seated, session_id)
        if harness.greets and await harness.greet(begun.text):
            await self.service.confirm(begun.projection_id)

    def _from_its_beginning(self, harness: Driven, seated: Seated, session_id: str) -> None:
        """What it writes is sent from its first row on, also where the seat resumed another."""
        path = harness.transcript
        if path is not None:
            source = Source(
                path=str(path), session_id=session_id, environment=self.tools.environment
            )
            notice(self.folder, seated, source, _REPLACED)
