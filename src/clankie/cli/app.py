"""The tree of commands. A group is imported when it is used, so that `--help` stays quick."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import click

from clankie import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import TextIOWrapper

SECTIONS: Final = (
    (
        "Talk",
        (
            ("up", "service", "Start Clankie and open its console."),
            ("chat", "talk", "Open a conversation in the terminal."),
            ("send", "send", "Send one message, and wait for the answer if you like."),
        ),
    ),
    (
        "Look and change",
        (
            (
                "conversations",
                "conversations",
                "Make, read, search, export, close and delete them.",
            ),
            ("deliveries", "deliveries", "What became of each message."),
            ("goal", "goals", "What a conversation works on by itself."),
            ("wakes", "wakes", "Reminders that the agent has set."),
            ("seat", "seat", "Coding harnesses that drive a conversation."),
            ("usage", "usage", "What the models were asked, and what it cost."),
            ("settings", "settings", "Read and change settings."),
            ("credentials", "credentials", "Secrets of model servers; never shown again."),
            ("token", "tokens", "Who may talk to the service."),
            ("status", "status", "What it is doing now."),
        ),
    ),
    (
        "Run and care",
        (
            ("serve", "service", "Run the service in the foreground."),
            ("service", "autostart", "Start with the computer, or stop doing so."),
            ("logs", "logs", "What the service wrote about itself."),
            ("doctor", "doctor", "What is wrong here, and how to mend it."),
            ("backup", "backups", "Write everything into one file."),
            ("restore", "backups", "Bring a backup back; the service must be stopped."),
            ("prompt", "status", "Print what a harness reads at the start of a session."),
            ("seat-sync", "seat", "Send what a harness wrote; its hooks call it."),
            ("bridge", "bridge", "Serve Clankie's tools to a harness; it starts this itself."),
            ("version", "status", "Print the version."),
        ),
    ),
)
_ROOMS: Final = {name: room for _, commands in SECTIONS for name, room, _ in commands}


class Tree(click.Group):
    """Loads a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        del ctx
        return list(_ROOMS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in _ROOMS:
            return None
        del ctx
        module = import_module(f"clankie.cli.{_ROOMS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections above; nothing is imported for it."""
        del ctx
        for title, commands in SECTIONS:
            with formatter.section(title):
                formatter.write_dl([(f"{name:<13}", words) for name, _, words in commands])


@click.command(cls=Tree, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="clankie %(version)s")
def clankie() -> None:
    """Clankie: a persistent agent. What you send is stored first, and never run twice.

    New here? Run `clankie up`.
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter gets a question mark, not a traceback.
        cast("TextIOWrapper", stream).reconfigure(errors="replace")
    try:
        clankie.main(args=list(arguments), prog_name="clankie", standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
