"""The messaging socket of a running session: one JSON line for each message, and no answer.

Rule: it is refused only where the client cannot have read a whole line; everything else is for the
      transcript to prove.
"""

from __future__ import annotations

import asyncio
import json
from typing import Final

_PATIENCE: Final = 5.0
"""Seconds for a local socket to take a message."""


class NotReachedError(Exception):
    """Nobody listens there: nothing was sent."""


class HalfSentError(Exception):
    """It broke while sending: it may have arrived."""


async def send(path: str, uuid: str, text: str) -> None:
    """Give the session a message under this uuid.

    Raises:
        NotReachedError: nothing was sent.
        HalfSentError: something was.
    """
    if not path:
        raise NotReachedError("the session has no messaging socket")
    row = {"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}
    try:
        async with asyncio.timeout(_PATIENCE):
            _, writer = await asyncio.open_unix_connection(path)
    except (OSError, TimeoutError, ValueError) as error:
        raise NotReachedError(f"its messaging socket does not answer: {error}") from error
    try:
        async with asyncio.timeout(_PATIENCE):
            writer.write(json.dumps(row).encode() + b"\n")
            await writer.drain()
            writer.write_eof()
            # The client ends the connection when it has read all of it; what counts is the row.
    except (OSError, TimeoutError) as error:
        raise HalfSentError(f"its messaging socket broke: {error}") from error
    finally:
        writer.close()
