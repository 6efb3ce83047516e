"""The store as the host sees it: its parts over one writer and a few readers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Self

from clankie.core.errors import StorageUnavailableError
from clankie.store.errors import CorruptDatabaseError
from clankie.store.sqlite import connect, facts, migrate, node, owner, prune
from clankie.store.sqlite.backup import backup
from clankie.store.sqlite.batch import DAMAGED, UNAVAILABLE, Batches
from clankie.store.sqlite.files import Files
from clankie.store.sqlite.parts import (
    Attachments,
    Conversations,
    Deliveries,
    Goals,
    Owner,
    Wakes,
)
from clankie.store.sqlite.readers import InlineReaders, ThreadReaders
from clankie.store.sqlite.seat_parts import Mail, Seats, Watches
from clankie.store.sqlite.unit import Kind
from clankie.store.sqlite.values import millis
from clankie.store.sqlite.writer import InlineWriter, ThreadWriter

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from clankie.host.planstore import GoalStore, WakeStore
    from clankie.host.ports import Clock, CrashPoint, Ids
    from clankie.host.seatstore import MailStore, SeatStore, WatchStore
    from clankie.host.storage import (
        AttachmentStore,
        Committed,
        ConversationStore,
        DeliveryStore,
        OwnerStore,
        Recovered,
    )
    from clankie.store.sqlite.readers import Readers
    from clankie.store.sqlite.sql import Database
    from clankie.store.sqlite.unit import Transaction
    from clankie.store.sqlite.writer import Writer

BOOT: Final = Kind("boot", boot=True)
PRUNE: Final = Kind("prune")


class SqliteStore:
    """The port Store on one SQLite file. Enter it to open and migrate, leave it to close.

    `committed` hears of every commit. `inline` does everything on the event loop, in an order that
    repeats; `durable=False` also leaves out the waits for the disk. Both are for simulations.

    Entering raises UnusableStateError and its kinds (store.errors); the file is then untouched.
    """

    conversations: ConversationStore
    deliveries: DeliveryStore
    wakes: WakeStore
    goals: GoalStore
    attachments: AttachmentStore
    owner: OwnerStore
    seats: SeatStore
    mail: MailStore
    watches: WatchStore

    def __init__(  # noqa: PLR0913 - wiring names each port once
        self,
        path: Path,
        *,
        clock: Clock,
        ids: Ids,
        crash: CrashPoint,
        committed: Committed,
        inline: bool = False,
        durable: bool = True,
    ) -> None:
        self.path: Final = path
        self._clock, self._ids, self._crash = clock, ids, crash
        self._committed = committed
        self._inline, self._durable = inline, durable
        self._node: str | None = None
        self._files: Final = Files(path)
        self._attached: Attachments
        self._conversations: Conversations
        self._connection: Database
        self._writer: Writer
        self._readers: Readers

    async def __aenter__(self) -> Self:
        try:
            connection, readers, bound = self._open()
        except DAMAGED as error:
            raise CorruptDatabaseError(self.path, str(error)) from error
        except (OSError, *UNAVAILABLE) as error:
            raise StorageUnavailableError(str(error)) from error
        batches = Batches(connection, self._clock, self._ids, self._crash)
        make = InlineWriter if self._inline else ThreadWriter
        writer = make(batches, self._committed, bound)
        self._connection, self._writer, self._readers = connection, writer, readers
        self.attachments = self._attached = Attachments(writer, readers, self._files)
        self.conversations = self._conversations = Conversations(writer, readers, self._attached)
        self.deliveries = Deliveries(writer, readers)
        self.wakes = Wakes(writer, readers)
        self.goals = Goals(writer, readers)
        self.owner = Owner(writer, readers)
        self.seats = Seats(writer, readers)
        self.mail = Mail(writer, readers)
        self.watches = Watches(writer, readers)
        return self

    def _open(self) -> tuple[Database, Readers, int]:
        """The writer's connection, migrated; the readers; how many units may wait."""
        connect.require_engine()
        steps = migrate.migrations()
        found = migrate.check(self.path, steps)
        connection = connect.writer(self.path, durable=self._durable)
        try:
            if 0 < found < steps[-1].n:
                self._keep_copy(connection, found + 1)
            migrate.migrate(connection, steps, millis(self._clock.now()))
            bound = owner.settings(connection)[1].queue.store
            readers = InlineReaders(self.path) if self._inline else ThreadReaders(self.path)
        except BaseException:
            connection.close()
            raise
        return connection, readers, bound

    def _keep_copy(self, connection: Database, step: int) -> None:
        target = migrate.backup_name(self.path, step)
        # One from an earlier try is of the same schema; the database has not been written since.
        target.unlink(missing_ok=True)
        backup(connection, target, self._ids)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The writer's connection goes last: it is the one that can fold the log into the file.
        await self._writer.close()
        await self._readers.close()
        self._connection.close()

    async def boot(self) -> Recovered:
        """See the port."""
        self._node, recovered = await self._writer.write(BOOT, node.boot)
        with contextlib.suppress(StorageUnavailableError):
            # No start fails over what is only to be cleared away; the next one tries again.
            await self._attached.boot()
            await self._conversations.purge_on()
        return recovered

    async def prune(self, before: datetime) -> int:
        """See the port. Many small transactions, between which others get their turn."""
        limit = millis(before)

        def one_slice(tx: Transaction) -> int:
            return prune.prune(tx, limit)

        total = 0
        while (done := await self._writer.write(PRUNE, one_slice)) > 0:
            total += done
        while await self._writer.write(PRUNE, lambda tx: prune.rows(tx, limit)) > 0:
            pass
        await self._attached.clear()
        return total

    async def backup(self, target: str) -> None:
        """See the port. Raises InvalidFieldError when the file exists."""
        place = self.path.parent / target
        await self._readers.read_alone(lambda db: backup(db, place, self._ids, self._files.read))

    async def outlived(self) -> None:
        """See the port."""
        await self._writer.outlived.wait()

    def backlog(self) -> int:
        """See the port."""
        return self._writer.backlog()

    async def facts(self) -> dict[str, object]:
        """See the port."""
        found = await self._readers.read(lambda db: facts.facts(db, self.path))
        return {**found, "node": self._node, "backlog": self.backlog()}
