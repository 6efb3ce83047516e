"""The tools a model may call on the service lane.

A tool says whether it is `effect` (it may change something outside this turn): the host commits
such a call before it runs and its outcome after. Arguments are checked against the tool's own
struct before anything runs; a call that does not fit is answered, not run.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Protocol, TypeVar

import msgspec

from clankie.core.conversation import timestamp
from clankie.host.framing import Untrusted, framed, one_line
from clankie.lanes.model import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.core.settings import Settings
    from clankie.host.ports import Clock, Ids, TurnHost, TurnRequest

DETAIL_LIMIT: Final = 200
"""Characters of the line that the log shows of a call."""

_TEN_YEARS: Final = 10 * 366 * 86_400.0
_A = TypeVar("_A", bound=msgspec.Struct)


class ToolFailedError(Exception):
    """The tool could not do it; the sentence is the model's answer to its call.

    `detail` is what the log says of it, where that is not the sentence itself.
    """

    def __init__(self, sentence: str, detail: str | None = None) -> None:
        super().__init__(sentence)
        self.detail = sentence if detail is None else detail


def quoted(ids: Ids, source: str, author: str, text: str) -> str:
    """What came from elsewhere, as tools hand it to a model: data, never an instruction."""
    return framed(Untrusted(source=source, author=author, text=text), ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a tool may use: the turn's host and settings, clock, ids, and the id of this call."""

    host: TurnHost
    clock: Clock
    ids: Ids
    settings: Settings
    call_id: str

    def quoted(self, source: str, author: str, text: str) -> str:
        """See `quoted`."""
        return quoted(self.ids, source, author, text)


@dataclass(frozen=True, slots=True)
class Done:
    """`text` goes to the model, `detail` is one line for the log."""

    text: str
    detail: str


class AnyTool(Protocol):
    """What the loop needs of a tool, whoever made it."""

    @property
    def name(self) -> str:
        """As a model calls it."""
        ...

    @property
    def effect(self) -> bool:
        """Whether it may change something outside of this turn."""
        ...

    def read(self, written: str, /) -> Any:  # noqa: ANN401 - each tool has arguments of its own
        """The arguments that a model wrote, checked. Raises ToolFailedError."""
        ...

    def run(self, arguments: Any, bench: Bench, /) -> Awaitable[Done]:  # noqa: ANN401 - see above
        """Do it. Raises ToolFailedError."""
        ...

    def spec(self) -> ToolSpec:
        """As a model is told of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[_A]):
    """A declaration; `arguments` is what the model must send."""

    name: str
    description: str
    arguments: type[_A]
    effect: bool
    run: Callable[[_A, Bench], Awaitable[Done]]

    def read(self, written: str) -> _A:
        """The arguments that a model wrote, checked. No text means none were given.

        Raises:
            ToolFailedError: it is not JSON, or does not fit.
        """
        try:
            # Small models quote their numbers; that much is forgiven.
            return msgspec.json.decode(written.strip() or "{}", type=self.arguments, strict=False)
        except msgspec.DecodeError as error:
            raise ToolFailedError(
                f"{self.name} was not run, its arguments do not fit: {error}. Call it again with "
                "arguments that match its schema."
            ) from error

    def spec(self) -> ToolSpec:
        """As a model is told of it."""
        return ToolSpec(
            name=self.name, description=self.description, schema=schema_of(self.arguments)
        )


@functools.cache
def schema_of(arguments: type[msgspec.Struct]) -> dict[str, object]:
    """The JSON Schema of such arguments; worked out once, as turns ask for it again and again."""
    whole = msgspec.json.schema(arguments)
    others: dict[str, Any] = whole["$defs"]
    schema: dict[str, object] = others.pop(whole["$ref"].rpartition("/")[2])
    return {**schema, "$defs": others} if others else schema


def canonical(arguments: object) -> str:
    """One spelling for equal arguments: sorted keys, no blanks."""
    return json.dumps(msgspec.to_builtins(arguments), sort_keys=True, separators=(",", ":"))


def digest(arguments: object) -> str:
    """SHA-256, hexadecimal, of the canonical arguments."""
    return hashlib.sha256(canonical(arguments).encode()).hexdigest()


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing to say."""


class WakeArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """When, either way, and what to be told then."""

    text: Annotated[str, msgspec.Meta(min_length=1, description="what to be told then")]
    in_seconds: (
        Annotated[float, msgspec.Meta(gt=0, le=_TEN_YEARS, description="seconds from now")] | None
    ) = None
    at: Annotated[datetime, msgspec.Meta(tz=True, description="RFC 3339 with an offset")] | None = (
        None
    )


async def _get_self_state(_arguments: NoArguments, bench: Bench) -> Done:
    state = await bench.host.self_state()
    return Done(json.dumps(state), "read")


def _due(arguments: WakeArguments, now: datetime) -> datetime:
    match arguments.in_seconds, arguments.at:
        case float() as seconds, None:
            due = now + timedelta(seconds=seconds)
        case None, datetime() as at:
            due = at.astimezone(UTC)
        case _:
            raise ToolFailedError("No wake was set: give exactly one of in_seconds and at.")
    return due.replace(microsecond=due.microsecond // 1000 * 1000)


async def _schedule_wake(arguments: WakeArguments, bench: Bench) -> Done:
    due = _due(arguments, bench.clock.now())
    wake = await bench.host.schedule_wake(due_at=due, text=arguments.text, call_id=bench.call_id)
    when = timestamp(wake.due_at)
    answer = json.dumps({"id": wake.id, "due_at": when})
    return Done(answer, one_line(f"due {when}: {wake.text}", DETAIL_LIMIT))


_GET_SELF_STATE: Final = Tool(
    name="get_self_state",
    description="Read your own state: name, time, model, this conversation, waiting wakes.",
    arguments=NoArguments,
    effect=False,
    run=_get_self_state,
)
_SCHEDULE_WAKE: Final = Tool(
    name="schedule_wake",
    description=(
        "Wake yourself in this conversation later with a text of your own. Give in_seconds or at. "
        "Times are UTC unless an offset says otherwise; get_self_state tells the time now."
    ),
    arguments=WakeArguments,
    effect=True,
    run=_schedule_wake,
)


def bank(*tools: Tool[Any]) -> Mapping[str, Tool[Any]]:
    """Tools by name."""
    return {tool.name: tool for tool in tools}


TOOLS: Final = bank(_GET_SELF_STATE, _SCHEDULE_WAKE)


class Offers(Protocol):
    """Says which tools a turn gets."""

    async def offered(self, request: TurnRequest, host: TurnHost) -> Mapping[str, AnyTool]:
        """The tools of this turn, by name."""
        ...


@dataclass(frozen=True, slots=True)
class Always:
    """The same tools for every turn."""

    tools: Mapping[str, AnyTool]

    async def offered(self, request: TurnRequest, host: TurnHost) -> Mapping[str, AnyTool]:
        """See `Offers`."""
        del request, host
        return self.tools


PLAIN: Final = Always(TOOLS)
