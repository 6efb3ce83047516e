"""`clankie goal`: the objective that a conversation pursues by itself, within a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clankie.cli import reads
from clankie.cli.client import segment
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import part

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json

BUDGET = 100_000


@click.group()
def goal() -> None:
    """Goals: what a conversation works on by itself, step by step."""


def _path(frame: Frame, conversation: str) -> str:
    found = reads.conversation(frame.client, conversation)
    return f"/v1/conversations/{segment(str(found['id']))}/goal"


@goal.command()
@click.argument("conversation", default="global-default")
@framed
def show(frame: Frame, conversation: str) -> None:
    """Show the goal of CONVERSATION, and what became of it."""
    answer = frame.client.get(_path(frame, conversation))
    frame.emit(answer, lambda: _shown(part(answer, "goal")))


@goal.command("set")
@click.argument("conversation")
@click.argument("text")
@click.option(
    "--tokens", type=click.IntRange(1), default=BUDGET, show_default=True, help="What it may cost."
)
@framed
def set_(frame: Frame, conversation: str, text: str, tokens: int) -> None:
    """Let CONVERSATION work on TEXT until it is done or its tokens are spent."""
    answer = frame.client.put(_path(frame, conversation), {"text": text, "token_budget": tokens})
    frame.done(answer, f"It works on it now, with at most {tokens} tokens.")


@goal.command()
@click.argument("conversation")
@framed
def remove(frame: Frame, conversation: str) -> None:
    """Forget the goal of CONVERSATION; a step that runs goes on to its end."""
    frame.done(frame.client.delete(_path(frame, conversation)), "There is no goal any more.")


def _shown(found: Json) -> RenderableType:
    from clankie.cli.look import pairs, safe  # noqa: PLC0415 - only for people

    if not found:
        return safe("There is no goal. Set one with `clankie goal set CONVERSATION TEXT`.", "quiet")
    reason = f" ({found['reason']})" if found.get("reason") else ""
    return pairs(
        [
            ("goal", safe(found["text"], limit=4_000)),
            ("state", safe(f"{found['state']}{reason}")),
            ("steps", str(found["step"])),
            ("tokens", f"{found['spent']} of {found['token_budget']}"),
        ]
    )
