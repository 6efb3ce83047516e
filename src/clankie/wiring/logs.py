"""The service's log: one JSON object a line on standard error, secrets struck out by value."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any, Final

from clankie.core.conversation import timestamp
from clankie.host.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STRUCK: Final = "[secret]"


class JsonLines(logging.Formatter):
    """`{at, level, action, …fields}`; whatever equals a known secret is struck out."""

    def __init__(self, secrets: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._secrets = secrets
        self._clock = SystemClock()

    def format(self, record: logging.LogRecord) -> str:
        """One line; control characters cannot break it, JSON escapes them."""
        fields: dict[str, Any] = getattr(record, "fields", {})
        line: dict[str, Any] = {
            "at": timestamp(self._clock.now()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "action": record.getMessage(),
            **fields,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = json.dumps(line, default=str)
        for secret in self._secrets():
            text = text.replace(json.dumps(secret)[1:-1], STRUCK)
        return text


def to_standard_error(secrets: Callable[[], Sequence[str]]) -> None:
    """Send ours from `info` on, and of the libraries what they warn of.

    An HTTP client that notes every request would add a line to each turn.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("clankie").setLevel(logging.INFO)
