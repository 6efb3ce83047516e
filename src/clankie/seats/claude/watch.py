"""What a running session writes and does, seen from outside: its register and its transcript.

Rule 1: a session `waits` only when no words of ours are on their way to it.
Rule 2: another session in the same process is the same occupant's next one: the register, which
        only that process writes, names it.
Rule 3: looking never writes, and never reads a row twice.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import Activity, Native
from clankie.seats.claude import registry
from clankie.seats.claude.follow import Follow
from clankie.seats.claude.receipts import Receipts
from clankie.seats.claude.rows import reader
from clankie.seats.port import DeafError, Observation, Seen
from clankie.seats.process import alive, started_at
from clankie.seats.rows import Known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from clankie.host.ports import Clock
    from clankie.seats.claude.registry import Session

Json = dict[str, Any]

TICK: Final = 0.2
"""Seconds between two looks."""
LIFE: Final = 60.0
"""Seconds after which a turn that still runs is reported again: a sign of life."""
SETTLING: Final = 10.0
"""Seconds until the register is believed that it never was the session that we were told of."""
UNNAMED: Final = timedelta(hours=1)
"""How long a limit counts that names no end."""
_FRESH: Final = timedelta(seconds=10)


class Watch:
    """Looks at one process of the client until it ends."""

    def __init__(self, *, clock: Clock, config: str, pid: int, session_id: str) -> None:
        self._clock, self._config = clock, config
        self.native = Native(session_id=session_id, pid=pid, process_started_at=started_at(pid))
        self.session: Session | None = None
        self.receipts = Receipts(clock)
        self.ended = False
        self._met, self._since = False, clock.monotonic()
        self._follow: Follow | None = None
        self._reader = reader(Known())
        self._row_at: datetime | None = None
        self._rest_at: datetime | None = None
        self._compacted, self._moved, self._ended = 0, False, False
        self._said: tuple[Activity | None, float] = (None, 0.0)
        self._seen: asyncio.Queue[Seen | DeafError] = asyncio.Queue()

    @property
    def transcript(self) -> Path | None:
        """Where the session's transcript lies, once it is known."""
        return None if self._follow is None else self._follow.path

    @property
    def prompted_at(self) -> datetime | None:
        """When a person last gave it words, as far as was read."""
        return self._reader.prompted_at

    @property
    def limit_met(self) -> bool:
        """Whether the newest request met a usage limit: a menu may stand there, also after it."""
        return self._reader.limit is not None

    @property
    def limited(self) -> bool:
        """Whether a usage limit refuses everything now."""
        limit = self._reader.limit
        if limit is None:
            return False
        return self._clock.now() < (limit.resets_at or limit.occurred_at + UNNAMED)

    def rest(self) -> None:
        """The client says on another way that its turn has ended now."""
        self._rest_at = self._clock.now()

    def tell(self, one: Seen | DeafError) -> None:
        """Report something else in its place."""
        self._seen.put_nowait(one)

    async def run(self) -> None:
        """Look until the process ends. What fails, `seen` raises."""
        try:
            while True:
                self.look()
                if self.ended:
                    return
                await self._clock.sleep(TICK)
        except Exception as error:  # noqa: BLE001 - see above
            self.tell(DeafError.of(error))

    async def seen(self) -> AsyncIterator[Seen]:
        """What was seen, in order, until it ends. Raises DeafError."""
        while True:
            one = await self._seen.get()
            if isinstance(one, DeafError):
                raise one
            yield one
            if one.observation is not None and one.observation.ended:
                return

    def look(self) -> None:
        """One look at the process, the register and the transcript."""
        if self.ended:
            return
        # Asked first: what a process wrote before it ended is read all the same.
        running = alive(self.native.pid, self.native.process_started_at)
        self.session = registry.session(self._config, self.native.pid) if running else None
        if self.session is not None:
            self._place(self.session)
        for row in () if self._follow is None else self._follow.rows():
            self._take(row)
        if self._reader.compacted > self._compacted:
            self._compacted = self._reader.compacted
            self._observe(source="compact")
        self._report()
        if not running:
            self.ended = True
            self.receipts.lose()
            self._observe(ended=True)

    def _place(self, session: Session) -> None:
        """Follow the transcript of the session that the register names."""
        same = session.session_id == self.native.session_id
        # At first it registers under a fresh id, also when it goes on with an older session.
        self._met = self._met or same or self._clock.monotonic() - self._since > SETTLING
        if not same:
            if self._met:
                self._switch(session)
        elif self._follow is None:
            self._follow = self._transcript(session)
            # What stands in it when we come was nothing that we gave it.
            self._follow.skip()

    def _switch(self, session: Session) -> None:
        """The same process goes on with another session."""
        self.native = Native(
            session_id=session.session_id,
            pid=self.native.pid,
            process_started_at=self.native.process_started_at,
        )
        self.receipts.lose()
        self._reader, self._compacted, self._row_at = reader(Known()), 0, None
        self._said = (None, 0.0)
        self._follow = self._transcript(session)
        source = self._source(self._transcript(session))
        if source != "clear":
            self._follow.skip()
        self._observe(source=source)

    def _transcript(self, session: Session) -> Follow:
        path = Path(registry.transcript(self._config, session.directory, session.session_id))
        return Follow(path, f"{self._config}/projects")

    def _source(self, follow: Follow) -> str:
        """How the session began that it goes on with, by its first rows."""
        for row in follow.rows():
            if row.get("forkedFrom"):
                return "fork"
            at = moment(row)
            if at is not None:
                return "resume" if at < self._clock.now() - _FRESH else "clear"
        return "clear"

    def _take(self, row: Json) -> None:
        before = self._reader.activity
        self._moved = bool(self._reader.take(row)) or self._moved
        match before, self._reader.activity:
            case Activity.RESPONDING, Activity.WAITING:
                self._ended = True
            case Activity.WAITING, Activity.RESPONDING if self._ended:
                # The next one began before we looked. What comes now is no answer to the first.
                self._turned()
            case _:
                pass
        self.receipts.take(row)
        at = moment(row) if row.get("type") in {"user", "assistant", "attachment"} else None
        if at is not None:
            self._row_at = max(at, self._row_at or at)

    def _report(self) -> None:
        now, (before, at) = self._clock.monotonic(), self._said
        activity = self._activity()
        again = activity is Activity.RESPONDING and now - at >= LIFE
        if activity is Activity.WAITING and before is not Activity.RESPONDING and self._moved:
            # A turn that was over between two looks began all the same.
            self._observe(activity=Activity.RESPONDING)
        elif activity is None or (activity is before and not again):
            return
        self._said, self._moved = (activity, now), False
        self._ended = self._ended and activity is not Activity.WAITING
        self._observe(activity=activity)

    def _turned(self) -> None:
        """Report the end of a turn that another one stands behind already."""
        if self._said[0] is not Activity.RESPONDING:
            self._observe(activity=Activity.RESPONDING)
        self._observe(activity=Activity.WAITING)
        self._said, self._ended = (Activity.WAITING, self._clock.monotonic()), False

    def _activity(self) -> Activity | None:
        """What it does: the rows say so, and the register where it knows better."""
        said, session = self._reader.activity, self.session
        if self.receipts.open:
            return Activity.RESPONDING if said is Activity.RESPONDING else self._said[0]
        if session is not None and session.busy:
            return Activity.RESPONDING
        free = session is not None and session.free and session.status_at
        idle_at = max((one for one in (free, self._rest_at) if one), default=None)
        if idle_at is None:
            return said
        return Activity.WAITING if self._row_at is None or idle_at >= self._row_at else said

    def _observe(
        self, *, source: str | None = None, activity: Activity | None = None, ended: bool = False
    ) -> None:
        observation = Observation(
            session_id=self.native.session_id,
            source=source,
            activity=activity,
            at=self._row_at,  # what it has not read is behind that
            ended=ended,
        )
        self.tell(Seen(observation=observation))


def moment(row: Json) -> datetime | None:
    """When a row was written; None when it does not say."""
    value = row.get("timestamp")
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return at if at is None or at.tzinfo is not None else at.replace(tzinfo=UTC)
