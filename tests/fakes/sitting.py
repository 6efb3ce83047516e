"""What an adapter of a harness is given in tests: a place, words, and a ledger in memory."""

import os
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from clankie.core.seat import EventKind, SeatEvent
from clankie.seats.launch import Place
from clankie.seats.rows import Known

FAKES: Final = Path(__file__).parent
NOW: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)


def turn(name: str, words: str, *, at: datetime = NOW, **more: Any) -> SeatEvent:
    """An owner's message, as a seat is given it."""
    given: dict[str, Any] = {
        "kind": EventKind.TURN,
        "source": "owner",
        "created_at": at,
        "deadline": at + timedelta(minutes=1),
        "conversation": "c-1",
        "attempt": 1,
        "generation": 1,
    }
    return SeatEvent(id=name, content=words, **{**given, **more})


@dataclass
class Notebook:
    """The ledger of a seat into which nothing is typed; `ids` as `Known` has them."""

    ids: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])

    def typed(self, event: SeatEvent, text: str) -> None:
        """Not asked for."""

    def known(self) -> Known:
        return Known(ids=dict(self.ids))


def scripted(root: Path, harness: str, home: str) -> Place:
    """A place where ``fakes/HARNESS_program.py`` is the harness, headless.

    `home` is the variable that names its own directory, which is ``root/home``.
    """
    folder, work, program = root / "seats" / "s-1", root / "work", root / "bin" / harness
    for made in (root / "home", work, program.parent):
        made.mkdir()
    folder.mkdir(parents=True, mode=0o700)
    file = FAKES / f"{harness}_program.py"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {file} "$@"\n')
    program.chmod(0o755)
    return Place(
        folder=folder,
        harness=harness,
        conversation="c-1",
        directory=str(work),
        environment={
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "HOME": str(root),
            home: str(root / "home"),
        },
        program=("/usr/bin/env", "clankie"),
        headless=True,
    )
