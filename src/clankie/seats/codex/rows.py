"""Reads a Codex rollout: `CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`.

A row is `{timestamp, ordinal?, type, payload}`. Two layouts are in use. With an `ordinal` what was
said stands in `item_completed` rows, where a user's message keeps our id as `client_id`. Without
one (threads of older versions) it stands in `user_message` and `agent_message` rows that have no id
of their own; a digest of the line is theirs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from clankie.core.seat import Activity, Entry, EntryKind, Evidence, Limited, Mishap, Proof
from clankie.seats.rows import Known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Hooks import this, and pathlib would cost them milliseconds.
# ruff: noqa: PTH118

Json = dict[str, Any]

_DETAIL: Final = 2_000
_DAY: Final = 24 * 60
"""Minutes: windows up to a day are the session's, longer ones the week's."""
_STOPPED: Final = "interrupted"
_FULL: Final = 100.0
_AGAIN: Final = re.compile(
    r"try again at (?:(?P<month>[A-Z][a-z]{2,8}) (?P<day>\d{1,2})(?:st|nd|rd|th)?,?"
    r" (?:(?P<year>\d{4}),? )?)?(?:at )?(?P<hour>\d{1,2}):(?P<minute>\d{2}) ?(?P<half>[AP]M)"
)
_ACTIVITY: Final = {
    "task_started": Activity.RESPONDING,
    "task_complete": Activity.WAITING,
    "turn_aborted": Activity.WAITING,
}
_HOOKS: Final = {
    "UserPromptSubmit": Activity.RESPONDING,
    "Stop": Activity.WAITING,
    "SessionEnd": Activity.WAITING,
}


def folders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where rollouts may lie."""
    home = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME", "/"), ".codex")
    return (os.path.join(home, "sessions"), os.path.join(home, "archived_sessions"))


def activity(hook: Mapping[str, object]) -> Activity | None:
    """What a hook's input says of the turn."""
    return _HOOKS.get(str(hook.get("hook_event_name")))


def reader(known: Known) -> Reader:
    """A reader of one rollout."""
    return Reader(known)


class Reader:
    """Reads one rollout from where it was left off. `known` may be replaced between lines."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.activity: Activity | None = None
        self._limits: Json = {}
        self._calls: dict[str, Json] = {}

    def read(self, line: bytes) -> Sequence[Entry]:
        """The entries of one line. Never raises."""
        try:
            row = _dict(json.loads(line))
            at = _moment(str(row.get("timestamp")))
        except (ValueError, RecursionError):
            return ()
        payload = _dict(row.get("payload"))
        if row.get("type") == "event_msg":
            digest = hashlib.sha256(line).hexdigest()[:26]
            return self._event(payload, at, digest)
        if row.get("type") == "response_item" and "ordinal" not in row:
            return self._old_call(payload, at)
        return ()

    def _event(self, payload: Json, at: datetime, digest: str) -> Sequence[Entry]:
        kind = payload.get("type")
        self.activity = _ACTIVITY.get(str(kind), self.activity)
        match kind:
            case "item_completed":
                return self._item(_dict(payload.get("item")), at)
            case "token_count":
                self._limits = _dict(payload.get("rate_limits"))
            case "task_complete":
                return self._end(payload, at)
            case "turn_aborted":
                return _stopped(payload, at, digest)
            case "user_message" | "agent_message":
                return self._old_words(payload, at, digest)
            case _:
                pass
        return ()

    def _item(self, item: Json, at: datetime) -> Sequence[Entry]:
        name, found = item.get("id"), str(item.get("type"))
        if not isinstance(name, str) or not name:
            return ()
        match found:
            case "UserMessage":
                text = _words(item.get("content"))
                return (self._user(name, text, item.get("client_id"), at),)
            case "AgentMessage":
                text = _words(item.get("content"))
                return (Entry(id=name, kind=EntryKind.ASSISTANT, at=at, text=text),)
            case "CommandExecution" | "McpToolCall" | "FileChange" | "WebSearch":
                tool = _tool(found, item)
                return (Entry(id=name, kind=EntryKind.TOOL, at=at, tool={**tool, "call_id": name}),)
            case _:
                return ()

    def _user(self, name: str, text: str, client: object, at: datetime) -> Entry:
        evidence = None
        if isinstance(client, str) and client in self.known.ids:
            event, attempt = self.known.ids[client]
            proof = Proof.CLIENT_ID
            evidence = Evidence(event=event, attempt=attempt, proof=proof, value=client)
        return Entry(id=name, kind=EntryKind.USER, at=at, text=text, evidence=evidence)

    def _end(self, payload: Json, at: datetime) -> Sequence[Entry]:
        error = _dict(payload.get("error"))
        if not error:
            return ()
        text = str(error.get("message", ""))
        if error.get("codex_error_info") != "usage_limit_exceeded":
            name, how = f"{payload.get('turn_id')}:error", Mishap.API_ERROR
            return (Entry(id=name, kind=EntryKind.ERROR, at=at, text=text, error=how),)
        window, resets_at = _window(self._limits)
        limit = Limited(window=window, occurred_at=at, resets_at=resets_at or worded(text, at))
        name = f"{payload.get('turn_id')}:limit"
        return (Entry(id=name, kind=EntryKind.LIMIT, at=at, text=text, limit=limit),)

    def _old_words(self, payload: Json, at: datetime, name: str) -> Sequence[Entry]:
        text = str(payload.get("message", ""))
        if payload.get("type") == "user_message":
            return (self._user(name, text, payload.get("client_id"), at),)
        return (Entry(id=name, kind=EntryKind.ASSISTANT, at=at, text=text),)

    def _old_call(self, payload: Json, at: datetime) -> Sequence[Entry]:
        call = payload.get("call_id")
        if not isinstance(call, str):
            return ()
        if payload.get("type") == "function_call":
            self._calls[call] = payload
            return ()
        if payload.get("type") != "function_call_output":
            return ()
        asked = self._calls.pop(call, {})
        tool = {
            "name": str(asked.get("name", "tool")),
            "phase": "completed",
            "detail": _cut(str(asked.get("arguments", ""))),
            "call_id": call,
        }
        return (Entry(id=call, kind=EntryKind.TOOL, at=at, tool=tool),)


def _stopped(payload: Json, at: datetime, digest: str) -> Sequence[Entry]:
    """A turn that a person stopped; what ends for another reason goes on in another turn."""
    if payload.get("reason", _STOPPED) != _STOPPED:
        return ()
    turn = payload.get("turn_id")
    name = f"{turn if isinstance(turn, str) else digest}:stopped"
    return (Entry(id=name, kind=EntryKind.ERROR, at=at, error=Mishap.INTERRUPTED),)


def _tool(kind: str, item: Json) -> Json:
    match kind:
        case "CommandExecution":
            command = item.get("command")
            parts = (
                [str(one) for one in cast("list[object]", command)]
                if (isinstance(command, list))
                else []
            )
            name, detail = "shell", parts[-1] if parts else ""
        case "McpToolCall":
            name = f"{item.get('server')}.{item.get('tool')}"
            detail = json.dumps(item.get("arguments"))
        case "FileChange":
            name, detail = "edit", ", ".join(_dict(item.get("changes")))
        case _:
            name, detail = "web_search", str(item.get("query", ""))
    failed = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (None, 0)
    return {"name": name, "phase": "failed" if failed else "completed", "detail": _cut(detail)}


def _window(limits: Json) -> tuple[str, datetime | None]:
    """Which window is used up, and when it is open again: the one that opens last."""
    full: list[tuple[datetime, str]] = []
    for name in ("primary", "secondary"):
        window = _dict(limits.get(name))
        used, resets, minutes = (
            window.get(key) for key in ("used_percent", "resets_at", "window_minutes")
        )
        if isinstance(used, int | float) and used >= _FULL and isinstance(resets, int):
            long = isinstance(minutes, int | float) and minutes > _DAY
            full.append((datetime.fromtimestamp(resets, UTC), "weekly" if long else "session"))
    if not full:
        return "session", None
    resets_at, which = max(full)
    return which, resets_at


def worded(text: str, at: datetime) -> datetime | None:
    """When a limit ends, of its wording: the machine's own time of day, with a date or without."""
    found = _AGAIN.search(text)
    if found is None:
        return None
    moment = f"{found['hour']}:{found['minute']} {found['half']}"
    here = at.astimezone()
    try:
        if found["month"] is None:
            clock = datetime.strptime(moment, "%I:%M %p").time()  # noqa: DTZ007 - a time of day
            today = datetime.combine(here.date(), clock, here.tzinfo)
            return (today if today > here else today + timedelta(days=1)).astimezone(UTC)
        date = f"{found['month'][:3]} {found['day']} {found['year'] or here.year}"
        naive = datetime.strptime(f"{date} {moment}", "%b %d %Y %I:%M %p")  # noqa: DTZ007 - as said
    except ValueError:
        return None
    return naive.astimezone(UTC)


def _words(content: object) -> str:
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in map(_dict, parts) if "text" in part)


def _cut(text: str) -> str:
    return text if len(text) <= _DETAIL else f"{text[:_DETAIL]} …"


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
