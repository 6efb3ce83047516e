"""The parts of the store, as their ports name them: each verb is one unit or one read."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from clankie.core.errors import AttachmentNotFoundError, StorageUnavailableError
from clankie.store.sqlite import (
    admit,
    attachments,
    calls,
    closing,
    conversations,
    events,
    given,
    goals,
    owner,
    projection,
    purge,
    receipts,
    runs,
    search,
    settle,
    usage,
    wakes,
)
from clankie.store.sqlite.files import sha256
from clankie.store.sqlite.unit import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clankie.core.admission import Offer
    from clankie.core.conversation import Author, Conversation
    from clankie.core.delivery import InputState
    from clankie.core.driver import Standing
    from clankie.core.goal import Goal
    from clankie.core.projection import Projection
    from clankie.core.receipt import Delivery
    from clankie.core.settings import ProjectionLimits, Settings, WakeLimits
    from clankie.core.wake import Wake
    from clankie.host.bearer import Token
    from clankie.host.storage import (
        Admitted,
        Call,
        DayUsage,
        EventPage,
        NewConversation,
        Offered,
        Outcome,
        Reservation,
        SearchPage,
    )
    from clankie.store.sqlite.files import Files
    from clankie.store.sqlite.readers import Readers
    from clankie.store.sqlite.writer import Writer

ADMIT: Final = Kind("admit", bounded=True, behind=True)
CREATE: Final = Kind("create", bounded=True)
WAKE: Final = Kind("wake", bounded=True)
CONVERSATION: Final = Kind("conversation")
RESERVE: Final = Kind("reserve")
START: Final = Kind("start")
RELEASE: Final = Kind("release")
REFUSE: Final = Kind("refuse")
JOIN: Final = Kind("join")
TOOL_STARTED: Final = Kind("tool_started")
TOOL_ENDED: Final = Kind("tool_ended")
SETTLE: Final = Kind("settle")
CANCEL: Final = Kind("cancel")
ABANDON: Final = Kind("abandon")
RELEASE_HELD: Final = Kind("release_held")
OWNER: Final = Kind("owner")
INDEX: Final = Kind("index")
PURGE: Final = Kind("purge")
COMPACT: Final = Kind("compact", alone=True)
GOAL: Final = Kind("goal")
ATTACHMENT: Final = Kind("attachment")


class Part:
    """What every part works with."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._write = writer.write
        self._read = readers.read
        self._writer = writer


class Conversations(Part):  # noqa: PLR0904 - the port names fourteen verbs of one record
    """ConversationStore."""

    def __init__(self, writer: Writer, readers: Readers, attached: Attachments) -> None:
        super().__init__(writer, readers)
        self._attached = attached

    async def create(self, new: NewConversation, by: Author) -> tuple[Conversation, bool]:
        """See the port. `by` stands in no record yet: only the owner makes conversations."""
        del by
        return await self._write(CREATE, lambda tx: conversations.create(tx, new))

    async def get(self, conversation: str) -> Conversation:
        """See the port."""
        return await self._read(partial(conversations.get, conversation=conversation))

    async def list(self) -> Sequence[Conversation]:
        """See the port."""
        return await self._read(conversations.everyone)

    async def rename(self, conversation: str, name: str, expected_revision: int) -> Conversation:
        """See the port."""
        return await self._write(
            CONVERSATION, lambda tx: conversations.rename(tx, conversation, name, expected_revision)
        )

    async def reset(
        self, conversation: str, expected_revision: int | None, by: Author
    ) -> Conversation:
        """See the port."""
        return await self._write(
            CONVERSATION, lambda tx: conversations.reset(tx, conversation, expected_revision, by)
        )

    async def close(self, conversation: str, by: Author) -> Conversation:
        """See the port."""
        return await self._write(CONVERSATION, lambda tx: conversations.close(tx, conversation, by))

    async def notice(self, conversation: str, code: str, text: str) -> None:
        """See the port."""
        await self._write(
            CONVERSATION, lambda tx: conversations.notice(tx, conversation, code, text)
        )

    async def events_after(self, conversation: str, after: int, limit: int) -> EventPage:
        """See the port."""
        return await self._read(lambda db: events.after(db, conversation, after, limit))

    async def events_before(self, conversation: str, before: int, limit: int) -> EventPage:
        """See the port."""
        return await self._read(lambda db: events.before(db, conversation, before, limit))

    async def project(
        self, conversation: str, limits: ProjectionLimits, *, without: str | None = None
    ) -> Projection:
        """See the port."""
        return await self._read(lambda db: projection.project(db, conversation, limits, without))

    async def search(
        self, conversation: str, query: str, *, before: int | None, limit: int
    ) -> SearchPage:
        """See the port."""
        return await self._read(
            lambda db: search.search(db, conversation, query, before=before, limit=limit)
        )

    async def index(self, limit: int) -> int:
        """See the port."""
        return await self._write(INDEX, lambda tx: search.index(tx, limit))

    async def set_model(
        self, conversation: str, model: str | None, expected_revision: int
    ) -> Conversation:
        """See the port."""
        return await self._write(
            CONVERSATION,
            lambda tx: conversations.set_model(tx, conversation, model, expected_revision),
        )

    async def purge(self, conversation: str) -> None:
        """See the port. Many transactions; one that was interrupted goes on at the next start.

        Raises StorageUnavailableError: there is no room to compact the file, or something reads
        for long in it. Repeat it.
        """
        if not await self._write(PURGE, lambda tx: purge.begin(tx, conversation)):
            return
        await self._attached.clear()
        last: int | None = 0
        while last is not None:
            last = await self._write(
                PURGE, partial(purge.one_slice, conversation=conversation, after=last)
            )
        if not await self._write(COMPACT, lambda tx: purge.compact(tx.connection)):
            raise StorageUnavailableError("the old content is still being read")
        await self._write(PURGE, lambda tx: purge.end(tx, conversation))

    async def purge_on(self) -> None:
        """Go on with what a crash interrupted."""
        for conversation in await self._read(purge.unfinished):
            await self.purge(conversation)


class Deliveries(Part):  # noqa: PLR0904 - the port names fourteen verbs of one record
    """DeliveryStore."""

    async def admit(self, offer: Offer, bound: int) -> Admitted:
        """See the port."""
        return await self._write(ADMIT, lambda tx: admit.admit(tx, offer, bound))

    async def get(self, delivery: str) -> Delivery:
        """See the port."""
        return await self._read(lambda db: receipts.read(db.execute, delivery))

    async def list(
        self,
        *,
        conversation: str | None = None,
        states: frozenset[InputState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Delivery]:
        """See the port. Raises DeliveryNotFoundError when there is no `after`."""
        return await self._read(
            lambda db: receipts.page(
                db.execute, conversation=conversation, states=states, after=after, limit=limit
            )
        )

    async def reserve(
        self,
        conversation: str,
        without: frozenset[str] = frozenset(),
        seat: Standing | None = None,
    ) -> Reservation | Offered | None:
        """See the port. A seat that is not attached there any more counts as none."""
        return await self._write(RESERVE, lambda tx: runs.reserve(tx, conversation, without, seat))

    async def start(self, reservation: Reservation) -> None:
        """See the port."""
        await self._write(START, lambda tx: runs.start(tx, reservation))

    async def release(self, reservation: Reservation, code: str) -> None:
        """See the port."""
        await self._write(RELEASE, lambda tx: runs.release(tx, reservation, code))

    async def refuse(self, reservation: Reservation, outcome: Outcome) -> None:
        """See the port."""
        await self._write(REFUSE, lambda tx: runs.refuse(tx, reservation, outcome))

    async def join(self, reservation: Reservation) -> Sequence[Delivery]:
        """See the port."""
        return await self._write(JOIN, lambda tx: runs.join(tx, reservation))

    async def tool_started(self, reservation: Reservation, call: Call) -> None:
        """See the port."""
        await self._write(TOOL_STARTED, lambda tx: calls.started(tx, reservation, call))

    async def tool_ended(
        self, reservation: Reservation, call: Call, *, ok: bool, detail: str
    ) -> None:
        """See the port."""
        await self._write(
            TOOL_ENDED, lambda tx: calls.ended(tx, reservation, call, ok=ok, detail=detail)
        )

    async def settle(self, reservation: Reservation, outcome: Outcome) -> Delivery:
        """See the port."""
        return await self._write(SETTLE, lambda tx: settle.settle(tx, reservation, outcome))

    async def cancel_waiting(self, delivery: str) -> bool:
        """See the port."""
        return await self._write(CANCEL, lambda tx: closing.cancel(tx, delivery))

    async def stop(self, delivery: str) -> tuple[str, int] | None:
        """See the port."""
        return await self._write(CANCEL, lambda tx: given.stop(tx, delivery))

    async def abandon(self, delivery: str) -> Delivery:
        """See the port."""
        return await self._write(ABANDON, lambda tx: closing.abandon(tx, delivery))

    async def release_held(self, conversation: str | None, reason: str | None = None) -> int:
        """See the port."""
        return await self._write(
            RELEASE_HELD, lambda tx: closing.release_held(tx, conversation, reason)
        )


class Wakes(Part):
    """WakeStore."""

    async def add(self, wake: Wake, limits: WakeLimits) -> None:
        """See the port."""
        await self._write(WAKE, lambda tx: wakes.add(tx, wake, limits))

    async def list(self, conversation: str | None = None) -> Sequence[Wake]:
        """See the port."""
        return await self._read(lambda db: wakes.everyone(db, conversation))

    async def due(self, now: datetime, limit: int) -> Sequence[Wake]:
        """See the port."""
        return await self._read(lambda db: wakes.due(db, now, limit))

    async def next_due(self, after: datetime) -> datetime | None:
        """See the port."""
        return await self._read(lambda db: wakes.next_due(db, after))

    async def conversations_due(self, now: datetime) -> Sequence[str]:
        """See the port."""
        return await self._read(lambda db: wakes.conversations_due(db, now))

    async def remove(self, wake: str) -> None:
        """See the port."""
        await self._write(WAKE, lambda tx: wakes.remove(tx, wake))


class Goals(Part):
    """GoalStore."""

    async def get(self, conversation: str) -> Goal | None:
        """See the port."""
        return await self._read(lambda db: goals.get(db, conversation))

    async def active(self) -> Sequence[Goal]:
        """See the port."""
        return await self._read(goals.active)

    async def put(self, goal: Goal) -> None:
        """See the port."""
        await self._write(GOAL, lambda tx: goals.put(tx, goal))

    async def advance(self, before: Goal, after: Goal) -> bool:
        """See the port."""
        return await self._write(GOAL, lambda tx: goals.advance(tx, before, after))

    async def remove(self, conversation: str) -> None:
        """See the port."""
        await self._write(GOAL, lambda tx: goals.remove(tx, conversation))


class Attachments(Part):
    """AttachmentStore. Rows are the writer's; files are written and removed one at a time."""

    def __init__(self, writer: Writer, readers: Readers, files: Files) -> None:
        super().__init__(writer, readers)
        self._beside = readers.beside
        self._files = files
        self._one_at_a_time = asyncio.Lock()

    async def put(self, data: bytes, media_type: str) -> str:
        """See the port. Bytes that were damaged or lost are mended by the same ones."""
        digest = await self._beside(lambda: sha256(data))
        async with self._one_at_a_time:
            if not await self._whole(digest):
                await self._keep(digest, data, media_type)
        return digest

    async def _whole(self, digest: str) -> bool:
        try:
            await self.get(digest)
        except AttachmentNotFoundError:
            return False
        return True

    async def _keep(self, digest: str, data: bytes, media_type: str) -> None:
        size = len(data)
        await self._write(ATTACHMENT, lambda tx: attachments.coming(tx, digest, media_type, size))
        try:
            await self._beside(lambda: self._files.write(digest, data))
        except OSError as error:
            raise StorageUnavailableError(str(error)) from error
        await self._write(ATTACHMENT, lambda tx: attachments.kept(tx, digest))

    async def facts(self, digest: str) -> tuple[str, int]:
        """See the port."""
        return await self._read(lambda db: attachments.facts(db, digest))

    async def get(self, digest: str) -> tuple[str, bytes]:
        """See the port."""
        media_type, _ = await self.facts(digest)
        data = await self._beside(lambda: self._files.read(digest))
        if data is None:
            await self._write(ATTACHMENT, lambda tx: attachments.damaged(tx, digest))
            raise AttachmentNotFoundError(digest)
        return media_type, data

    async def clear(self) -> None:
        """Remove the files that are to go. Raises StorageUnavailableError."""
        async with self._one_at_a_time:
            for digest in await self._read(attachments.going):
                try:
                    await self._beside(partial(self._files.remove, digest))
                except OSError as error:
                    raise StorageUnavailableError(str(error)) from error
                await self._write(ATTACHMENT, partial(attachments.gone, digest=digest))

    async def boot(self) -> None:
        """Give up what was being written when the process ended, and clear away."""
        await self._write(ATTACHMENT, attachments.interrupted)
        await self.clear()


class Owner(Part):
    """OwnerStore."""

    async def settings(self) -> tuple[int, Settings]:
        """See the port."""
        return await self._read(owner.settings)

    async def save_settings(self, settings: Settings, expected_revision: int) -> int:
        """See the port. The bound of the writer's line follows at once."""
        revision = await self._write(
            OWNER, lambda tx: owner.save_settings(tx, settings, expected_revision)
        )
        self._writer.bound = settings.queue.store
        return revision

    async def add_token(self, token: Token, secret_sha256: str) -> None:
        """See the port."""
        await self._write(OWNER, lambda tx: owner.add_token(tx, token, secret_sha256))

    async def usage(self, days: int, now: datetime) -> Sequence[DayUsage]:
        """See the port."""
        return await self._read(lambda db: usage.days(db, days, now))

    async def tokens(self) -> Sequence[tuple[Token, str]]:
        """See the port."""
        return await self._read(owner.tokens)

    async def revoke_token(self, token: str) -> None:
        """See the port."""
        await self._write(OWNER, lambda tx: owner.revoke_token(tx, token))
