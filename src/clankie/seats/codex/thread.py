"""What is known of the thread that a seat runs: its turn, its words that we wait for, its limits.

Pure bookkeeping over what the app-server says; who asks it anything is `adapter`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, cast

Json = dict[str, Any]

JOINED: Final = "clankie/joined"
"""A word of our own among the server's: what it said before was said when we joined."""
_FULL: Final = 100
_KEPT: Final = 200
"""Turns whose starter is remembered, and messages whose event is."""
_ENDED: Final = 32
"""Turns whose end is remembered: it may be heard before the answer that names them."""


@dataclass
class Thread:
    """A thread of an app-server. `turn` is the running one. `path` is its rollout.

    `starters`: which event's words began a turn; empty where they were not ours.
    `joined`: we are told what happens in it. A thread without a rollout cannot be joined yet.
    `waits`: when it was read, it waited for a person's answer.
    """

    id: str
    path: str | None = None
    turn: str | None = None
    joined: bool = True
    waits: bool = False
    limited_until: datetime | None = None
    starters: dict[str, str] = field(default_factory=dict[str, str])
    _events: dict[str, str] = field(default_factory=dict[str, str])
    _members: dict[str, str] = field(default_factory=dict[str, str])
    _windows: Json = field(default_factory=dict[str, Any])
    _waiting: dict[str, asyncio.Future[bool]] = field(
        default_factory=dict[str, "asyncio.Future[bool]"]
    )
    _turns: dict[str, str] = field(default_factory=dict[str, str])
    _ended: deque[str] = field(default_factory=lambda: deque[str](maxlen=_ENDED))

    def expect(self, client: str, event: str) -> asyncio.Future[bool]:
        """True when the words with this id stand in the thread, False when they never will."""
        self._knows(client, event)
        waiting = self._waiting[client] = asyncio.get_running_loop().create_future()
        return waiting

    def within(self, client: str, turn: str) -> None:
        """The words with this id belong to this turn: when it ends, they stand there or never."""
        self._turns[client] = turn
        if turn in self._ended:
            self._settle(client, stands=False)

    def joins(self, client: str, event: str, turn: str) -> None:
        """The words of an event wait in the server to join this turn."""
        self._knows(client, event)
        self._belongs(event, turn)

    def runs(self, event: str) -> bool:
        """Whether the words of this event started the running turn, or joined it."""
        return self.turn is not None and self._members.get(event) == self.turn

    def forget(self, client: str) -> None:
        """Nobody waits for it any more."""
        self._waiting.pop(client, None)
        self._turns.pop(client, None)

    def begins(self, turn: str) -> None:
        """A turn runs."""
        self.turn = turn

    def shows(self, turn: str, item: Mapping[str, Any]) -> None:
        """An item of a turn: perhaps the words that somebody waits for."""
        if item.get("type") != "userMessage":
            return
        client = str(item.get("clientId"))
        event = self._events.get(client, "")
        # The first words of a turn began it; later ones joined.
        self.starters.setdefault(turn, event)
        _bound(self.starters)
        if event:
            self._belongs(event, turn)
        self._settle(client, stands=True)

    def ends(self, turn: Mapping[str, Any]) -> None:
        """A turn has ended; words that it should have shown by now never come."""
        name = str(turn.get("id"))
        if self.turn == name:
            self.turn = None
        self._ended.append(name)
        for client in [one for one, within in self._turns.items() if within == name]:
            self._settle(client, stands=False)
        error = as_json(turn.get("error"))
        if error.get("codexErrorInfo") == "usageLimitExceeded":
            self.limited_until = self._reset()
        elif turn.get("status") == "completed":
            self.limited_until = None

    def gone(self) -> None:
        """Nothing more will be heard of it."""
        for client in list(self._waiting):
            self._settle(client, stands=False)

    def account(self, other: Thread) -> None:
        """What is known of the account's limits through another thread goes for this one too."""
        self.limited_until, self._windows = other.limited_until, other._windows

    def limits(self, found: Mapping[str, Any]) -> None:
        """How far the windows of its account are used up; what is not named stays."""
        self._windows |= {key: value for key, value in found.items() if value is not None}

    def _knows(self, client: str, event: str) -> None:
        self._events[client] = event
        _bound(self._events)

    def _belongs(self, event: str, turn: str) -> None:
        self._members[event] = turn
        _bound(self._members)

    def _reset(self) -> datetime | None:
        windows = [as_json(self._windows.get(name)) for name in ("primary", "secondary")]
        full = [one.get("resetsAt") for one in windows if one.get("usedPercent", 0) >= _FULL]
        known = [one for one in full if isinstance(one, int)]
        return datetime.fromtimestamp(max(known), UTC) if known else None

    def _settle(self, client: str, *, stands: bool) -> None:
        self._turns.pop(client, None)
        waiting = self._waiting.pop(client, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(stands)


def _bound(known: dict[str, str]) -> None:
    while len(known) > _KEPT:
        del known[next(iter(known))]


def as_json(value: object) -> Json:
    """An object of JSON; an empty one for anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def of(found: object) -> Thread | None:
    """A thread that a person may sit in front of; None for helpers of Codex's own."""
    known = as_json(found)
    name, path = known.get("id"), known.get("path")
    aside = known.get("ephemeral") or known.get("parentThreadId")
    if not isinstance(name, str) or aside or known.get("threadSource") not in {None, "user"}:
        return None
    waits = bool(as_json(known.get("status")).get("activeFlags"))
    return Thread(name, path if isinstance(path, str) else None, waits=waits)
