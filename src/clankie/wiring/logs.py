"""The service's log: one JSON object a line on standard error, secrets struck out by value."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, Final

from clankie.core.conversation import timestamp
from clankie.core.errors import ClankieError
from clankie.host.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import TextIOWrapper
    from pathlib import Path

LONGEST: Final = 5 * 1024 * 1024
"""Bytes of one file of the log."""
EARLIER: Final = 2
"""Files of it that are kept beside the present one."""
STRUCK: Final = "[secret]"


class JsonLines(logging.Formatter):
    """`{at, level, action, …fields}`; whatever equals a known secret is struck out."""

    def __init__(self, secrets: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._secrets = secrets
        self._known: Sequence[str] = ()
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
        # A line must get out also while the secrets cannot be read: the last known are struck out.
        with contextlib.suppress(ClankieError):
            self._known = self._secrets()
        for secret in self._known:
            text = text.replace(json.dumps(secret)[1:-1], STRUCK)
        return text


def to_standard_error(secrets: Callable[[], Sequence[str]]) -> None:
    """Send ours from `info` on, and of the libraries what they warn of.

    An HTTP client that notes every request would add a line to each turn.
    """
    _use(logging.StreamHandler(sys.stderr), secrets)


def to_file(path: Path, secrets: Callable[[], Sequence[str]]) -> None:
    """The same into a file that is the owner's alone, set aside when it is long.

    Raises:
        OSError: it cannot be written.
    """
    _use(PrivateFile(path, maxBytes=LONGEST, backupCount=EARLIER, encoding="utf-8"), secrets)


class PrivateFile(RotatingFileHandler):
    """A file of mode 0600 that is no link, and earlier ones beside it."""

    def _open(self) -> TextIOWrapper:
        # Non-blocking: a pipe in its place must not hold a start.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")


def _use(handler: logging.Handler, secrets: Callable[[], Sequence[str]]) -> None:
    handler.setFormatter(JsonLines(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("clankie").setLevel(logging.INFO)
