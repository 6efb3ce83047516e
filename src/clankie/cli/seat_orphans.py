"""Seats whose driver is gone while their harness lives: they are taken up again, not opened anew.

A driver can be killed and leave the server of its harness behind, which still holds the session.
The seat's token and its place in the conversation are as good as before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.seats import place as seat_places
from clankie.seats import process, registration
from clankie.seats.folder import Folder, SeatFolderError
from clankie.seats.launch import NEWEST

if TYPE_CHECKING:
    from clankie.seats.launch import Place
    from clankie.seats.registration import Seated

DRIVER: Final = "driver"
"""The lock that a driver holds as long as it lives."""


def orphan(wanted: Place, conversation: str | None) -> tuple[Folder, Place] | None:
    """The seat that somebody who resumes this session means; None where there is none.

    `conversation`: only a seat that drives this one.
    """
    if wanted.resume is None:
        return None
    above = wanted.folder.parent
    found = above.iterdir() if above.is_dir() else ()
    for path in sorted(found, key=_age, reverse=True):
        folder = Folder(str(path))
        grant = folder.file(registration.GRANT)
        environment = {**wanted.environment, "CLANKIE_SEAT_GRANT": grant}
        try:
            seated = registration.seated(folder)
            place = seat_places.kept(folder, environment)
        except (SeatFolderError, OSError):
            continue
        if seated is None or conversation not in {None, seated.conversation}:
            continue
        if _meant(place, seated, wanted) and _left(folder, seated):
            return folder, place
    return None


def _meant(place: Place, seated: Seated, wanted: Place) -> bool:
    same = (place.harness, place.headless) == (wanted.harness, wanted.headless)
    if wanted.resume == NEWEST:
        return same and place.directory == wanted.directory
    return same and seated.session_id == wanted.resume


def _left(folder: Folder, seated: Seated) -> bool:
    """Whether its harness lives and nobody drives it."""
    if not seat_places.driven(folder) or not process.alive(seated.pid, seated.began):
        return False
    try:
        with folder.locked(DRIVER, wait=False):
            return True
    except BlockingIOError:
        return False


def _age(path: Path) -> float:
    return path.stat().st_mtime
