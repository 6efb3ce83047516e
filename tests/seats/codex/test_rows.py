"""How a rollout is read, in both of its layouts."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core.seat import Activity, EntryKind, Mishap, Proof, delivery_uuid
from clankie.seats.codex.rows import Reader, activity, folders, reader, worded
from clankie.seats.rows import Known

AT = "2026-11-30T12:00:00.000Z"
OURS = delivery_uuid("d-1", 2)
KNOWN = Known(ids={OURS: ("d-1", 2)})


def row(kind: str = "event_msg", *, old: bool = False, **payload: Any) -> bytes:
    made = {"timestamp": AT, "type": kind, "payload": payload}
    return json.dumps(made if old else {**made, "ordinal": 7}).encode()


def item(kind: str, **fields: Any) -> bytes:
    return row(type="item_completed", turn_id="t", item={"type": kind, "id": "i-1", **fields})


def said(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def test_words_with_our_id_prove_the_attempt_and_others_prove_nothing() -> None:
    rows = reader(KNOWN)
    (ours,) = rows.read(item("UserMessage", client_id=OURS, content=said("hello")))
    (typed,) = rows.read(item("UserMessage", client_id="of-the-terminal", content=said("hello")))
    assert ours.evidence is not None
    assert (ours.evidence.event, ours.evidence.attempt) == ("d-1", 2)
    assert ours.evidence.proof is Proof.CLIENT_ID
    assert ours.evidence.value == OURS
    assert (ours.id, ours.text, ours.at) == ("i-1", "hello", datetime(2026, 11, 30, 12, tzinfo=UTC))
    assert typed.evidence is None


def test_what_was_given_later_is_known_later() -> None:
    rows = Reader(Known())
    line = item("UserMessage", client_id=OURS, content=said("hello"))
    assert rows.read(line)[0].evidence is None
    rows.known = KNOWN
    assert rows.read(line)[0].evidence is not None


def test_answers_and_tools_are_rows() -> None:
    rows = reader(KNOWN)
    (answer,) = rows.read(item("AgentMessage", content=[{"type": "Text", "text": "hi"}]))
    (shell,) = rows.read(item("CommandExecution", command=["bash", "-lc", "ls"], exit_code=0))
    (failed,) = rows.read(item("CommandExecution", command=["bash", "-lc", "no"], exit_code=1))
    (tool,) = rows.read(item("McpToolCall", server="s", tool="t", arguments={"a": 1}))
    (edit,) = rows.read(item("FileChange", changes={"a.py": {}}, status="completed"))
    (search,) = rows.read(item("WebSearch", query="weather"))
    assert (answer.kind, answer.text) == (EntryKind.ASSISTANT, "hi")
    tools = [one.tool for one in (shell, failed, tool, edit, search)]
    assert [one and (one["name"], one["phase"], one["detail"]) for one in tools] == [
        ("shell", "completed", "ls"),
        ("shell", "failed", "no"),
        ("s.t", "completed", '{"a": 1}'),
        ("edit", "completed", "a.py"),
        ("web_search", "completed", "weather"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        row("session_meta", id="x"),
        row("response_item", type="message", role="developer"),
        item("Reasoning", summary=[]),
        row(type="item_completed", item={"type": "UserMessage", "content": []}),
        b'{"timestamp":"yesterday","type":"event_msg","payload":{}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_part_of_the_conversation_is_no_row(line: bytes) -> None:
    assert list(reader(KNOWN).read(line)) == []


NAMES = ["type", "payload", "item", "content", "id", "error", "rate_limits", "changes", "command"]
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)


@given(st.recursive(LEAVES, nested, max_leaves=20))
def test_no_line_breaks_the_reader(payload: Any) -> None:
    for kind in ("item_completed", "task_complete", "token_count", "user_message"):
        held = payload if isinstance(payload, dict) else {"item": payload}
        line = {"timestamp": AT, "type": "event_msg", "payload": {**held, "type": kind}}
        list(reader(KNOWN).read(json.dumps(line).encode()))
    for kind in ("CommandExecution", "McpToolCall", "FileChange", "UserMessage", "AgentMessage"):
        fields = payload if isinstance(payload, dict) else {}
        whole = {**fields, "type": kind, "id": "i"}
        list(reader(KNOWN).read(row(type="item_completed", item=whole)))


def window(used: float, minutes: int, resets: int) -> dict[str, float]:
    return {"used_percent": used, "window_minutes": minutes, "resets_at": resets}


def ended(**error: str) -> bytes:
    return row(type="task_complete", turn_id="t", error=error)


def test_a_usage_limit_is_named_by_the_window_that_opens_last() -> None:
    # proves: LIMIT-1
    rows = reader(KNOWN)
    both = {"primary": window(100.0, 300, 100), "secondary": window(100.0, 10_080, 900)}
    rows.read(row(type="token_count", rate_limits=both))
    (found,) = rows.read(ended(codex_error_info="usage_limit_exceeded", message="used up"))
    assert (found.kind, found.id, found.text) == (EntryKind.LIMIT, "t:limit", "used up")
    assert found.limit is not None
    assert found.limit.window == "weekly"
    assert found.limit.resets_at == datetime.fromtimestamp(900, UTC)


def test_a_limit_without_windows_is_read_from_its_wording() -> None:
    # proves: LIMIT-1
    text = "You have hit your usage limit. Upgrade to Pro or try again at Dec 3rd, 2026 3:49 PM."
    (found,) = reader(KNOWN).read(ended(codex_error_info="usage_limit_exceeded", message=text))
    assert found.limit is not None
    local = datetime(2026, 12, 3, 15, 49).astimezone()
    assert found.limit.resets_at == local.astimezone(UTC)
    (other,) = reader(KNOWN).read(ended(codex_error_info="usage_limit_exceeded", message="no"))
    assert other.limit is not None
    assert other.limit.resets_at is None


def test_a_time_of_day_in_the_wording_is_the_next_one() -> None:
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    found = worded("try again at 3:49 PM.", at)
    assert found is not None
    assert 0 < (found - at).total_seconds() <= 24 * 3600
    assert found.astimezone().strftime("%H:%M") == "15:49"
    assert worded("try again at 33:49 PM.", at) is None
    assert worded("try again at Foo 3rd, 2026 3:49 PM.", at) is None


def test_other_failures_are_errors_and_no_limits() -> None:
    # proves: FENCE-8
    (found,) = reader(KNOWN).read(ended(codex_error_info="other", message="no"))
    assert (found.kind, found.id, found.text) == (EntryKind.ERROR, "t:error", "no")
    assert (found.error, found.limit) == (Mishap.API_ERROR, None)
    assert list(reader(KNOWN).read(ended())) == []


def test_a_turn_that_was_stopped_is_an_interrupt() -> None:
    # proves: FENCE-8
    line = row(type="turn_aborted", turn_id="t", reason="interrupted")
    (found,) = reader(KNOWN).read(line)
    assert (found.kind, found.id, found.text) == (EntryKind.ERROR, "t:stopped", "")
    assert found.error is Mishap.INTERRUPTED
    (nameless,) = reader(KNOWN).read(row(type="turn_aborted"))
    (again,) = reader(KNOWN).read(row(type="turn_aborted"))
    assert nameless.id == again.id != found.id
    assert list(reader(KNOWN).read(row(type="turn_aborted", reason="replaced"))) == []


def test_the_session_responds_from_the_start_of_a_task_to_its_end() -> None:
    rows = reader(KNOWN)
    lines = (
        row(type="token_count"),
        row(type="task_started"),
        row(type="token_count"),
        row(type="turn_aborted", reason="interrupted"),
        row(type="task_started"),
        row(type="task_complete"),
    )
    does = []
    for line in lines:
        rows.read(line)
        does.append(rows.activity)
    responds, waits = Activity.RESPONDING, Activity.WAITING
    assert does == [None, responds, responds, waits, responds, waits]


def test_the_old_layout_has_the_same_rows_with_ids_of_their_lines() -> None:
    rows = reader(KNOWN)
    line = row(old=True, type="user_message", client_id=OURS, message="hello")
    (words,) = rows.read(line)
    (again,) = reader(KNOWN).read(line)
    assert words.evidence is not None
    assert words.id == again.id
    (answer,) = rows.read(row(old=True, type="agent_message", message="hi"))
    assert (answer.kind, answer.text) == (EntryKind.ASSISTANT, "hi")
    call: dict[str, Any] = {"call_id": "c-1", "name": "exec_command"}
    call["arguments"] = '{"cmd":"ls"}'
    assert list(rows.read(row("response_item", old=True, type="function_call", **call))) == []
    output = row("response_item", old=True, type="function_call_output", call_id="c-1", output="x")
    (tool,) = rows.read(output)
    assert tool.tool is not None
    assert (tool.tool["name"], tool.tool["detail"]) == ("exec_command", '{"cmd":"ls"}')


def test_in_the_new_layout_calls_are_no_rows_of_their_own() -> None:
    rows = reader(KNOWN)
    call: dict[str, Any] = {"call_id": "c-1", "name": "exec_command", "arguments": "{}"}
    assert list(rows.read(row("response_item", type="function_call", **call))) == []
    output = row("response_item", type="function_call_output", call_id="c-1", output="x")
    assert list(rows.read(output)) == []


def test_where_rollouts_lie_and_what_hooks_say() -> None:
    assert folders({"CODEX_HOME": "/c"})[0] == "/c/sessions"
    assert folders({"HOME": "/h"})[0] == "/h/.codex/sessions"
    assert activity({"hook_event_name": "UserPromptSubmit"}) is Activity.RESPONDING
    assert activity({"hook_event_name": "Stop"}) is Activity.WAITING
    assert activity({"hook_event_name": "SessionStart"}) is None
