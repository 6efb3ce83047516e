"""What was typed, on its way to the service.

Rule 1: what was typed has one id for ever and is sent until it is stored or refused.
Rule 2: messages leave one at a time, in the order they were typed, with the revision the owner saw.
Rule 3: nothing typed is lost silently: what is refused goes back to the input.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from clankie.cli.chat.marks import Line, said
from clankie.cli.chat.remote import PAUSES
from clankie.cli.clean import line
from clankie.cli.client import Send, segment, temporary
from clankie.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from clankie.cli.chat.remote import Remote
    from clankie.cli.chat.story import Story
    from clankie.cli.chat.view import View
    from clankie.cli.wire import Json


class Sender(Protocol):
    """The conversation it is written in. `attached` goes with the next message."""

    remote: Remote
    story: Story
    revision: int
    attached: list[Json]

    @property
    def id(self) -> str:
        """The conversation's id."""
        ...

    async def catch_up(self, cursor: int) -> None:
        """Wait until the log was told up to `cursor`, within a bound."""
        ...


@dataclass(slots=True)
class Outgoing:
    """A message not yet stored. `seen`: foreign inputs on the screen when it was typed."""

    send: Send
    seen: int
    failing: str = ""
    given_up: bool = False


class Outbox:
    """Sends for a desk. `waiting` are the messages that are not stored, in order."""

    def __init__(self, desk: Sender, view: View) -> None:
        self._desk = desk
        self._view = view
        self.waiting: deque[Outgoing] = deque()
        self._mail = asyncio.Event()

    def submit(self, text: str, *, mode: str = "auto", retry_of: str | None = None) -> None:
        """Put a message for the desk's conversation on its way."""
        files, self._desk.attached = tuple(self._desk.attached), []
        send = Send(
            conversation=self._desk.id, text=text, mode=mode, retry_of=retry_of, attachments=files
        )
        self._desk.story.mine.add(send.delivery_id)
        self.waiting.append(Outgoing(send, self._desk.story.foreign_inputs))
        self._mail.set()
        self._view.changed()

    def withdraw(self) -> Outgoing | None:
        """Give up the oldest message if the service could not be given it so far; else None."""
        if not self.waiting or not self.waiting[0].failing:
            return None
        self.waiting[0].given_up = True
        self._mail.set()
        return self.waiting[0]

    async def post(self) -> None:
        """Send what waits, until cancelled."""
        while True:
            while self.waiting:
                await self._deliver(self.waiting[0])
                self.waiting.popleft()
                self._view.changed()
            self._mail.clear()
            await self._mail.wait()

    async def _deliver(self, out: Outgoing) -> None:
        tries = 0
        while not out.given_up:
            try:
                await self._once(out)
            except CommandError as error:
                if not temporary(error):
                    await self._refused(out, error)
                    return
                out.failing = error.code
            else:
                return
            self._view.changed()
            self._mail.clear()
            await within(self._mail.wait(), PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    async def _once(self, out: Outgoing) -> None:
        send, desk = out.send, self._desk
        here = send.conversation == desk.id
        body = send.to_json() | ({"expected_revision": desk.revision} if here else {})
        path = f"/v1/conversations/{segment(send.conversation)}/inputs"
        answer = await desk.remote.post(path, body)
        if send.conversation == desk.id:
            desk.revision = int(answer["revision"])
            if answer["delivery"]["id"] not in desk.story.ended:
                desk.story.adopt(answer["delivery"], send.text)

    async def _refused(self, out: Outgoing, error: CommandError) -> None:
        desk = self._desk
        if error.code == "revision_conflict" and out.send.conversation == desk.id:
            await desk.catch_up(int(error.facts.get("cursor") or 0))
            desk.revision = int(error.facts["revision"])
            if desk.story.foreign_inputs == out.seen:
                # What moved it on was no message of somebody else, or it was read before this one.
                await self._deliver(out)
                return
            words = "Something new came while you wrote. Read it, then send yours."
            error = CommandError(words, code=error.code)
        self._view.give_back(out.send.text)
        desk.attached = [*out.send.attachments, *desk.attached]
        self._view.show([problem(error)])

    def unconfirmed(self) -> list[Line]:
        """What to say of messages that were never confirmed, when the chat is left."""
        lines: list[Line] = []
        for out in self.waiting:
            words = f"“{line(out.send.text, 60)}” was not confirmed. Repeat it safely with:"
            command = f"clankie send {out.send.conversation} --id {out.send.delivery_id} TEXT"
            lines += [Line((("warn", "! "), ("", words))), said("quiet", command, 2)]
        return lines


async def within(work: Awaitable[object], seconds: float) -> None:
    """Wait for `work` for at most so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except TimeoutError:
        # The time is a bound, not a promise: the caller looks again.
        return


def problem(error: CommandError) -> Line:
    """A refusal as one line."""
    return Line(
        (("bad", "✗ "), ("", line(error.detail, 600)), ("quiet", f"  {line(error.code, 60)}"))
    )
