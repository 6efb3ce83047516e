"""`clankie serve` runs the service; `clankie up` starts one if there is none, and opens a chat."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from clankie.cli import child, talk
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import find


@click.command()
def serve() -> None:
    """Run the service in the foreground, until SIGTERM or Ctrl-C.

    When it is ready it prints one line of JSON. Where to listen is read from CLANKIE_HOST and
    CLANKIE_PORT; all state is in CLANKIE_HOME (~/.clankie).
    """
    from clankie.core.errors import ClankieError  # noqa: PLC0415 - the whole service comes with it
    from clankie.wiring.config import from_environment  # noqa: PLC0415 - as above
    from clankie.wiring.service import serve as run  # noqa: PLC0415 - as above

    try:
        config = from_environment()
    except ClankieError as error:
        sys.stderr.write(f"clankie: {error.detail}\n")
        sys.exit(1)
    sys.exit(run(config))


@click.command()
@click.option("--conversation", default="global-default", metavar="NAME|ID", help="Open this one.")
@framed
def up(frame: Frame, conversation: str) -> None:
    """Start Clankie and open the chat. Where it runs already, only open the chat.

    Without a terminal it prints where Clankie is and runs until SIGTERM.
    """
    person = talk.at_terminal() and not frame.as_json
    if child.answering(frame.url):
        if person:
            _chat(frame, conversation)
        else:
            _say_where(frame, child.ready_line())
        return
    if frame.url is not None:
        raise CommandError(f"Nobody answers at {frame.url}.", code="service_not_running")
    frame.progress("Starting ...")
    with child.started(quiet=person, meanwhile=_import if person else _nothing) as (process, ready):
        if not person:
            _say_where(frame, ready)
            child.until_told(process)
            return
        _chat(frame, conversation)
        frame.progress("Stopping; an answer that is being written gets a few seconds ...")
    frame.out.print("Stopped. Everything is kept; come back with `clankie up`.")


def _import() -> None:
    """The chat's libraries take as long to load as the service to start."""
    import_module("clankie.cli.chat.session")


def _nothing() -> None:
    """There is nothing else to do while it starts."""


def _chat(frame: Frame, conversation: str) -> None:
    from clankie.cli.chat.session import run  # noqa: PLC0415 - the terminal library is heavy

    run(find(frame.url), conversation)


def _say_where(frame: Frame, ready: dict[str, object]) -> None:
    frame.emit(
        ready, lambda: f"Clankie answers at {ready.get('url')}. Talk to it with `clankie chat`."
    )
    sys.stdout.flush()
