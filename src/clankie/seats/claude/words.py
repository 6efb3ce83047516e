"""What was said, without what Claude Code wraps around it."""

from __future__ import annotations

import re
from typing import Any, Final, cast

Json = dict[str, Any]

_PEER: Final = re.compile(
    r"\AAnother Claude session sent a message[^\n]*:\n(.*?)"
    r"\n\nThis came from another Claude session",
    re.DOTALL,
)
_CHANNEL: Final = re.compile(r"\A\s*<channel\b[^>\n]*>\n?(.*?)\n?</channel>\s*\Z", re.DOTALL)
_PASTED: Final = re.compile(
    r"\n*<pasted_content id=\"(\w+)\">\n(.*?)\n</pasted_content id=\"\1\">\n*", re.DOTALL
)
_COMMAND: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_SHELL: Final = re.compile(r"\A<bash-input>(.*?)</bash-input>", re.DOTALL)
_ASIDE: Final = ("<local-command-", "<bash-stdout>", "<bash-stderr>")


def object_of(value: object) -> Json:
    """A JSON object; an empty one where it is something else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def blocks_of(content: object) -> list[Json]:
    """The blocks of a message's content; plain text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [object_of(one) for one in cast("list[object]", content)]


def text_of(content: object) -> str:
    """The text of a message's content, without pictures and results."""
    blocks = blocks_of(content)
    return "\n".join(str(one.get("text", "")) for one in blocks if one.get("type") == "text")


def words(text: str) -> str:
    """What was given to the client, without what it wraps around messages, channels and pastes."""
    for wrapper in (_PEER, _CHANNEL):
        found = wrapper.match(text)
        if found is not None:
            return found[1]
    return _PASTED.sub(lambda found: found[2], text) if "<pasted_content" in text else text


def spoken(text: str) -> str:
    """What a person meant who gave the client an order; empty for the client's own notes."""
    if text.startswith(_ASIDE):
        return ""
    shell = _SHELL.match(text)
    if shell is not None:
        return f"! {shell[1].strip()}"
    name = _COMMAND.search(text) if text.lstrip().startswith("<command-") else None
    if name is None:
        return text
    arguments = _ARGUMENTS.search(text)
    return f"{name[1]} {arguments[1] if arguments else ''}".strip()
