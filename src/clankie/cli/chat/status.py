"""The part of the screen that moves: the answer being written, what waits, and the status line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from clankie.cli.chat.driver import name_of, seat_of, words
from clankie.cli.chat.marks import BLANK, BODY, Line, said
from clankie.cli.clean import line, plain

if TYPE_CHECKING:
    from clankie.cli.chat.desk import Desk

SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
WAITING_SHOWN: Final = 3


def live(desk: Desk, seconds: int, frame: int) -> list[Line]:
    """What stands between the scrollback and the input."""
    lines = _draft(desk)
    doing = _doing(desk, seconds, frame)
    if doing is not None:
        lines += [BLANK, doing]
    return [*lines, *_queue(desk)]


def _draft(desk: Desk) -> list[Line]:
    draft = desk.story.draft
    if draft is None or not draft.rest.strip():
        return []
    head = [] if draft.shown else desk.story.heading(draft)
    return [*head, *(said("", part, BODY) for part in plain(draft.rest).split("\n"))]


def _doing(desk: Desk, seconds: int, frame: int) -> Line | None:
    turn = SPINNER[frame % len(SPINNER)]
    if not desk.connected:
        return Line(
            (("warn", f"{turn} "), ("", "reconnecting"), ("quiet", "  what you type is kept"))
        )
    running = [one for one in desk.story.waiting.values() if one.state == "running"]
    if not running:
        return None
    tool = next((one.tool for one in running if one.tool), "")
    seat = name_of(desk.conversation)
    does = f"is running {tool}" if tool else "works on it" if seat else _phase(desk)
    told = ("quiet", f"{seat or desk.story.name} {does}  {seconds} s  Ctrl-C stops it")
    return Line((("accent", f"{turn} "), told))


def _phase(desk: Desk) -> str:
    draft = desk.story.draft
    if draft is None:
        return "is thinking"
    return "is finishing" if draft.over else "is writing"


def _queue(desk: Desk) -> list[Line]:
    lines: list[Line] = []
    seat = name_of(desk.conversation)
    state = f"waits at {seat}" if seat else "queued"
    queued = [one.words for one in desk.story.waiting.values() if one.state == "queued"]
    lines += [_small(state, text) for text in queued[:WAITING_SHOWN]]
    for out in list(desk.outbox.waiting)[:WAITING_SHOWN]:
        trying = f"not stored yet ({line(out.failing, 40)}), trying again; Ctrl-C takes it back"
        lines.append(_small(trying if out.failing else "sending", line(out.send.text, 48)))
    more = len(queued) + len(desk.outbox.waiting) - len(lines)
    return [*lines, said("quiet", f"and {more} more", BODY)] if more > 0 else lines


def _small(state: str, text: str) -> Line:
    return Line((("quiet", f"{state}: "), ("", f"“{text}”" if text else "a message")), BODY)


def status(desk: Desk, hint: str, width: int) -> Text:
    """One row: where we are at the left, who drives or answers at the right."""
    left = Text.assemble(
        (" ", ""),
        (line(str(desk.conversation.get("name", "")), 40), "strong"),
        (f"  {_facts(desk)}", "quiet"),
    )
    if hint:
        left = Text.assemble((" ", ""), (hint, "warn"))
    right = Text.assemble((_who(desk), "quiet"), ("  /help ", "quiet"))
    room = width - cell_len(left.plain) - cell_len(right.plain)
    if room < 1:
        left.truncate(width - 1, overflow="ellipsis")
        return left
    return Text.assemble(left, " " * room, right)


def _who(desk: Desk) -> str:
    seat = seat_of(desk.conversation)
    return line(desk.model, 40) if seat is None else words(seat, desk.clock.now())


def _facts(desk: Desk) -> str:
    facts: list[str] = []
    if desk.story.tokens:
        cost = f"  ${desk.story.cost:.4f}" if desk.story.cost else ""
        facts.append(f"{desk.story.tokens:,} tokens{cost}")
    doubts = len(set(desk.story.uncertain) - desk.story.closed)
    if doubts:
        facts.append(f"{doubts} uncertain")
    return "  ".join(facts)
