"""The bytes of an event are those that core describes, from the log and on the way to a reader."""

import json
from datetime import UTC, datetime

import pytest

from clankie.core.conversation import (
    CAPTAIN,
    OPERATOR,
    SYSTEM,
    Author,
    Body,
    Event,
    Message,
    Notice,
    Principal,
    Reset,
    Role,
    Tool,
    ToolPhase,
    Turn,
    TurnPhase,
    Usage,
    event_to_wire,
    projectable,
)
from clankie.store.sqlite import connect, conversations, events, heads, migrate
from clankie.store.sqlite.unit import Transaction
from fakes.clock import FakeIds

NOW = datetime(2026, 11, 30, 12, 0, 0, 7_000, tzinfo=UTC)

BODIES: list[tuple[Author, Body]] = [
    (OPERATOR, Message(role=Role.OWNER, text='Hello "you"\n\u2028 \U0001f600', delivery_id="m-1")),
    (CAPTAIN, Message(role=Role.AGENT, text="", delivery_id="m-1", source="room")),
    (CAPTAIN, Tool(call_id="c", name="t", phase=ToolPhase.STARTED, delivery_id="m-1")),
    (CAPTAIN, Tool(call_id="c", name="t", phase=ToolPhase.FAILED, delivery_id="m-1", detail="no")),
    (SYSTEM, Turn(phase=TurnPhase.ADMITTED, delivery_id="m-1")),
    (
        SYSTEM,
        Turn(
            phase=TurnPhase.FAILED,
            delivery_id="m-1",
            code="x",
            detail="y",
            partial="z",
            usage=Usage(input_tokens=1, output_tokens=2, requests=3),
        ),
    ),
    (Author(Principal.DEVICE, 'a"b'), Notice(code="c", text="t")),
    (OPERATOR, Reset()),
]


@pytest.fixture
def transaction(path: object) -> Transaction:
    from pathlib import Path

    assert isinstance(path, Path)
    database = connect.writer(path)
    migrate.migrate(database, migrate.migrations(), 0)
    found = Transaction(database, FakeIds())
    found.begin(NOW)
    conversations.ensure_head(found)
    return found


def test_each_kind_of_event_has_the_wire_form_of_core(transaction: Transaction) -> None:
    head = heads.read(transaction, "global-default")
    for author, body in BODIES:
        cursor = events.append(transaction, head, author, body)
        data = transaction.events[-1].data
        assert json.loads(data) == event_to_wire(Event(cursor, NOW, author, body))
    heads.save(transaction, head)
    page = events.after(transaction.connection, "global-default", 0, 100)
    assert list(page.events) == transaction.events
    transaction.connection.close()


def test_what_projections_show_is_read_back_as_it_was(transaction: Transaction) -> None:
    head = heads.read(transaction, "global-default")
    for author, body in BODIES:
        if projectable(body):
            events.append(transaction, head, author, body)
            data = transaction.events[-1].data.decode()
            assert events.shown(data) == (author, body)
    transaction.connection.close()
