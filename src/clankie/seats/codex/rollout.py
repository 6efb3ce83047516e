"""What the end of a rollout says: the proof that is left when the server is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final, cast

from clankie.seats import tail
from clankie.seats.codex.rows import folders

_END: Final = 256 * 1024
_ENDS: Final = (b'"type":"task_complete"', b'"type":"turn_aborted"')


def holds(path: str, client: str, environment: Mapping[str, str]) -> bool:
    """Whether one of the last rows is a user's message with this id. False when it is unreadable.

    Looks at the last 8 MiB, which is where words that were just sent can be.
    """
    sought = client.encode()
    rows = _last(path, tail.RUN, environment)
    return any(sought in line and _names(line, client) for line in rows)


def ended(path: str, turn: str, environment: Mapping[str, str]) -> bool:
    """Whether one of the last rows ends this turn, so that all it wrote stands before it."""
    sought = turn.encode()
    rows = _last(path, _END, environment)
    return any(sought in line and any(end in line for end in _ENDS) for line in reversed(rows))


def _last(path: str, size: int, environment: Mapping[str, str]) -> list[bytes]:
    try:
        descriptor = tail.opened(path, folders(environment))
    except (OSError, tail.TranscriptRefusedError):
        return []
    try:
        whole = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, max(0, whole - size)).splitlines()
    except OSError:
        return []
    finally:
        os.close(descriptor)


def _names(line: bytes, client: str) -> bool:
    try:
        row = _dict(json.loads(line))
    except ValueError:
        return False
    payload = _dict(row.get("payload"))
    said = _dict(payload.get("item")) if payload.get("type") == "item_completed" else payload
    return said.get("type") in {"UserMessage", "user_message"} and said.get("client_id") == client


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
