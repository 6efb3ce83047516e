"""What the scripted model makes of the words it is sent; the wires are elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

_DIRECTIVE: Final = re.compile(r"(?:^|>)\s*~(say|tool|hold|fail)\b[ \t]*([^\n]*)$", re.MULTILINE)
# What clients leave in the history of a turn that was cut short: it is over.
_OVER: Final = re.compile(r"\[Request interrupted by user[^\]]*\]|</turn_aborted>")
_CLOSING: Final = re.compile(r"</[a-z-]+>\s*$")


@dataclass
class Piece:
    """A piece of a message: text, a call of the model or a result of a tool."""

    role: str
    kind: str  # text, call, result
    text: str


@dataclass
class Asked:
    """A request in the common shape. `tools` are the names of the tools that were offered."""

    wire: str
    pieces: list[Piece]
    tools: list[str]
    stream: bool
    system: str = ""
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def aside(self) -> bool:
        """A request of the client's own, with no tools: a title, a quota."""
        return not self.tools

    @property
    def text(self) -> str:
        """Everything that was said, but for the system prompt."""
        return "\n".join(one.text for one in self.pieces)

    @property
    def tail(self) -> list[Piece]:
        """What follows the model's own last word."""
        at = max(
            (n for n, one in enumerate(self.pieces) if one.role == "assistant"),
            default=-1,
        )
        return self.pieces[at + 1 :]

    @property
    def news(self) -> str:
        """As text, `tail`."""
        return "\n".join(one.text for one in self.tail)


@dataclass
class Plan:
    """What to answer."""

    say: str = ""
    tools: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    hold: str = ""
    fail: str = ""


def plan(asked: Asked) -> Plan:
    """What the newest words ask for."""
    if asked.aside:
        return Plan(say="ok")
    for one in reversed(asked.tail):
        if one.kind == "result":
            return Plan(say=f"did: {one.text[:2000]}")
        found = _directives(_OVER.split(one.text)[-1])
        if found is not None:
            return found
    heard = [one.text for one in asked.tail if one.kind == "text" and one.role == "user"]
    return Plan(say=f"heard: {heard[-1][-400:] if heard else ''}")


def _directives(text: str) -> Plan | None:
    made, said = Plan(), list[str]()
    found = False
    for match in _DIRECTIVE.finditer(text):
        found = True
        word, rest = match[1], _CLOSING.sub("", match[2]).strip()
        match word:
            case "say":
                said.append(rest)
            case "tool":
                name, _, given = rest.partition(" ")
                made.tools.append((name, json.loads(given or "{}")))
            case "hold":
                made.hold = rest
            case _:
                made.fail = rest
    if not found:
        return None
    made.say = "\n".join(said)
    if not (made.say or made.tools):
        made.say = "done"
    return made
