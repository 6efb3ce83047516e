"""Claude Code's transcript, row by row: the formats of 2.1.332 and 2.1.197, and what lies between.

Rule 1: a row proves a delivery by its own `uuid`, or a message that joined a turn by its
        `source_uuid`. Words prove one only where we typed them, and only the first such row.
Rule 2: limits and failures are read from rows that the client made up, never from a model's words.
Rule 3: nothing here raises, whatever stands in a row: a harness's next version must not stop us.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from clankie.core.seat import Activity, Entry, EntryKind, Evidence, Mishap, Proof
from clankie.seats.claude.words import blocks_of, object_of, spoken, text_of, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clankie.core.seat import Limited
    from clankie.seats.rows import Known

Json = dict[str, Any]

SHOWN: Final = 16_384
"""Characters of a tool's input or output."""
_SYNTHETIC: Final = "<synthetic>"
_INTERRUPTED: Final = re.compile(r"\[Request interrupted by user[^\]\n]*\]")
_CLEAR: Final = "/clear"
"""The order that began a session, as the client wraps it; nobody said it in there."""
# What the client puts in for others. The rest of its own additions are no part of a conversation.
_OTHERS: Final = frozenset({"peer", "channel", "task-notification", "coordinator"})
_STARTS: Final = frozenset({"UserPromptSubmit"})
_ENDS: Final = frozenset({"Stop", "StopFailure", "SessionEnd"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """Words that somebody gave the client; `uuid` is the row's own, or of what was queued."""

    uuid: object
    text: str
    at: datetime
    number: int = 0


def folders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where transcripts may lie."""
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - hooks are quick
    return (f"{environment.get('CLAUDE_CONFIG_DIR') or f'{home}/.claude'}/projects",)


def activity(hook: Mapping[str, object]) -> Activity | None:
    """What a hook's input says of the turn."""
    event = hook.get("hook_event_name")
    if event in _STARTS:
        return Activity.RESPONDING
    return Activity.WAITING if event in _ENDS else None


def reader(known: Known) -> Reader:
    """A reader of one transcript."""
    return Reader(known)


class Reader:
    """Reads rows in order. `activity` is what they say that the session does.

    `limit` is the usage limit that the newest request met; the model's next answer clears it.
    `prompted_at` is when a person last gave it words. `compacted` counts the summaries that took
    the place of what was said before.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._proven: set[tuple[str, int]] = set()
        self.activity: Activity | None = None
        self.limit: Limited | None = None
        self.prompted_at: datetime | None = None
        self.compacted = 0

    def read(self, line: bytes) -> Sequence[Entry]:
        """The entries of one line; none for what is no part of the conversation."""
        try:
            return self.take(object_of(json.loads(line)))
        except (ValueError, RecursionError):
            return ()

    def take(self, row: Json) -> Sequence[Entry]:
        """The same of a line that was parsed already."""
        try:
            # A helper's rows, and those that a branch copied from the session it left.
            foreign = row.get("isSidechain") or row.get("forkedFrom")
            return () if foreign else tuple(self._entries(row))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return ()

    def _entries(self, row: Json) -> Iterator[Entry]:
        match row.get("type"):
            case "user" if row.get("isCompactSummary"):
                return
            case "user":
                yield from self._user(row)
            case "assistant":
                yield from self._assistant(row)
            case "attachment":
                yield from self._attachment(row)
            case "system":
                self._system(row)
            case _:
                return

    def _system(self, row: Json) -> None:
        if row.get("subtype") == "turn_duration":
            self.activity = Activity.WAITING
        elif row.get("subtype") == "compact_boundary":
            self.compacted += 1

    # ── what somebody said to it ─────────────────────────────────────────────────────────────────

    def _user(self, row: Json) -> Iterator[Entry]:
        content = row["message"].get("content")
        results = [one for one in blocks_of(content) if one.get("type") == "tool_result"]
        for number, block in enumerate(results):
            self.activity = Activity.RESPONDING
            yield _result(row, block, number)
        text = text_of(content)
        if _INTERRUPTED.fullmatch(text) and self._by_id(row.get("uuid")) is None:
            self.activity = Activity.WAITING
            at, how = _moment(row), Mishap.INTERRUPTED
            yield _entry(row, EntryKind.ERROR, at, number=len(results), error=how)
        elif text.strip():
            said = _Said(uuid=row.get("uuid"), text=text, at=_moment(row), number=len(results))
            yield from self._said(row, said)

    def _attachment(self, row: Json) -> Iterator[Entry]:
        held = object_of(row["attachment"])
        if held.get("type") != "queued_command" or held.get("commandMode", "prompt") != "prompt":
            return
        # Its own time is that of its queueing: what was typed then, and joined the turn much later.
        at = _moment(held) if held.get("timestamp") else _moment(row)
        asked = {**row, "origin": held.get("origin"), "isMeta": held.get("isMeta")}
        text = text_of(held.get("prompt"))
        yield from self._said(asked, _Said(uuid=held.get("source_uuid"), text=text, at=at))

    def _said(self, row: Json, one: _Said) -> Iterator[Entry]:
        kind = object_of(row.get("origin")).get("kind")
        evidence = self._by_id(one.uuid)
        said = words(one.text)
        if evidence is None and kind != "peer":
            # As it stands first: words that look like a wrapper may be the owner's own.
            evidence = self._by_words(one.text, one.at)
            said = said if evidence is None else one.text
            evidence = evidence or self._by_words(said, one.at)
        if evidence is None:
            if row.get("isMeta") and kind not in _OTHERS:
                return
            said = spoken(said)
        if not said.strip() or (evidence is None and said == _CLEAR != one.text):
            return
        self.activity = Activity.RESPONDING
        yield _entry(row, EntryKind.USER, one.at, number=one.number, text=said, evidence=evidence)

    def _by_id(self, uuid: object) -> Evidence | None:
        found = self._known.ids.get(uuid) if isinstance(uuid, str) else None
        if found is None:
            return None
        event, attempt = found
        return Evidence(event=event, attempt=attempt, proof=Proof.UUID, value=str(uuid))

    def _by_words(self, text: str, at: datetime) -> Evidence | None:
        typed = self._known.by_words(text, at)
        if typed is None or (typed.event, typed.attempt) in self._proven:
            return None
        self._proven.add((typed.event, typed.attempt))
        return Evidence(
            event=typed.event, attempt=typed.attempt, proof=Proof.TEXT, value=typed.moment
        )

    # ── what it said and did ─────────────────────────────────────────────────────────────────────

    def _assistant(self, row: Json) -> Iterator[Entry]:
        content, at = row["message"].get("content"), _moment(row)
        if row.get("isApiErrorMessage"):
            yield self._failed(row, text_of(content), at)
            return
        if row["message"].get("model") == _SYNTHETIC:
            return  # put in by the client on a resume, for words that were never answered
        self.activity, self.limit = Activity.RESPONDING, None
        for number, block in enumerate(blocks_of(content)):
            if block.get("type") == "text" and str(block.get("text", "")).strip():
                yield _entry(row, EntryKind.ASSISTANT, at, number=number, text=str(block["text"]))
            elif block.get("type") == "tool_use":
                shown = json.dumps(block.get("input"), ensure_ascii=False)
                tool = _tool(str(block.get("name")), str(block.get("id", "")), "started", shown)
                yield _entry(row, EntryKind.TOOL, at, number=number, tool=tool)

    def _failed(self, row: Json, text: str, at: datetime) -> Entry:
        # Imported late: nearly no transcript has one.
        from clankie.seats.claude.limits import limit_of  # noqa: PLC0415

        self.activity = Activity.WAITING
        limit = limit_of(row, text, at)
        if limit is None:
            return _entry(row, EntryKind.ERROR, at, text=text, error=Mishap.API_ERROR)
        self.limit = limit
        return _entry(row, EntryKind.LIMIT, at, text=text, limit=limit)


# ── entries ──────────────────────────────────────────────────────────────────────────────────────


def _moment(row: Json) -> datetime:
    at = datetime.fromisoformat(row["timestamp"])
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _entry(
    row: Json,
    kind: EntryKind,
    at: datetime,
    *,
    number: int = 0,
    **more: Any,  # noqa: ANN401 - the rest of the fields of an entry
) -> Entry:
    parent = row.get("parentUuid")
    return Entry(
        id=f"{row['uuid']}:{number}" if number else str(row["uuid"]),
        kind=kind,
        at=at,
        native_parent=parent if isinstance(parent, str) else None,
        **more,
    )


def _result(row: Json, block: Json, number: int) -> Entry:
    phase = "failed" if block.get("is_error") else "completed"
    tool = _tool("", str(block.get("tool_use_id", "")), phase, text_of(block.get("content")))
    return _entry(row, EntryKind.TOOL, _moment(row), number=number, tool=tool)


def _tool(name: str, call: str, phase: str, detail: str) -> Json:
    if len(detail) > SHOWN:
        detail = f"{detail[:SHOWN]}\n[{len(detail) - SHOWN} more characters]"
    return {"name": name, "call_id": call[:200], "phase": phase, "detail": detail}
