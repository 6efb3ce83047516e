"""`clankie chat`: a conversation in the terminal."""

from __future__ import annotations

import sys

import click

from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed


def at_terminal() -> bool:
    """Whether a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@click.command()
@click.argument("conversation", default="global-default")
@framed
def chat(frame: Frame, conversation: str) -> None:
    """Open CONVERSATION (a name or an id) in the terminal; without one, the main conversation."""
    if frame.as_json or not at_terminal():
        raise CommandError(
            "The chat needs a terminal. A script uses `clankie send CONVERSATION TEXT --wait`.",
            code="no_terminal",
        )
    from clankie.cli.chat.session import run  # noqa: PLC0415 - the terminal library is heavy

    run(frame.client.address, conversation)
