"""Which questions of the harness its owner was asked, in a file that outlives the pump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from clankie.seats.folder import Folder

ASKED: Final = "asked.json"
KEPT: Final = 256
"""Questions that are remembered; the service lets a seat have fewer open."""


class Asked:
    """The file, and what it says. One pump of a seat writes it at a time."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def all(self) -> tuple[str, ...]:
        """Those that are not known to be over, oldest first."""
        found = (self._folder.read(ASKED) or {}).get("asked")
        return tuple(map(str, cast("list[object]", found))) if isinstance(found, list) else ()

    def add(self, question: str) -> None:
        """Note, before it is done, that the owner is asked this."""
        others = [one for one in self.all() if one != question]
        self._folder.write(ASKED, {"asked": [*others, question][-KEPT:]})

    def remove(self, question: str) -> None:
        """It is over, and the service knows."""
        asked = self.all()
        if question in asked:
            self._folder.write(ASKED, {"asked": [one for one in asked if one != question]})
