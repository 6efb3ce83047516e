"""Google's generateContent protocol: putting a streamed answer together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.lanes.dialect import Dialect
from clankie.lanes.google_wire import Candidate, FunctionCall, Piece, UsageMetadata, body, decoder
from clankie.lanes.model import ModelBadResponseError, Part, Pulse, Reason, Spent, TextDelta
from clankie.lanes.openai_wire import failure_words
from clankie.lanes.reading import Calls, broken_off, decoded, encode, failed, filtered, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REASONS: Final = {"STOP": Reason.DONE, "MAX_TOKENS": Reason.LENGTH}
_BROKEN: Final = {
    "FINISH_REASON_UNSPECIFIED",
    "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE",
    "MISSING_THOUGHT_SIGNATURE",
    "OTHER",
    "TOO_MANY_TOOL_CALLS",
    "UNEXPECTED_TOOL_CALL",
}
"""Ends that are the model's own failure. Every other one is a filter's, whatever its name."""


class GoogleReader:
    """One answer of the generateContent protocol. It has no last event: the stream just ends."""

    over = False

    def __init__(self, quote: Callable[[str], str]) -> None:
        self._quote = quote
        self._calls = Calls()
        self._reason: Reason | None = None

    @property
    def complete(self) -> bool:
        """See `Reader`."""
        return self._reason is not None

    def take(self, payload: bytes) -> Iterator[Part]:
        """See `Reader`."""
        chunk = decoded(decoder, payload)
        if chunk.error:
            words, code = failure_words(chunk.error)
            raise failed(self._quote(words or code))
        if chunk.usage_metadata is not None:
            yield _spent(chunk.usage_metadata)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            raise filtered(self._quote(chunk.prompt_feedback.block_reason))
        if chunk.candidates:
            yield from self._candidate(chunk.candidates[0])
        else:
            yield Pulse()

    def _candidate(self, candidate: Candidate) -> Iterator[Part]:
        for piece in (candidate.content and candidate.content.parts) or ():
            yield self._piece(piece)
        reason = candidate.finish_reason
        if reason is None:
            return
        words = self._quote(candidate.finish_message or reason)
        if reason in _BROKEN:
            raise ModelBadResponseError(
                f"The model broke off its answer ({words}). Send the message again."
            )
        if reason not in _REASONS:
            raise filtered(words)
        self._reason = _REASONS[reason]

    def _piece(self, piece: Piece) -> Part:
        if piece.function_call is not None:
            self._call(piece.function_call, piece.thought_signature)
        elif piece.text and not piece.thought:
            return TextDelta(piece.text)
        return Pulse()

    def _call(self, call: FunctionCall, seal: str) -> None:
        slot = self._calls.open(call.id, call.name)
        self._calls.write(slot, "{}" if call.args is None else encode(call.args).decode())
        self._calls.grow(len(seal))
        slot.seal = seal

    def end(self) -> Iterator[Part]:
        """See `Reader`."""
        if self._reason is None:
            raise broken_off()
        yield from self._calls.end(self._reason)


def _spent(usage: UsageMetadata) -> Spent:
    read = tokens(usage.prompt_token_count) + tokens(usage.tool_use_prompt_token_count)
    return Spent(
        input_tokens=read,
        output_tokens=tokens(usage.candidates_token_count) + tokens(usage.thoughts_token_count),
        cache_read=min(read, tokens(usage.cached_content_token_count)),
    )


DIALECT: Final = Dialect(key="x-goog-api-key", headers={}, body=body, reader=GoogleReader)
