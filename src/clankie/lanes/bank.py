"""Which tools a turn gets: a table by conversation, by whose words it answers, and by settings.

Rule 1: a room is read and written to by others, so its turns get only what can do no harm.
Rule 2: what changes the machine, and what other programs offer, is for turns that the owner
        started, or that Clankie started for the owner (a wake, a step of a goal, a round).
Rule 3: nothing that another program offers takes the name of a tool of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from clankie.core.admission import Origin
from clankie.core.conversation import Kind
from clankie.lanes.files import LIST_FILES, READ_FILE, SEARCH_FILES, WRITE_FILE
from clankie.lanes.recall import FINISH_GOAL, OBSERVE_ROOM, READ_CONVERSATION
from clankie.lanes.shell import RUN_COMMAND
from clankie.lanes.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clankie.core.conversation import Conversation
    from clankie.core.settings import Tools
    from clankie.host.ports import TurnHost, TurnRequest
    from clankie.lanes.tools import AnyTool

HARMLESS: Final[Sequence[AnyTool]] = (*TOOLS.values(), READ_CONVERSATION)
LOOKING: Final[Sequence[AnyTool]] = (OBSERVE_ROOM,)
GOAL: Final[Sequence[AnyTool]] = (FINISH_GOAL,)
READING: Final[Sequence[AnyTool]] = (LIST_FILES, READ_FILE, SEARCH_FILES)
WRITING: Final[Sequence[AnyTool]] = (WRITE_FILE,)
SHELL: Final[Sequence[AnyTool]] = (RUN_COMMAND,)

OWN: Final = frozenset({Origin.OWNER, Origin.WAKE, Origin.GOAL, Origin.ROUND, Origin.INTERNAL})
"""Turns that act for the owner. All others answer words that came from elsewhere."""


class Outside(Protocol):
    """Tools that other programs offer."""

    async def tools(self) -> Mapping[str, AnyTool]:
        """Those that may be used now, by name. Waits a bounded time for servers that start."""
        ...


def ours(here: Conversation, origin: Origin, settings: Tools) -> Sequence[AnyTool]:
    """Our own tools for a turn in this conversation."""
    if here.kind is Kind.ROOM or origin is Origin.ROOM:
        return HARMLESS
    own = origin in OWN
    files = settings.files and here.directory is not None
    shell = settings.shell and here.directory is not None
    return (
        *HARMLESS,
        *LOOKING,
        *(GOAL if own else ()),
        *(READING if files else ()),
        *(WRITING if files and own else ()),
        *(SHELL if shell and own else ()),
    )


def may_leave(here: Conversation, origin: Origin) -> bool:
    """Whether a turn in this conversation may use what other programs offer."""
    return here.kind is not Kind.ROOM and origin in OWN


class Bank:
    """Hands out tools, turn by turn."""

    def __init__(self, outside: Outside | None = None) -> None:
        self._outside = outside

    async def offered(self, request: TurnRequest, host: TurnHost) -> Mapping[str, AnyTool]:
        """The tools of this turn, by name."""
        here = await host.here()
        origin = request.delivery.origin
        own = {tool.name: tool for tool in ours(here, origin, request.settings.tools)}
        if self._outside is None or not may_leave(here, origin):
            return own
        return {**await self._outside.tools(), **own}
