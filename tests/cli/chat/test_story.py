"""Events in, lines out: what a reader of a conversation sees."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.cli.chat.marks import BODY, Line
from clankie.cli.chat.paint import rows
from clankie.cli.chat.story import Story

OPERATOR = {"principal": "operator", "id": "operator"}
SEAT = {"principal": "seat", "id": "s-1"}
CAPTAIN = {"principal": "captain", "id": "captain"}
AT = "2026-11-30T12:00:00.000Z"


class Log:
    """Builds events with cursors and tells them to a story."""

    def __init__(self) -> None:
        self.story = Story()
        self.cursor = 0
        self.lines: list[Line] = []

    def event(self, kind: str, author: dict[str, str] = OPERATOR, **fields: Any) -> list[str]:
        self.cursor += 1
        wire = {"cursor": self.cursor, "kind": kind, "author": author, "at": AT, **fields}
        return self.told(self.story.event(wire))

    def told(self, lines: list[Line]) -> list[str]:
        self.lines += lines
        return [one.text for one in lines if one.text]

    def asked(self, delivery: str, text: str) -> list[str]:
        told = self.event("message", role="owner", text=text, delivery_id=delivery)
        return told + self.turn(delivery, "admitted")

    def turn(self, delivery: str, phase: str, **fields: Any) -> list[str]:
        return self.event("turn", CAPTAIN, phase=phase, delivery_id=delivery, **fields)

    def answered(self, delivery: str, text: str) -> list[str]:
        told = self.event("message", CAPTAIN, role="agent", text=text, delivery_id=delivery)
        return told + self.turn(delivery, "completed")

    def draft(self, delivery: str, text: str, attempt: str = "a-1") -> list[str]:
        wire = {"delivery_id": delivery, "attempt": attempt, "seq": 1, "text": text}
        return self.told(self.story.more(wire))

    @property
    def text(self) -> list[str]:
        return [one.text for one in self.lines if one.text]


@pytest.fixture
def log() -> Log:
    return Log()


def body(told: list[str]) -> list[str]:
    """Without the name and the time above."""
    return told[1:]


def test_a_message_and_its_answer_stand_under_their_names(log: Log) -> None:
    asked = log.asked("m-1", "hello")
    assert asked[0].startswith("You")
    assert asked[1] == "hello"
    log.turn("m-1", "started")
    told = log.answered("m-1", "Good day.")
    assert told[0].startswith("Clankie")
    assert told[1] == "Good day."
    assert log.story.waiting == {}


def test_a_streamed_answer_is_shown_once(log: Log) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "started")
    shown = log.draft("m-1", "First line\nsecond ")
    assert body(shown) == ["First line"]
    assert log.draft("m-1", "line\nthi") == ["second line"]
    assert log.answered("m-1", "First line\nsecond line\nthird") == ["third"]


def test_an_answer_that_came_as_one_unfinished_line_gets_its_name(log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", "only one li")
    told = log.answered("m-1", "only one line")
    assert told[0].startswith("Clankie")
    assert told[1:] == ["only one line"]


@pytest.mark.parametrize("shown", ["a\nb\n", "\na\nb\n"])
def test_blanks_at_the_ends_make_no_difference(shown: str, log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", shown)
    assert log.answered("m-1", "a\nb") == []


def test_a_stored_answer_that_differs_is_shown_whole_and_said_so(log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", "the model said this\n")
    told = log.answered("m-1", "something else")
    assert "differs" in told[0]
    assert told[-1] == "something else"


# proves: CONV-4
def test_an_event_that_was_told_is_not_told_again(log: Log) -> None:
    log.asked("m-1", "hello")
    repeated = {"cursor": 1, "kind": "message", "role": "owner", "text": "hello", "at": AT}
    assert log.story.event(repeated) == []


def test_a_draft_that_comes_again_after_a_broken_stream_continues_where_it_was(log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", "one\ntw")
    log.story.lost()
    assert log.draft("m-1", "one\ntwo\nthr") == ["two"]
    assert log.answered("m-1", "one\ntwo\nthree") == ["three"]


def test_an_answer_stored_while_the_stream_was_broken_continues_its_draft(log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", "one\ntw")
    log.story.lost()
    assert log.answered("m-1", "one\ntwo") == ["two"]


def test_an_ended_draft_waits_for_the_event_that_says_how(log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", "one\ntwo")
    log.story.draft_ended({"attempt": "a-1"})
    assert log.answered("m-1", "one\ntwo") == ["two"]


def test_what_waits_behind_an_answer_is_told_when_its_turn_begins(log: Log) -> None:
    log.asked("m-1", "first")
    log.turn("m-1", "started")
    log.draft("m-1", "an answer\nin parts")
    assert log.asked("m-2", "second") == []
    assert log.story.waiting["m-2"].words == "second"
    assert log.answered("m-1", "an answer\nin parts") == ["in parts"]
    assert log.turn("m-2", "started")[-1] == "second"


def test_what_waits_and_is_cancelled_is_told_with_its_end(log: Log) -> None:
    log.asked("m-1", "first")
    log.turn("m-1", "started")
    log.asked("m-2", "second")
    told = log.turn("m-2", "cancelled")
    assert "second" in told
    assert "cancelled" in told[-1]


def test_an_answer_goes_on_under_its_name_after_something_came_between(log: Log) -> None:
    log.asked("m-1", "first")
    log.turn("m-1", "started")
    log.draft("m-1", "one\n")
    log.event("message", role="owner", text="steering", delivery_id="m-2")
    log.turn("m-2", "started")
    told = log.draft("m-1", "two\n")
    assert told[0].startswith("Clankie")
    assert told[1] == "two"


def test_an_answer_to_an_older_message_names_it(log: Log) -> None:
    log.asked("m-1", "the first question")
    log.asked("m-2", "the second question")
    assert "the first question" in log.answered("m-1", "an answer")[0]


def test_a_tool_is_one_line_when_it_has_ended(log: Log) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "started")
    call = {"call_id": "c", "name": "get_self_state", "delivery_id": "m-1"}
    assert log.event("tool", CAPTAIN, phase="started", **call) == []
    assert log.story.waiting["m-1"].tool == "get_self_state"
    assert log.event("tool", CAPTAIN, phase="completed", detail="read", **call) == [
        "· get_self_state  read"
    ]
    assert log.story.waiting["m-1"].tool == ""
    assert log.event("tool", CAPTAIN, phase="failed", **call) == ["✗ get_self_state"]


def test_a_tool_between_two_parts_of_an_answer_keeps_their_order(log: Log) -> None:
    log.asked("m-1", "hello")
    log.draft("m-1", "Let me look.")
    call = {"call_id": "c", "name": "look", "delivery_id": "m-1"}
    told = log.event("tool", CAPTAIN, phase="completed", **call)
    assert told[-2:] == ["Let me look.", "· look"]
    assert log.answered("m-1", "Let me look. Found.") == [" Found."]


@pytest.mark.parametrize(
    ("phase", "fields", "said"),
    [
        ("failed", {"code": "model_timeout", "detail": "It took too long."}, "It took too long."),
        ("failed", {"code": "conversation_closed", "detail": "Closed."}, "not sent"),
        ("cancelled", {}, "cancelled"),
    ],
)
def test_an_end_without_an_answer_is_said(
    phase: str, fields: dict[str, str], said: str, log: Log
) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "started")
    told = log.turn("m-1", phase, **fields)
    assert said in told[-1]
    assert log.story.waiting == {}


def test_what_was_written_before_a_failure_is_shown_once(log: Log) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "started")
    log.draft("m-1", "half an ans")
    told = log.turn("m-1", "failed", code="x", detail="Gone.", partial="half an ans")
    assert told.count("half an ans") == 1


def test_a_partial_answer_in_the_history_is_shown(log: Log) -> None:
    log.asked("m-1", "hello")
    assert "half" in log.turn("m-1", "failed", detail="Gone.", partial="half")


# proves: DAY-1
def test_a_doubt_is_announced_with_its_sentence_and_what_can_be_done(log: Log) -> None:
    log.asked("m-1", "pay the bill")
    log.turn("m-1", "started")
    told = log.turn("m-1", "uncertain", detail="The model was asked at 14:02; tools run: none.")
    assert "pay the bill" in told[0]
    assert told[1] == "The model was asked at 14:02; tools run: none."
    assert "/look 1" in told[2]
    assert "/again 1" in told[2]
    assert "/close 1" in told[2]
    assert log.story.uncertain == ["m-1"]


def test_an_old_doubt_in_the_history_is_one_quiet_line(log: Log) -> None:
    log.story.past = True
    log.asked("m-1", "pay the bill")
    told = log.turn("m-1", "uncertain", detail="x")
    assert len(told) == 1
    assert log.story.uncertain == []


def test_doubts_keep_their_numbers(log: Log) -> None:
    log.story.doubt("m-1", "x")
    log.story.doubt("m-2", "y")
    assert "/look 1" in log.told(log.story.doubt("m-1", "x"))[-1]


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ({"principal": "device", "id": "phone"}, "You, on a device phone"),
        ({"principal": "room", "id": "discord_text:1"}, "Room discord_text:1"),
        ({"principal": "captain", "id": "captain"}, "Wake"),
        ({"principal": "webhook", "id": "linear"}, "Webhook linear"),
    ],
)
def test_others_are_named_by_what_the_host_stamped(
    author: dict[str, str], name: str, log: Log
) -> None:
    told = log.event("message", author, role="external", text="You  12:00\nhi", delivery_id="x")
    assert told[0].startswith(name)


def test_an_answer_typed_in_a_harness_does_not_pass_for_clankie(log: Log) -> None:
    # proves: SEC-4
    told = log.event("message", SEAT, role="agent", text="hello", source="claude")
    assert told[0].startswith("Claude Code, written in the harness")


def test_what_was_typed_in_a_harness_is_never_shown_as_the_owners(log: Log) -> None:
    # proves: SEC-4
    told = log.event("message", SEAT, role="external", text="You  12:00\nhi", source="\x1b[31mco")
    assert told[0].startswith("co, typed in the harness")
    assert all(not one.startswith("You") or one == "You  12:00" for one in told[1:])
    assert log.story.foreign_inputs == 0


def test_what_is_typed_in_a_harness_during_a_turn_is_told_at_once(log: Log) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "started")
    for text in ("one", "two"):
        assert log.event("message", SEAT, role="external", text=text, source="codex")[1] == text


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("open", "⇄ From here the service answers"),
        ("attempting", "⇄ What the service did meanwhile is on its way"),
        ("delivered", "⇄ The harness has what the service did"),
        ("uncertain", "? It is not known whether the harness got"),
    ],
)
def test_steps_of_a_handoff_are_said(phase: str, words: str, log: Log) -> None:
    (told,) = log.event("handoff", CAPTAIN, span="s", phase=phase, from_cursor=1)
    assert told.startswith(words)


def test_a_message_of_mine_is_not_one_from_elsewhere(log: Log) -> None:
    log.story.mine.add("m-1")
    log.asked("m-1", "mine")
    log.asked("m-2", "from the other terminal")
    assert log.story.foreign_inputs == 1


def test_notices_and_resets_are_said(log: Log) -> None:
    assert log.event("notice", CAPTAIN, code="x", text="The seat was silent.")[0].endswith(
        "silent."
    )
    assert "begun afresh" in log.event("reset")[0]


def test_a_notice_names_the_message_that_it_is_about_where_another_stands_between(
    log: Log,
) -> None:
    text = "claude did not take this message."
    log.asked("m-1", "Water the roses")
    plain = log.event("notice", CAPTAIN, code="x", text=text, delivery_id="m-1")
    log.asked("m-2", "And the lawn")
    named = log.event("notice", CAPTAIN, code="x", text=text, delivery_id="m-1")
    assert plain == ["! Claude Code did not take this message."]
    assert named == ["! “Water the roses”: Claude Code did not take this message."]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("claude drives this conversation now.", "! Claude Code drives this conversation now."),
        ("The seat s-1 (codex) last asked at 12:00 UTC.", "! Codex last asked at 12:00 UTC."),
        ("sudo drives", "! sudo drives"),
    ],
)
def test_notices_name_the_harness_as_people_do(text: str, told: str, log: Log) -> None:
    assert log.event("notice", CAPTAIN, code="seat_attached", text=text) == [told]


def test_a_kind_that_is_not_known_yet_is_passed_over(log: Log) -> None:
    assert log.event("unheard_of", CAPTAIN, span="s", phase="open") == []
    assert log.event("handoff", CAPTAIN, span="s", phase="unheard_of") == []
    assert log.story.cursor == 2


def test_tokens_are_added_up(log: Log) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "completed", usage={"input_tokens": 10, "output_tokens": 5, "requests": 1})
    assert log.story.tokens == 15


def test_what_turns_cost_is_added_up_where_it_is_known(log: Log) -> None:
    log.asked("m-1", "hello")
    log.turn("m-1", "completed", usage={"input_tokens": 10, "cost_usd": 0.25})
    log.turn("m-2", "completed", usage={"input_tokens": 10})
    assert log.story.cost == 0.25


def test_what_was_attached_is_named(log: Log) -> None:
    picture = {"digest": "d", "name": "cat\x1b[2J.png", "media_type": "image/png", "size": 5}
    told = log.event("message", role="owner", text="look", delivery_id="m", attachments=[picture])
    assert told[-1] == "· attached: cat.png (image/png)"


def test_a_receipt_that_is_older_than_the_log_takes_nothing_back(log: Log) -> None:
    log.asked("m-9", "hello")
    log.turn("m-9", "started")
    log.story.adopt({"id": "m-9", "state": "queued"}, "hello")
    assert log.story.waiting["m-9"].state == "running"


def test_a_known_open_delivery_is_adopted(log: Log) -> None:
    log.story.adopt({"id": "m-9", "state": "running"}, "still going")
    assert log.story.waiting["m-9"].words == "still going"
    assert log.story.excerpt("m-9") == "still going"


FORGED = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("\n\r\x1b\x9b\t #*`>-•✗✓?!You"))
)


# proves: SEC-8
@given(FORGED, st.integers(min_value=12, max_value=100))
def test_no_text_can_begin_a_row_in_the_first_column(text: str, width: int) -> None:
    log = Log()
    log.event("message", role="owner", text=text, delivery_id="m-1")
    log.turn("m-1", "started")
    log.draft("m-1", text + "\n")
    log.answered("m-1", "different " + text)
    log.turn("m-1", "failed", detail=text, code=text)
    call = {"call_id": "c", "name": text, "delivery_id": "m-1", "detail": text}
    log.event("tool", CAPTAIN, phase="completed", **call)
    log.event("notice", CAPTAIN, code="x", text=text)
    log.told(log.story.doubt(text, text))
    marks = {"You", "Clankie", "✗ ", "! ", "? 1  "}
    for told in log.lines:
        first, *more = [row.plain for row in rows([told], width)]
        assert first.startswith(" " * BODY) or not first or told.spans[0][1] in marks
        assert all(row.startswith(" " * BODY) or not row for row in more)
        assert not set("".join([first, *more])) & set("\x1b\x9b\r\n")
