"""What was opened, kept in the seat's folder: bridge, driver and hooks read it there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clankie.seats.folder import PLACE, NotASeatError
from clankie.seats.launch import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.seats.folder import Folder


def keep(folder: Folder, place: Place, *, driven: bool) -> None:
    """Write down what was opened; nothing of it is secret."""
    folder.write(
        PLACE,
        {
            "harness": place.harness,
            "conversation": place.conversation,
            "directory": place.directory,
            "program": list(place.program),
            "resume": place.resume,
            "headless": place.headless,
            "trust": place.trust,
            "driven": driven,
        },
    )


def kept(folder: Folder, environment: Mapping[str, str]) -> Place:
    """What was opened here, seen from this environment. Raises NotASeatError."""
    found = folder.read(PLACE)
    if found is None:
        raise NotASeatError(f"No seat was opened in {folder.path}.")
    return Place(
        folder=Path(folder.path),
        harness=str(found["harness"]),
        conversation=str(found["conversation"]),
        directory=str(found["directory"]),
        environment=environment,
        program=tuple(found["program"]),
        resume=found.get("resume"),
        headless=found.get("headless") is True,
        trust=found.get("trust") is True,
    )


def driven(folder: Folder) -> bool:
    """Whether a driver has the pump, and not the bridge."""
    return (folder.read(PLACE) or {}).get("driven") is True
