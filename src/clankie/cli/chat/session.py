"""A chat from its first line to its last: desk, screen and keys put together."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.history import FileHistory

from clankie.cli import places
from clankie.cli.chat.desk import Desk
from clankie.cli.chat.keys import Keys
from clankie.cli.chat.marks import Line, said
from clankie.cli.chat.orders import LeaveError, obey
from clankie.cli.chat.outbox import problem
from clankie.cli.chat.remote import connected
from clankie.cli.chat.screen import Screen
from clankie.cli.chat.welcome import welcome
from clankie.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clankie.cli.wire import Address

HISTORY_FILE = "chat-history"


def private_history() -> FileHistory:
    """What was typed before, in a file that only its owner can read. Raises CommandError."""
    path = Path(places.home()) / HISTORY_FILE
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise CommandError(f"{path} is not a plain file. Remove it.", code="history_unusable")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    return FileHistory(str(path))


class Chat:
    """One person at one terminal."""

    def __init__(self, screen: Screen, desk: Desk) -> None:
        self._screen = screen
        self._desk = desk
        self._orders: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> None:
        """Until the person leaves. Raises CommandError when the conversation cannot be read."""
        keys = Keys(self._screen, self._desk, self._entered, self._stop).bindings()
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(self._desk.run()), group.create_task(self._obey())]
            try:
                await self._screen.run(self._desk, keys)
            finally:
                for task in working:
                    task.cancel()

    def _entered(self, text: str) -> None:
        if text.startswith("/") and not text.startswith("//"):
            self._orders.put_nowait(text.strip())
        else:
            self._desk.outbox.submit(text.removeprefix("/") if text.startswith("//") else text)

    def _stop(self) -> None:
        self._orders.put_nowait("")

    async def _obey(self) -> None:
        """Commands one after the other; the empty one stops the running answer."""
        while True:
            order = await self._orders.get()
            try:
                lines = await obey(self._desk, order) if order else await self._cancel()
            except LeaveError:
                if self._screen.app is not None:
                    self._screen.app.exit()
                return
            except CommandError as error:
                lines = [problem(error)]
            self._screen.show(lines)
            self._screen.changed()

    async def _cancel(self) -> Sequence[Line]:
        outcome = await self._desk.cancel()
        return (
            []
            if outcome != "nothing_to_cancel"
            else [said("quiet", "· There was nothing to stop.")]
        )


async def chat(address: Address, conversation: str) -> None:
    """Open `conversation` and talk until the person leaves.

    Raises:
        CommandError: it cannot be opened, or reading it was refused on the way.
    """
    async with connected(address) as remote:
        screen = Screen(private_history())
        desk = Desk(remote, screen)
        await desk.refresh()
        screen.show(welcome(await desk.find(conversation), desk.model))
        await desk.open(conversation)
        try:
            await Chat(screen, desk).run()
        finally:
            screen.show(desk.outbox.unconfirmed())


def run(address: Address, conversation: str) -> None:
    """`chat` for a caller without an event loop.

    Raises:
        CommandError: as `chat`.
    """
    refused: list[CommandError] = []
    with suppress(KeyboardInterrupt):
        try:
            asyncio.run(chat(address, conversation))
        except* CommandError as group:
            refused += _flat(group)
    if refused:
        raise refused[0]


def _flat(group: BaseExceptionGroup[CommandError]) -> Iterator[CommandError]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _flat(one)
        else:
            yield one
