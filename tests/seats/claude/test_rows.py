"""Claude Code's transcript is read row by row, whatever version wrote it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core.seat import (
    Activity,
    Entry,
    EntryKind,
    Evidence,
    Limited,
    Mishap,
    Proof,
    delivery_uuid,
)
from clankie.seats.claude.rows import SHOWN, activity, folders, reader
from clankie.seats.rows import Known, Typed, digest_of
from seats.claude import said

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
UUID = delivery_uuid("d-1", 1)
KNOWN = Known(ids={UUID: ("d-1", 1)})


def read(*rows: dict[str, Any], known: Known = KNOWN) -> list[Entry]:
    reading = reader(known)
    return [entry for row in rows for entry in reading.read(said.line(row))]


def known_words(words: str, at: datetime = AT) -> Known:
    return Known(typed=[Typed(event="d-2", attempt=3, digest=digest_of(words), at=at)])


def test_what_a_person_types_is_an_entry_without_evidence() -> None:
    (entry,) = read(said.typed("u-1", "hello"))
    assert entry == Entry(id="u-1", kind=EntryKind.USER, at=AT, text="hello")


# proves: FENCE-7
def test_a_row_under_the_id_of_a_delivery_proves_it() -> None:
    for row in (said.user(UUID, "words", promptSource="sdk"), said.peer(UUID, "words")):
        (entry,) = read(row)
        assert entry.text == "words"
        assert entry.evidence == Evidence(event="d-1", attempt=1, proof=Proof.UUID, value=UUID)


def test_a_message_that_joined_a_turn_is_proven_by_the_id_it_came_under() -> None:
    (entry,) = read(said.queued("u-9", "words", UUID, isMeta=True, origin={"kind": "peer"}))
    assert entry.id == "u-9"
    assert entry.text == "words"
    assert entry.evidence == Evidence(event="d-1", attempt=1, proof=Proof.UUID, value=UUID)


# proves: SEC-4
def test_typed_words_prove_their_delivery_once_and_only_for_seconds() -> None:
    within = AT + timedelta(seconds=9)
    late = AT + timedelta(seconds=11)
    before = AT - timedelta(seconds=1)
    for at, proven in ((within, True), (late, False), (before, False)):
        row = said.typed("u-1", "go on", at=at.isoformat().replace("+00:00", "Z"))
        entries = read(row, {**row, "uuid": "u-2"}, known=known_words("go on"))
        found = [one.evidence.event for one in entries if one.evidence is not None]
        assert found == (["d-2"] if proven else [])
        assert len(entries) == 2


def test_words_typed_into_a_running_turn_count_from_when_they_were_queued() -> None:
    row = {
        **said.queued("u-1", "go on", "x", origin={"kind": "human"}),
        "timestamp": "2026-11-30T12:38:00.000Z",
    }
    (entry,) = read(row, known=known_words("go on"))
    assert entry.at == AT
    assert entry.evidence is not None
    assert entry.evidence.proof is Proof.TEXT


def test_a_paste_is_read_as_the_words_that_were_pasted() -> None:
    words = "first\nsecond\nthird"
    wrapped = f'\n\n<pasted_content id="a1f2">\n{words}\n</pasted_content id="a1f2">\n'
    (entry,) = read(said.typed("u-1", wrapped), known=known_words(words))
    assert entry.text == words
    assert entry.evidence is not None


def test_words_that_look_like_a_wrapper_prove_themselves() -> None:
    for words in ('<channel x="y">\nhi\n</channel>', "<command-name>/x</command-name>"):
        (entry,) = read(said.typed("u-1", words), known=known_words(words))
        assert entry.text == words
        assert entry.evidence is not None


# proves: SEC-4
def test_another_session_proves_nothing_by_words() -> None:
    (entry,) = read(said.peer("u-1", "go on"), known=known_words("go on"))
    assert entry.evidence is None


def test_a_channels_message_is_proven_by_our_words_in_it() -> None:
    shown = '<channel source="clankie" event="d-2">\nthe frame\n</channel>'
    row = said.user("u-1", shown, isMeta=True, origin={"kind": "channel", "server": "clankie"})
    (entry,) = read(row, known=known_words("the frame"))
    assert entry.evidence is not None


@pytest.mark.parametrize(
    "row",
    [
        said.user("u-1", "summary of all", isCompactSummary=True),
        said.user("u-1", "a hook's words", isMeta=True),
        said.user("u-1", "of a helper", isSidechain=True),
        said.user("u-1", "copied by a branch", forkedFrom={"sessionId": "s"}),
        said.user("u-1", "<local-command-stdout>Bye</local-command-stdout>"),
        said.user("u-1", "<command-name>/clear</command-name><command-args></command-args>"),
        said.user("u-1", "   "),
        said.queued("u-1", "ls", "x", commandMode="bash"),
        said.enqueue("words"),
        {"type": "last-prompt"},
        {"type": "file-history-snapshot", "uuid": 4},
        {"type": "user", "message": "none", "uuid": "u", "timestamp": said.AT},
        {"type": "user", "uuid": "u", "message": {"content": "no time"}},
        {"type": "assistant", "message": {"content": [3]}, "uuid": "u", "timestamp": "x"},
        {},
    ],
)
def test_what_is_no_part_of_the_conversation_is_left_out(row: dict[str, Any]) -> None:
    assert read(row) == []


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("<command-name>/review</command-name>\n<command-args>12</command-args>", "/review 12"),
        ("<command-message>x</command-message><command-name>/init</command-name>", "/init"),
        ("<bash-input>ls -l</bash-input>", "! ls -l"),
    ],
)
def test_an_order_to_the_client_is_shown_as_it_was_typed(content: str, shown: str) -> None:
    (entry,) = read(said.user("u-1", content))
    assert entry.text == shown


def test_an_answer_that_no_model_gave_is_none() -> None:
    row = said.assistant("a-1", said.text("No response requested."))
    row["message"]["model"] = "<synthetic>"
    assert read(row) == []
    row["message"]["model"] = "claude-opus-5-5"
    assert len(read(row)) == 1


def test_answers_and_tools_are_entries_of_their_own_even_in_one_row() -> None:
    use = {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t-1", "content": [said.text("a\nb")]}
    bad = {"type": "tool_result", "tool_use_id": "t-2", "content": "no", "is_error": True}
    entries = read(
        said.assistant("a-1", said.text("look"), use, parentUuid="u-0"),
        said.user("u-1", [result, bad, said.text("and this")]),
    )
    assert [(one.id, one.kind) for one in entries] == [
        ("a-1", EntryKind.ASSISTANT),
        ("a-1:1", EntryKind.TOOL),
        ("u-1", EntryKind.TOOL),
        ("u-1:1", EntryKind.TOOL),
        ("u-1:2", EntryKind.USER),
    ]
    assert entries[0].native_parent == "u-0"
    shown = json.dumps({"command": "ls"})
    assert [one.tool for one in entries[1:4]] == [
        {"name": "Bash", "call_id": "t-1", "phase": "started", "detail": shown},
        {"name": "", "call_id": "t-1", "phase": "completed", "detail": "a\nb"},
        {"name": "", "call_id": "t-2", "phase": "failed", "detail": "no"},
    ]


def test_a_tools_long_output_is_cut_and_says_so() -> None:
    result = {"type": "tool_result", "tool_use_id": "t-1", "content": "x" * (SHOWN + 7)}
    (entry,) = read(said.user("u-1", [result]))
    assert entry.tool is not None
    assert entry.tool["detail"].endswith("x\n[7 more characters]")


# proves: LIMIT-1
@pytest.mark.parametrize(
    ("name", "window"),
    [("five_hour", "session"), ("seven_day", "weekly"), ("seven_day_opus", "seven_day_opus")],
)
def test_a_limit_of_the_newer_format_names_window_and_end(name: str, window: str) -> None:
    (entry,) = read(said.limit_now(name))
    assert entry.kind is EntryKind.LIMIT
    resets = datetime.fromtimestamp(said.RESETS, UTC)
    assert entry.limit == Limited(window=window, occurred_at=AT, resets_at=resets)


# proves: LIMIT-1
@pytest.mark.parametrize(
    ("words", "window", "resets"),
    [
        (
            "You've hit your session limit · resets 3:44pm (UTC)",
            "session",
            "2026-11-30T15:44:00+00:00",
        ),
        (
            "You've hit your weekly limit · resets Dec 3, 9am (Europe/Berlin)",
            "weekly",
            "2026-12-03T08:00:00+00:00",
        ),
        (
            "You've hit your session limit · resets 9:51am (UTC)",
            "session",
            "2026-12-01T09:51:00+00:00",
        ),
        ("You've hit your Opus limit · resets 12am (UTC)", "opus", "2026-12-01T00:00:00+00:00"),
        ("Claude AI usage limit reached|1796053489", "session", "2026-11-30T15:44:49+00:00"),
        ("You've hit your session limit", "session", None),
        ("You've hit your weekly limit · resets soon", "weekly", None),
        ("You've hit your weekly limit · resets Dec 3, 9am (Nowhere/At-all)", "weekly", None),
        ("You've hit your weekly limit · resets Feb 31, 9am (UTC)", "weekly", None),
        ("You've hit your weekly limit · resets Jul 3, 9am (UTC)", "weekly", None),
    ],
)
def test_a_limit_of_the_older_format_is_read_from_its_words(
    words: str, window: str, resets: str | None
) -> None:
    (entry,) = read(said.limit_before(words))
    until = None if resets is None else datetime.fromisoformat(resets)
    assert entry.limit == Limited(window=window, occurred_at=AT, resets_at=until)


@pytest.mark.parametrize(
    "row",
    [
        said.failed("u-1", "API Error: 500", error="server_error", apiErrorStatus=500),
        said.failed("u-1", "You've hit your session limit", error="authentication_failed"),
        said.failed("u-1", "Request rejected (429)", error="rate_limit"),
        said.assistant("u-1", said.text("You've hit your session limit · resets 3pm (UTC)")),
        said.typed("u-1", "You've hit your weekly limit · resets 3pm (UTC)"),
    ],
)
def test_other_failures_and_words_about_limits_are_no_limit(row: dict[str, Any]) -> None:
    (entry,) = read(row)
    assert entry.kind is not EntryKind.LIMIT
    assert entry.limit is None


# proves: FENCE-8
def test_a_failed_request_is_an_error_and_no_answer() -> None:
    row = said.failed("u-1", "API Error: 500", error="server_error", apiErrorStatus=500)
    (entry,) = read(row)
    assert (entry.kind, entry.error) == (EntryKind.ERROR, Mishap.API_ERROR)
    assert entry.text == "API Error: 500"


# proves: FENCE-8
@pytest.mark.parametrize("words", ["", " for tool use"])
def test_a_turn_that_was_stopped_is_an_interrupt(words: str) -> None:
    text = f"[Request interrupted by user{words}]"
    (entry,) = read(said.user("u-3", [said.text(text)]))
    assert (entry.kind, entry.error) == (EntryKind.ERROR, Mishap.INTERRUPTED)
    assert (entry.id, entry.text) == ("u-3", "")
    # Words of a person about it are words.
    (typed,) = read(said.typed("u-4", f"{text} why?"))
    assert (typed.kind, typed.error) == (EntryKind.USER, None)


# proves: SEAT-15
def test_the_rows_say_when_a_turn_runs_and_when_it_is_over() -> None:
    reading = reader(KNOWN)
    expected: list[tuple[dict[str, Any], Activity | None]] = [
        (system := said.system("stop_hook_summary"), None),
        (said.typed("u-1", "go"), Activity.RESPONDING),
        (said.assistant("a-1", said.text("done")), Activity.RESPONDING),
        (said.system("turn_duration"), Activity.WAITING),
        (said.typed("u-2", "go"), Activity.RESPONDING),
        (said.user("u-3", [said.text("[Request interrupted by user]")]), Activity.WAITING),
        (said.queued("u-4", "more", "x"), Activity.RESPONDING),
        (said.limit_now(), Activity.WAITING),
        (system, Activity.WAITING),
    ]
    for row, after in expected:
        reading.read(said.line(row))
        assert reading.activity is after, row
    assert reading.limit is not None
    reading.read(said.line(said.assistant("a-2", said.text("again"))))
    assert reading.limit is None


def test_summaries_that_replaced_the_past_are_counted() -> None:
    reading = reader(KNOWN)
    reading.read(said.line(said.system("compact_boundary")))
    assert reading.compacted == 1


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ("UserPromptSubmit", Activity.RESPONDING),
        ("Stop", Activity.WAITING),
        ("StopFailure", Activity.WAITING),
        ("SessionEnd", Activity.WAITING),
        ("SessionStart", None),
        ("PreCompact", None),
    ],
)
def test_a_hook_says_what_becomes_of_the_turn(event: str, found: Activity | None) -> None:
    assert activity({"hook_event_name": event}) is found


def test_transcripts_lie_where_the_client_was_told_to_keep_its_state() -> None:
    assert folders({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}) == ("/c/projects",)
    assert folders({"HOME": "/h"}) == ("/h/.claude/projects",)


@given(st.binary(max_size=200))
def test_no_line_stops_the_reader(data: bytes) -> None:
    assert list(reader(KNOWN).read(data)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.sampled_from([said.typed("u", "x"), said.limit_now(), said.queued("u", "x", "y")]), JSON)
def test_no_field_of_another_shape_stops_the_reader(row: dict[str, Any], value: object) -> None:
    for name in row:
        reader(KNOWN).read(said.line({**row, name: value}))
    for name in ("message", "attachment"):
        if name in row:
            for inner in row[name]:
                changed = {**row, name: {**row[name], inner: value}}
                reader(KNOWN).read(said.line(changed))
