"""The service's own log: an action word and its fields, one line when a thing starts and ends."""

from __future__ import annotations

import logging
from typing import Final

_LOGGER: Final = logging.getLogger("clankie")


def note(action: str, **fields: object) -> None:
    """Something went as it should."""
    _LOGGER.info(action, extra={"fields": fields})


def warn(action: str, **fields: object) -> None:
    """Something the owner may want to know."""
    _LOGGER.warning(action, extra={"fields": fields})


def defect(action: str, error: BaseException, **fields: object) -> None:
    """Something that should not be possible, with its traceback."""
    _LOGGER.error(action, extra={"fields": fields}, exc_info=error)
