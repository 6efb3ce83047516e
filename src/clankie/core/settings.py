"""Every number and choice an owner may change, with its default. No literal of these elsewhere.

The tree is plain frozen values. `merge` applies a JSON merge patch (RFC 7396) and checks it: an
unknown name, a wrong type or a value out of bounds is refused and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, cast

from clankie.core.errors import InvalidFieldError
from clankie.core.mcp import McpServer, merged

DAY: Final = 86_400.0

# Whether there is such a zone is for those to say who may read the time zone database.
_ZONE: Final = r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z][A-Za-z0-9_+-]*){0,2}"


def _number(default: float, low: float, high: float, doc: str) -> Any:  # noqa: ANN401 - dataclass field
    return field(default=default, metadata={"low": low, "high": high, "doc": doc})


def _flag(*, default: bool, doc: str) -> Any:  # noqa: ANN401 - dataclass field
    return field(default=default, metadata={"doc": doc})


def _text(default: str, limit: int, doc: str) -> Any:  # noqa: ANN401 - dataclass field
    return field(default=default, metadata={"limit": limit, "doc": doc})


def _form(default: str, limit: int, doc: str, *, form: str, rule: str) -> Any:  # noqa: ANN401 - dataclass field
    """A text that a regular expression matches whole; `rule` says so to people."""
    bounds = {"limit": limit, "doc": doc, "form": form, "rule": rule}
    return field(default=default, metadata=bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which model answers on the service lane."""

    model: str = _text("practice", 200, "practice, or provider:name such as openai-chat:llama3")
    base_url: str = _text(
        "", 500, "address of an OpenAI-compatible server; empty: the provider's own"
    )
    context_chars: int = _number(
        200_000, 8_000, 10_000_000, "what the model can read, in characters"
    )
    request_timeout: float = _number(
        120.0, 1.0, 3_600.0, "seconds without a byte from the model server"
    )
    retries: int = _number(2, 0, 2, "repeats of a model request before its first byte")
    retry_after_limit: float = _number(
        30.0, 0.0, 300.0, "longest wait, seconds, that a 429 may ask for"
    )
    answer_chars: int = _number(
        200_000, 1_000, 2_000_000, "longest answer, in characters, of one turn"
    )
    tool_rounds: int = _number(50, 1, 1_000, "model requests of one turn")
    daily_tokens: int = _number(
        2_000_000, 0, 10_000_000_000, "tokens a day (UTC): beyond it only the owner's messages run"
    )
    confirmed_local: str = _text(
        "", 500, "address of a model server found on this machine that the owner agreed to use"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """Who answers. Owner settings, never caller input."""

    name: str = _text("Clankie", 80, "the name it goes by")
    instructions: str = _text("", 16_384, "how it should behave, in the owner's words")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionLimits:
    """The bounded view of the log, in characters. `budget` is a hard maximum, marker included."""

    budget: int = _number(24_000, 1_000, 200_000, "characters of the whole projection")
    message: int = _number(4_000, 200, 200_000, "characters of one message")
    tool_detail: int = _number(400, 50, 10_000, "characters of one tool's detail")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogLimits:
    """Seconds of silence after which a run or a check counts as stuck."""

    idle: float = _number(300.0, 1.0, DAY, "silence of a run, tools not counted")
    check: float = _number(300.0, 1.0, DAY, "a check before driver selection")
    tool: float = _number(600.0, 1.0, DAY, "one tool call")


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeLimits:
    """Bounds of wakes and of the retries of failed ones; times in seconds."""

    first_backoff: float = _number(5.0, 0.1, 3_600.0, "wait after the first failure; doubles")
    attempts: int = _number(3, 1, 20, "attempts before a wake is held")
    waiting: int = _number(20, 1, 1_000, "waiting wakes of one conversation")
    soonest: float = _number(30.0, 0.0, 3_600.0, "a wake is never due sooner than this")
    depth: int = _number(10, 1, 1_000, "wakes that set wakes, without an owner message between")
    text: int = _number(4_000, 1, 65_536, "characters of a wake's text")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """How much may wait."""

    store: int = _number(4_096, 1, 100_000, "units that may wait for the writer")
    conversation: int = _number(1_000, 1, 100_000, "inputs that may wait in one conversation")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """Open event streams, and how far behind a reader may fall."""

    per_principal: int = _number(64, 1, 100_000, "streams of one principal")
    total: int = _number(2_000, 1, 100_000, "streams of all")
    ring: int = _number(
        1_024, 16, 65_536, "events of a conversation kept in memory for its readers"
    )
    heartbeat: float = _number(15.0, 1.0, 300.0, "seconds between comments on a quiet stream")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long evidence is kept; seconds."""

    receipts: float = _number(7 * DAY, DAY, 3_650 * DAY, "evidence of confirmed deliveries")
    seats: float = _number(
        DAY, 0.0, 3_650 * DAY, "seats that drive nothing and whose process has ended"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """Stopping; seconds."""

    drain: float = _number(15.0, 0.0, 600.0, "how long running turns may go on after SIGTERM")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a model may do besides talking."""

    files: bool = _flag(default=True, doc="read, list and search files of a workspace; write them")
    shell: bool = _flag(default=False, doc="run commands in the workspace of an owner conversation")
    shell_timeout: float = _number(60.0, 1.0, 3_600.0, "seconds a command may run")
    shell_output: int = _number(
        65_536, 1_024, 1_048_576, "bytes of a command's output that are kept"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentLimits:
    """Pictures and text files that come with a message."""

    bytes: int = _number(8_388_608, 1_024, 67_108_864, "bytes of one attachment")
    count: int = _number(8, 0, 32, "attachments of one message")
    megapixels: float = _number(24.0, 0.1, 200.0, "pixels of a picture, in millions")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTime:
    """Where the owner lives."""

    zone: str = _form(
        "UTC",
        64,
        "time zone of wakes and dates, such as Europe/Berlin",
        form=_ZONE,
        rule="the name of a time zone, such as UTC or Europe/Berlin",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcp:
    """Servers of further tools, by name."""

    servers: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatLimits:
    """How long a seat is waited for, and how much it is given at once; times in seconds."""

    poll: float = _number(30.0, 0.0, 120.0, "longest wait of one poll")
    hold: float = _number(45.0, 1.0, 3_600.0, "silence of the head's seat before a takeover")
    grace: float = _number(30.0, 0.0, 3_600.0, "how long a binding outlives a completed poll")
    presumed: float = _number(
        120.0, 0.0, 3_600.0, "a seat that asked so long before a start is presumed live"
    )
    acknowledge: float = _number(60.0, 1.0, DAY, "wait for an acknowledgement, then uncertain")
    reply: float = _number(600.0, 1.0, DAY, "wait for a reply, from the acknowledgement")
    silent_turn: float = _number(
        900.0, 1.0, DAY, "a native turn without a sign of life holds nothing back any longer"
    )
    park: float = _number(3_600.0, 1.0, 30 * DAY, "a usage limit without a reset time")
    grant: float = _number(300.0, 1.0, 3_600.0, "how long leave to register a seat lasts")
    page_events: int = _number(64, 1, 64, "events of one page")
    page_bytes: int = _number(262_144, 16_384, 1_048_576, "bytes of the content of one page")
    content: int = _number(16_384, 1_000, 65_536, "characters of one event's content")
    typed: float = _number(10.0, 1.0, 60.0, "how long typed words may take to show up as a row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole tree."""

    models: Models = Models()
    persona: Persona = Persona()
    projection: ProjectionLimits = ProjectionLimits()
    watchdog: WatchdogLimits = WatchdogLimits()
    wakes: WakeLimits = WakeLimits()
    queue: QueueLimits = QueueLimits()
    streams: StreamLimits = StreamLimits()
    retention: Retention = Retention()
    lifecycle: Lifecycle = Lifecycle()
    tools: Tools = Tools()
    attachments: AttachmentLimits = AttachmentLimits()
    time: LocalTime = LocalTime()
    mcp: Mcp = Mcp()
    seats: SeatLimits = SeatLimits()


DEFAULTS: Final = Settings()


def with_model(settings: Settings, model: str) -> Settings:
    """The settings of a conversation that has a model of its own.

    An address belongs to the provider it was set for, and goes with no other.
    """
    same = model.partition(":")[0] == settings.models.model.partition(":")[0]
    address = settings.models.base_url if same else ""
    return replace(settings, models=replace(settings.models, model=model, base_url=address))


def to_wire(settings: Settings) -> dict[str, Any]:
    """The tree as JSON objects."""
    wire = {one.name: asdict(getattr(settings, one.name)) for one in fields(settings)}
    # JSON has lists, no tuples.
    wire["mcp"] = {"servers": {name: one.to_wire() for name, one in settings.mcp.servers.items()}}
    return wire


def merge(settings: Settings, patch: Mapping[str, object]) -> Settings:
    """Apply a JSON merge patch; ``null`` brings a default back.

    Raises:
        InvalidFieldError: names the path and the rule; nothing is changed.
    """
    changed: dict[str, Any] = {}
    known = {one.name for one in fields(settings)}
    for group, values in patch.items():
        if group not in known:
            raise InvalidFieldError(group, f"one of {', '.join(sorted(known))}")
        if values is None:
            changed[group] = getattr(DEFAULTS, group)
        elif isinstance(values, Mapping):
            current = getattr(settings, group)
            changed[group] = _merge_group(group, current, cast("Mapping[str, object]", values))
        else:
            raise InvalidFieldError(group, "an object or null")
    return replace(settings, **changed)


def _merge_group(group: str, current: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - any group
    known = {one.name: one for one in fields(current)}
    changed: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{group}.{name}"
        if name not in known:
            raise InvalidFieldError(path, f"one of {', '.join(sorted(known))}")
        if isinstance(current, Mcp):
            changed[name] = {} if value is None else merged(current.servers, value)
            continue
        default = known[name].default
        changed[name] = (
            default if value is None else _checked(path, default, value, known[name].metadata)
        )
    return replace(current, **changed)


def _checked(path: str, default: object, value: object, bounds: Mapping[str, Any]) -> object:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InvalidFieldError(path, "true or false")
        return value
    if isinstance(default, str):
        return _checked_text(path, value, bounds)
    whole = isinstance(default, int)
    kind = "a whole number" if whole else "a number"
    # Fifteen digits: the usual six would say 1e+07 to somebody who has to type it.
    rule = f"{kind} from {bounds['low']:.15g} to {bounds['high']:.15g}"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise InvalidFieldError(path, rule)
    if not bounds["low"] <= value <= bounds["high"]:
        raise InvalidFieldError(path, rule)
    return value if whole else float(value)


def _checked_text(path: str, value: object, bounds: Mapping[str, Any]) -> str:
    if not isinstance(value, str) or len(value) > bounds["limit"]:
        raise InvalidFieldError(path, f"text of at most {bounds['limit']} characters")
    if "form" in bounds and re.fullmatch(bounds["form"], value) is None:
        raise InvalidFieldError(path, bounds["rule"])
    return value
