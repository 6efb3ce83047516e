"""What the model remembers of a conversation between turns: bounded, in memory, never the truth.

The log is the truth. A session that ends badly, or grows beyond its bound, is forgotten, and the
next turn starts from the projection of the log; so turn 500 costs what turn 50 costs.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from clankie.core.conversation import Message as Said
from clankie.core.conversation import Role
from clankie.host.framing import Untrusted, framed
from clankie.lanes.album import named
from clankie.lanes.messages import AssistantText, Message, UserText, size_of

if TYPE_CHECKING:
    from clankie.core.projection import Entry, Projection
    from clankie.core.settings import Models, Settings
    from clankie.host.ports import Ids

SESSIONS: Final = 256
"""Conversations whose session is kept; the least recently used goes first."""

_NOTE: Final = "[{count} earlier events omitted]"
_NOTE_ROOM: Final = size_of(UserText(_NOTE.format(count=2**53)))


class Session:
    """The messages of one conversation, oldest first, as `model` said and heard them.

    Ids of calls and seals are the provider's own: no other model is ever shown this session.
    """

    def __init__(self, messages: list[Message] | None = None, model: str = "") -> None:
        self.messages: list[Message] = messages or []
        self.model = model
        self.size = sum(size_of(message) for message in self.messages)

    def add(self, message: Message) -> None:
        """Append; `size` counts its characters."""
        self.messages.append(message)
        self.size += size_of(message)


def bound(settings: Settings) -> int:
    """Characters a session may have and still be continued.

    Twice the projection's budget, or half of what the model can read, whichever is less.
    """
    return min(2 * settings.projection.budget, settings.models.context_chars // 2)


def key_of(models: Models) -> str:
    """Which model, and where: sessions do not pass from one to another."""
    return f"{models.model} {models.base_url}"


def seeded(projection: Projection, settings: Settings, ids: Ids) -> Session:
    """A fresh session that knows what the projection shows, newest first into the budget."""
    room = min(settings.projection.budget, bound(settings)) - _NOTE_ROOM
    newest_first: list[Message] = []
    for entry in reversed(projection.entries):
        message = _seed(entry, ids)
        room -= size_of(message)
        if room < 0:
            break
        newest_first.append(message)
    messages = newest_first[::-1]
    omitted = projection.omitted + len(projection.entries) - len(messages)
    if omitted:
        messages.insert(0, UserText(_NOTE.format(count=omitted), "note"))
    elif messages and not isinstance(messages[0], UserText):
        # Some servers refuse a history that the assistant opens.
        messages.insert(0, UserText("[the conversation so far]", "note"))
    return Session(messages, key_of(settings.models))


def _seed(entry: Entry, ids: Ids) -> Message:
    body = entry.body
    if isinstance(body, Said):
        if body.role is Role.OWNER and entry.end is None:
            return UserText(_with_names(body))
        if body.role is Role.AGENT:
            return AssistantText(body.text)
        # Bare, the owner's words are to be obeyed. These had their turn: only a new message counts.
        ended = "" if entry.end is None else f" ({entry.end})"
        source, text = f"{body.source or body.role.value}{ended}", _with_names(body)
    else:
        source, text = "tool", f"{body.name} {body.phase}: {body.detail}"
    author = entry.author
    piece = Untrusted(source=source, author=f"{author.principal}:{author.id}", text=text)
    return UserText(framed(piece, ids), source)


def _with_names(said: Said) -> str:
    """The owner's words, and what came with them by name: it was shown once, in its own turn."""
    names = ", ".join(
        named(one.name, "picture" if one.image else "file") for one in said.attachments
    )
    return f"{said.text}\n\n[with it came {names}]" if names else said.text


class Sessions:
    """The sessions of many conversations, at most `SESSIONS` of them.

    A turn takes the session out and puts it back when it ended well. One that was evicted
    meanwhile, or whose turn ended badly, is not put back.
    """

    def __init__(self, limit: int = SESSIONS) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._lent: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._kept) + len(self._lent)

    def take(self, conversation: str, most: int, model: str) -> Session | None:
        """The session of this model to continue; None without one of at most `most` characters."""
        session = self._kept.pop(conversation, None)
        if session is None or session.size > most or session.model != model:
            return None
        return session

    def lend(self, conversation: str, session: Session) -> None:
        """A turn uses it now."""
        self._lent[conversation] = session

    def keep(self, conversation: str, session: Session) -> None:
        """The turn ended well: keep it for the next, unless it was evicted meanwhile."""
        if self._lent.get(conversation) is not session:
            return
        del self._lent[conversation]
        self._kept[conversation] = session
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)

    def drop(self, conversation: str, session: Session) -> None:
        """The turn ended badly: forget what it did."""
        if self._lent.get(conversation) is session:
            del self._lent[conversation]

    def evict(self, conversation: str) -> None:
        """Forget it, also when a turn uses it now."""
        self._kept.pop(conversation, None)
        self._lent.pop(conversation, None)
