"""The chat completions protocol, which most servers speak: putting a streamed answer together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.lanes.dialect import Dialect
from clankie.lanes.model import Part, Pulse, Reason, Spent, TextDelta
from clankie.lanes.openai_wire import Choice, body, decoder, failure_words
from clankie.lanes.reading import Calls, Slot, broken_off, decoded, failed, filtered, tokens
from clankie.lanes.sse import DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clankie.lanes.openai_wire import CallDelta, UsageWire


class ChatReader:
    """One answer of the chat completions protocol."""

    def __init__(self, quote: Callable[[str], str]) -> None:
        self._quote = quote
        self._calls = Calls()
        self._by_index: dict[int, Slot] = {}
        self._reason: str | None = None
        self.over = False

    @property
    def complete(self) -> bool:
        """See `Reader`."""
        return self._reason is not None

    def take(self, payload: bytes) -> Iterator[Part]:
        """See `Reader`."""
        if payload == DONE:
            self.over = True
            self._reason = self._reason or "stop"
            return
        chunk = decoded(decoder, payload)
        if chunk.error:
            words, code = failure_words(chunk.error)
            raise failed(self._quote(words or code))
        if chunk.choices:
            yield from self._choice(chunk.choices[0])
        elif chunk.usage is None:
            yield Pulse()
        if chunk.usage is not None:
            yield _spent(chunk.usage)

    def _choice(self, choice: Choice) -> Iterator[Part]:
        self._reason = choice.finish_reason or self._reason
        if self._reason == "content_filter":
            raise filtered()
        delta = choice.delta
        if choice.message is not None:
            # A server that does not stream: this is all of it.
            delta = choice.message
            self._reason = self._reason or "stop"
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
        self._calls.write(slot, function.arguments)

    def _slot(self, delta: CallDelta) -> Slot:
        """The call that a piece belongs to.

        Pieces are told apart by their index. Some servers give every whole call the index 0, or
        none at all: then another id together with a name begins another call.
        """
        last = self._calls.last
        key = 0 if delta.index is None and last is None else delta.index
        found = last if key is None else self._by_index.get(key)
        named = delta.function is not None and bool(delta.function.name)
        another = bool(delta.id) and found is not None and bool(found.id) and found.id != delta.id
        if found is not None and not (another and named):
            return found
        slot = self._calls.open()
        if key is not None:
            self._by_index[key] = slot
        return slot

    def end(self) -> Iterator[Part]:
        """See `Reader`."""
        if self._reason is None:
            raise broken_off()
        yield from self._calls.end(Reason.LENGTH if self._reason == "length" else Reason.DONE)


def _spent(usage: UsageWire) -> Spent:
    read = tokens(usage.prompt_tokens)
    details = usage.prompt_tokens_details
    return Spent(
        input_tokens=read,
        output_tokens=tokens(usage.completion_tokens),
        cache_read=min(read, tokens(None if details is None else details.cached_tokens)),
    )


DIALECT: Final = Dialect(
    key="authorization", before="Bearer ", headers={}, body=body, reader=ChatReader
)
