"""The parts of the store that seats need, as their ports name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.store.sqlite import (
    answers,
    attaching,
    pages,
    receipts,
    seat_events,
    seats,
    transcripts,
    watches,
)
from clankie.store.sqlite.parts import Part
from clankie.store.sqlite.unit import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.core.conversation import Author
    from clankie.core.delivery import SeatState
    from clankie.core.receipt import Delivery
    from clankie.core.seat import Entry, Occupant, Report
    from clankie.core.settings import SeatLimits
    from clankie.host.bearer import Token
    from clankie.host.seatstore import (
        Ask,
        Counts,
        Grant,
        InFlight,
        QueueEnd,
        Seat,
        Synced,
        Taken,
        Watch,
    )

GRANT: Final = Kind("grant", bounded=True)
REGISTER: Final = Kind("register", bounded=True)
SEAT: Final = Kind("seat")
ASKED: Final = Kind("asked")
TAKE: Final = Kind("take")
ACK: Final = Kind("ack")
REFUSED: Final = Kind("refused")
REPLY: Final = Kind("reply")
SYNC: Final = Kind("sync")
LAPSE: Final = Kind("lapse")
TAKE_OVER: Final = Kind("take_over")
WATCH: Final = Kind("watch", bounded=True)


class Seats(Part):
    """SeatStore."""

    async def add_grant(self, grant: Grant) -> None:
        """See the port."""
        await self._write(GRANT, lambda tx: attaching.add_grant(tx, grant))

    async def grant(self, secret_sha256: str) -> Grant | None:
        """See the port."""
        return await self._read(lambda db: attaching.grant(db, secret_sha256))

    async def register(
        self, grant: Grant, seat: Seat, token: Token, token_sha256: str
    ) -> tuple[Seat, str | None]:
        """See the port. Raises ConversationClosedError too."""
        return await self._write(
            REGISTER, lambda tx: attaching.register(tx, grant, seat, token, token_sha256)
        )

    async def get(self, seat: str) -> Seat:
        """See the port."""
        return await self._read(lambda db: seats.read(db.execute, seat))

    async def all(self) -> Sequence[Seat]:
        """See the port."""
        return await self._read(seats.everyone)

    async def attach(
        self, seat: str, conversation: str, expected: str | None, by: Author
    ) -> tuple[Seat, bool]:
        """See the port."""
        return await self._write(
            SEAT, lambda tx: attaching.attach(tx, seat, conversation, expected, by)
        )

    async def detach(self, seat: str, reason: str, by: Author | None) -> tuple[Seat, str | None]:
        """See the port."""
        return await self._write(SEAT, lambda tx: attaching.detach(tx, seat, reason, by))

    async def retire(self, seat: str, reason: str, by: Author | None) -> str | None:
        """See the port."""
        return await self._write(SEAT, lambda tx: attaching.retire(tx, seat, reason, by))

    async def occupied(self, seat: str, occupant: Occupant) -> Seat:
        """See the port. Raises OccupantChangedError: it sits in another seat."""
        return await self._write(SEAT, lambda tx: attaching.occupied(tx, seat, occupant))

    async def asked(self, seat: str) -> None:
        """See the port."""
        await self._write(ASKED, lambda tx: seats.asked(tx, seat))

    async def park(self, seat: str, until: datetime | None, reason: str) -> str | None:
        """See the port."""
        return await self._write(SEAT, lambda tx: attaching.park(tx, seat, until, reason))

    async def projected(self, seat: str, session_id: str, cursor: int) -> None:
        """See the port. Raises SessionConflictError, and SeatNotFoundError: attached nowhere."""
        await self._write(SEAT, lambda tx: transcripts.projected(tx, seat, session_id, cursor))


class Watches(Part):
    """WatchStore."""

    async def add(self, watch: Watch) -> None:
        """See the port. Raises ConversationClosedError too."""
        await self._write(WATCH, lambda tx: watches.add(tx, watch))

    async def all(self) -> Sequence[Watch]:
        """See the port."""
        return await self._read(watches.everyone)

    async def remove(self, watch: str) -> None:
        """See the port."""
        await self._write(WATCH, lambda tx: watches.remove(tx, watch))


class Mail(Part):
    """MailStore."""

    async def take(self, seat: str, ask: Ask, *, limits: SeatLimits, budget: int) -> Taken:
        """See the port."""
        return await self._write(
            TAKE, lambda tx: pages.take(tx, seat, ask, limits=limits, budget=budget)
        )

    async def ack(self, seat: str, event: str, attempt: int, binding: str) -> SeatState:
        """See the port. Raises OccupantChangedError: it is uncertain, and another sits there."""
        return await self._write(ACK, lambda tx: answers.ack(tx, seat, event, attempt, binding))

    async def refuse(
        self, seat: str, event: str, attempt: int, binding: str, reason: str
    ) -> SeatState:
        """See the port."""
        return await self._write(
            REFUSED, lambda tx: answers.refuse(tx, seat, event, attempt, binding, reason)
        )

    async def reply(
        self, seat: str, event: str, attempt: int, binding: str | None, text: str
    ) -> SeatState:
        """See the port."""
        return await self._write(
            REPLY, lambda tx: answers.reply(tx, seat, event, attempt, binding, text)
        )

    async def sync(
        self,
        seat: str,
        session_id: str,
        entries: Sequence[Entry],
        report: Report | None,
        limits: SeatLimits,
    ) -> Synced:
        """See the port."""
        return await self._write(
            SYNC, lambda tx: transcripts.sync(tx, seat, session_id, entries, report, limits)
        )

    async def lapse(
        self,
        seat: str,
        event: str,
        attempt: int,
        *,
        gone: bool = False,
        unacknowledged: bool = False,
    ) -> SeatState:
        """See the port."""
        return await self._write(
            LAPSE,
            lambda tx: answers.lapse(
                tx, seat, event, attempt, gone=gone, unacknowledged=unacknowledged
            ),
        )

    async def in_flight(self, seat: str | None = None) -> Sequence[InFlight]:
        """See the port."""
        return await self._read(lambda db: seat_events.in_flight(db, seat))

    async def offered(self, seat: str) -> Sequence[Delivery]:
        """See the port."""
        return await self._read(lambda db: receipts.offered(db.execute, seat))

    async def withdraw(self, seat: str, delivery: str, code: str, detail: str) -> bool:
        """See the port."""
        return await self._write(
            TAKE_OVER, lambda tx: answers.withdraw(tx, seat, delivery, code, detail)
        )

    async def take_over(self, seat: str, reason: str, notice: str | None) -> Sequence[str]:
        """See the port."""
        return await self._write(
            TAKE_OVER, lambda tx: attaching.take_over(tx, seat, reason, notice)
        )

    async def end_queue(self, seat: str | None, reason: str) -> QueueEnd:
        """See the port."""
        return await self._write(TAKE_OVER, lambda tx: attaching.end_queue(tx, seat, reason))

    async def counts(self, seat: str) -> Counts:
        """See the port."""
        return await self._read(lambda db: seats.counts(db, seat))
