"""`clankie usage`: what the models were asked, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clankie.cli.client import items
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import part

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.command()
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True)
@framed
def usage(frame: Frame, days: int) -> None:
    """Show tokens and cost of the last days (UTC)."""
    answer = frame.client.get("/v1/usage", days=days)
    frame.emit(answer, lambda: _shown(answer))


def _shown(answer: Json) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only for people

    from clankie.cli.look import safe, table  # noqa: PLC0415 - only for people

    made = table("day", "in>", "out>", "requests>", "cost>")
    for one in items(answer, "days"):
        made.add_row(
            str(one["day"]),
            str(one["input_tokens"]),
            str(one["output_tokens"]),
            str(one["requests"]),
            money(one.get("cost_usd")),
        )
    today = part(answer, "today")
    tokens = int(today.get("input_tokens") or 0) + int(today.get("output_tokens") or 0)
    limit = safe(f"today: {tokens} of {answer['daily_tokens']} tokens a day", "quiet")
    return Group(made, limit)


def money(cost: Any) -> str:  # noqa: ANN401 - JSON
    """Dollars; a dash where no price is known."""
    return "-" if cost is None else f"${float(cost):.4f}"
