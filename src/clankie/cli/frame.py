"""What every command has in common: its options, its two kinds of output, its exit code."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from clankie.cli.client import Client
from clankie.cli.failures import CommandError
from clankie.cli.wire import Json, find

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, RenderableType

P = ParamSpec("P")


@dataclass(kw_only=True)
class Frame:
    """The invocation: whether a program reads it, and where the service is."""

    as_json: bool = False
    url: str | None = None
    _made: dict[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def client(self) -> Client:
        """Speaks to the service. Raises CommandError when there is no token."""
        return Client(find(self.url))

    @cached_property
    def out(self) -> Console:
        """Standard output, for people."""
        from clankie.cli.look import console  # noqa: PLC0415 - rich is not paid for by --json

        return console()

    @cached_property
    def err(self) -> Console:
        """Standard error, for progress and refusals."""
        from clankie.cli.look import console  # noqa: PLC0415 - rich is not paid for by --json

        return console(sys.stderr)

    def emit(self, data: Json, human: Callable[[], RenderableType | None]) -> None:
        """Print `data` for a program, or what `human` makes for a person."""
        if self.as_json:
            sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=None) + "\n")
            return
        shown = human()
        if shown is None:
            return
        if self.out.is_terminal:
            self.out.print(shown)
            return
        from rich.console import Group  # noqa: PLC0415 - rich is not paid for by --json
        from rich.table import Table  # noqa: PLC0415 - as above

        # A pipe gets whole lines, and none of the blanks that align a table.
        with self.out.capture() as paper:
            self.out.print(shown, soft_wrap=not isinstance(shown, Table | Group))
        sys.stdout.writelines(f"{row.rstrip()}\n" for row in paper.get().splitlines())

    def done(self, data: Json, sentence: str) -> None:
        """Something was done: ``✓ sentence``."""
        from clankie.cli.look import marked  # noqa: PLC0415 - rich is not paid for by --json

        self.emit(data, lambda: marked("✓", sentence, "good"))

    def progress(self, sentence: str) -> None:
        """A line on standard error, for people only."""
        if not self.as_json:
            from clankie.cli.look import safe  # noqa: PLC0415 - rich is not paid for by --json

            self.err.print(safe(sentence, "quiet"))

    def failed(self, error: CommandError) -> None:
        """Say what was refused or failed."""
        if self.as_json:
            sys.stdout.write(json.dumps(error.to_json(), ensure_ascii=False) + "\n")
            return
        from clankie.cli.look import refusal  # noqa: PLC0415 - rich is not paid for by --json

        with suppress(
            OSError
        ):  # a terminal that is gone cannot be told; the exit code still says it
            self.err.print(refusal(error.detail, error.code), soft_wrap=not self.err.is_terminal)


def framed(function: Callable[Concatenate[Frame, P], None]) -> Callable[..., None]:
    """Give a command `--json` and `--url`, its Frame, and exit code 1 for a CommandError."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
    @click.option("--url", metavar="URL", help="Use TCP; the token is read from CLANKIE_TOKEN.")
    @wraps(function)
    def run(*args: Any, as_json: bool, url: str | None, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        frame = Frame(as_json=as_json, url=url)
        try:
            function(frame, *args, **kwargs)
        except CommandError as error:
            frame.failed(error)
            click.get_current_context().exit(1)

    return run
