"""What a model reads: our own values, the same for every provider.

They are frozen: a session may be kept, measured and sent again without anybody changing it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never


@dataclass(frozen=True, slots=True)
class UserText:
    """Words for the model to react to.

    `source` is None for the owner's own words. Everything else was rendered by `host.framing`
    (its kind stands here) or is a remark of the service itself (``note``).
    """

    text: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for. `id` is the provider's, `arguments` the JSON it wrote."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class AssistantText:
    """What the model said, and the tools it called in the same breath."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of the call with the provider's `id`."""

    id: str
    name: str
    text: str


Message = UserText | AssistantText | ToolResult


OVERHEAD: Final = 32
"""What a message or a call takes beside its words, in characters: its role, its braces."""


def size_of(message: Message) -> int:
    """How much of a model's context it takes, in characters."""
    match message:
        case UserText(text=text) | ToolResult(text=text):
            return OVERHEAD + len(text)
        case AssistantText(text=text, calls=calls):
            called = sum(OVERHEAD + len(call.name) + len(call.arguments) for call in calls)
            return OVERHEAD + len(text) + called
        case _:
            assert_never(message)
