"""Who answers, said at the start; and the one question before a server on this machine is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from clankie.cli.clean import line
from clankie.cli.client import items
from clankie.cli.wire import part

if TYPE_CHECKING:
    from clankie.cli.frame import Frame
    from clankie.cli.wire import Json

PRACTICE: Final = "practice"
DECLINED: Final = "-"
"""Stands in models.confirmed_local once the owner said no, so that nobody asks again."""


def introduce(frame: Frame, *, ask: bool) -> None:
    """Say which model answers and why; `ask` the owner about one that was found here.

    Raises:
        CommandError: the service refused.
    """
    known = frame.client.get("/v1/models")
    found = _found_here(known)
    if ask and found is not None and _asked(frame, found):
        known = frame.client.get("/v1/models")
    now = part(known, "current")
    frame.progress(f"{name_of(now)} answers: {line(str(now.get('sentence', '')), 400)}")


def name_of(choice: Json) -> str:
    """``provider:model`` as settings name it."""
    names = (choice.get("provider"), choice.get("model"))
    return line(":".join(str(one) for one in names if one), 200)


def _found_here(known: Json) -> Json | None:
    """A server on this machine that would answer if the owner agreed."""
    if part(known, "current").get("provider") != PRACTICE:
        return None
    for one in items(known, "choices"):
        if one.get("source") == "local" and one.get("model") and not one.get("ready"):
            return one
    return None


def _asked(frame: Frame, found: Json) -> bool:
    """Ask once; whether the owner agreed. The answer is kept."""
    before = frame.client.get("/v1/settings")
    if part(part(before, "settings"), "models").get("confirmed_local"):
        return False
    words = f"{line(str(found['address']), 200)} answers on this machine with {name_of(found)}."
    agreed = click.confirm(f"{words} Use it?", default=True, err=True)
    kept = str(found["address"]) if agreed else DECLINED
    change = {"models": {"confirmed_local": kept}, "expected_revision": before["revision"]}
    frame.client.patch("/v1/settings", change)
    return agreed
