"""How a session file of pi is read."""

import json
from typing import Any

import pytest

from clankie.core.seat import Activity, EntryKind, Mishap, Proof, delivery_uuid
from clankie.seats.pi.rows import activity, folders, reader
from clankie.seats.rows import Known

OURS = delivery_uuid("d-1", 2)
KNOWN = Known(ids={OURS: ("d-1", 2)})


def row(**fields: Any) -> bytes:
    base = {"id": "r1", "parentId": "r0", "timestamp": "2026-11-30T12:00:00.000Z"}
    return json.dumps({**base, **fields}).encode()


def message(role: str, **fields: Any) -> bytes:
    return row(type="message", message={"role": role, **fields})


def ours(client: str, text: str) -> bytes:
    details = {"id": client}
    return row(type="custom_message", customType="clankie", content=text, details=details)


def test_our_words_prove_the_attempt_and_the_log_is_no_row() -> None:
    rows = reader(KNOWN)
    (words,) = rows.read(ours(OURS, "hello"))
    assert words.evidence is not None
    assert (words.evidence.event, words.evidence.attempt) == ("d-1", 2)
    assert words.evidence.proof is Proof.CLIENT_ID
    assert (words.kind, words.text, words.native_parent) == (EntryKind.USER, "hello", "r0")
    assert list(rows.read(ours("", "the log so far"))) == []
    assert list(rows.read(ours("of somebody else", "words"))) == []


def test_answers_tools_and_typed_words_are_rows() -> None:
    rows = reader(KNOWN)
    call = {"type": "toolCall", "id": "c1", "arguments": {"command": "ls"}}
    said = [{"type": "text", "text": "looking"}, call]
    (answer,) = rows.read(message("assistant", content=said, stopReason="toolUse"))
    assert rows.activity is Activity.RESPONDING
    (tool,) = rows.read(message("toolResult", toolCallId="c1", toolName="bash", content=[]))
    (typed,) = rows.read(message("user", content="typed"))
    last = rows.read(message("assistant", content=[], stopReason="stop"))
    assert [answer.text, typed.text] == ["looking", "typed"]
    assert typed.evidence is None
    assert tool.tool == {
        "call_id": "c1",
        "name": "bash",
        "phase": "completed",
        "detail": '{"command": "ls"}',
    }
    assert list(last) == []
    assert str(rows.activity) == "waiting"


def test_a_turn_that_was_stopped_is_an_interrupt_and_what_was_said_stays() -> None:
    # proves: FENCE-8
    rows = reader(KNOWN)
    half = [{"type": "text", "text": "half"}]
    said, end = rows.read(message("assistant", content=half, stopReason="aborted"))
    assert (said.kind, said.text, said.id) == (EntryKind.ASSISTANT, "half", "r1")
    assert (end.kind, end.error, end.text) == (EntryKind.ERROR, Mishap.INTERRUPTED, "")
    assert (end.id, end.native_parent) == ("r1:end", "r0")
    assert str(rows.activity) == "waiting"


def test_an_error_in_the_file_is_no_end_for_pi_may_try_again() -> None:
    # proves: FENCE-8
    rows = reader(KNOWN)
    for why in ("401 invalid key", "529 overloaded", "socket hang up", ""):
        failed = message("assistant", content=[], stopReason="error", errorMessage=why)
        assert list(rows.read(failed)) == []
        assert str(rows.activity) == "responding"


def test_a_tool_that_failed_says_so() -> None:
    (tool,) = reader(KNOWN).read(message("toolResult", toolCallId="c", toolName="b", isError=True))
    assert tool.tool is not None
    assert tool.tool["phase"] == "failed"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        row(type="session"),
        row(type="model_change"),
        row(type="message", message=[]),
        row(type="custom_message", customType="other", content="x"),
        row(type="message", timestamp="yesterday", message={"role": "user"}),
        b'{"type":"message","timestamp":"2026-11-30T12:00:00Z","message":{"role":"user"}}',
    ],
)
def test_what_is_no_part_of_the_conversation_is_no_row(line: bytes) -> None:
    assert list(reader(KNOWN).read(line)) == []


def test_where_sessions_lie() -> None:
    assert folders({"PI_CODING_AGENT_SESSION_DIR": "/s"}) == ("/s",)
    assert folders({"PI_CODING_AGENT_DIR": "/a"}) == ("/a/sessions",)
    assert folders({"HOME": "/h"}) == ("/h/.pi/agent/sessions",)
    assert activity({"hook_event_name": "Stop"}) is None
