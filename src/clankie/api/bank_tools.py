"""The tools that a seat is given. Identity is the seat of each call's token and nothing else.

What stands in a log was written by many: it reaches the harness framed, as a record.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar

import msgspec

from clankie.core.conversation import timestamp
from clankie.core.errors import InvalidFieldError
from clankie.host.framing import Untrusted, framed
from clankie.host.lines import ALL, SAID, lines
from clankie.host.seats import bank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clankie.host.house import House

EVENTS: Final = 50
REPLY: Final = 65_536
_TEN_YEARS: Final = 10 * 366 * 86_400.0
_CURSORS: Final = 2**53
_A = TypeVar("_A", bound=msgspec.Struct)

Conversation = Annotated[str, msgspec.Meta(max_length=64, description="id of a conversation")]
Count = Annotated[int, msgspec.Meta(ge=1, le=EVENTS, description="how many at most")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """Who calls: the seat of the token of this very request. `call_id` names the call for good."""

    house: House
    seat: str
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[_A]):
    """A declaration; `arguments` is what the harness must send. `reads`: it changes nothing."""

    name: str
    description: str
    arguments: type[_A]
    reads: bool
    run: Callable[[_A, Sitting], Awaitable[str]]

    async def call(self, given: Mapping[str, Any], sitting: Sitting) -> str:
        """Check the arguments and run it.

        Raises:
            ArgumentsError: they do not fit; nothing was run.
        """
        try:
            # Small models quote their numbers; that much is forgiven.
            arguments = msgspec.convert(given, type=self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ArgumentsError(self.name, str(error)) from error
        return await self.run(arguments, sitting)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        whole = msgspec.json.schema(self.arguments)
        others: dict[str, Any] = whole["$defs"]
        schema: dict[str, Any] = others.pop(whole["$ref"].rpartition("/")[2])
        return {**schema, "$defs": others} if others else schema


class ArgumentsError(Exception):
    """A call whose arguments do not fit; the sentence is the harness's answer."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name} was not run, its arguments do not fit: {why}. "
            "Call it again with arguments that match its schema."
        )


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing to say."""


class ReplyArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Which event, and the answer."""

    event: Annotated[str, msgspec.Meta(max_length=200, description="id of the event")]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=REPLY, description="the answer")]


class WakeArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """When, either way, and what to be told then."""

    text: Annotated[
        str, msgspec.Meta(min_length=1, max_length=REPLY, description="what to be told then")
    ]
    in_seconds: (
        Annotated[float, msgspec.Meta(gt=0, le=_TEN_YEARS, description="seconds from now")] | None
    ) = None
    at: Annotated[datetime, msgspec.Meta(tz=True, description="RFC 3339 with an offset")] | None = (
        None
    )


class WatchArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What to watch: exactly one of the two."""

    conversation: Conversation | None = None
    delivery: (
        Annotated[str, msgspec.Meta(max_length=200, description="id of a delivery")] | None
    ) = None


class ObserveArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which room to look at."""

    room: Conversation
    limit: Count = 20


class ReadArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Which log, and below which event."""

    conversation: Conversation | None = None
    before: (
        Annotated[int, msgspec.Meta(ge=1, le=_CURSORS, description="only events below this cursor")]
        | None
    ) = None
    limit: Count = EVENTS


async def _get_self_state(_arguments: NoArguments, sitting: Sitting) -> str:
    return json.dumps(await bank.self_state(sitting.house, sitting.seat))


async def _reply(arguments: ReplyArguments, sitting: Sitting) -> str:
    if arguments.text.isspace():
        raise InvalidFieldError("text", "not blank")
    state = await bank.reply(sitting.house, sitting.seat, arguments.event, arguments.text)
    return json.dumps({"event": arguments.event, "state": state})


async def _schedule_wake(arguments: WakeArguments, sitting: Sitting) -> str:
    due = _due(arguments, sitting.house.clock.now())
    wake = await bank.schedule_wake(
        sitting.house, sitting.seat, due, arguments.text, sitting.call_id
    )
    return json.dumps({"id": wake.id, "due_at": timestamp(wake.due_at)})


def _due(arguments: WakeArguments, now: datetime) -> datetime:
    match arguments.in_seconds, arguments.at:
        case float() as seconds, None:
            due = now + timedelta(seconds=seconds)
        case None, datetime() as at:
            due = at.astimezone(UTC)
        case _:
            raise ArgumentsError("schedule_wake", "give exactly one of in_seconds and at")
    return due.replace(microsecond=due.microsecond // 1000 * 1000)


async def _watch(arguments: WatchArguments, sitting: Sitting) -> str:
    if (arguments.conversation is None) is (arguments.delivery is None):
        raise ArgumentsError("watch", "give exactly one of conversation and delivery")
    await bank.watch(
        sitting.house,
        sitting.seat,
        conversation=arguments.conversation,
        delivery=arguments.delivery,
        call_id=sitting.call_id,
    )
    return json.dumps({"watching": arguments.conversation or arguments.delivery})


async def _observe_room(arguments: ObserveArguments, sitting: Sitting) -> str:
    # Between two messages stand events of turns and tools: more are read than are shown.
    page = await bank.observe_room(
        sitting.house, sitting.seat, arguments.room, limit=arguments.limit * 10
    )
    found, _ = lines(page, SAID, arguments.limit)
    return _quoted(sitting.house, arguments.room, found)


async def _read_conversation(arguments: ReadArguments, sitting: Sitting) -> str:
    page = await bank.read_conversation(
        sitting.house, sitting.seat, arguments.conversation, arguments.before, arguments.limit
    )
    found, first = lines(page, ALL, arguments.limit)
    text = _quoted(sitting.house, arguments.conversation or "this conversation", found)
    if first is not None and first > page.oldest:
        text += f"\nThere is more before: go on with before {first}."
    return text


def _quoted(house: House, conversation: str, found: Sequence[str]) -> str:
    text = "\n".join(found) or "(nothing)"
    return framed(Untrusted(source="log", author=conversation, text=text), house.ids)


TOOLS: Final[Mapping[str, Tool[Any]]] = {
    one.name: one
    for one in (
        Tool(
            name="get_self_state",
            description="Read your own state: name, time, model, this conversation, its wakes.",
            arguments=NoArguments,
            reads=True,
            run=_get_self_state,
        ),
        Tool(
            name="reply",
            description=(
                "Answer an event that wants a reply, by its id. Events that want none are answered "
                "by what you say in this session."
            ),
            arguments=ReplyArguments,
            reads=False,
            run=_reply,
        ),
        Tool(
            name="schedule_wake",
            description=(
                "Wake yourself in this conversation later with a text of your own. Give in_seconds "
                "or at. Times are UTC unless an offset says otherwise; get_self_state tells the "
                "time now."
            ),
            arguments=WakeArguments,
            reads=False,
            run=_schedule_wake,
        ),
        Tool(
            name="watch",
            description=(
                "Be told when something happens: the next answer in another conversation, or the "
                "end of a delivery. Give exactly one of the two."
            ),
            arguments=WatchArguments,
            reads=False,
            run=_watch,
        ),
        Tool(
            name="observe_room",
            description="See what was said last in a room or another conversation, by its id.",
            arguments=ObserveArguments,
            reads=True,
            run=_observe_room,
        ),
        Tool(
            name="read_conversation",
            description=(
                "Read the log of this conversation, or of another one by its id, newest part "
                "first. Events carry their cursor."
            ),
            arguments=ReadArguments,
            reads=True,
            run=_read_conversation,
        ),
    )
}
"""All of them; every seat has the same, and nobody else has any."""
