"""What is loaded together with the SDK, in one place, so that it can be loaded on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.lanes.mcp import wire
from clankie.lanes.mcp.pipe import Program, piped
from clankie.lanes.mcp.web import called

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from mcp.client._transport import TransportStreams

__all__ = ["address", "program", "wire"]


def program(
    argv: Sequence[str], env: Mapping[str, str], over: Callable[[], None], errors: bytearray
) -> AbstractAsyncContextManager[TransportStreams]:
    """A server that is started."""
    return piped(Program(argv=argv, env=env, over=over, errors=errors))


def address(
    url: str, headers: Mapping[str, str], limit: float
) -> AbstractAsyncContextManager[TransportStreams]:
    """A server that is called."""
    return called(url, headers, limit)
