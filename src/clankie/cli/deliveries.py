"""`clankie deliveries`: what became of each message, and what to do where nobody can know."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Final

import click

from clankie.cli import reads
from clankie.cli.client import Send, items, new_delivery_id, segment
from clankie.cli.failures import CommandError
from clankie.cli.frame import Frame, framed
from clankie.cli.wire import Call, part

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.client import Client
    from clankie.cli.wire import Json

PAGE: Final = 500
DETAIL_INDENT: Final = 18
STATE_WIDTH: Final = 11
STATES: Final = (
    "queued",
    "running",
    "uncertain",
    "settled",
    "failed",
    "absorbed",
    "cancelled",
    "not_sent",
    "abandoned",
)


@click.group()
def deliveries() -> None:
    """Deliveries: what became of each message."""


@deliveries.command("list")
@click.option("--conversation", metavar="NAME|ID", help="Only of this conversation.")
@click.option("--state", type=click.Choice(STATES), help="Only in this state.")
@click.option("--last", type=click.IntRange(1, 500), default=30, show_default=True, metavar="N")
@framed
def list_(frame: Frame, conversation: str | None, state: str | None, last: int) -> None:
    """List the last deliveries, the newest at the end."""
    target = None if conversation is None else reads.conversation(frame.client, conversation)["id"]
    found = list(_newest(frame.client, {"conversation": target, "state": state}, last))
    frame.emit({"deliveries": found}, lambda: _table(found))


def _newest(client: Client, query: dict[str, object], last: int) -> deque[Json]:
    """The service lists them from the oldest on, a page at a time."""
    kept: deque[Json] = deque(maxlen=last)
    after: str | None = None
    while True:
        whole = {**query, "after": after, "limit": PAGE}
        page = client.call(Call(method="GET", path="/v1/deliveries", query=whole))
        found = items(page, "deliveries")
        kept.extend(found)
        if not page.get("has_more") or not found:
            return kept
        after = str(found[-1]["id"])


def _table(found: list[Json]) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only for people
    from rich.padding import Padding  # noqa: PLC0415 - only for people

    from clankie.cli.look import safe  # noqa: PLC0415 - only for people

    if not found:
        return safe("There is none.", "quiet")
    parts: list[RenderableType] = []
    for one in found:
        parts.append(_row(one))
        if one.get("detail"):
            # Below its row: a sentence in a narrow column is a tower of words.
            parts.append(Padding(safe(one["detail"], "quiet", 600), (0, 0, 0, DETAIL_INDENT)))
    return Group(*parts)


def _row(one: Json) -> RenderableType:
    from rich.text import Text  # noqa: PLC0415 - only for people

    from clankie.cli.look import local_time, safe, state_text  # noqa: PLC0415 - only for people

    row = Text(no_wrap=True, overflow="ellipsis")
    row.append(f"{local_time(one['admitted_at'], date=True):<18}", style="quiet")
    state = state_text(str(one["state"]))
    state.pad_right(max(1, STATE_WIDTH - len(state)))
    row.append_text(state)
    return (
        row.append_text(safe(one["id"]))
        .append("  ")
        .append_text(safe(one["conversation"], "quiet"))
    )


@deliveries.command()
@click.argument("delivery")
@framed
def look(frame: Frame, delivery: str) -> None:
    """Show all that is known of DELIVERY: its words, its attempts, its tools."""
    found = reads.receipt(frame.client, delivery)
    text = reads.words(frame.client, found)
    answer = reads.reply(frame.client, found)
    data = {"delivery": found, "text": text, "answer": answer}
    frame.emit(data, lambda: _whole(found, text, answer))


def _whole(found: Json, text: str, answer: str | None) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - only for people
    from rich.padding import Padding  # noqa: PLC0415 - only for people

    from clankie.cli.look import body, pairs, state_text  # noqa: PLC0415 - only for people

    rows = [("id", str(found["id"])), ("conversation", str(found["conversation"]))]
    shown = pairs([*rows, ("state", state_text(str(found["state"]))), *_facts(found)])
    parts: list[RenderableType] = [shown, "", Padding(body(text), (0, 0, 0, 2))]
    if answer is not None:
        parts += ["", Padding(body(answer, "agent"), (0, 0, 0, 2))]
    return Group(*parts)


def _facts(found: Json) -> list[tuple[str, str]]:
    from clankie.cli.look import local_time  # noqa: PLC0415 - only for people

    rows = [("admitted", local_time(found["admitted_at"], date=True))]
    if found.get("settled_at"):
        rows.append(("ended", local_time(found["settled_at"], date=True)))
    told = [name for name in ("code", "detail", "held", "retry_of") if found.get(name)]
    rows += [(name.replace("_", " "), str(found[name])) for name in told]
    for attempt in items(found, "attempts"):
        tools = [f"{tool['name']} ({tool['state']})" for tool in tools_of(attempt)]
        what = f"{attempt['state']}, {attempt['destination']['kind']}"
        rows.append(
            (
                f"attempt {attempt['n']}",
                "; tools: ".join([what, *([", ".join(tools)] * bool(tools))]),
            )
        )
    return rows


def tools_of(attempt: Json) -> list[Json]:
    """The tool calls that an attempt started."""
    return items(part(attempt, "evidence"), "tools")


def tool_names(delivery: Json) -> list[str]:
    """Tools that any attempt at this delivery had started."""
    return [str(t["name"]) for attempt in items(delivery, "attempts") for t in tools_of(attempt)]


@deliveries.command()
@click.argument("delivery")
@click.option("--yes", is_flag=True, help="Do not ask, although a tool had started.")
@click.option(
    "--id", "new_id", metavar="ID", help="The id of the new message, to repeat it safely."
)
@framed
def again(frame: Frame, delivery: str, new_id: str | None, *, yes: bool) -> None:
    """Send the words of DELIVERY again, as a new message."""
    found = reads.receipt(frame.client, delivery)
    tools = tool_names(found)
    if tools and not yes:
        _ask(frame, tools)
    message = Send(
        conversation=str(found["conversation"]),
        text=reads.again(frame.client, found),
        retry_of=str(found["id"]),
        delivery_id=new_id or new_delivery_id(),
    )
    answer = frame.client.admit(message)
    frame.done(answer, f"Sent again as {message.delivery_id}.")


def _ask(frame: Frame, tools: list[str]) -> None:
    warning = f"A tool had started ({', '.join(tools)}): sending again may repeat what it did."
    if frame.as_json or not sys.stdin.isatty():
        raise CommandError(
            f"{warning} Add --yes to send it all the same.", code="tool_started", tools=tools
        )
    if not click.confirm(f"{warning} Send it again?", err=True):
        raise CommandError("Nothing was sent.", code="not_confirmed")


@deliveries.command()
@click.argument("delivery")
@framed
def close(frame: Frame, delivery: str) -> None:
    """Close DELIVERY as unknown: nobody pretends to know how it ended."""
    path = f"/v1/deliveries/{segment(delivery)}/settle"
    frame.done(frame.client.post(path, {"as": "abandoned"}), f"{delivery} is closed as unknown.")


@deliveries.command()
@click.argument("conversation")
@click.option("--delivery", metavar="ID", help="This one; else what runs now.")
@framed
def cancel(frame: Frame, conversation: str, delivery: str | None) -> None:
    """Cancel what runs in CONVERSATION, or one delivery."""
    found = reads.conversation(frame.client, conversation)
    path = f"/v1/conversations/{segment(str(found['id']))}/cancel"
    answer = frame.client.post(path, {} if delivery is None else {"delivery_id": delivery})
    sentences = {
        "cancelled": "Cancelled before it began.",
        "requested": "Asked to stop; how it ended stands in the log.",
        "nothing_to_cancel": "There was nothing to cancel.",
    }
    frame.done(answer, sentences.get(str(answer.get("outcome")), str(answer.get("outcome"))))
