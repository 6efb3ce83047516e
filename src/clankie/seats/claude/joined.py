"""A session of Claude Code in a person's terminal, as the pump in its bridge works with it.

Rule 1: an owner's turn is typed as the person would, where nothing stands in the way (`keys`);
        everything else, and a turn that cannot be typed, goes through the messaging socket.
Rule 2: `Taken` is said of words that the transcript shows, in its queue or in a row. What left us
        and does not show there is unknown.
Rule 3: nothing is given to a session whose usage limit is reached: it would be refused, and a
        client that continues by itself would run it a second time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Principal
from clankie.core.seat import EventKind, delivery_uuid
from clankie.host.panes import NotTypableError, PaneError, PaneGoneError, typable
from clankie.seats.claude import channel, keys, messaging
from clankie.seats.claude.frame import framed
from clankie.seats.port import Handed, Refused, Seen, Taken, Unknown

if TYPE_CHECKING:
    from clankie.core.seat import Native, SeatEvent
    from clankie.seats.claude.receipts import Expected
    from clankie.seats.claude.watch import Watch
    from clankie.seats.launch import Means
    from clankie.seats.port import Declaration

PROVEN: Final = 15.0
"""Seconds for words to show in the transcript; less than the pump waits."""
BEFORE_ENTER: Final = 0.4
"""Seconds between words and Enter: sooner, the client takes Enter for a newline of the paste."""
CUT: Final = 15_000
"""Characters of content beyond which the service cuts it, and says so in it."""
AGAIN: Final = 3.0
"""Seconds after which Enter is pressed once more, while the words still wait in the input."""
_OWNERS: Final = frozenset({Principal.OPERATOR.value, Principal.DEVICE.value})


class Joined:
    """Implements `port.Harness`."""

    def __init__(self, means: Means, watch: Watch, declaration: Declaration) -> None:
        self._means, self._watch, self._declaration = means, watch, declaration

    @property
    def declaration(self) -> Declaration:
        """What it can do."""
        return self._declaration

    @property
    def native(self) -> Native:
        """The session it runs now, which `/clear` and `/resume` change."""
        return self._watch.native

    @property
    def transcript(self) -> Path | None:
        """Where its rows stand."""
        return self._watch.transcript

    def seen(self) -> AsyncIterator[Seen]:
        """What it does, until it ends."""
        return self._watch.seen()

    async def interrupt(self, event: str) -> bool:
        """No: the terminal's Escape would also put an unanswered prompt back into the input."""
        del event
        return False

    async def answer(self, question: str, *, approve: bool) -> bool:
        """No: its dialogs stand in the terminal, for the person there."""
        del question, approve
        return False

    async def hand_over(self, event: SeatEvent) -> Handed:
        """Give it the words of one event, once."""
        self._watch.look()
        if self._watch.ended or self._watch.session is None:
            return Refused("session_ended")
        if self._watch.limited:
            return Refused("usage_limited")
        if _bare(event):
            typed = await self._type(event)
            if typed is not None:
                return typed
        return await self._send(event)

    # ── as the person would type it ──────────────────────────────────────────────────────────────

    async def _type(self, event: SeatEvent) -> Handed | None:
        """Type it; None where nothing was typed, and another way is open."""
        panes, pane = self._means.panes, self._means.pane
        if panes is None or pane is None:
            return None
        text = event.content
        try:
            text = typable(text)
            why = await self._why_not()
        except PaneError as error:
            why = str(error)
        if why is not None:
            self._watch.tell(
                Seen(notes=(f"{event.id} is not typed but sent as a message: {why}.",))
            )
            return None
        self._means.ledger.typed(event, text)
        expected = self._watch.receipts.expect(text)
        try:
            await panes.type(pane, text)
        except (NotTypableError, PaneGoneError):
            self._watch.receipts.forget(expected)
            return None
        except PaneError as error:
            return Unknown(str(error))
        return await self._enter(expected)

    async def _why_not(self) -> str | None:
        panes, pane = self._means.panes, self._means.pane
        if panes is None or pane is None:
            return "it runs in no pane"
        return keys.why_not(
            self._watch.session,
            await panes.pane(pane),
            limited=self._watch.limit_met,
            prompted_at=self._watch.prompted_at,
        )

    async def _enter(self, expected: Expected) -> Handed:
        for seconds in (AGAIN, PROVEN - AGAIN):
            await self._means.clock.sleep(BEFORE_ENTER)
            self._watch.look()
            session = self._watch.session
            if session is None or session.dialog:
                # Enter would answer the dialog. The words stand in the input, for the person.
                return Unknown("a dialog opened before the words were sent")
            if not session.busy:
                await self._press()
            if await self._watch.receipts.proof(expected, seconds):
                return Taken(expected.proof)
        return Unknown("the words were typed, and no row shows them")

    async def _press(self) -> None:
        if self._means.panes is not None and self._means.pane is not None:
            await self._means.panes.enter(self._means.pane)

    # ── as a message ─────────────────────────────────────────────────────────────────────────────

    async def _send(self, event: SeatEvent) -> Handed:
        text = framed(event)
        if channel.open_to(self._means):
            return await self._notify(event, text)
        session = self._watch.session
        uuid = delivery_uuid(event.id, event.attempt)
        expected = self._watch.receipts.expect(text, uuid)
        try:
            await messaging.send(session.socket if session is not None else "", uuid, text)
        except messaging.NotReachedError:
            self._watch.receipts.forget(expected)
            return Refused("socket_silent")
        except messaging.HalfSentError as error:
            return await self._proven(expected, str(error))
        return await self._proven(expected, "it was sent, and no row shows it")

    async def _notify(self, event: SeatEvent, text: str) -> Handed:
        self._means.ledger.typed(event, text)
        expected = self._watch.receipts.expect(text)
        await channel.notify(self._means, event, text)
        return await self._proven(expected, "the channel does not say whether it came")

    async def _proven(self, expected: Expected, why: str) -> Handed:
        if await self._watch.receipts.proof(expected, PROVEN):
            return Taken(expected.proof)
        return Unknown(why)


def _bare(event: SeatEvent) -> bool:
    """Whether its content is exactly what the owner wrote: nothing framed, joined to it, or cut."""
    return (
        event.kind is EventKind.TURN
        and not event.members
        and event.attribution.get("principal") in _OWNERS
        and len(event.content) < CUT
    )
