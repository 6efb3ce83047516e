"""How a provider is spoken to: the one part of a remote model that differs between them.

A dialect is a module of this room with a constant `DIALECT`. None of them knows of HTTP beyond
its headers, so all share one client, one set of time limits and one list of faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.model import ModelRequest, Part


class Reader(Protocol):
    """Takes the payloads of one answer, gives its parts."""

    @property
    def complete(self) -> bool:
        """The model said that it stopped: what breaks from here on takes nothing from it."""
        ...

    @property
    def over(self) -> bool:
        """The server said that nothing more comes."""
        ...

    def take(self, payload: bytes) -> Iterator[Part]:
        """The parts that one payload makes.

        Raises:
            ModelBadResponseError, ModelServerError, ModelRefusedError.
        """
        ...

    def end(self) -> Iterator[Part]:
        """The tool calls, then `Finished`.

        Raises:
            ModelBadResponseError: the stream ended before the answer did.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`key` is the header that carries the credential, `before` stands before it there.

    `reader` is given what makes a server's words fit for a sentence: short, without secrets.
    """

    key: str
    before: str = ""
    headers: Mapping[str, str]
    body: Callable[[Endpoint, ModelRequest], bytes]
    reader: Callable[[Callable[[str], str]], Reader]
