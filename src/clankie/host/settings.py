"""The owner's settings: one revisioned tree behind command line and screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.core.settings import merge
from clankie.host import wakes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clankie.core.settings import Settings
    from clankie.host.house import House


async def patch(
    house: House, change: Mapping[str, object], expected_revision: int
) -> tuple[int, Settings]:
    """Apply a merge patch to the revision the caller saw.

    Raises:
        InvalidFieldError: names the path and the rule.
        SettingsConflictError: somebody else changed them.
    """
    before = house.saved
    after = merge(before, change)
    revision = await house.store.owner.save_settings(after, expected_revision)
    house.use_settings(after, revision)
    if after.models != before.models:
        # A held wake waits for exactly such a change.
        await wakes.release(house)
    return revision, after
