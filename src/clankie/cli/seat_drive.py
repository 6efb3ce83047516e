"""`clankie seat drive`: says on standard output that it is ready, then runs until the seat ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from clankie.cli import seat_side
from clankie.cli.seat_orphans import DRIVER as LOCK
from clankie.seats.driving import SCREEN, drive
from clankie.seats.folder import Folder
from clankie.seats.running import reason

if TYPE_CHECKING:
    from clankie.host.panes import PaneHost
    from clankie.seats.launch import Launch
    from clankie.seats.registration import Seated
    from clankie.seats.running import Tools


DRIVER = "driver.pid"
"""Who drives, for as long as somebody does."""


def driven(path: str) -> int:
    """Drive the seat in this folder; the exit code."""
    folder = Folder(path)
    folder.check()
    tools = seat_side.tools(folder)
    try:
        with folder.locked(LOCK, wait=False):
            ending = _owned(folder, tools)
    except BlockingIOError:
        return _failed(tools, "This seat has a driver already.")
    except Exception as error:  # noqa: BLE001 - said in one line, to whoever waits for us
        return _failed(tools, reason(error))
    tools.say(ending)
    return 0


def _owned(folder: Folder, tools: Tools) -> str:
    folder.put(DRIVER, str(os.getpid()).encode())
    try:
        return asyncio.run(_until_told(folder, tools))
    finally:
        folder.remove(DRIVER)


def _failed(tools: Tools, why: str) -> int:
    tools.say(why)
    _tell({"ready": False, "error": why})
    return 1


async def _until_told(folder: Folder, tools: Tools) -> str:
    def screen() -> PaneHost:
        return seat_side.panes((folder.read(SCREEN) or {}).get("socket"))

    def ready(seated: Seated, launch: Launch | None) -> None:
        shown = None
        if launch is not None:
            shown = {
                "argv": list(launch.argv),
                "env": dict(launch.env),
                "files": dict(launch.files),
                "notes": list(launch.notes),
            }
        _tell({"ready": True, "seat": seated.seat, "screen": shown, "pid": os.getpid()})

    async with asyncio.TaskGroup() as group:
        work = group.create_task(drive(folder, tools, screen, ready))
        told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        waiting = group.create_task(told.wait())
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not work.done():
            work.cancel()
            return "It was told to stop."
    ending = work.result()
    return "Its terminal was closed, or its folder removed." if ending is None else ending.sentence


def _tell(state: dict[str, object]) -> None:
    """One line for whoever started us; nobody may be there any more."""
    try:
        sys.stdout.write(json.dumps(state) + "\n")
        sys.stdout.flush()
    except OSError:
        return
