"""The tools that look at logs, and the one that ends a goal.

Words of a log were written by many. They reach the model framed, the owner's own as well: read
again, they are a record and no instruction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from clankie.host.framing import one_line
from clankie.host.lines import ALL, SAID, lines
from clankie.lanes.tools import DETAIL_LIMIT, Bench, Done, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

EVENTS: Final = 50

Conversation = Annotated[str, msgspec.Meta(max_length=200, description="id of a conversation")]
Count = Annotated[int, msgspec.Meta(ge=1, le=EVENTS, description="how many at most")]


class ReadConversationArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which log, and below which event."""

    conversation: Conversation | None = None
    before: (
        Annotated[int, msgspec.Meta(ge=1, le=2**53, description="only events below this cursor")]
        | None
    ) = None
    limit: Count = EVENTS


class ObserveArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which conversation to look at."""

    conversation: Conversation
    limit: Count = 20


class FinishArguments(msgspec.Struct, forbid_unknown_fields=True):
    """How it ended."""

    reached: Annotated[bool, msgspec.Meta(description="false: it cannot be reached")]


async def _read_conversation(arguments: ReadConversationArguments, bench: Bench) -> Done:
    page = await bench.host.read_conversation(
        arguments.conversation, before=arguments.before, limit=arguments.limit
    )
    found, first = lines(page, ALL, arguments.limit)
    text = _shown(bench, arguments.conversation or "this conversation", found)
    if first is not None and first > page.oldest:
        text += f"\nThere is more before: go on with before {first}."
    return Done(text, f"{len(found)} events")


async def _observe_room(arguments: ObserveArguments, bench: Bench) -> Done:
    # Between two messages stand events of turns and tools: more are read than are shown.
    page = await bench.host.read_conversation(
        arguments.conversation, before=None, limit=arguments.limit * 10
    )
    found, _ = lines(page, SAID, arguments.limit)
    return Done(_shown(bench, arguments.conversation, found), f"{len(found)} messages")


def _shown(bench: Bench, conversation: str, found: Sequence[str]) -> str:
    return bench.quoted("log", conversation, "\n".join(found) or "(nothing)")


async def _finish_goal(arguments: FinishArguments, bench: Bench) -> Done:
    await bench.host.finish_goal(reached=arguments.reached)
    how = "reached" if arguments.reached else "not to be reached"
    return Done(f"The goal is ended: {how}.", one_line(f"the goal is {how}", DETAIL_LIMIT))


READ_CONVERSATION: Final = Tool(
    name="read_conversation",
    description=(
        "Read the log of this conversation, or of another one by its id, newest part first; also "
        "what was left out of your view. Events carry their cursor."
    ),
    arguments=ReadConversationArguments,
    effect=False,
    run=_read_conversation,
)
OBSERVE_ROOM: Final = Tool(
    name="observe_room",
    description="See what was said last in a room or another conversation, by its id.",
    arguments=ObserveArguments,
    effect=False,
    run=_observe_room,
)
FINISH_GOAL: Final = Tool(
    name="finish_goal",
    description="End the objective of this conversation: it is reached, or cannot be.",
    arguments=FinishArguments,
    effect=True,
    run=_finish_goal,
)
