"""What a log holds, what lists show of a conversation, and what of both goes on the wire."""

import json
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core.conversation import (
    CAPTAIN,
    OPERATOR,
    SYSTEM,
    Attachment,
    Author,
    Body,
    DriverView,
    Event,
    Handoff,
    Kind,
    Message,
    Notice,
    Principal,
    Reset,
    Role,
    State,
    Tool,
    ToolPhase,
    Turn,
    TurnPhase,
    Usage,
    body_to_wire,
    conversation_to_wire,
    event_to_wire,
    kind_name,
    may_read,
    projectable,
    state_of,
    timestamp,
)
from core.kit import NOON, conversation


def tool(phase: ToolPhase) -> Tool:
    return Tool(call_id="c-1", name="look", phase=phase, delivery_id="m-1", detail="two beans")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (Message(role=Role.AGENT, text="Done."), True),
        (tool(ToolPhase.COMPLETED), True),
        (tool(ToolPhase.FAILED), True),
        (tool(ToolPhase.STARTED), False),
        (Turn(phase=TurnPhase.STARTED, delivery_id="m-1"), False),
        (Notice(code="takeover", text="The seat is silent."), False),
        (Reset(), False),
    ],
)
def test_projections_show_messages_and_finished_tools(body: Body, shown: bool) -> None:
    # proves: CONV-6
    assert projectable(body) is shown


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        (
            Message(role=Role.EXTERNAL, text="Hi.", delivery_id="m-1", source="report"),
            {
                "kind": "message",
                "role": "external",
                "text": "Hi.",
                "delivery_id": "m-1",
                "source": "report",
            },
        ),
        (
            Message(role=Role.OWNER, text="Hi."),
            {"kind": "message", "role": "owner", "text": "Hi."},
        ),
        (
            tool(ToolPhase.STARTED),
            {
                "kind": "tool",
                "call_id": "c-1",
                "name": "look",
                "phase": "started",
                "delivery_id": "m-1",
                "detail": "two beans",
            },
        ),
        (
            Turn(
                phase=TurnPhase.FAILED,
                delivery_id="m-1",
                code="answer_empty",
                detail="No word.",
                partial="Hm",
                usage=Usage(input_tokens=1, output_tokens=2, requests=3),
                routing_reason="released",
            ),
            {
                "kind": "turn",
                "phase": "failed",
                "delivery_id": "m-1",
                "code": "answer_empty",
                "detail": "No word.",
                "partial": "Hm",
                "usage": {"input_tokens": 1, "output_tokens": 2, "requests": 3},
                "routing_reason": "released",
            },
        ),
        (
            Turn(phase=TurnPhase.STARTED, delivery_id="m-1"),
            {"kind": "turn", "phase": "started", "delivery_id": "m-1"},
        ),
        (Notice(code="c", text="t"), {"kind": "notice", "code": "c", "text": "t"}),
        (
            Notice(code="c", text="t", delivery_id="m-1"),
            {"kind": "notice", "code": "c", "text": "t", "delivery_id": "m-1"},
        ),
        (
            Handoff(span="h-1", phase="open", from_cursor=4),
            {"kind": "handoff", "span": "h-1", "phase": "open", "from_cursor": 4},
        ),
        (
            Handoff(span="h-1", phase="attempting", from_cursor=4, to_cursor=9),
            {
                "kind": "handoff",
                "span": "h-1",
                "phase": "attempting",
                "from_cursor": 4,
                "to_cursor": 9,
            },
        ),
        (Reset(), {"kind": "reset"}),
    ],
)
def test_an_event_on_the_wire_has_its_kind_its_author_its_time_and_what_is_known(
    body: Body, wire: dict[str, Any]
) -> None:
    # proves: CONV-4
    event = event_to_wire(Event(7, NOON, OPERATOR, body))
    assert json.loads(json.dumps(event)) == {
        "cursor": 7,
        "at": "2026-11-30T12:00:00.000Z",
        "author": {"principal": "operator", "id": "operator"},
        **wire,
    }
    assert {"kind": kind_name(body), **body_to_wire(body)} == wire


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)),  # noqa: DTZ001 - drawn as naive bounds
    st.integers(-720, 720),
)
def test_a_time_on_the_wire_is_utc_in_whole_milliseconds(naive: datetime, minutes: int) -> None:
    # proves: CONV-4
    at = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    text = timestamp(at)
    assert len(text) == len("2026-11-30T12:00:00.000Z")
    assert text.endswith("Z")
    assert timedelta(0) <= at - datetime.fromisoformat(text) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, State.IDLE),
        ({"uncertain": 3}, State.IDLE),
        ({"running": 1}, State.RUNNING),
        ({"waiting": 1}, State.RUNNING),
        ({"waiting": 2, "held": 1}, State.RUNNING),
        ({"waiting": 2, "held": 2}, State.HELD),
        ({"waiting": 1, "held": 1, "running": 1}, State.RUNNING),
        ({"closed": True, "waiting": 1, "running": 1}, State.CLOSED),
    ],
)
def test_the_state_in_lists_is_what_it_is_doing_now(facts: dict[str, Any], state: State) -> None:
    # proves: CONV-1
    assert conversation(**facts).state is state


def driver(state: str = "live", **changed: Any) -> DriverView:
    whole: dict[str, Any] = {"seat": "seat-1", "harness": "claude", "since": NOON, **changed}
    return DriverView(state=state, **whole)


@pytest.mark.parametrize(
    ("facts", "seat", "state"),
    [
        ({"waiting": 1}, "live", State.WAITING_SEAT),
        ({"waiting": 1}, "holding", State.WAITING_SEAT),
        ({"waiting": 1}, "absent", State.RUNNING),
        ({"waiting": 1}, "parked", State.RUNNING),
        ({"waiting": 1}, None, State.RUNNING),
        ({"waiting": 1, "running": 1}, "live", State.RUNNING),
        ({"waiting": 1, "held": 1}, "live", State.HELD),
        ({}, "live", State.IDLE),
        ({"closed": True, "waiting": 1}, "live", State.CLOSED),
    ],
)
def test_what_waits_for_a_seat_is_told_from_what_is_about_to_run(
    facts: dict[str, Any], seat: str | None, state: State
) -> None:
    # proves: CONV-1
    view = None if seat is None else driver(seat)
    assert state_of(conversation(**facts), view) is state
    assert conversation_to_wire(conversation(**facts), view)["state"] == state


def test_a_list_names_the_seat_that_drives_a_conversation() -> None:
    # proves: CONV-1
    later = NOON + timedelta(seconds=45)
    silent = driver("holding", last_ask=NOON, hold_until=later, grace_until=NOON)
    assert conversation_to_wire(conversation(), silent)["driver"] == {
        "kind": "seat",
        "seat": "seat-1",
        "harness": "claude",
        "state": "holding",
        "since": "2026-11-30T12:00:00.000Z",
        "last_ask": "2026-11-30T12:00:00.000Z",
        "hold_until": "2026-11-30T12:00:45.000Z",
        "grace_until": "2026-11-30T12:00:00.000Z",
    }
    assert set(driver().to_wire()) == {"kind", "seat", "harness", "state", "since"}


@pytest.mark.parametrize(("reader", "other"), [*product(Kind, Kind)])
def test_a_room_may_look_at_itself_alone_and_everything_else_at_everything(
    reader: Kind, other: Kind
) -> None:
    here, there = conversation(id="here", kind=reader), conversation(id="there", kind=other)
    assert may_read(here, there) == (reader is not Kind.ROOM)
    assert may_read(here, here)


def test_a_list_names_the_model_only_where_the_default_does_not_answer() -> None:
    assert conversation_to_wire(conversation(model="openai:small"))["model"] == "openai:small"
    assert "model" not in conversation_to_wire(conversation())


@pytest.mark.parametrize("kind", Kind)
def test_only_rooms_are_read_only(kind: Kind) -> None:
    # proves: CONV-2
    assert conversation(kind=kind).read_only is (kind is Kind.ROOM)


def test_a_list_shows_what_a_reader_needs_to_choose_a_conversation() -> None:
    # proves: CONV-1
    wire: dict[str, object] = {
        "id": "garden",
        "name": "Garden",
        "kind": "workspace",
        "state": "held",
        "revision": 3,
        "cursor": 17,
        "driver": {"kind": "service"},
        "unread_reports": 2,
        "uncertain": 1,
        "created_at": "2026-11-30T12:00:00.000Z",
    }
    facts = {"unread_reports": 2, "uncertain": 1, "waiting": 1, "held": 1}
    assert conversation_to_wire(conversation(**facts)) == wire
    with_directory = conversation_to_wire(conversation(**facts, directory="/srv/garden"))
    assert with_directory == {**wire, "directory": "/srv/garden"}


@pytest.mark.parametrize(
    ("author", "principal", "name"),
    [
        (OPERATOR, "operator", "operator"),
        (CAPTAIN, "captain", "captain"),
        (SYSTEM, "system", "clankie"),
        (Author(Principal.SEAT, "s-1"), "seat", "s-1"),
    ],
)
def test_an_author_says_which_principal_stands_behind_it(
    author: Author, principal: str, name: str
) -> None:
    assert author.to_wire() == {"principal": principal, "id": name}


def test_an_attachment_is_shown_by_its_digest_and_only_where_there_is_one() -> None:
    picture = Attachment(digest="ab" * 32, name="cat.png", media_type="image/png", size=7)
    shown = body_to_wire(Message(role=Role.OWNER, text="look", attachments=(picture,)))
    assert shown["attachments"] == [
        {"digest": "ab" * 32, "name": "cat.png", "media_type": "image/png", "size": 7}
    ]
    assert "attachments" not in body_to_wire(Message(role=Role.OWNER, text="look"))
    assert picture.image
    assert not Attachment(digest="cd" * 32, name="a", media_type="text/plain", size=1).image


def test_what_a_turn_cost_names_model_and_price_only_where_they_are_known() -> None:
    assert Usage(input_tokens=2, output_tokens=3, requests=1).to_wire() == {
        "input_tokens": 2,
        "output_tokens": 3,
        "requests": 1,
    }
    known = Usage(input_tokens=2, output_tokens=3, requests=1, model="m", cost_usd=0.5)
    assert known.to_wire()["model"] == "m"
    assert known.to_wire()["cost_usd"] == pytest.approx(0.5)
    assert known.tokens == 5
