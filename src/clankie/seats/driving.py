"""`clankie seat drive`: owns a harness, or its server, and pumps beside it.

Rule 1: the seat is registered for the process that was started here. A folder whose process is gone
        is no seat any more; its grant was used.
Rule 2: the harness has read the log before anybody is told that it is ready.
Rule 3: a person who closes the screen, or removes the seat's folder, ends the seat.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from clankie.host.panes import PaneGoneError, PanesMissingError
from clankie.seats import harnesses, registration
from clankie.seats import place as places
from clankie.seats.folder import NotASeatError, SeatFolderError
from clankie.seats.journal import Journal
from clankie.seats.launch import Means
from clankie.seats.registration import Arrival
from clankie.seats.running import Greeted, pumped

if TYPE_CHECKING:
    from collections.abc import Callable

    from clankie.host.panes import PaneHost
    from clankie.host.ports import Clock
    from clankie.seats.ending import Ending
    from clankie.seats.folder import Folder
    from clankie.seats.launch import Driven, Launch
    from clankie.seats.registration import Seated
    from clankie.seats.running import Tools

SCREEN: Final = "screen.json"
"""The pane that shows the harness, written by whoever opened it."""
LOOK: Final = 3.0
"""Seconds between two looks whether the screen is still there."""


async def drive(
    folder: Folder,
    tools: Tools,
    panes: Callable[[], PaneHost],
    ready: Callable[[Seated, Launch | None], None],
) -> Ending | None:
    """Run the seat of this folder to its end; None when its screen or its folder is gone.

    Raises:
        NotASeatError: there is neither a grant nor the process that it was used for.
        ServiceRefusedError, WireError: it could not be registered.
    """
    place = places.kept(folder, tools.environment)
    journal = Journal(folder, tools.clock)
    means = Means(place=place, clock=tools.clock, ids=tools.ids, ledger=journal)
    async with harnesses.adapter(place.harness).drive(means) as harness:
        seated = await _registered(folder, harness)
        source = "startup" if place.resume is None else "resume"
        greeted = Greeted(harness, source, lambda: ready(seated, harness.screen()))
        async with asyncio.TaskGroup() as group:
            pump = group.create_task(pumped(folder, harness, journal, tools, greeted))
            screen = group.create_task(_closed(folder, tools.clock, panes))
            await asyncio.wait({pump, screen}, return_when=asyncio.FIRST_COMPLETED)
            ended = pump.done()
            screen.cancel()
            pump.cancel()
    return pump.result() if ended else None


async def _registered(folder: Folder, harness: Driven) -> Seated:
    native = harness.native
    before = registration.seated(folder)
    if before is not None and before.pid != native.pid:
        raise NotASeatError(
            "The process of this seat is gone. Open another with `clankie seat open`."
        )
    who = Arrival(session_id=native.session_id, pid=native.pid)
    return await asyncio.to_thread(registration.register, folder, who)


async def _closed(folder: Folder, clock: Clock, panes: Callable[[], PaneHost]) -> None:
    """Return when the screen, if there is one, or the seat's folder is gone."""
    host: PaneHost | None = None
    while True:
        await clock.sleep(LOOK)
        try:
            folder.check()
            pane = (folder.read(SCREEN) or {}).get("pane")
            if pane is None:
                continue
            host = host or panes()
            if (await host.pane(str(pane))).dead:
                return
        except (SeatFolderError, PaneGoneError, PanesMissingError):
            return
