"""`clankie seat`: coding harnesses that drive conversations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from clankie.cli import reads
from clankie.cli.client import items, segment
from clankie.cli.frame import Frame, framed
from clankie.seats.harnesses import NAMES

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json

STATES: Final = {
    "live": ("listens", "good"),
    "holding": ("silent, still waited for", "warn"),
    "absent": ("away", "quiet"),
    "parked": ("usage limit", "warn"),
    "unattached": ("drives nothing", "quiet"),
    "ended": ("has ended", "quiet"),
}


@click.group()
def seat() -> None:
    """Coding harnesses that drive a conversation: open, attach, detach and list them."""


@seat.command("open")
@click.argument("harness", type=click.Choice(NAMES))
@click.option("--conversation", metavar="NAME|ID", help="Drive this one. Default: the head.")
@click.option("--new", is_flag=True, help="Drive a conversation of its own, made now.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[SESSION]",
    help="Go on with a session of the harness; without SESSION the newest of this directory.",
)
@click.option("--headless", is_flag=True, help="Without a terminal of its own.")
@click.option("--replace", metavar="SEAT", help="Take the place of this seat, though it is there.")
@click.option("--trust-hooks", is_flag=True, help="Let the harness run Clankie's hooks.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--detached", is_flag=True, help="Do not go to the terminal of the harness.")
@framed
def open_(frame: Frame, /, **options: Any) -> None:  # noqa: ANN401 - named as `Wanted` names them
    """Start HARNESS in this directory and let it drive a conversation.

    It reads the log first, then hears what you send from elsewhere, and what it says is kept in the
    log. In tmux it gets a window of its own; elsewhere a session of tmux is made and shown.
    """
    from clankie.cli.seat_open import Wanted, opened  # noqa: PLC0415 - only this command pays

    if options["conversation"] and options["new"]:
        raise click.UsageError("Give --conversation or --new, not both.")
    opened(frame, Wanted(directory=str(Path.cwd()), **options))


@seat.command()
@click.argument("seat_id", metavar="SEAT")
@click.argument("conversation")
@click.option("--replace", metavar="SEAT", help="Take the place of this seat.")
@framed
def attach(frame: Frame, seat_id: str, conversation: str, replace: str | None) -> None:
    """Let SEAT drive CONVERSATION. What it drove before goes on without it."""
    found = reads.conversation(frame.client, conversation)
    body: Json = {"conversation": found["id"], "expected": replace}
    answer = frame.client.put(f"/v1/seats/{segment(seat_id)}/attachment", body)
    waits = answer.get("state") == "waiting_for_run"
    later = " when the answer that is being written there is done" if waits else ""
    frame.done(answer, f"{seat_id} drives {found['name']}{later}.")


@seat.command()
@click.argument("seat_id", metavar="SEAT")
@framed
def detach(frame: Frame, seat_id: str) -> None:
    """Let SEAT drive nothing. What it was not given is answered without it."""
    answer = frame.client.delete(f"/v1/seats/{segment(seat_id)}/attachment")
    frame.done(answer, f"{seat_id} drives nothing now.")


@seat.command()
@click.argument("seat_id", metavar="SEAT")
@framed
def retire(frame: Frame, seat_id: str) -> None:
    """End SEAT for good: it is detached, and its token opens nothing any more."""
    answer = frame.client.delete(f"/v1/seats/{segment(seat_id)}")
    frame.done(answer, f"{seat_id} is retired.")


@seat.command("list")
@click.option("--all", "ended", is_flag=True, help="Also those whose harness has ended.")
@framed
def list_(frame: Frame, *, ended: bool) -> None:
    """List seats: what they drive, and whether they listen."""
    answer = frame.client.get("/v1/seats")
    found = [one for one in items(answer, "seats") if ended or one.get("state") != "ended"]
    answer = {**answer, "seats": found}
    names = {str(one["id"]): str(one["name"]) for one in reads.conversations(frame.client)}
    frame.emit(answer, lambda: _table(found, names))


def _table(found: list[Json], names: dict[str, str]) -> RenderableType:
    from clankie.cli.look import local_time, safe, table  # noqa: PLC0415 - only for people

    if not found:
        return safe("No seat is open. Open one with `clankie seat open claude`.", "quiet")
    made = table("harness", "state", "drives", "since", "last asked", "waiting>", "seat")
    for one in found:
        word, style = _state(one)
        until = local_time(one.get("parked_until") or one.get("hold_until"))
        name = names.get(str(one.get("conversation")), str(one.get("conversation") or ""))
        made.add_row(
            safe(one["harness"], "strong"),
            safe(f"{word} until {until}" if until else word, style),
            safe(name),
            local_time(one.get("since"), date=True),
            local_time(one.get("last_ask")),
            str(int(one.get("waiting") or 0) + int(one.get("in_flight") or 0) or ""),
            safe(one["seat"], "quiet"),
        )
    return made


def _state(one: Json) -> tuple[str, str]:
    state = str(one.get("state"))
    if state == "parked" and not one.get("parked_until"):
        # No limit: its session was retired by a reset, or belongs to another conversation.
        return "needs a new session", "warn"
    return STATES.get(state, (state, ""))


@seat.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
def drive(folder: str) -> None:
    """Run the harness of the seat in DIR, and pump beside it. `seat open` starts this."""
    from clankie.cli.seat_drive import driven  # noqa: PLC0415 - only this command pays

    click.get_current_context().exit(driven(folder))


@click.command("seat-sync")
def seat_sync() -> None:
    """Send what a harness wrote since the last time; one of its hooks calls this.

    The hook's JSON is read from standard input. What goes wrong is one line on standard error, and
    the exit code is 0 all the same.
    """
    from clankie.cli.seat_hooks import seat_sync as hook  # noqa: PLC0415 - the quick one

    click.get_current_context().exit(hook([]))
