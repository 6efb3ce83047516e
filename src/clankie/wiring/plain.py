"""What stands at a port while nothing is connected to it: real answers, all of them plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clankie.host.ports import ModelChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clankie.core.receipt import Delivery
    from clankie.core.settings import Models, Settings

PRACTICE: Final = "practice"


class NoRooms:
    """No room is connected, so no room's authority can have changed."""

    async def check(self, delivery: Delivery) -> None:
        """Nothing to refuse."""


class SettledModels:
    """The model that the settings name, and the practice model."""

    def current(self, settings: Settings) -> ModelChoice:
        """What the settings say."""
        provider, _, model = settings.models.model.partition(":")
        if provider == PRACTICE:
            return _practice(chosen=True)
        where = settings.models.base_url or "the provider's own address"
        return ModelChoice(
            provider=provider,
            model=model or None,
            source="settings",
            ready=True,
            sentence=f"The settings name it, at {where}.",
            address=settings.models.base_url or None,
        )

    def announcement(self, models: Models) -> str | None:
        """No key is looked for."""
        del models
        return None

    async def choices(self, settings: Settings) -> Sequence[ModelChoice]:
        """That one, and the one that is always there."""
        now = self.current(settings)
        return [now] if now.provider == PRACTICE else [now, _practice(chosen=False)]


def _practice(*, chosen: bool) -> ModelChoice:
    why = "No other model is set, so it answers." if chosen else "It needs nothing."
    return ModelChoice(
        provider=PRACTICE,
        model=None,
        source=PRACTICE,
        ready=True,
        sentence=f"The practice model is built in and understands nothing. {why}",
    )
