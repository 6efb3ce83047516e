"""Reads a session file of pi: `AGENT/sessions/--<directory>--/<time>_<id>.jsonl`.

Rows are a tree of `id` and `parentId`. What we handed over is a `custom_message` of type `clankie`
with our id in its `details`; the same without an id is the log that the session began with.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.core.seat import Activity, Entry, EntryKind, Evidence, Mishap, Proof
from clankie.seats.rows import Known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Hooks import this, and pathlib would cost them milliseconds.
# ruff: noqa: PTH118

Json = dict[str, Any]

OURS: Final = "clankie"
_DETAIL: Final = 2_000
_GOES_ON: Final = frozenset({"toolUse", "error"})
"""After an error it may try again; that it does not is told by pi alone."""
_STOPPED: Final = "aborted"


def folders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where session files may lie."""
    named = environment.get("PI_CODING_AGENT_SESSION_DIR")
    home = environment.get("PI_CODING_AGENT_DIR") or os.path.join(
        environment.get("HOME", "/"), ".pi", "agent"
    )
    return (named,) if named else (os.path.join(home, "sessions"),)


def activity(hook: Mapping[str, object]) -> Activity | None:
    """Nothing: pi has no hooks of this kind."""
    del hook
    return None


def reader(known: Known) -> Reader:
    """A reader of one session file."""
    return Reader(known)


class Reader:
    """Reads one session file from where it was left off."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.activity: Activity | None = None
        self._calls: dict[str, Json] = {}

    def read(self, line: bytes) -> Sequence[Entry]:
        """The entries of one line. Never raises."""
        try:
            row = _dict(json.loads(line))
            at = _moment(str(row.get("timestamp")))
        except (ValueError, RecursionError):
            return ()
        name, parent = row.get("id"), row.get("parentId")
        if not isinstance(name, str):
            return ()
        facts = [self._entry(row, name, at), _ended(row, name, at)]
        above = parent if isinstance(parent, str) else None
        return tuple(Entry(**one, native_parent=above) for one in facts if one is not None)

    def _entry(self, row: Json, name: str, at: datetime) -> Json | None:
        if row.get("type") == "custom_message" and row.get("customType") == OURS:
            evidence = self._evidence(_dict(row.get("details")).get("id"))
            if evidence is None:
                return None
            self.activity = Activity.RESPONDING
            text = _words(row.get("content"))
            base = {"id": name, "kind": EntryKind.USER, "at": at}
            return {**base, "text": text, "evidence": evidence}
        if row.get("type") != "message":
            return None
        return self._message(_dict(row.get("message")), name, at)

    def _message(self, message: Json, name: str, at: datetime) -> Json | None:
        text = _words(message.get("content"))
        match message.get("role"):
            case "user":
                self.activity = Activity.RESPONDING
                return {"id": name, "kind": EntryKind.USER, "at": at, "text": text}
            case "assistant":
                goes_on = message.get("stopReason") in _GOES_ON
                self.activity = Activity.RESPONDING if goes_on else Activity.WAITING
                self._remember(message.get("content"))
                return (
                    {"id": name, "kind": EntryKind.ASSISTANT, "at": at, "text": text}
                    if (text)
                    else None
                )
            case "toolResult":
                tool = self._tool(message)
                return {"id": name, "kind": EntryKind.TOOL, "at": at, "tool": tool}
            case _:
                return None

    def _evidence(self, client: object) -> Evidence | None:
        if not isinstance(client, str) or client not in self.known.ids:
            return None
        event, attempt = self.known.ids[client]
        return Evidence(event=event, attempt=attempt, proof=Proof.CLIENT_ID, value=client)

    def _remember(self, content: object) -> None:
        for part in _parts(content):
            if part.get("type") == "toolCall":
                self._calls[str(part.get("id"))] = _dict(part.get("arguments"))

    def _tool(self, message: Json) -> Json:
        call = str(message.get("toolCallId"))
        given = json.dumps(self._calls.pop(call, {}))
        return {
            "call_id": call,
            "name": str(message.get("toolName") or "tool"),
            "phase": "failed" if message.get("isError") else "completed",
            "detail": given if len(given) <= _DETAIL else f"{given[:_DETAIL]} …",
        }


def _ended(row: Json, name: str, at: datetime) -> Json | None:
    """A turn that was stopped; what was said before it is a row of its own."""
    message = _dict(row.get("message"))
    if row.get("type") != "message" or message.get("role") != "assistant":
        return None
    base = {"id": f"{name}:end", "kind": EntryKind.ERROR, "at": at}
    # Whether an error was the end the file does not say; `run` hears it.
    return {**base, "error": Mishap.INTERRUPTED} if message.get("stopReason") == _STOPPED else None


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(one["text"]) for one in _parts(content) if "text" in one)


def _parts(content: object) -> list[Json]:
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("Json", one) for one in parts if isinstance(one, dict)]


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
