"""Tokens used today, and what the owner's daily budget says to that."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from clankie.core.budget import Spending, spending
from clankie.core.wake import EXHAUSTED
from clankie.host.storage import DayUsage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from clankie.core.admission import Origin
    from clankie.core.conversation import Usage
    from clankie.host.house import House


@dataclass(slots=True)
class Spent:
    """Tokens of the turns that ended today (UTC). The store has the same in its rows."""

    day: date
    tokens: int = 0
    told: set[str] = field(default_factory=set[str])

    def on(self, day: date) -> Spent:
        """The same day's count, or a fresh one for a new day."""
        return self if day == self.day else Spent(day)


async def load(house: House) -> None:
    """Begin with what the store knows of today."""
    now = house.clock.now()
    days = await house.store.owner.usage(1, now)
    house.spent = Spent(now.date(), sum(one.tokens for one in days))


async def days(house: House, number: int) -> Sequence[DayUsage]:
    """The last `number` days (UTC), today last, days without a turn too."""
    now = house.clock.now()
    found = {one.day: one for one in await house.store.owner.usage(number, now)}
    dates = [now.date() - timedelta(days=back) for back in range(number - 1, -1, -1)]
    return [found.get(one) or DayUsage(day=one) for one in dates]


def count(house: House, usage: Usage | None) -> None:
    """A turn ended and cost this."""
    house.spent = house.spent.on(house.clock.now().date())
    if usage is not None:
        house.spent.tokens += usage.tokens


async def may_run(house: House, conversation: str, origin: Origin) -> bool:
    """Whether a turn may begin; says once a day in the conversation why not, or that it costs."""
    house.spent = house.spent.on(house.clock.now().date())
    verdict = spending(origin, house.spent.tokens, house.settings.models)
    if verdict is not Spending.FREE and conversation not in house.spent.told:
        house.spent.told.add(conversation)
        limit = house.settings.models.daily_tokens
        text = (
            f"{house.spent.tokens} tokens were used today; the daily budget is {limit}. Your own "
            "messages still run, wakes and other automatic work wait. Raise models.daily_tokens "
            "with `clankie settings set` to let them run."
        )
        await house.store.conversations.notice(conversation, EXHAUSTED, text)
    return verdict is not Spending.STOP
