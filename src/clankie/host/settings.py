"""The owner's settings: one revisioned tree behind command line and screen."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clankie.core.errors import InvalidFieldError, SettingsConflictError, UncertainError
from clankie.core.settings import merge
from clankie.host import wakes
from clankie.host.credentials import origin_of
from clankie.host.waiting import to_the_end

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
    return await to_the_end(_patch(house, change, expected_revision))


def _check(before: Settings, after: Settings) -> None:
    """What needs more than bounds; only what changes is looked at.

    Raises:
        InvalidFieldError: names the path and the rule.
    """
    models = after.models
    if models.base_url != before.models.base_url and models.base_url.strip():
        try:
            origin_of(models.base_url.strip())
        except InvalidFieldError as error:
            raise InvalidFieldError("models.base_url", error.rule) from error
    if models.model != before.models.model and not models.model.isprintable():
        raise InvalidFieldError("models.model", "printable characters")
    if after.time.zone != before.time.zone:
        try:
            ZoneInfo(after.time.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise InvalidFieldError("time.zone", "a time zone that exists here") from error


async def _patch(
    house: House, change: Mapping[str, object], expected_revision: int
) -> tuple[int, Settings]:
    # From disk: an earlier change of which nobody could tell may stand there.
    found, before = await house.store.owner.settings()
    after = merge(before, change)
    _check(before, after)
    if found != expected_revision:
        raise SettingsConflictError(found)
    try:
        revision = await house.store.owner.save_settings(after, expected_revision)
    except UncertainError:
        stands, tree = await house.store.owner.settings()
        house.use_settings(tree, stands)
        raise
    house.use_settings(after, revision)
    if after.mcp != before.mcp:
        house.mcp.settings_changed()
    if after.models != before.models:
        # A held wake waits for exactly such a change.
        await wakes.release(house)
    return revision, after
