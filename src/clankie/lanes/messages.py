"""What a model reads: our own values, the same for every provider.

They are frozen: a session may be kept, measured and sent again without anybody changing it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that came with a message. `digest` names its bytes, `size` counts them.

    The bytes themselves are fetched for each turn anew (`lanes.album`): a session stays small.
    """

    digest: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class UserText:
    """Words for the model to react to, and the pictures that came with them.

    `source` is None for the owner's own words. Everything else was rendered by `host.framing`
    (its kind stands here) or is a remark of the service itself (``note``).
    """

    text: str
    source: str | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for. `id` is the provider's, `arguments` the JSON it wrote.

    `seal` is what the provider wants back with the call and only it can read; often empty.
    """

    id: str
    name: str
    arguments: str
    seal: str = ""


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

PICTURE: Final = 6_000
"""What a picture takes, in characters: about 1,500 tokens."""


def size_of(message: Message) -> int:
    """How much of a model's context it takes, in characters."""
    match message:
        case UserText(text=text, pictures=pictures):
            return OVERHEAD + len(text) + PICTURE * len(pictures)
        case ToolResult(text=text):
            return OVERHEAD + len(text)
        case AssistantText(text=text, calls=calls):
            called = sum(
                OVERHEAD + len(call.name) + len(call.arguments) + len(call.seal) for call in calls
            )
            return OVERHEAD + len(text) + called
        case _:
            assert_never(message)
