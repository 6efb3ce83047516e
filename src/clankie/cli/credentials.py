"""`clankie credentials`: secrets of model servers, from a hidden prompt or standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from clankie.cli.client import items, segment
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.group()
def credentials() -> None:
    """Credentials: secrets of model servers, never shown again."""


@credentials.command("set")
@click.argument("name")
@click.option("--origin", required=True, metavar="URL", help="The only server it is ever sent to.")
@framed
def set_(frame: Frame, name: str, origin: str) -> None:
    """Keep a secret as NAME; type it at the prompt, or pipe it in."""
    secret = _secret(name)
    body = {"origin": origin, "secret": secret}
    answer = frame.client.put(f"/v1/credentials/{segment(name)}", body)
    frame.done(answer, f"{name} is kept, and sent to {answer.get('origin', origin)} only.")


def _secret(name: str) -> str:
    if sys.stdin.isatty():
        given = click.prompt(f"Secret for {name} (not shown)", hide_input=True, err=True, type=str)
    else:
        given = sys.stdin.readline()
    secret = str(given).strip()
    if not secret:
        raise CommandError("No secret was given, so nothing was changed.", code="invalid_field")
    return secret


@credentials.command("list")
@framed
def list_(frame: Frame) -> None:
    """List names and the servers they belong to; no secrets."""
    answer = frame.client.get("/v1/credentials")
    frame.emit(answer, lambda: _table(items(answer, "credentials")))


def _table(found: list[Json]) -> RenderableType:
    from clankie.cli.look import safe, table  # noqa: PLC0415 - only for people

    if not found:
        return safe(
            "None is kept. Add one with `clankie credentials set NAME --origin URL`.", "quiet"
        )
    made = table("name", "sent to", "kept in")
    for one in found:
        made.add_row(
            safe(one["name"], "strong"), safe(one["origin"]), safe(one.get("source", ""), "quiet")
        )
    return made


@credentials.command()
@click.argument("name")
@framed
def remove(frame: Frame, name: str) -> None:
    """Forget the secret NAME."""
    frame.done(frame.client.delete(f"/v1/credentials/{segment(name)}"), f"{name} is forgotten.")
