"""Pictures on their way to a model: their bytes for one turn, and how they stand in a message.

Rule 1: bytes live as long as a turn. A session keeps only their names.
Rule 2: what goes along is bounded, the newest first. Of every other picture the model is told in
        words, so that it never talks as if it had seen it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.core.errors import AttachmentNotFoundError, FaultError
from clankie.host.framing import NAME_LIMIT, one_line
from clankie.host.ports import LaneError
from clankie.lanes.messages import UserText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clankie.host.ports import TurnHost
    from clankie.lanes.messages import Message, Picture
    from clankie.lanes.model import ModelRequest

COUNT: Final = 20
"""Pictures of one request."""

BYTES: Final = 12 << 20
"""Bytes of all pictures of one request; the providers' bounds are about 20 MiB, in base64."""


class Album:
    """The pictures of one turn."""

    def __init__(self, host: TurnHost) -> None:
        self._host = host
        self._held: dict[str, bytes] = {}
        self._gone: set[str] = set()

    async def shown(self, messages: Sequence[Message]) -> Mapping[str, bytes]:
        """The bytes to send along with these messages, by digest.

        Raises:
            LaneError: they cannot be read now.
        """
        chosen: dict[str, bytes] = {}
        room = BYTES
        for picture in _newest_first(messages):
            if picture.digest in chosen or picture.size > room:
                continue
            data = await self._bytes(picture)
            if data is None:
                continue
            room -= picture.size
            chosen[picture.digest] = data
            if len(chosen) == COUNT:
                break
        self._held = chosen
        return chosen

    async def _bytes(self, picture: Picture) -> bytes | None:
        if picture.digest in self._gone:
            return None
        held = self._held.get(picture.digest)
        if held is not None:
            return held
        try:
            return await self._host.attachment(picture.digest)
        except AttachmentNotFoundError:
            self._gone.add(picture.digest)
            return None
        except FaultError as error:
            raise LaneError(error.code, f"A picture could not be read: {error.detail}") from error


def _newest_first(messages: Sequence[Message]) -> Iterator[Picture]:
    for message in reversed(messages):
        if isinstance(message, UserText):
            yield from reversed(message.pictures)


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as it is sent."""

    media_type: str
    base64: str

    @property
    def url(self) -> str:
        """As a data URL."""
        return f"data:{self.media_type};base64,{self.base64}"


def looked_at(message: UserText, request: ModelRequest) -> Iterator[str | Shown]:
    """The pictures of a message, then its words; a sentence where a picture is not sent."""
    for picture in message.pictures:
        data = request.pictures.get(picture.digest)
        if data is None:
            yield f"[{named(picture.name)} is not shown here any more]"
        else:
            yield Shown(picture.media_type, b64encode(data).decode())
    if message.text.strip():
        yield message.text


def named(name: str, kind: str = "picture") -> str:
    """A name of an attachment as it may stand in a sentence of ours."""
    return f"the {kind} {json.dumps(one_line(name, NAME_LIMIT))}"
