"""Anthropic's Messages protocol: putting a streamed answer together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clankie.lanes.anthropic_wire import Block, Delta, Event, Usage, body, decoder
from clankie.lanes.dialect import Dialect
from clankie.lanes.model import ModelBadResponseError, Part, Pulse, Reason, Spent, TextDelta
from clankie.lanes.openai_wire import failure_words
from clankie.lanes.reading import (
    Calls,
    Slot,
    broken_off,
    decoded,
    encode,
    failed,
    filtered,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION: Final = "2023-06-01"
_LENGTH: Final = {"max_tokens", "model_context_window_exceeded"}


class MessagesReader:
    """One answer of the Messages protocol."""

    def __init__(self, quote: Callable[[str], str]) -> None:
        self._quote = quote
        self._calls = Calls()
        self._slots: dict[int, Slot] = {}
        self._thoughts: dict[int, dict[str, str]] = {}
        self._reason: str | None = None
        self._usage = Usage()
        self.over = False

    @property
    def complete(self) -> bool:
        """See `Reader`."""
        return self._reason is not None

    def take(self, payload: bytes) -> Iterator[Part]:
        """See `Reader`."""
        event = decoded(decoder, payload)
        match event.type:
            case "content_block_delta" if event.delta is not None:
                yield self._more(event.index, event.delta)
            case "content_block_start" if event.content_block is not None:
                yield self._begin(event.index, event.content_block)
            case "message_start" if event.message is not None:
                yield self._count(event.message.usage)
            case "message_delta":
                self._stop(None if event.delta is None else event.delta.stop_reason)
                yield self._count(event.usage)
            case "message_stop":
                self.over = True
                self._reason = self._reason or "end_turn"
            case "message":
                yield from self._whole(event)
            case "error":
                words, code = failure_words(event.error)
                raise failed(self._quote(words or code))
            case _:
                yield Pulse()

    def _begin(self, index: int, block: Block) -> Part:
        match block.type:
            case "text" if block.text:
                return TextDelta(block.text)
            case "tool_use":
                slot = self._slots[index] = self._calls.open(block.id, block.name)
                if block.input:
                    self._calls.write(slot, block.input)
            case "thinking":
                self._think(index, type="thinking", thinking=block.thinking)
                self._think(index, signature=block.signature)
            case "redacted_thinking":
                self._think(index, type="redacted_thinking", data=block.data)
            case _:
                pass
        return Pulse()

    def _more(self, index: int, delta: Delta) -> Part:
        match delta.type:
            case "text_delta" if delta.text:
                return TextDelta(delta.text)
            case "input_json_delta":
                slot = self._slots.get(index)
                if slot is None:
                    raise ModelBadResponseError(
                        "The model server sent arguments of a call that it did not name. Nothing "
                        "was run; send the message again."
                    )
                self._calls.write(slot, delta.partial_json)
            case "thinking_delta":
                self._think(index, thinking=delta.thinking)
            case "signature_delta":
                self._think(index, signature=delta.signature)
            case _:
                pass
        return Pulse()

    def _think(self, index: int, **more: str) -> None:
        thought = self._thoughts.setdefault(index, {})
        for name, text in more.items():
            self._calls.grow(len(text))
            thought[name] = thought.get(name, "") + text

    def _stop(self, reason: str | None) -> None:
        self._reason = reason or self._reason
        if self._reason == "refusal":
            raise filtered()

    def _count(self, usage: Usage | None) -> Spent:
        for name in Usage.__struct_fields__ if usage is not None else ():
            counted: Any = getattr(usage, name)
            if counted is not None:
                setattr(self._usage, name, counted)
        now = self._usage
        read, written = tokens(now.cache_read_input_tokens), tokens(now.cache_creation_input_tokens)
        return Spent(
            input_tokens=tokens(now.input_tokens) + read + written,
            output_tokens=tokens(now.output_tokens),
            cache_read=read,
            cache_write=written,
        )

    def _whole(self, event: Event) -> Iterator[Part]:
        """From a server that does not stream."""
        for index, block in enumerate(event.content or ()):
            yield self._begin(index, block)
        self._stop(event.stop_reason or "end_turn")
        yield self._count(event.usage)

    def end(self) -> Iterator[Part]:
        """See `Reader`."""
        if self._reason is None:
            raise broken_off()
        if self._slots:
            first = next(iter(self._slots.values()))
            first.seal = encode(list(self._thoughts.values())).decode() if self._thoughts else ""
        yield from self._calls.end(Reason.LENGTH if self._reason in _LENGTH else Reason.DONE)


DIALECT: Final = Dialect(
    key="x-api-key", headers={"anthropic-version": VERSION}, body=body, reader=MessagesReader
)
