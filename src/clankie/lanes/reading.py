"""What all readers of answers share: decoding, the calls being put together, and the failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from clankie.lanes.messages import ToolCall
from clankie.lanes.model import (
    Finished,
    ModelBadResponseError,
    ModelRefusedError,
    ModelServerError,
    Part,
    Reason,
    ToolCallPart,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS: Final = 128
"""Tool calls of one response."""

ARGUMENTS: Final = 1 << 20
"""Characters of all arguments of one response, seals included."""

NAMELESS: Final = "call_"
"""Begins the ids of calls to which the server gave none."""

encode = msgspec.json.Encoder().encode
_T = TypeVar("_T")


def decoded(decoder: msgspec.json.Decoder[_T], payload: bytes) -> _T:
    """One payload. Raises ModelBadResponseError when it is not what was expected."""
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelBadResponseError(
            f"The model server sent something that is no part of an answer ({error}). Send the "
            "message again; if it stays so, the server speaks another protocol than the provider "
            "in models.model."
        ) from error


def failed(words: str) -> ModelServerError:
    """The server says in the middle of an answer that it failed; `words` are quoted already."""
    return ModelServerError(
        "The model server failed while it answered: "
        f"{words or 'it gave no reason'}. Send the message again."
    )


def filtered(words: str = "") -> ModelRefusedError:
    """A filter, or the model itself, stopped the answer; `words` are quoted already."""
    said = f" It says: “{words}”." if words else ""
    return ModelRefusedError(
        f"The provider's content filter stopped the answer.{said} Say it in other words, or use "
        "another model (`clankie settings set models.model …`)."
    )


def broken_off() -> ModelBadResponseError:
    """The stream ended before the answer did."""
    return ModelBadResponseError(
        "The connection to the model server ended in the middle of the answer. Send the "
        "message again."
    )


def tokens(count: float | None) -> int:
    """A count as servers write it; nonsense counts nothing."""
    return max(0, int(count or 0))


@dataclass(slots=True)
class Slot:
    """A call that is being put together."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    seal: str = ""


class Calls:
    """The calls of one response, in order, within bounds."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._size = 0

    def open(self, call_id: str = "", name: str = "") -> Slot:
        """Another call. Raises ModelBadResponseError when there are too many."""
        if len(self._slots) >= CALLS:
            raise _too_much()
        slot = Slot(call_id, name)
        self._slots.append(slot)
        return slot

    def write(self, slot: Slot, more: str | dict[str, Any] | None) -> None:
        """More of its arguments. Raises ModelBadResponseError beyond the bound."""
        text = more if isinstance(more, str) else "" if more is None else encode(more).decode()
        self.grow(len(text))
        slot.arguments += text

    def grow(self, characters: int) -> None:
        """Count what is kept. Raises ModelBadResponseError beyond the bound."""
        self._size += characters
        if self._size > ARGUMENTS:
            raise _too_much()

    @property
    def last(self) -> Slot | None:
        """The newest."""
        return self._slots[-1] if self._slots else None

    def end(self, reason: Reason) -> Iterator[Part]:
        """All of them, then the end."""
        for number, slot in enumerate(self._slots):
            call_id = slot.id or f"{NAMELESS}{number}"
            yield ToolCallPart(ToolCall(call_id, slot.name, slot.arguments, slot.seal))
        yield Finished(reason)


def _too_much() -> ModelBadResponseError:
    return ModelBadResponseError(
        "The model called too many tools at once, or with arguments without end. Nothing "
        "was run; ask for smaller steps."
    )
