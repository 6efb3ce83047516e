"""The desk behind the chat's screen: opens conversations and follows them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from clankie.cli import reads
from clankie.cli.chat import driver
from clankie.cli.chat.marks import BLANK, Line, said
from clankie.cli.chat.outbox import Outbox, problem, within
from clankie.cli.chat.remote import Kind, words
from clankie.cli.chat.story import Story
from clankie.cli.clean import line
from clankie.cli.client import items, segment
from clankie.cli.failures import CommandError, ProblemError
from clankie.cli.wire import part
from clankie.host.clock import SystemClock

if TYPE_CHECKING:
    from clankie.cli.chat.remote import Item, Remote
    from clankie.cli.chat.view import View
    from clankie.cli.wire import Json
    from clankie.host.ports import Clock

HEAD: Final = "global-default"
HISTORY: Final = 40
"""Events shown when a conversation is opened."""
DOUBTS: Final = 9
CATCH_UP: Final = 3.0
"""Seconds to wait for the events that a refused message had not seen."""


class Desk:
    """One conversation at a time. `view` shows lines and is told when something changed."""

    def __init__(self, remote: Remote, view: View, clock: Clock | None = None) -> None:
        self.remote = remote
        self.clock: Clock = clock or SystemClock()
        self._view = view
        self.conversation: Json = {}
        self.story = Story()
        self.model = ""
        self.attached: list[Json] = []
        self.connected = True
        self.outbox = Outbox(self, view)
        self.revision = 0
        self._moved = asyncio.Event()
        self._opened = False
        self._group: asyncio.TaskGroup | None = None
        self._follower: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """The conversation's id."""
        return str(self.conversation.get("id", HEAD))

    @property
    def busy(self) -> bool:
        """Whether anything is on its way, in either direction."""
        if self.outbox.waiting or self.story.waiting or not self.connected:
            return True
        seat = driver.seat_of(self.conversation)
        return seat is not None and seat.get("state") == "holding"  # a hold is counted down

    @property
    def running(self) -> str | None:
        """The delivery that is being answered."""
        waiting = self.story.waiting.items()
        return next((delivery for delivery, one in waiting if one.state == "running"), None)

    def path(self, *more: str) -> str:
        """A path below this conversation."""
        return "/".join(["/v1/conversations", segment(self.id), *more])

    # ── opening ──────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Follow the conversation and send what was typed, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self.outbox.post())
            group.create_task(self._watch())
            self._follower = group.create_task(self._follow())

    async def switch(self, given: str) -> None:
        """Go to another conversation. Raises CommandError: then we stay."""
        found = await self.find(given)
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.wait([self._follower])
        try:
            await self.open(str(found["id"]))
        finally:
            if self._group is not None:
                self._follower = self._group.create_task(self._follow())

    async def open(self, given: str) -> None:
        """Show a conversation's last events, its open doubts, and what is still on its way.

        Raises:
            CommandError: it is not there, or the service cannot be asked. Nothing has changed then.
        """
        listed = await self._listed()
        found = reads.choose(listed, given)
        path = f"/v1/conversations/{segment(str(found['id']))}/events"
        page = await self.remote.get(path, before=int(found["cursor"]) + 1, limit=HISTORY)
        self.conversation, self.revision = found, int(found["revision"])
        self.story = Story(name=self.story.name, mine=self.story.mine)
        if self._opened:
            self._view.show([BLANK, said("strong", f"── {line(str(found['name']), 60)} ──")])
        self._opened = True
        self._history(items(page, "events"))
        try:
            await self._standing()
        except CommandError as error:
            self._view.show([problem(error)])
        elsewhere = [one for one in listed if one.get("uncertain") and one["id"] != found["id"]]
        self._view.show(_elsewhere(elsewhere))
        await self.refresh()

    async def find(self, given: str) -> Json:
        """The conversation of this name or id. Raises CommandError."""
        return reads.choose(await self._listed(), given)

    async def _listed(self) -> list[Json]:
        return items(await self.remote.get("/v1/conversations", state="all"), "conversations")

    async def refresh(self) -> None:
        """Ask which model answers, and who it is called."""
        try:
            answer = await self.remote.get("/v1/settings")
        except CommandError:
            # Only the status line needs them; the next refresh asks again.
            return
        settings: Json = answer["settings"]
        self.model = await self._answering(str(settings["models"]["model"]))
        self.story.name = line(str(settings["persona"]["name"]), 80)
        self._view.changed()

    async def _answering(self, default: str) -> str:
        """`provider:model` of what answers here."""
        own = self.conversation.get("model")
        if own:
            return str(own)
        try:
            now = part(await self.remote.get("/v1/models"), "current")
        except CommandError:
            # A service of an earlier version has no such list.
            return default
        names = (now.get("provider"), now.get("model"))
        return ":".join(str(one) for one in names if one) or default

    def _history(self, events: list[Json]) -> None:
        story = self.story
        story.past = True
        if events and int(events[0]["cursor"]) > 1:
            command = f"clankie conversations show {self.id} --last 500"
            self._view.show([said("quiet", f"· earlier events: {command}")])
        for event in events:
            self._view.show(story.event(event))
        story.past = False

    async def _standing(self) -> None:
        story = self.story
        story.waiting.clear()
        for state in ("queued", "running", "uncertain"):
            query: dict[str, object] = {"conversation": self.id, "state": state}
            found = items(await self.remote.get("/v1/deliveries", **query), "deliveries")
            for receipt in sorted(found, key=lambda one: str(one["admitted_at"]))[-DOUBTS:]:
                story.adopt(receipt, await words(self.remote, receipt))
                if state == "uncertain":
                    self._view.show(
                        story.doubt(str(receipt["id"]), str(receipt.get("detail") or ""))
                    )

    # ── following ────────────────────────────────────────────────────────────────────────────────

    async def _follow(self) -> None:
        """Tell everything that comes, until cancelled. Raises ProblemError when refused."""
        async for item in self.remote.follow(self.id, lambda: self.story.cursor):
            await self._take(item)
            self._view.changed()

    async def _watch(self) -> None:
        """Keep who drives, until cancelled. The feed is a hint: refused, we do without."""
        with suppress(ProblemError):
            async for row in self.remote.feed():
                if row.get("conversation") != self.id:
                    continue
                self.conversation |= {
                    name: row[name] for name in ("driver", "state") if name in row
                }
                self._view.changed()

    async def _take(self, item: Item) -> None:
        match item.kind:
            case Kind.EVENT:
                self._view.show(self.story.event(await self._explained(item.data)))
                self._moved.set()
            case Kind.DRAFT:
                self._view.show(self.story.more(item.data))
            case Kind.DRAFT_END:
                self.story.draft_ended(item.data)
            case Kind.UP:
                if not self.connected:
                    self.connected = True
                    await self.refresh()
            case Kind.DOWN:
                self.connected = False
                self.story.lost()

    async def _explained(self, event: Json) -> Json:
        """The sentence about a doubt stands on the receipt, not in the log."""
        if event.get("phase") != "uncertain" or event.get("kind") != "turn":
            return event
        try:
            path = f"/v1/deliveries/{segment(str(event.get('delivery_id')))}"
            return {**event, "detail": (await self.remote.get(path)).get("detail")}
        except CommandError:
            # The doubt itself matters more than its sentence; /look asks again.
            return event

    async def catch_up(self, cursor: int) -> None:
        """Wait until the log was told up to `cursor`, within a bound."""

        async def reached() -> None:
            while self.story.cursor < cursor:
                self._moved.clear()
                await self._moved.wait()

        await within(reached(), CATCH_UP)

    async def cancel(self) -> str:
        """Ask for what runs to stop; the outcome as the protocol names it."""
        answer = await self.remote.post(self.path("cancel"))
        return str(answer.get("outcome"))


def _elsewhere(found: list[Json]) -> list[Line]:
    if not found:
        return []
    names = ", ".join(
        f"{line(str(one['name']), 40)} ({one['uncertain']})" for one in found[:DOUBTS]
    )
    return [
        BLANK,
        Line((("warn", "? "), ("", f"Uncertain elsewhere: {names}"), ("quiet", "  /switch NAME"))),
    ]
