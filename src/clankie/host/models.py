"""Which model answers a turn, and what the owner is told before a key of theirs is first used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.core.errors import ClankieError
from clankie.core.ids import HEAD
from clankie.core.settings import with_model
from clankie.host import journal

if TYPE_CHECKING:
    from clankie.core.settings import Settings
    from clankie.host.house import House
    from clankie.host.ports import ModelChoice

PRACTICE: Final = "practice"
PAID_KEY: Final = "paid_key"
"""Code of the notice that announces a key from the environment."""
_LOOKED_THROUGH: Final = 10
_PAGE: Final = 500


def answering(house: House, model: str | None = None) -> Settings:
    """The settings of a turn: with the conversation's own model, or with the one that was found.

    The setting ``practice`` means that nobody chose: what can answer is taken, unless this run was
    told to use the practice model.
    """
    if model is not None:
        return with_model(house.settings, model)
    chosen = current(house)
    if house.settings.models.model != PRACTICE or chosen.provider == PRACTICE:
        return house.settings
    found = replace(house.settings.models, model=_setting_of(chosen), base_url="")
    return replace(house.settings, models=found)


def current(house: House) -> ModelChoice:
    """What answers where a conversation has no model of its own, and why."""
    chosen = house.models.current(house.settings)
    if chosen.provider == PRACTICE or not _told_to_practise(house):
        return chosen
    sentence = "This run was told to use the practice model (CLANKIE_MODEL)."
    return replace(chosen, provider=PRACTICE, model=None, source=PRACTICE, sentence=sentence)


def _told_to_practise(house: House) -> bool:
    models = house.override.get("models")
    if not isinstance(models, Mapping):
        return False
    return cast("Mapping[str, object]", models).get("model") == PRACTICE


def _setting_of(choice: ModelChoice) -> str:
    return choice.provider if choice.model is None else f"{choice.provider}:{choice.model}"


async def begin(house: House) -> None:
    """At the start: look for a model server that the owner agreed to, and announce a paid key."""
    if house.settings.models.confirmed_local:
        await house.models.choices(house.settings)
    try:
        await announce(house, answering(house))
    except ClankieError as error:
        # The first turn that uses the key says it.
        journal.warn("announcement waits", why=error.detail)


async def announce(house: House, settings: Settings) -> None:
    """Say once in the head conversation that a key from the environment is going to be used.

    Whether it was said before, the log itself knows. Raises what the store raises.
    """
    here = (settings.models.model, settings.models.base_url)
    if settings.models.model == PRACTICE or here in house.announced:
        return
    text = house.models.announcement(settings.models)
    if text is not None and not await _said(house, text):
        await house.store.conversations.notice(HEAD, PAID_KEY, text)
    house.announced.add(here)


async def _said(house: House, text: str) -> bool:
    """Whether the newest events of the head say so already."""
    before = (await house.store.conversations.get(HEAD)).cursor + 1
    for _ in range(_LOOKED_THROUGH):
        page = await house.store.conversations.events_before(HEAD, before, _PAGE)
        for one in page.events:
            event: dict[str, Any] = json.loads(one.data)
            if event.get("code") == PAID_KEY and event.get("text") == text:
                return True
        if not page.events or not page.has_more:
            return False
        before = page.events[0].cursor
    return False
