"""Events in, lines out: what a reader of a conversation sees. No terminal, no clock, no network.

Rule 1: the log is the truth. A draft is shown as it comes; if the stored answer differs from what
        was shown, the stored one is shown whole and the difference is said.
Rule 2: everything from outside is cleaned here, before it becomes a line.
Rule 3: a name stands above the words of everybody; it comes from the author that the host stamped.
Rule 4: a message that waits while another is answered is told when its own turn begins, so that
        questions and answers stand in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from clankie.cli.chat.driver import HANDOFFS, harness, named
from clankie.cli.chat.marks import BLANK, BODY, Line, Markdown, said
from clankie.cli.clean import line, plain
from clankie.cli.client import items
from clankie.cli.look import local_time
from clankie.cli.wire import Json, part

if TYPE_CHECKING:
    from collections.abc import Callable

REMEMBERED: Final = 500
"""How many messages keep their first words, to say what an answer answers."""
EXCERPT: Final = 48
ENDS: Final = frozenset({"completed", "failed", "cancelled", "uncertain"})


@dataclass(slots=True)
class Waiting:
    """A delivery that has not ended: its first words and `queued` or `running`."""

    words: str
    state: str = "queued"
    tool: str = ""
    at: str = ""


@dataclass(slots=True)
class Draft:
    """An answer being written. `shown` is in the scrollback; `rest` is the line being written."""

    delivery: str
    attempt: str
    shown: str = ""
    rest: str = ""
    markdown: Markdown = field(default_factory=Markdown)
    over: bool = False
    again: bool = False
    interrupted: bool = False


@dataclass(slots=True)
class Story:
    """One conversation as it is told. `cursor` is the last event's; `name` is the agent's.

    `mine` are the ids this client sent; `foreign_inputs` counts the owner's other messages.
    `uncertain` keeps its order for the commands' numbers; `closed` are those the owner dealt with.
    `past`: what is told happened before this client came; doubts are announced after it.
    """

    name: str = "Clankie"
    cursor: int = 0
    foreign_inputs: int = 0
    draft: Draft | None = None
    waiting: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    uncertain: list[str] = field(default_factory=list[str])
    closed: set[str] = field(default_factory=set[str])
    mine: set[str] = field(default_factory=set[str])
    ended: set[str] = field(default_factory=set[str])
    past: bool = False
    tokens: int = 0
    cost: float = 0.0
    _words: dict[str, str] = field(default_factory=dict[str, str])
    _later: dict[str, Json] = field(default_factory=dict[str, Json])
    _last: str | None = None

    # ── events of the log ────────────────────────────────────────────────────────────────────────

    def event(self, wire: Json) -> list[Line]:
        """Tell one event. One that was told already, or of an unknown kind, gives no lines."""
        cursor = int(wire.get("cursor") or 0)
        if cursor <= self.cursor:
            return []
        self.cursor = cursor
        tellers: dict[str, Callable[[Json], list[Line]]] = {
            "message": self._message,
            "tool": self._tool,
            "turn": self._turn,
            "notice": self._notice,
            "handoff": _handoff,
            "reset": self._reset,
        }
        teller = tellers.get(str(wire.get("kind")))
        return [] if teller is None else teller(wire)

    def _message(self, wire: Json) -> list[Line]:
        if wire.get("role") == "agent":
            return self._answer(wire)
        delivery = str(wire.get("delivery_id") or "")
        text = str(wire.get("text") or "")
        self._remember(delivery, text)
        if wire.get("role") == "owner" and delivery not in self.mine:
            self.foreign_inputs += 1
        # What was typed in a harness has no turn of its own to wait for.
        if delivery and any(one.state == "running" for one in self.waiting.values()):
            self._later[delivery] = wire
            return []
        return self._told(wire)

    def _told(self, wire: Json) -> list[Line]:
        cut = self._interrupt()
        self._last = str(wire.get("delivery_id") or "")
        text = str(wire.get("text") or "")
        head = _head(_speaker(wire), wire, "owner")
        return [*cut, BLANK, head, *_quoted(text), *_attached(wire)]

    def _due(self, delivery: str) -> list[Line]:
        wire = self._later.pop(delivery, None)
        return [] if wire is None else self._told(wire)

    def _answer(self, wire: Json) -> list[Line]:
        text = str(wire.get("text") or "")
        delivery = str(wire.get("delivery_id") or "")
        draft, self.draft = self.draft, None
        if draft is None or draft.delivery != delivery or not draft.shown:
            return [*self._opening(wire), *_styled(Markdown(), text)]
        rest = _remaining(draft.shown, text)
        if rest is None:
            note = "· The stored answer differs from what was shown. This is the stored one:"
            return [said("quiet", note, BODY), *self._opening(wire), *_styled(Markdown(), text)]
        if not rest.strip():
            return []
        goes_on = [BLANK, Line((("agent", self.name), ("quiet", "  goes on")))]
        return [*(goes_on if draft.interrupted else []), *_styled(draft.markdown, rest)]

    def _opening(self, wire: Json) -> list[Line]:
        delivery = str(wire.get("delivery_id") or "")
        about = ""
        if delivery and delivery != self._last and delivery in self._words:
            about = f"  ↳ {self._words[delivery]}"
        self._last = delivery
        author = part(wire, "author").get("principal")
        speaker = self.name if author in {None, "captain", "system"} else _speaker(wire)
        return [BLANK, _head(speaker, wire, "agent", about)]

    def _tool(self, wire: Json) -> list[Line]:
        delivery = str(wire.get("delivery_id") or "")
        name = line(str(wire.get("name") or "tool"), 60)
        phase = wire.get("phase")
        if delivery in self.waiting:
            self.waiting[delivery].tool = name if phase == "started" else ""
        if phase == "started":
            return []
        detail = line(str(wire.get("detail") or ""), 400)
        mark, style = ("✗", "bad") if phase == "failed" else ("·", "quiet")
        words = f"{name}  {detail}" if detail else name
        return [*self._break_draft(), Line(((style, f"{mark} "), ("quiet", words)), BODY)]

    def _turn(self, wire: Json) -> list[Line]:
        delivery, phase = str(wire.get("delivery_id") or ""), str(wire.get("phase"))
        if phase in {"admitted", "started"}:
            known = self.waiting.setdefault(delivery, Waiting(self._words.get(delivery, "")))
            known.state = "running" if phase == "started" else "queued"
            known.at = str(wire.get("at") or "")
            return self._due(delivery) if phase == "started" else []
        if phase not in ENDS:
            return []
        self.ended.add(delivery)
        usage = part(wire, "usage")
        self.tokens += int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
        self.cost += float(usage.get("cost_usd") or 0.0)
        told = self._due(delivery)
        if phase != "completed":
            told += [*self._partial(delivery, wire), *self._ended(delivery, phase, wire)]
        self.waiting.pop(delivery, None)
        return told

    def _partial(self, delivery: str, wire: Json) -> list[Line]:
        """What was written of an answer that did not end well, unless it was shown as it came."""
        draft = self.draft
        if draft is not None and draft.delivery == delivery:
            lines = self._break_draft()
            self.draft = None
            return lines
        partial = str(wire.get("partial") or "")
        return [*self._opening(wire), *_styled(Markdown(), partial)] if partial else []

    def _ended(self, delivery: str, phase: str, wire: Json) -> list[Line]:
        about = self._about(delivery)
        detail = line(str(wire.get("detail") or ""), 600)
        code = line(str(wire.get("code") or ""), 60)
        if phase == "cancelled":
            return [Line((("quiet", "⊘ "), ("quiet", f"{about}cancelled")))]
        if phase == "uncertain":
            asked = [Line((("quiet", f"? {about}how it ended was not known then"),))]
            return asked if self.past else self.doubt(delivery, detail)
        not_sent = code in {"conversation_closed", "not_sent"}
        words = "not sent" if not_sent else "not answered"
        tail = ("quiet", f"  {code}" if code else "")
        return [Line((("bad", "✗ "), ("", f"{about}{words}. {detail}".rstrip()), tail))]

    def doubt(self, delivery: str, detail: str) -> list[Line]:
        """Announce an uncertain delivery, with its number for the commands about it."""
        if delivery not in self.uncertain:
            self.uncertain.append(delivery)
        number = self.uncertain.index(delivery) + 1
        about = self._words.get(delivery) or line(delivery, 80)
        sentence = line(detail, 600) or "Nobody can know how it ended."
        return [
            BLANK,
            Line((("warn", f"? {number}  "), ("strong", f"“{about}”"), ("warn", "  uncertain"))),
            said("", sentence, BODY),
            Line(
                (
                    ("accent", f"/look {number}"),
                    ("quiet", " details   "),
                    ("accent", f"/again {number}"),
                    ("quiet", " sends it again   "),
                    ("accent", f"/close {number}"),
                    ("quiet", " leaves it unknown"),
                ),
                BODY,
            ),
        ]

    def _notice(self, wire: Json) -> list[Line]:
        text = line(named(str(wire.get("text") or wire.get("code") or "")), 600)
        about = self._about(str(wire.get("delivery_id") or ""))
        return [BLANK, Line((("warn", "! "), ("", f"{about}{text}")))]

    def _about(self, delivery: str) -> str:
        """The first words of a message, where something else stands between."""
        elsewhere = delivery != self._last and delivery in self._words
        return f"“{self._words[delivery]}”: " if elsewhere else ""

    def _reset(self, wire: Json) -> list[Line]:
        del wire
        return [
            *self._interrupt(),
            BLANK,
            said("quiet", "── begun afresh: what stands above is not read any more ──"),
        ]

    # ── the answer being written ─────────────────────────────────────────────────────────────────

    def more(self, wire: Json) -> list[Line]:
        """Add to the draft; the lines that became whole."""
        delivery, attempt = str(wire.get("delivery_id") or ""), str(wire.get("attempt") or "")
        text = str(wire.get("text") or "")
        lines: list[Line] = []
        if self.draft is None or self.draft.attempt != attempt:
            lines = self._break_draft()
            self.draft = Draft(delivery, attempt)
            self.waiting.setdefault(
                delivery, Waiting(self._words.get(delivery, ""))
            ).state = "running"
        elif self.draft.again:
            text = _beyond(self.draft, text)
        draft = self.draft
        draft.again = False
        whole, newline, rest = (draft.rest + text).rpartition("\n")
        if newline and (draft.shown or whole.strip()):
            draft.rest = rest
            return [*lines, *self._show(draft, whole + newline)]
        draft.rest += text
        return lines

    def _show(self, draft: Draft, text: str) -> list[Line]:
        opening: list[Line] = []
        if not draft.shown:
            opening = self._opening(self._as_event(draft))
        elif draft.interrupted:
            opening = [BLANK, Line((("agent", self.name), ("quiet", "  goes on")))]
        draft.interrupted = False
        draft.shown += text
        # The line end that closes `text` was not followed by a line yet.
        return [*opening, *_styled(draft.markdown, text.removesuffix("\n"))]

    def _as_event(self, draft: Draft) -> Json:
        running = self.waiting.get(draft.delivery)
        return {"delivery_id": draft.delivery, "at": running.at if running else ""}

    def heading(self, draft: Draft) -> list[Line]:
        """What will stand above a draft of which nothing is in the scrollback yet."""
        return [BLANK, _head(self.name, self._as_event(draft), "agent")]

    def draft_ended(self, wire: Json) -> None:
        """No more of it comes. It stays until the event that says how the turn ended."""
        if self.draft is not None and self.draft.attempt == wire.get("attempt"):
            self.draft.over = True

    def lost(self) -> None:
        """The stream broke: the next of the draft comes from its beginning."""
        if self.draft is not None:
            self.draft.again = True

    def _interrupt(self) -> list[Line]:
        """Something with a name of its own comes between the lines of the draft."""
        lines = self._break_draft()
        if self.draft is not None:
            self.draft.interrupted = bool(self.draft.shown)
        return lines

    def _break_draft(self) -> list[Line]:
        """Put the unfinished line of the draft into the scrollback: something comes between."""
        draft = self.draft
        if draft is None or not draft.rest.strip():
            return []
        text, draft.rest = draft.rest, ""
        return self._show(draft, text)

    # ── beside the log ───────────────────────────────────────────────────────────────────────────

    def adopt(self, receipt: Json, words: str) -> None:
        """Know a delivery that is still open, or uncertain, from its receipt.

        A receipt may be older than what the log has told meanwhile: it takes nothing back.
        """
        delivery = str(receipt["id"])
        self._remember(delivery, words)
        if receipt.get("state") in {"queued", "running"}:
            known = self.waiting.setdefault(delivery, Waiting(self._words.get(delivery, "")))
            if known.state != "running":
                known.state = str(receipt["state"])

    def excerpt(self, delivery: str) -> str:
        """The first words of a message."""
        return self._words.get(delivery) or line(delivery, EXCERPT)

    def _remember(self, delivery: str, text: str) -> None:
        if delivery and text:
            self._words[delivery] = line(text, EXCERPT)
            if delivery in self.waiting:
                self.waiting[delivery].words = self._words[delivery]
            while len(self._words) > REMEMBERED:
                del self._words[next(iter(self._words))]


def _remaining(shown: str, stored: str) -> str | None:
    """What the stored answer has beyond what was shown; None when they differ."""
    shown, stored = shown.lstrip(), stored.lstrip()
    if stored.startswith(shown):
        return stored[len(shown) :]
    return "" if shown.rstrip() == stored.rstrip() else None


def _beyond(draft: Draft, text: str) -> str:
    """What a draft that came again from its beginning has beyond what is here."""
    here = draft.shown + draft.rest
    return text.removeprefix(here)


def _styled(markdown: Markdown, text: str) -> list[Line]:
    made = (markdown.line(row) for row in plain(text).rstrip("\n").split("\n"))
    return [one for one in made if one is not None]


def _speaker(wire: Json) -> str:
    author = part(wire, "author")
    principal, name = (
        str(author.get("principal") or "unknown"),
        line(str(author.get("id") or ""), 64),
    )
    if principal == "operator" and wire.get("role") == "owner":
        return "You"
    if principal == "captain":
        return "Wake"
    if principal == "seat":
        # What a harness writes is its word: never the owner's, never the agent's own.
        how = "written" if wire.get("role") == "agent" else "typed"
        return f"{harness(wire.get('source'))}, {how} in the harness"
    kind = "You, on a device" if principal == "device" else principal.capitalize()
    return line(f"{kind} {name}".strip(), 80)


def _head(speaker: str, wire: Json, style: str, about: str = "") -> Line:
    at = local_time(wire.get("at")) if wire.get("at") else ""
    return Line(((style, line(speaker, 80)), ("quiet", f"  {at}" if at else ""), ("quiet", about)))


def _quoted(text: str) -> list[Line]:
    return [said("", row.expandtabs(4), BODY) for row in plain(text).strip("\n").split("\n")]


def _attached(wire: Json) -> list[Line]:
    found = items(wire, "attachments")
    names = [f"{one.get('name')} ({one.get('media_type')})" for one in found]
    return [Line((("quiet", "· attached: "), ("quiet", line(name, 200))), BODY) for name in names]


def _handoff(wire: Json) -> list[Line]:
    phase = str(wire.get("phase"))
    if phase not in HANDOFFS:
        return []
    mark, style = ("? ", "warn") if phase == "uncertain" else ("⇄ ", "quiet")
    return [BLANK, Line(((style, mark), ("quiet", HANDOFFS[phase])))]
