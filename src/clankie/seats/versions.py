"""Which version of a harness is installed, and what is said of one that was not tried."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


def installed(program: str, environment: Mapping[str, str]) -> str:
    """The version of a program on the path, as its files say; "" when they do not.

    Nothing is run for that: a harness takes a second to say its version, and may look for updates.
    """
    found = shutil.which(program, path=environment.get("PATH"))
    if found is None:
        return ""
    file = Path(found).resolve()
    if _VERSION.fullmatch(file.name):
        return file.name
    for folder in file.parents[:2]:
        try:
            named: object = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        known = cast("dict[str, Any]", named) if isinstance(named, dict) else {}
        return str(known.get("version", ""))
    return ""


def untried(name: str, version: str, tested: Sequence[str]) -> tuple[str, ...]:
    """A word for the person about a version that was not tried; none for one that was."""
    if version in tested:
        return ()
    were = "was" if len(tested) == 1 else "were"
    sentence = (
        f"{name} {version or 'of an unknown version'} was not tried with this Clankie; "
        f"{', '.join(tested)} {were}. If something looks wrong, say so with both versions."
    )
    return (sentence,)
