"""Telling lists that a conversation's driver changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clankie.host.house import House


def driver_changed(house: House, conversation: str) -> None:
    """Something about it changed that no commit tells: who drives it, by the passing of time."""
    house.feed.published((), frozenset({conversation}))
