"""What a native session means for its seat: whether it is the same, and what its rows prove.

Rule 1: a session goes on in its seat when it is provably the same one in the same process; else the
        seat lets the conversation go and says so. A guess would hand over somebody's work.
Rule 2: a row proves one attempt of one delivery, by the id we derived for it. Equal words prove
        nothing, but for words that we typed, in exactly one new row within seconds.
Rule 3: only the session that holds the native turn may end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, assert_never

from clankie.core.admission import normalise
from clankie.core.seat import Activity, EntryKind, Proof, delivery_uuid
from clankie.core.seat_errors import GrantUnknownError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.core.seat import Entry, Limited
    from clankie.core.settings import SeatLimits


class Continuity(StrEnum):
    """What a session that begins in a seat's harness is to the seat."""

    KEEP = "keep"  # the same session
    ADOPT = "adopt"  # another id, provably the same seat: the occupant changes with it
    UNBIND = "unbind"  # not provably the same


_CARRIED_ON: Final = frozenset({"clear", "compact"})
"""Starts that replace a session's id within its process, and nothing else."""


def continues(source: str | None, *, same_process: bool, same_session: bool) -> Continuity:
    """What a session start means for the seat. `source` is the harness's own word, or None.

    Resuming the same id, compaction and clearing within the process are the same seat. Resuming
    another id, a fork and another process are not.
    """
    if not same_process or source == "fork":
        return Continuity.UNBIND
    if same_session:
        return Continuity.KEEP
    return Continuity.ADOPT if source in _CARRIED_ON else Continuity.UNBIND


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """An attempt whose words a seat may have: what its evidence is held against.

    `text` is what was to be typed; `at` when it was handed over, on the clock of the rows.
    """

    event: str
    attempt: int
    text: str
    at: datetime


def proves(entry: Entry, handed: Handed, limits: SeatLimits, *, alike: int = 1) -> bool:
    """Whether a row of the transcript proves that the harness has these words.

    `alike`: how many new rows hold the same text; typed words prove something only as the one. The
    value of their evidence is when they were typed (RFC 3339), else it counts from `handed.at`.
    """
    evidence = entry.evidence
    if evidence is None or (evidence.event, evidence.attempt) != (handed.event, handed.attempt):
        return False
    match evidence.proof:
        case Proof.UUID | Proof.CLIENT_ID:
            return evidence.value == delivery_uuid(handed.event, handed.attempt)
        case Proof.SOCKET:
            # The answer came on the harness's own socket to a request that named the attempt.
            return True
        case Proof.TEXT:
            return alike == 1 and _typed(entry, handed, evidence.value, limits)
        case _:
            assert_never(evidence.proof)


def _typed(entry: Entry, handed: Handed, value: str | None, limits: SeatLimits) -> bool:
    """Whether the row came within seconds after the keystrokes; `value` is when they were made.

    An event of a page is typed when those before it are through, so that moment is not the page's.
    """
    pressed = handed.at if value is None else _moment(value)
    if pressed is None:
        return False
    in_time = pressed <= handed.at + timedelta(seconds=limits.acknowledge)
    soon = pressed <= entry.at <= pressed + timedelta(seconds=limits.typed)
    alike = normalise(entry.text) == normalise(handed.text)
    return entry.kind is EntryKind.USER and handed.at <= pressed and in_time and soon and alike


def _moment(value: str) -> datetime | None:
    """A time with its zone, as a seat wrote it; None when it is none."""
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return None if at.tzinfo is None else at


def parked_until(limited: Limited, limits: SeatLimits) -> datetime:
    """Until when a reported usage limit keeps new input away.

    Without a time of reset it counts from when it happened, not from when it was read.
    """
    if limited.resets_at is not None:
        return limited.resets_at
    return limited.occurred_at + timedelta(seconds=limits.park)


@dataclass(frozen=True, slots=True)
class Turn:
    """The native turn as the seat's reports tell it: who holds it, and whether it runs."""

    session: str | None = None
    activity: Activity | None = None


def heard(turn: Turn, report: Activity, session: str, *, current: str) -> Turn:
    """The turn after a report of `session`; `current` is the occupant's, whose turn starts empty.

    Only the session that holds the turn may end it. What an older one says late changes nothing.
    """
    runs = turn.activity is Activity.RESPONDING
    match report:
        case Activity.RESPONDING:
            heeded = session == current
        case Activity.WAITING:
            heeded = session == (turn.session if runs else current)
        case _:
            assert_never(report)
    return Turn(session, report) if heeded else turn


def turn_ends(
    activity: Activity | None, alive_at: float | None, limits: SeatLimits
) -> float | None:
    """When the seat's own turn holds nothing back any longer; None where none runs.

    `alive_at`: its last sign of life, seconds of any clock. A turn that shows none for too long was
    killed, or is not synced any more; a seat that never syncs holds nothing back.
    """
    if activity is not Activity.RESPONDING or alive_at is None:
        return None
    return alive_at + limits.silent_turn


@dataclass(frozen=True, slots=True)
class Peer:
    """Who stands at the other end of the socket, as the kernel says."""

    pid: int
    uid: int


def check_grant(
    *, harness: str, uid: int, expires_at: datetime, offered: str, peer: Peer | None, now: datetime
) -> None:
    """Refuse a grant that is too old, or comes from another person or harness than it was given to.

    `offered` is the harness that wants to register.

    Raises:
        GrantUnknownError: one sentence for every case, so that nothing can be found out by trying.
    """
    if now >= expires_at or offered != harness or (peer is not None and peer.uid != uid):
        raise GrantUnknownError


def related(one: int, other: int, parents: Mapping[int, int]) -> bool:
    """Whether one process descends from the other, or is it. `parents` by process id."""
    return other in _line(one, parents) or one in _line(other, parents)


def _line(pid: int, parents: Mapping[int, int]) -> set[int]:
    """A process and its ancestors; the table may be torn, so a circle ends it."""
    seen: set[int] = set()
    while pid > 0 and pid not in seen:
        seen.add(pid)
        pid = parents.get(pid, 0)
    return seen
