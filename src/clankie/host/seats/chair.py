"""A seat in memory: who asks there, what the native turn does, what waits to be told to it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from clankie.core import binding
from clankie.core.driver import Presence, Standing
from clankie.core.mailbox import Policy
from clankie.core.session import turn_ends

if TYPE_CHECKING:
    from datetime import datetime

    from clankie.core.binding import Asking
    from clankie.core.settings import SeatLimits
    from clankie.host.seatstore import Seat

PROJECTIONS: Final = 4
"""Session starts that may still be confirmed."""


class Now(NamedTuple):
    """One moment: on the wall, for what people agreed on, and on the clock that never jumps."""

    wall: datetime
    mono: float


class Told(NamedTuple):
    """What rode in the last page beside its events, and in which poll's."""

    poll_id: str
    interrupts: tuple[tuple[str, int], ...]
    decisions: tuple[tuple[str, str], ...]
    renew: bool


@dataclass(slots=True)
class Chair:
    """One seat. `seat` is its record as it was last read, `policy` that of its conversation.

    `alive`: when its native turn last showed a sign of life. `parked_at`: since when it takes
    nothing; `limited_at`: when its usage limit was met. `settled`: what its present silence led to
    was done. `queue`: a held Queue may wait for it. `rooms`: messages of rooms may be stored at it.
    `unresolved`: handoffs that a restart found under way. `depth` counts the wakes that led to what
    it was given last. `noted`: when its last stored ask was. `interrupts` wait for a poll.
    `bridge`: the one that asked last. `renewed`: the one that was last told to begin a new session,
    and instead of which.
    """

    seat: Seat
    policy: Policy = Policy.LEAD
    asking: Asking = binding.NOBODY
    news: asyncio.Event = field(default_factory=asyncio.Event)
    alive: float | None = None
    parked_at: float | None = None
    limited_at: datetime | None = None
    settled: bool = False
    queue: bool = True
    rooms: bool = True
    unresolved: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    depth: int = 0
    noted: float | None = None
    interrupts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    decisions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    told: Told | None = None
    bridge: str | None = None
    renewed: tuple[str, str] | None = None
    contents: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    projections: OrderedDict[str, tuple[str, int | None]] = field(
        default_factory=OrderedDict[str, tuple[str, int | None]]
    )

    def look(self) -> None:
        """Let the poll that waits look again."""
        self.news.set()
        self.news = asyncio.Event()

    @property
    def proven(self) -> bool:
        """Whether this machine vouches for its process."""
        return bool(self.seat.occupant.native.process_started_at)

    def parked(self, wall: datetime) -> bool:
        """Whether nothing is for it now: a usage limit, or its session cannot write here."""
        until = self.seat.parked_until
        return self.seat.stale or (until is not None and wall < until)

    def presence(self, limits: SeatLimits, now: Now) -> Presence:
        """How it stands to input that arrives now."""
        parked = self.parked(now.wall)
        return binding.presence(self.asking, self.policy, limits, now.mono, parked=parked)

    def standing(self, limits: SeatLimits, now: Now) -> Standing:
        """As the choice of a driver needs it."""
        return Standing(
            seat=self.seat.id,
            occupant=self.seat.occupant.id,
            presence=self.presence(limits, now),
            proven=self.proven,
            kinds=self.seat.capabilities.kinds,
        )

    def turn_ends(self, limits: SeatLimits) -> float | None:
        """When a native turn without a further sign of life holds nothing back; None: none runs."""
        return turn_ends(self.seat.activity, self.alive, limits)

    def responding(self, limits: SeatLimits, mono: float) -> bool:
        """Whether its native turn runs, as far as anybody can tell."""
        ends = self.turn_ends(limits)
        return ends is not None and mono < ends

    def next_change(self, limits: SeatLimits, now: Now) -> float | None:
        """The next moment after `now` at which time alone changes something here."""
        moments = [
            binding.next_change(
                self.asking, self.policy, limits, now.mono, parked_at=self.parked_at
            ),
            self.turn_ends(limits),
        ]
        return min((one for one in moments if one is not None and one > now.mono), default=None)

    def keep_projection(self, name: str, session: str, cursor: int | None) -> None:
        """Remember what a session start showed, until its hook confirms that it wrote it out."""
        self.projections[name] = (session, cursor)
        while len(self.projections) > PROJECTIONS:
            self.projections.popitem(last=False)
