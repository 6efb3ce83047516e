"""Putting the chunks of a streamed answer together again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from clankie.lanes.messages import ToolCall
from clankie.lanes.model import (
    Finished,
    ModelBadResponseError,
    ModelRefusedError,
    ModelServerError,
    Part,
    Pulse,
    Reason,
    TextDelta,
    ToolCallPart,
)
from clankie.lanes.openai_wire import Choice, Chunk, decode_chunk, encode, failure_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clankie.lanes.openai_wire import CallDelta, UsageWire

CALLS: Final = 128
"""Tool calls of one response."""

ARGUMENTS: Final = 1 << 20
"""Characters of all arguments of one response."""


@dataclass(slots=True)
class _Slot:
    id: str = ""
    name: str = ""
    arguments: str = ""


class Assembly:
    """Takes payloads, gives parts. `quote` makes a server's words fit for a sentence of ours."""

    def __init__(self, quote: Callable[[str], str]) -> None:
        self._quote = quote
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._arguments = 0
        self._usage: UsageWire | None = None
        self.reason: str | None = None

    def done(self) -> None:
        """The server says that this was all."""
        self.reason = self.reason or "stop"

    def take(self, payload: bytes) -> Iterator[Part]:
        """The parts that one payload makes.

        Raises:
            ModelBadResponseError, ModelServerError, ModelRefusedError.
        """
        try:
            chunk: Chunk = decode_chunk(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelBadResponseError(
                f"The model server sent something that is no part of an answer ({error}). Send the "
                "message again; if it stays so, the server is not OpenAI-compatible."
            ) from error
        if chunk.error:
            words, code = failure_words(chunk.error)
            raise ModelServerError(
                "The model server failed while it answered: "
                f"{self._quote(words or code or 'it gave no reason')}. Send the message again."
            )
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.choices:
            yield from self._choice(chunk.choices[0])
        else:
            yield Pulse()

    def _choice(self, choice: Choice) -> Iterator[Part]:
        self.reason = choice.finish_reason or self.reason
        if self.reason == "content_filter":
            raise ModelRefusedError(
                "The provider's content filter stopped the answer. Say it in other words, or use "
                "another model (`clankie settings set models.model …`)."
            )
        delta = choice.delta
        if choice.message is not None:
            # A server that does not stream: this is all of it.
            delta = choice.message
            self.done()
        words = "" if delta is None else delta.words()
        if delta is not None:
            for call in delta.tool_calls or ():
                self._call(call)
        yield TextDelta(words) if words else Pulse()

    def _call(self, delta: CallDelta) -> None:
        slot = self._slot(delta)
        function = delta.function
        if delta.id and not slot.id:
            slot.id = delta.id
        if function is None:
            return
        if function.name and function.name != slot.name:
            slot.name += function.name
        more = function.arguments or ""
        text = more if isinstance(more, str) else encode(more).decode()
        self._arguments += len(text)
        if self._arguments > ARGUMENTS or len(self._slots) > CALLS:
            raise ModelBadResponseError(
                "The model called too many tools at once, or with arguments without end. Nothing "
                "was run; ask for smaller steps."
            )
        slot.arguments += text

    def _slot(self, delta: CallDelta) -> _Slot:
        """The call that a piece belongs to.

        Pieces are told apart by their index. Some servers give every whole call the index 0, or
        none at all: then another id together with a name begins another call.
        """
        key = 0 if delta.index is None and not self._slots else delta.index
        found = self._slots[-1] if key is None else self._by_index.get(key)
        named = delta.function is not None and bool(delta.function.name)
        another = bool(delta.id) and found is not None and bool(found.id) and found.id != delta.id
        if found is not None and not (another and named):
            return found
        slot = _Slot()
        self._slots.append(slot)
        if key is not None:
            self._by_index[key] = slot
        return slot

    def end(self) -> Iterator[Part]:
        """The tool calls, then `Finished`.

        Raises:
            ModelBadResponseError: the stream ended before the answer did.
        """
        if self.reason is None:
            raise ModelBadResponseError(
                "The connection to the model server ended in the middle of the answer. Send the "
                "message again."
            )
        for number, slot in enumerate(self._slots):
            yield ToolCallPart(ToolCall(slot.id or f"call_{number}", slot.name, slot.arguments))
        usage = self._usage
        yield Finished(
            reason=Reason.LENGTH if self.reason == "length" else Reason.DONE,
            input_tokens=max(0, int((usage and usage.prompt_tokens) or 0)),
            output_tokens=max(0, int((usage and usage.completion_tokens) or 0)),
        )
