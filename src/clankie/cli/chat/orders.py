"""The slash commands: a table, and one small function each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from clankie.cli.chat.marks import BLANK, BODY, Line, said
from clankie.cli.chat.remote import message, words
from clankie.cli.clean import line, plain
from clankie.cli.client import items, new_delivery_id, segment
from clankie.cli.deliveries import tool_names, tools_of
from clankie.cli.failures import CommandError
from clankie.cli.files import named, upload
from clankie.cli.look import local_time, word
from clankie.cli.reads import AFRESH, repeatable
from clankie.cli.wire import part

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clankie.cli.chat.desk import Desk
    from clankie.cli.wire import Json

MODEL_PARTS: Final = 2
HERE: Final = "▸"


class LeaveError(Exception):
    """The person wants to leave."""


@dataclass(frozen=True, slots=True)
class Order:
    """A slash command: what it takes, and what it does in a few words."""

    name: str
    takes: str
    words: str
    run: Callable[[Desk, str], Awaitable[list[Line]]]


async def obey(desk: Desk, text: str) -> list[Line]:
    """Run the command line `text` (with its slash); what to show.

    Raises:
        LeaveError: it was /quit.
        CommandError: refused, or no such command.
    """
    name, _, rest = text.removeprefix("/").partition(" ")
    order = ORDERS.get(name)
    if order is None:
        raise CommandError(
            f"There is no /{line(name, 40)}. /help lists them; // sends a text with a slash.",
            code="no_such_command",
        )
    return await order.run(desk, rest.strip())


def matching(text: str) -> list[Order]:
    """The commands that what was typed so far may become."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return []
    return [one for name, one in ORDERS.items() if name.startswith(text[1:])]


async def _help(desk: Desk, rest: str) -> list[Line]:
    del desk, rest
    lines = [BLANK]
    for one in ORDERS.values():
        usage = f"/{one.name} {one.takes}".rstrip()
        lines.append(Line((("accent", f"{usage:<22}"), ("", one.words)), BODY))
    keys = "Enter sends · Alt-Enter begins a line · Ctrl-C stops the answer · Ctrl-D leaves"
    return [*lines, BLANK, said("quiet", keys, BODY)]


async def _new(desk: Desk, rest: str) -> list[Line]:
    name = _needed(rest, "/new NAME")
    body: Json = {"request_id": new_delivery_id(), "name": name, "kind": "global"}
    made = await desk.remote.insist("/v1/conversations", body)
    await desk.switch(str(made["id"]))
    return []


async def _switch(desk: Desk, rest: str) -> list[Line]:
    if rest:
        await desk.switch(rest)
        return []
    found = items(await desk.remote.get("/v1/conversations", state="open"), "conversations")
    lines = [BLANK]
    for one in found:
        here = HERE if one["id"] == desk.id else " "
        parts = (
            ("accent", f"{here} "),
            ("", line(str(one["name"]), 60)),
            ("quiet", f"  {word(str(one['state']))}"),
        )
        lines.append(Line(parts, BODY))
    return [*lines, said("quiet", "/switch NAME goes there", BODY)]


async def _reset(desk: Desk, rest: str) -> list[Line]:
    del rest
    answer = await desk.remote.post(desk.path("reset"), {"expected_revision": desk.revision})
    desk.revision = int(answer.get("revision") or desk.revision)
    seats = items(await desk.remote.get("/v1/seats"), "seats")
    seated = any(one.get("conversation") == desk.id for one in seats)
    return [said("quiet", AFRESH, BODY)] if seated else []


async def _rename(desk: Desk, rest: str) -> list[Line]:
    name = _needed(rest, "/rename NAME")
    change: Json = {"name": name, "expected_revision": desk.revision}
    answer = await desk.remote.patch(desk.path(), change)
    desk.revision = int(answer.get("revision") or desk.revision)
    desk.conversation["name"] = name
    return [_done(f"It is called {line(name, 80)} now.")]


async def _model(desk: Desk, rest: str) -> list[Line]:
    if not rest:
        await desk.refresh()
        return [
            _done(
                f"{line(desk.model, 200) or 'unknown'} answers. /model NAME [ADDRESS] changes it."
            )
        ]
    parts = rest.split()
    if len(parts) > MODEL_PARTS:
        raise CommandError(
            "Give a model, and the address of its server if it needs one.", code="usage"
        )
    models: Json = {"model": parts[0]} | (
        {"base_url": parts[1]} if len(parts) == MODEL_PARTS else {}
    )
    before = await desk.remote.get("/v1/settings")
    change: Json = {"models": models, "expected_revision": before["revision"]}
    await desk.remote.patch("/v1/settings", change)
    await desk.refresh()
    return [_done(f"{line(desk.model, 200)} answers from the next message on.")]


async def _attach(desk: Desk, rest: str) -> list[Line]:
    stored = await desk.remote.call(upload(_needed(rest, "/attach FILE")))
    desk.attached.append(named(stored))
    names = ", ".join(line(str(one["name"]), 60) for one in desk.attached)
    return [_done(f"Goes with your next message: {names}.")]


async def _steer(desk: Desk, rest: str) -> list[Line]:
    desk.outbox.submit(_needed(rest, "/steer TEXT"), mode="steer")
    return []


async def _later(desk: Desk, rest: str) -> list[Line]:
    desk.outbox.submit(_needed(rest, "/queue TEXT"), mode="queue")
    return []


async def _uncertain(desk: Desk, rest: str) -> list[Line]:
    del rest
    lines: list[Line] = []
    for delivery in list(desk.story.uncertain):
        receipt = await _receipt(desk, delivery)
        if receipt["state"] == "uncertain":
            lines += desk.story.doubt(delivery, str(receipt.get("detail") or ""))
    return lines or [_done("Nothing here is uncertain.")]


async def _look(desk: Desk, rest: str) -> list[Line]:
    receipt = await _receipt(desk, _numbered(desk, rest, "/look N"))
    text = await words(desk.remote, receipt)
    lines = [
        BLANK,
        Line(
            (("strong", word(str(receipt["state"]))), ("quiet", f"  {line(str(receipt['id']))}")),
            BODY,
        ),
    ]
    lines += [said("quiet", row, BODY + 2) for row in plain(text).split("\n")]
    if receipt.get("detail"):
        lines.append(said("", line(str(receipt["detail"])), BODY))
    for attempt in items(receipt, "attempts"):
        told = f"attempt {attempt['n']}: {attempt['state']}, {_known(attempt)}"
        lines.append(said("quiet", line(told), BODY))
    return lines


def _known(attempt: Json) -> str:
    where = part(attempt, "destination")
    if where.get("kind") != "seat":
        return ", ".join(f"{t['name']} {t['state']}" for t in tools_of(attempt)) or "no tool"
    evidence = part(attempt, "evidence")
    acked = local_time(evidence.get("acknowledged_at")) or "never"
    seat = line(str(where.get("seat") or ""), 60)
    proof = line(str(evidence.get("proof") or "none"), 40)
    return f"at the seat {seat}, acknowledged: {acked}, proof: {proof}"


async def _again(desk: Desk, rest: str) -> list[Line]:
    number, _, sure = rest.partition(" ")
    delivery = _numbered(desk, number, "/again N")
    receipt = await _receipt(desk, delivery)
    tools = tool_names(receipt)
    if tools and sure.strip() != "yes":
        warning = (
            f"A tool had started ({line(', '.join(tools), 120)}): this may repeat what it did."
        )
        return [
            Line((("warn", "! "), ("", warning))),
            said("quiet", f"/again {number} yes sends it", BODY),
        ]
    text = repeatable(await message(desk.remote, receipt))
    desk.outbox.submit(text, retry_of=delivery)
    return [said("quiet", f"· sent again; /close {number} closes the old one as unknown", BODY)]


async def _close(desk: Desk, rest: str) -> list[Line]:
    delivery = _numbered(desk, rest, "/close N")
    await desk.remote.post(f"/v1/deliveries/{segment(delivery)}/settle", {"as": "abandoned"})
    desk.story.closed.add(delivery)
    return [_done(f"“{desk.story.excerpt(delivery)}” is closed as unknown.")]


async def _quit(desk: Desk, rest: str) -> list[Line]:
    del desk, rest
    raise LeaveError


async def _receipt(desk: Desk, delivery: str) -> Json:
    answer = await desk.remote.get(f"/v1/deliveries/{segment(delivery)}")
    found: Json = answer.get("delivery", answer)
    return found


def _numbered(desk: Desk, given: str, usage: str) -> str:
    known = desk.story.uncertain
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= len(known):
        numbers = f"N is 1 to {len(known)}" if known else "nothing here is uncertain"
        raise CommandError(f"{usage}: {numbers}.", code="usage")
    return known[int(given) - 1]


def _needed(rest: str, usage: str) -> str:
    if not rest:
        raise CommandError(f"It needs a word more: {usage}.", code="usage")
    return rest


def _done(sentence: str) -> Line:
    return Line((("good", "✓ "), ("", sentence)))


ORDERS: Final = {
    order.name: order
    for order in (
        Order("help", "", "Show this", _help),
        Order("new", "NAME", "Make a conversation and go there", _new),
        Order("switch", "[NAME]", "List conversations, or go to one", _switch),
        Order("rename", "NAME", "Call this conversation something else", _rename),
        Order("reset", "", "Begin afresh; the log stays", _reset),
        Order("steer", "TEXT", "Say something into the answer being written", _steer),
        Order("queue", "TEXT", "Say something after the turn that runs", _later),
        Order("attach", "FILE", "Send a picture or text file along", _attach),
        Order("model", "[NAME [ADDRESS]]", "Show or change who answers", _model),
        Order("uncertain", "", "Messages whose outcome nobody can know", _uncertain),
        Order("look", "N", "What is known of one of them", _look),
        Order("again", "N", "Send one of them again, as a new message", _again),
        Order("close", "N", "Close one of them as unknown", _close),
        Order("quit", "", "Leave; Ctrl-D does too", _quit),
    )
}
