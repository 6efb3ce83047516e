"""`clankie serve` runs the service; `clankie up` starts one if there is none, and opens it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from clankie.cli import answering, browser, child, talk
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import find

if TYPE_CHECKING:
    from collections.abc import Callable


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
@click.option("--terminal", is_flag=True, help="Talk here, and open no browser.")
@framed
def up(frame: Frame, conversation: str, *, terminal: bool) -> None:
    """Start Clankie and open the web console. Where it runs already, only open it.

    It runs until Ctrl-C. Without a browser the chat opens here; without a terminal it prints where
    Clankie is, with a code to log in, and runs until SIGTERM.
    """
    person = talk.at_terminal() and not frame.as_json
    how = _how(person=person, browse=not terminal and not frame.as_json and browser.usable())
    if child.answering(frame.url):
        how(frame, conversation, child.ready_line())
        return
    if frame.url is not None:
        raise CommandError(f"Nobody answers at {frame.url}.", code="service_not_running")
    frame.progress("Starting ...")
    meanwhile = _import if how is _chat else _nothing
    with child.started(quiet=person, meanwhile=meanwhile) as (process, ready):
        how(frame, conversation, ready)
        if how is _chat:
            frame.progress("Stopping; an answer that is being written gets a few seconds ...")
        else:
            child.until_told(process)
            browser.remove_page()
    if person:
        frame.out.print("Stopped. Everything is kept; come back with `clankie up`.")


def _how(*, person: bool, browse: bool) -> Callable[[Frame, str, dict[str, object]], None]:
    if browse:
        return _console
    return _chat if person else _say_where


def _import() -> None:
    """The chat's libraries take as long to load as the service to start."""
    import_module("clankie.cli.chat.session")


def _nothing() -> None:
    """There is nothing else to do while it starts."""


def _chat(frame: Frame, conversation: str, ready: dict[str, object]) -> None:
    from clankie.cli.chat.session import run  # noqa: PLC0415 - the terminal library is heavy

    del ready  # it is talked to over its socket
    answering.introduce(frame, ask=True)
    run(find(frame.url), conversation)


def _console(frame: Frame, conversation: str, ready: dict[str, object]) -> None:
    del conversation  # the page remembers where somebody was
    answering.introduce(frame, ask=talk.at_terminal())
    url = str(frame.url or ready.get("url"))
    opened = browser.open_console(frame.client, url)
    said = "The console opens in your browser." if opened else "No browser could be started."
    frame.emit(ready, lambda: f"{said} Its address: {_way_in(frame, url)}")
    sys.stdout.flush()


def _way_in(frame: Frame, url: str) -> str:
    """The address to type and the code that opens it, apart: a code never stands in an address."""
    return f"{url}/login, with the code {browser.code(frame.client)} within a minute."


def _say_where(frame: Frame, conversation: str, ready: dict[str, object]) -> None:
    del conversation
    url = str(frame.url or ready.get("url"))

    def words() -> str:
        talked = f"Clankie answers at {url}. Talk to it with `clankie chat`."
        return f"{talked}\nThe console: {_way_in(frame, url)}"

    frame.emit(ready, words)
    sys.stdout.flush()
