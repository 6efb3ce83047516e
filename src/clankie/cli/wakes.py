"""`clankie wakes`: reminders that the agent has set for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clankie.cli import reads
from clankie.cli.client import items, segment
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import part

if TYPE_CHECKING:
    from datetime import tzinfo

    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.group()
def wakes() -> None:
    """Wakes: reminders that the agent has set."""


@wakes.command("list")
@click.option("--conversation", metavar="NAME|ID", help="Only of this conversation.")
@framed
def list_(frame: Frame, conversation: str | None) -> None:
    """List wakes that wait, and failed ones that are held."""
    target = None if conversation is None else reads.conversation(frame.client, conversation)["id"]
    page = frame.client.get("/v1/wakes", conversation=target)
    frame.emit(page, lambda: _table(items(page, "wakes"), _zone(frame)))


def _zone(frame: Frame) -> tzinfo | None:
    """Where the owner lives, as the settings say; None: where this machine is."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - only for people

    times = part(part(frame.client.get("/v1/settings"), "settings"), "time")
    name = str(times.get("zone") or "UTC")
    try:
        return None if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        # A machine without that zone in its data shows its own time.
        return None


def _table(found: list[Json], zone: tzinfo | None) -> RenderableType:
    from clankie.cli.look import local_time, safe, table  # noqa: PLC0415 - only for people

    if not found:
        return safe("No wake waits.", "quiet")
    due = "due" if zone is None else f"due ({zone})"
    made = table(due, "id", "conversation", "held", "text")
    for one in found:
        made.add_row(
            local_time(one["due_at"], date=True, zone=zone),
            safe(one["id"]),
            safe(one["conversation"], "quiet"),
            safe(one.get("held") or "", "warn"),
            safe(one["text"], limit=120),
        )
    return made


@wakes.command()
@click.argument("wake")
@framed
def remove(frame: Frame, wake: str) -> None:
    """Forget a WAKE that waits."""
    frame.done(frame.client.delete(f"/v1/wakes/{segment(wake)}"), f"{wake} is removed.")


@wakes.command()
@click.argument("wake", required=False)
@click.option("--conversation", metavar="NAME|ID", help="All that are held in this conversation.")
@framed
def release(frame: Frame, wake: str | None, conversation: str | None) -> None:
    """Let a held WAKE run again, with the others held in its conversation; without one, all."""
    if wake is not None and conversation is not None:
        raise click.UsageError("Give a wake or a conversation, not both.")
    path, body = "/v1/wakes/release", {}
    if wake is not None:
        path = f"/v1/wakes/{segment(wake)}/release"
    elif conversation is not None:
        body = {"conversation": str(reads.conversation(frame.client, conversation)["id"])}
    answer = frame.client.post(path, body)
    frame.done(answer, f"Released: {answer.get('released', 0)}.")
