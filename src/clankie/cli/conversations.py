"""`clankie conversations`: list, make, rename, reset, close, and read what was said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clankie.cli import reads
from clankie.cli.clean import line
from clankie.cli.client import items, new_delivery_id, segment
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import part

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json

EXPORT_PAGE = 500
SHOWN = 40
"""Events that `show` prints when nobody says how many."""


@click.group()
def conversations() -> None:
    """Conversations: list, make, rename, reset, close and read them."""


def _path(conversation: Json, *more: str) -> str:
    return "/".join(["/v1/conversations", segment(str(conversation["id"])), *more])


@conversations.command("list")
@click.option(
    "--state", type=click.Choice(["open", "closed", "all"]), default="open", show_default=True
)
@framed
def list_(frame: Frame, state: str) -> None:
    """List conversations."""
    found = reads.conversations(frame.client, state)
    frame.emit({"conversations": found}, lambda: _table(found))


def _table(found: list[Json]) -> RenderableType:
    from clankie.cli.look import safe, state_text, table  # noqa: PLC0415 - only for people

    made = table("name", "state", "events>", "uncertain>", "id")
    for one in found:
        uncertain = int(one.get("uncertain") or 0)
        made.add_row(
            safe(one["name"], "strong"),
            state_text(str(one["state"])),
            str(one["cursor"]),
            safe(uncertain or "", "warn"),
            safe(one["id"], "quiet"),
        )
    return made


@conversations.command()
@click.argument("name")
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="Make it a workspace conversation of this directory.",
)
@framed
def new(frame: Frame, name: str, directory: Path | None) -> None:
    """Make a conversation called NAME."""
    body: Json = {"request_id": new_delivery_id(), "name": name, "kind": "global"}
    if directory is not None:
        body |= {"kind": "workspace", "directory": str(directory)}
    made = frame.client.insist("/v1/conversations", body)
    frame.done(
        made, f"Made {made['name']} ({made['id']}). Open it with `clankie chat {made['id']}`."
    )


@conversations.command()
@click.argument("conversation")
@click.argument("name")
@framed
def rename(frame: Frame, conversation: str, name: str) -> None:
    """Give CONVERSATION another NAME."""
    found = reads.conversation(frame.client, conversation)
    change = {"name": name, "expected_revision": found["revision"]}
    frame.done(frame.client.patch(_path(found), change), f"{found['name']} is now called {name}.")


@conversations.command()
@click.argument("conversation")
@framed
def reset(frame: Frame, conversation: str) -> None:
    """Begin afresh in CONVERSATION: the log stays, the agent no longer reads it."""
    found = reads.conversation(frame.client, conversation)
    answer = frame.client.post(_path(found, "reset"), {"expected_revision": found["revision"]})
    words = f"{found['name']} begins afresh. What was said before can still be read."
    frame.done(answer, f"{words} {reads.AFRESH}" if _seated(frame, found) else words)


def _seated(frame: Frame, conversation: Json) -> bool:
    seats = items(frame.client.get("/v1/seats"), "seats")
    return any(one.get("conversation") == conversation["id"] for one in seats)


@conversations.command()
@click.argument("conversation")
@framed
def close(frame: Frame, conversation: str) -> None:
    """Close CONVERSATION: what waits is not sent, the log can still be read."""
    found = reads.conversation(frame.client, conversation)
    frame.done(frame.client.delete(_path(found)), f"{found['name']} is closed.")


@conversations.command()
@click.argument("conversation")
@click.option("--last", type=click.IntRange(1, 500), default=SHOWN, show_default=True, metavar="N")
@framed
def show(frame: Frame, conversation: str, last: int) -> None:
    """Show CONVERSATION and its last events as people read them."""
    found = reads.conversation(frame.client, conversation)
    page = frame.client.get(_path(found, "events"), before=found["cursor"] + 1, limit=last)
    events = items(page, "events")
    frame.emit({"conversation": found, "events": events}, lambda: _story(frame, found, events))


def _story(frame: Frame, found: Json, events: list[Json]) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only for people

    from clankie.cli.chat.paint import rows  # noqa: PLC0415 - only for people
    from clankie.cli.chat.story import Story  # noqa: PLC0415 - only for people
    from clankie.cli.look import pairs, state_text  # noqa: PLC0415 - only for people

    facts = pairs(
        [
            ("name", str(found["name"])),
            ("id", str(found["id"])),
            ("kind", str(found["kind"])),
            ("state", state_text(str(found["state"]))),
            ("driver", str(part(found, "driver").get("kind", ""))),
            ("revision", str(found["revision"])),
            ("events", str(found["cursor"])),
            *([("directory", str(found["directory"]))] if found.get("directory") else []),
        ]
    )
    story = Story()
    lines = [line for event in events for line in story.event(event)]
    return Group(facts, *rows(lines, frame.out.width))


@conversations.command()
@click.argument("conversation")
@click.option("--after", type=click.IntRange(0), metavar="CURSOR", help="Only what came after it.")
@click.option(
    "--before", type=click.IntRange(1), metavar="CURSOR", help="Page backwards from here."
)
@click.option("--limit", type=click.IntRange(1, 500), default=100, show_default=True)
@click.option("--wait", type=click.FloatRange(0, 30), help="Seconds to wait for something new.")
@framed
def events(
    frame: Frame,
    conversation: str,
    after: int | None,
    before: int | None,
    limit: int,
    wait: float | None,
) -> None:
    """Read the log of CONVERSATION, a page at a time, one line an event."""
    found = reads.conversation(frame.client, conversation)
    page = frame.client.get(
        _path(found, "events"), timeout=60, after=after, before=before, limit=limit, wait=wait
    )
    frame.emit(page, lambda: _log(page))


def _log(page: Json) -> RenderableType:
    from clankie.cli.look import local_time, safe, table  # noqa: PLC0415 - only for people

    made = table("cursor>", "at", "who", "what", "text")
    for one in items(page, "events"):
        what = " ".join(str(one[key]) for key in ("kind", "role", "name", "phase") if one.get(key))
        text = next((one[key] for key in ("text", "detail", "code") if one.get(key)), "")
        made.add_row(
            str(one["cursor"]),
            local_time(one.get("at"), date=True),
            safe(part(one, "author").get("principal", ""), "quiet"),
            safe(what),
            safe(text, limit=200),
        )
    return made


@conversations.command()
@click.argument("conversation")
@click.argument("words")
@click.option("--before", type=click.IntRange(1), metavar="CURSOR", help="Only what came before.")
@click.option("--limit", type=click.IntRange(1, 100), default=30, show_default=True)
@framed
def search(frame: Frame, conversation: str, words: str, before: int | None, limit: int) -> None:
    """Find what holds all WORDS in CONVERSATION, newest first."""
    found = reads.conversation(frame.client, conversation)
    page = frame.client.get(_path(found, "search"), q=words, before=before, limit=limit)
    frame.emit(page, lambda: _hits(page))


def _hits(page: Json) -> RenderableType:
    from clankie.cli.look import local_time, safe, table  # noqa: PLC0415 - only for people

    made = table("cursor>", "at", "who", "text")
    for one in items(page, "results"):
        made.add_row(
            str(one["cursor"]),
            local_time(one.get("at"), date=True),
            safe(one.get("role") or one.get("kind") or "", "quiet"),
            safe(one["snippet"], limit=200),
        )
    return made if made.row_count else safe("Nothing was found.", "quiet")


@conversations.command()
@click.argument("conversation")
@click.argument("model", required=False)
@framed
def model(frame: Frame, conversation: str, model: str | None) -> None:
    """Let MODEL (provider:name) answer in CONVERSATION; without one, that of the settings."""
    found = reads.conversation(frame.client, conversation)
    change: Json = {"model": model, "expected_revision": found["revision"]}
    answer = frame.client.patch(_path(found), change)
    frame.done(answer, f"{model or 'The model of the settings'} answers in {found['name']}.")


@conversations.command()
@click.argument("conversation")
@click.option("--yes", is_flag=True, help="Do not ask.")
@framed
def purge(frame: Frame, conversation: str, *, yes: bool) -> None:
    """Delete the content of a closed CONVERSATION for good; only its ids stay."""
    found = reads.conversation(frame.client, conversation)
    if not yes:
        click.confirm(f"Delete everything in {line(str(found['name']))}?", abort=True, err=True)
    answer = frame.client.post(_path(found, "purge"))
    frame.done(answer, f"The content of {found['name']} is gone.")


@conversations.command()
@click.argument("conversation")
@framed
def export(frame: Frame, conversation: str) -> None:
    """Write the whole log of CONVERSATION as JSON Lines, one event a line."""
    found = reads.conversation(frame.client, conversation)
    after, more = int(found.get("oldest") or 1) - 1, True
    while more:
        page = frame.client.get(_path(found, "events"), after=after, limit=EXPORT_PAGE)
        for event in items(page, "events"):
            sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
            after = int(event["cursor"])
        more = bool(page.get("has_more"))
