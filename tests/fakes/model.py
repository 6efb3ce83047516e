"""The port Model as a script: one list of parts, or one error, for each request."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from clankie.lanes.messages import Message, ToolCall
from clankie.lanes.model import (
    Finished,
    ModelError,
    ModelRequest,
    Part,
    Spent,
    TextDelta,
    ToolCallPart,
)

Step = Part | ModelError | asyncio.Event
"""A part to give, an error to end with, or an event to wait for."""


def says(*words: str, tokens: tuple[int, int] = (10, 2)) -> list[Step]:
    spent = Spent(input_tokens=tokens[0], output_tokens=tokens[1])
    return [*(TextDelta(word) for word in words), spent, Finished()]


def calls(*wanted: tuple[str, str]) -> list[Step]:
    parts = [
        ToolCallPart(ToolCall(f"call_{n}", name, arguments))
        for n, (name, arguments) in enumerate(wanted)
    ]
    return [*parts, Spent(input_tokens=10, output_tokens=2), Finished()]


@dataclass(frozen=True)
class Seen:
    """A request as it was when it came."""

    system: str
    messages: tuple[Message, ...]

    @property
    def size(self) -> int:
        return len(self.system) + sum(len(repr(message)) for message in self.messages)


@dataclass
class ScriptedModel:
    """Answers by its script, then with `otherwise` for ever."""

    script: list[Sequence[Step]] = field(default_factory=list)
    otherwise: Sequence[Step] = field(default_factory=lambda: says("fine"))
    seen: list[Seen] = field(default_factory=list)
    open: int = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        self.seen.append(Seen(request.system, tuple(request.messages)))
        self.open += 1
        try:
            for step in self.script.pop(0) if self.script else self.otherwise:
                if isinstance(step, ModelError):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    yield step
        finally:
            self.open -= 1
