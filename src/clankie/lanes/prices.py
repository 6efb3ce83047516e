"""What a turn costs in dollars, from a list of prices that comes with a library.

Rule 1: a figure is a claim. Where a model, an address or a count is not known it is None, not 0.
Rule 2: the list (16 MiB, half a second to load) is loaded in a thread, when a provider with prices
        is first asked, and never for a server of one's own. A turn waits for it `PATIENCE` at most.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from clankie.host import journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from clankie.lanes.endpoint import Endpoint
    from clankie.lanes.model import Spent

    Price = Callable[[Endpoint, Spent, datetime], float | None]

PATIENCE: Final = 2.0
"""Seconds that the end of a turn waits for the list; the first turn only."""


class Prices:
    """The list, loaded once."""

    def __init__(self, load: Callable[[], Price] | None = None) -> None:
        self._load = load or _library
        self._loading: asyncio.Future[Price] | None = None

    def prepare(self, at: Endpoint) -> None:
        """A turn begins there: load the list meanwhile."""
        if self._loading is None and _sold(at):
            self._loading = asyncio.get_running_loop().run_in_executor(None, self._load)

    async def cost(
        self, at: Endpoint, spent: Sequence[Spent | None], now: datetime
    ) -> float | None:
        """Dollars for all these responses; None when one of them has no known price."""
        if self._loading is None or not _sold(at):
            return None
        await asyncio.wait({self._loading}, timeout=PATIENCE)
        if not self._loading.done():
            return None
        try:
            price = self._loading.result()
            each = [None if one is None else price(at, one, now) for one in spent]
        except Exception as error:  # noqa: BLE001 - a price must never cost anybody an answer
            journal.defect("no prices", error, model=at.model)
            return None
        known = [one for one in each if one is not None]
        return sum(known) if len(known) == len(each) else None


def _sold(at: Endpoint) -> bool:
    return at.encrypted and not at.loopback


def _library() -> Price:
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - large: see rule 2

    def price(at: Endpoint, spent: Spent, now: datetime) -> float | None:
        usage = Usage(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cache_read_tokens=spent.cache_read,
            cache_write_tokens=spent.cache_write,
        )
        try:
            found = calc_price(
                usage, at.model, provider_api_url=at.base, genai_request_timestamp=now
            )
        except LookupError:
            return None
        return float(found.total_price)

    calc_price(Usage(), "gpt-4o", provider_id="openai")  # loads the list, in this thread
    return price
