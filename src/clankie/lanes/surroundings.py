"""The environment of programs that we start: what a program needs, and no secret of anybody."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final = frozenset(
    {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER", "XDG_RUNTIME_DIR"}
)
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def scrubbed(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Only what is named here; every other variable stays with us, whatever it is called."""
    given = os.environ if environ is None else environ
    kept = {
        name: value
        for name, value in given.items()
        if (name in _PLAIN or name.startswith("LC_")) and not value.startswith("()")
    }
    return {"PATH": _PATH, **kept, "TERM": "dumb"}
