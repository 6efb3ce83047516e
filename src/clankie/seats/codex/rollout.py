"""Whether a rollout holds words with our id: the proof that is left when the server is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from clankie.seats import tail
from clankie.seats.codex.rows import folders


def holds(path: str, client: str, environment: Mapping[str, str]) -> bool:
    """Whether one of the last rows is a user's message with this id. False when it is unreadable.

    Looks at the last 8 MiB, which is where words that were just sent can be.
    """
    try:
        descriptor = tail.opened(path, folders(environment))
    except (OSError, tail.TranscriptRefusedError):
        return False
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, tail.RUN, max(0, size - tail.RUN))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    sought = client.encode()
    return any(sought in line and _names(line, client) for line in data.splitlines())


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
