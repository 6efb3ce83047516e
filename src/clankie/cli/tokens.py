"""`clankie token`: the operator's own, and those made for devices, workers and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clankie.cli import places
from clankie.cli.client import items, segment
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import NEVER_RAN, part

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_context
def token(ctx: click.Context, *, as_json: bool) -> None:
    """Print the operator's token, or make, list and revoke others.

    Whoever has it may do everything. Prefer a token of its own for each device.
    """
    if ctx.invoked_subcommand is not None:
        return
    frame = Frame(as_json=as_json)
    try:
        secret = _operator()
    except CommandError as error:
        frame.failed(error)
        ctx.exit(1)
    frame.emit({"token": secret}, lambda: secret)


def _operator() -> str:
    try:
        secret = places.operator_token()
    except OSError as error:
        raise CommandError(str(error), code="token_unreadable") from error
    if not secret:
        raise CommandError(NEVER_RAN, code="service_not_running")
    return secret


@token.command()
@click.argument("label")
@click.option(
    "--for",
    "principal",
    type=click.Choice(["device", "worker", "metrics", "seat"]),
    metavar="[device|worker|metrics]",  # the service says where a seat gets its own
    default="device",
    show_default=True,
    help="What it may do.",
)
@framed
def new(frame: Frame, label: str, principal: str) -> None:
    """Make a token called LABEL. It is shown once."""
    answer = frame.client.post("/v1/tokens", {"principal": principal, "label": label})
    frame.progress("It is shown only this once; keep it safe.")
    frame.emit(answer, lambda: str(answer.get("secret", answer.get("token"))))


@token.command("list")
@framed
def list_(frame: Frame) -> None:
    """List tokens; not their secrets."""
    answer = frame.client.get("/v1/tokens")
    frame.emit(answer, lambda: _table(items(answer, "tokens")))


def _table(found: list[Json]) -> RenderableType:
    from clankie.cli.look import local_time, safe, table  # noqa: PLC0415 - only for people

    if not found:
        return safe("None was made. Make one with `clankie token new LABEL`.", "quiet")
    made = table("label", "for", "made", "state", "id")
    for one in found:
        revoked = bool(one.get("revoked"))
        made.add_row(
            safe(one["label"], "strong"),
            safe(_principal(one)),
            local_time(one.get("created_at"), date=True),
            safe("revoked" if revoked else "works", "quiet" if revoked else "good"),
            safe(one["id"], "quiet"),
        )
    return made


def _principal(one: Json) -> str:
    return str(part(one, "principal").get("principal", one.get("principal")))


@token.command()
@click.argument("token_id", metavar="ID")
@framed
def revoke(frame: Frame, token_id: str) -> None:
    """Make the token ID worthless; its open streams end."""
    frame.done(frame.client.delete(f"/v1/tokens/{segment(token_id)}"), f"{token_id} is revoked.")
