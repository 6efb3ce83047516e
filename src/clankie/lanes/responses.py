"""OpenAI's Responses protocol: putting a streamed answer together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.lanes.dialect import Dialect
from clankie.lanes.model import Part, Pulse, Reason, Spent, TextDelta
from clankie.lanes.openai_wire import failure_words
from clankie.lanes.reading import Calls, Slot, broken_off, decoded, failed, filtered, tokens
from clankie.lanes.responses_wire import Event, Item, Response, body, decoder, whole_decoder
from clankie.lanes.sse import DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clankie.lanes.responses_wire import Usage

_ENDS: Final = {"response.completed", "response.incomplete", "response.failed"}
_TEXT: Final = {"response.output_text.delta", "response.refusal.delta"}


class ResponsesReader:
    """One answer of the Responses protocol."""

    def __init__(self, quote: Callable[[str], str]) -> None:
        self._quote = quote
        self._calls = Calls()
        self._slots: dict[int, Slot] = {}
        self._reason: Reason | None = None
        self._spoken = False
        self.over = False

    @property
    def complete(self) -> bool:
        """See `Reader`."""
        return self._reason is not None

    def take(self, payload: bytes) -> Iterator[Part]:
        """See `Reader`."""
        if payload == DONE:
            self.over = True
            return
        event = decoded(decoder, payload)
        if event.type in _TEXT:
            self._spoken = self._spoken or bool(event.delta)
            yield TextDelta(event.delta) if event.delta else Pulse()
        elif event.type in _ENDS:
            yield from self._ended(event.response or Response())
        elif event.type == "error" or (not event.type and event.error):
            raise self._failed(event.error or {"message": event.message, "code": event.code})
        elif not event.type:
            # A server that does not stream: this is all of it.
            whole = decoded(whole_decoder, payload)
            yield from self._ended(whole) if whole.output is not None else (Pulse(),)
        else:
            self._call(event)
            yield Pulse()

    def _call(self, event: Event) -> None:
        """What an event says of a call; the last word on its arguments replaces all before."""
        match event.type:
            case "response.output_item.added" | "response.output_item.done":
                if event.item is not None and event.item.type == "function_call":
                    self._whole_call(event.output_index, event.item)
            case "response.function_call_arguments.delta":
                self._calls.write(self._slot(event.output_index), event.delta)
            case "response.function_call_arguments.done" if event.arguments is not None:
                self._replace(self._slot(event.output_index), event.arguments)
            case _:
                pass

    def _slot(self, index: int) -> Slot:
        slot = self._slots.get(index)
        if slot is None:
            slot = self._slots[index] = self._calls.open()
        return slot

    def _whole_call(self, index: int, item: Item) -> None:
        slot = self._slot(index)
        slot.id, slot.name = item.call_id or slot.id, item.name or slot.name
        if item.arguments:
            self._replace(slot, item.arguments)

    def _replace(self, slot: Slot, arguments: str) -> None:
        self._calls.grow(-len(slot.arguments))
        slot.arguments = ""
        self._calls.write(slot, arguments)

    def _ended(self, response: Response) -> Iterator[Part]:
        if response.usage is not None:
            yield _spent(response.usage)
        why = "" if response.incomplete_details is None else response.incomplete_details.reason
        if response.error or response.status == "failed":
            raise self._failed(response.error)
        if why == "content_filter":
            raise filtered()
        yield from self._output(response.output or ())
        # The provider sends nothing after this; a stray `[DONE]` of another server is not read.
        self.over = True
        self._reason = Reason.LENGTH if response.status == "incomplete" or why else Reason.DONE

    def _output(self, items: Sequence[Item]) -> Iterator[Part]:
        """What the whole response holds, where no event has brought it: nothing runs twice."""
        called = bool(self._slots)
        for index, item in enumerate(items):
            if item.type == "function_call" and not called:
                self._whole_call(index, item)
            elif item.type == "message" and not self._spoken:
                for piece in item.content or ():
                    yield TextDelta(piece.text or piece.refusal)

    def _failed(self, error: object) -> Exception:
        words, code = failure_words(error)
        return failed(self._quote(words or code))

    def end(self) -> Iterator[Part]:
        """See `Reader`."""
        if self._reason is None:
            raise broken_off()
        yield from self._calls.end(self._reason)


def _spent(usage: Usage) -> Spent:
    read = tokens(usage.input_tokens)
    details = usage.input_tokens_details
    return Spent(
        input_tokens=read,
        output_tokens=tokens(usage.output_tokens),
        cache_read=min(read, tokens(None if details is None else details.cached_tokens)),
    )


DIALECT: Final = Dialect(
    key="authorization", before="Bearer ", headers={}, body=body, reader=ResponsesReader
)
