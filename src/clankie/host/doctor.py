"""What is missing or odd, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clankie.core.errors import ClankieError
from clankie.host import models

if TYPE_CHECKING:
    from clankie.host.house import House


class Level(StrEnum):
    """How much it matters."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `fix` is what to do, empty when nothing is to be done."""

    name: str
    level: Level
    sentence: str
    fix: str = ""

    def to_wire(self) -> dict[str, str]:
        """Four strings."""
        return {"name": self.name, "level": self.level, "sentence": self.sentence, "fix": self.fix}


async def examine(house: House) -> list[Finding]:
    """Look at everything the service can see of itself."""
    return [
        await _store(house),
        _model(house),
        _credentials(house),
        *await _deliveries(house),
        *_seats(house),
    ]


async def _store(house: House) -> Finding:
    facts = await house.store.facts()
    sentence = (
        f"SQLite {facts.get('sqlite')}, schema {facts.get('schema')}, {facts.get('bytes')} bytes."
    )
    return Finding(name="store", level=Level.OK, sentence=sentence)


def _model(house: House) -> Finding:
    chosen = models.current(house)
    if chosen.provider == models.PRACTICE:
        return Finding(
            name="model",
            level=Level.WARN,
            sentence="The practice model answers: it is built in and understands nothing.",
            fix="clankie settings set models.model openai-chat:NAME, "
            "then models.base_url to your server's address",
        )
    level = Level.OK if chosen.ready else Level.FAIL
    return Finding(name="model", level=level, sentence=chosen.sentence)


def _credentials(house: House) -> Finding:
    try:
        found = house.credentials.list()
    except ClankieError as error:
        # The doctor is asked just when something is wrong: it must not fail over what it finds.
        return Finding(name="credentials", level=Level.FAIL, sentence=error.detail)
    kept = [f"{one.name} for {one.origin} ({one.source})" for one in found]
    sentence = f"Kept: {', '.join(kept)}." if kept else "None is kept."
    sentence = f"{sentence} {house.credentials.place()}"
    return Finding(name="credentials", level=Level.OK, sentence=sentence)


async def _deliveries(house: House) -> list[Finding]:
    conversations = await house.store.conversations.list()
    uncertain = sum(one.uncertain for one in conversations)
    held = sum(one.held for one in conversations)
    found: list[Finding] = []
    if uncertain:
        found.append(
            Finding(
                name="uncertain deliveries",
                level=Level.WARN,
                sentence=f"{uncertain} deliveries have an outcome that nobody can know.",
                fix="clankie deliveries list --state uncertain",
            )
        )
    if held:
        found.append(
            Finding(
                name="held wakes",
                level=Level.WARN,
                sentence=f"{held} wakes are held after they failed.",
                fix="clankie wakes list, then clankie wakes release ID",
            )
        )
    return found


def _seats(house: House) -> list[Finding]:
    """Seats whose process nobody vouches for, and those that take nothing now."""
    now = house.desk.now()
    chairs = list(house.desk.all())
    unproven = [one.seat.id for one in chairs if not one.proven]
    parked = [one.seat.id for one in chairs if one.parked(now.wall)]
    found: list[Finding] = []
    if unproven:
        found.append(
            Finding(
                name="seats",
                level=Level.WARN,
                sentence=(
                    f"Unproven seats: {', '.join(unproven)}. This machine cannot vouch for their "
                    "processes, so messages of rooms stay on the service lane."
                ),
            )
        )
    if parked:
        found.append(
            Finding(
                name="parked seats",
                level=Level.WARN,
                sentence=f"Seats that take no input now: {', '.join(parked)}.",
                fix="clankie seat list says until when; after a reset, clear their session",
            )
        )
    return found
