"""The handoff: the life of a span, and the text that tells a harness what it missed."""

from collections.abc import Mapping
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.core import handoff
from clankie.core.conversation import (
    CAPTAIN,
    SYSTEM,
    Body,
    Event,
    Handoff,
    Message,
    Notice,
    Reset,
    Role,
    Tool,
    ToolPhase,
    Turn,
    TurnPhase,
)
from clankie.core.errors import TransitionRefusedError
from clankie.core.handoff import ServiceTurn, SpanEvent, SpanState, compose
from core.kit import NOON

SPAN: Mapping[str, Mapping[str, str]] = {
    "none": {"run": "open", "restarted": "none", "covered": "none", "reset": "none"},
    "open": {
        "run": "open",
        "sealed": "attempting",
        "restarted": "open",
        "covered": "delivered",
        "reset": "none",
    },
    "attempting": {
        "run": "attempting",
        "acknowledged": "delivered",
        "refused": "open",
        "lapsed": "uncertain",
        "restarted": "unresolved",
        "covered": "delivered",
        "reset": "attempting",
    },
    "unresolved": {
        "run": "unresolved",
        "acknowledged": "delivered",
        "lapsed": "uncertain",
        "restarted": "unresolved",
        "covered": "delivered",
        "reset": "unresolved",
    },
    "delivered": {"acknowledged": "delivered"},
    "uncertain": {"acknowledged": "delivered"},
}


@pytest.mark.parametrize(("before", "event"), list(product(SpanState, SpanEvent)))
def test_a_span_moves_exactly_as_its_table_says(before: SpanState, event: SpanEvent) -> None:
    # proves: HAND-6
    after = SPAN[before].get(event)
    if after is not None:
        assert handoff.advance("h-1", before, event) == after
        return
    with pytest.raises(TransitionRefusedError, match=r"'h-1' is .* cannot become"):
        handoff.advance("h-1", before, event)


def paths(state: SpanState, seen: tuple[SpanState, ...]) -> list[tuple[SpanState, ...]]:
    """Every way through the table from here that visits no state twice."""
    after = {state for state in handoff.SPAN[state].values() if state not in seen}
    return [seen, *(way for one in sorted(after) for way in paths(one, (*seen, one)))]


def test_what_was_sent_is_sent_again_only_after_a_definite_refusal() -> None:
    # proves: HAND-6
    back = [
        (before, event)
        for before, cells in handoff.SPAN.items()
        for event, after in cells.items()
        if before in handoff.IN_FLIGHT and after not in handoff.IN_FLIGHT | handoff.CLOSED
    ]
    assert back == [(SpanState.ATTEMPTING, SpanEvent.REFUSED)]
    closed = {after for one in handoff.CLOSED for after in handoff.SPAN[one].values()}
    assert closed <= handoff.CLOSED


def test_every_state_can_be_reached_and_leads_to_an_end() -> None:
    ways = paths(SpanState.NONE, (SpanState.NONE,))
    assert {state for way in ways for state in way} == set(SpanState)
    for state in SpanState:
        ends = {one for way in paths(state, (state,)) for one in way} & set(handoff.CLOSED)
        assert ends


@pytest.mark.parametrize(("before", "after"), list(product(SpanState, SpanState)))
def test_the_cursor_moves_and_the_log_is_told_when_a_span_on_its_way_closes(
    before: SpanState, after: SpanState
) -> None:
    # proves: HAND-6
    on_its_way = before in {SpanState.ATTEMPTING, SpanState.UNRESOLVED}
    closes = after in {SpanState.DELIVERED, SpanState.UNCERTAIN}
    assert handoff.moves_cursor(before, after) == (on_its_way and closes)
    told = after is SpanState.UNCERTAIN and before is not SpanState.UNCERTAIN
    assert handoff.to_be_said(before, after) == told


def test_what_may_not_have_arrived_is_said_with_its_place() -> None:
    # proves: HAND-6
    text = handoff.unproven(12, 40)
    assert "cursors 12 to 40" in text
    assert "may not have reached" in text


def event(cursor: int, body: Body) -> Event:
    author = CAPTAIN if isinstance(body, Message) and body.role is Role.AGENT else SYSTEM
    return Event(cursor, NOON + timedelta(minutes=cursor), author, body)


def test_a_turn_is_told_verbatim_however_long_its_messages_are() -> None:
    # proves: HAND-3
    long = "x" * 9_000
    told = handoff.turn_of(
        [
            event(1, Message(role=Role.EXTERNAL, text="Wake: water the beans.", source="wake")),
            event(2, Turn(phase=TurnPhase.STARTED, delivery_id="w-1")),
            event(3, tool(ToolPhase.STARTED)),
            event(4, tool(ToolPhase.COMPLETED)),
            event(5, Notice(code="some", text="A notice.")),
            event(6, Handoff(span="h-1", phase="open", from_cursor=1)),
            event(7, Reset()),
            event(8, Message(role=Role.AGENT, text=long)),
            event(9, Turn(phase=TurnPhase.COMPLETED, delivery_id="w-1")),
        ]
    )
    assert told == ServiceTurn(
        1,
        9,
        "[2026-11-30 12:01] external (wake): Wake: water the beans.\n"
        "[2026-11-30 12:04] system tool look completed: 3 beds\n"
        f"[2026-11-30 12:08] you: {long}",
    )


def tool(phase: ToolPhase) -> Tool:
    return Tool(call_id="c-1", name="look", phase=phase, delivery_id="w-1", detail="3 beds")


@pytest.mark.parametrize("phase", ["failed", "cancelled", "uncertain"])
def test_a_turn_that_did_not_end_well_says_how_it_ended(phase: str) -> None:
    body = Turn(phase=TurnPhase(phase), delivery_id="w-1", code="model_down")
    plain = Turn(phase=TurnPhase(phase), delivery_id="w-1")
    words = event(1, Message(role=Role.EXTERNAL, text="Wake."))
    told = handoff.turn_of([words, event(2, body)]).text
    assert told.endswith(f"\n[2026-11-30 12:02] turn {phase}: model_down")
    assert handoff.turn_of([words, event(2, plain)]).text.endswith(f"turn {phase}")


def turns(*lengths: int) -> list[ServiceTurn]:
    return [
        ServiceTurn(n * 10, n * 10 + 5, f"<{n}>".ljust(length, "x"))
        for n, length in enumerate(lengths, 1)
    ]


def test_all_turns_that_fit_stand_in_their_order_and_nothing_is_called_left_out() -> None:
    # proves: HAND-3
    text = compose(turns(100, 9_000, 100))
    parts = text.split("\n\n")
    assert parts[1:] == [one.text for one in turns(100, 9_000, 100)]
    assert "do not do them again" in parts[0]


def test_whole_turns_are_left_out_oldest_first_and_named_by_their_cursors() -> None:
    # proves: HAND-3
    text = compose(turns(9_000, 9_000, 9_000, 9_000))
    assert [n for n in range(1, 5) if f"<{n}>" in text] == [3, 4]
    assert "[2 earlier turns left out, cursors 10 to 25: read_conversation shows them" in text
    assert "report inbox" in text
    assert len(text) <= 24_000


def test_a_single_turn_beyond_the_budget_is_cut_at_its_head_and_says_so() -> None:
    # proves: HAND-3
    huge = ServiceTurn(7, 9, "a" * 30_000 + "The beans are watered.")
    text = compose([huge])
    assert len(text) <= 24_000
    assert text.endswith("The beans are watered.")
    missing = 30_022 - len(text.rsplit("cut]\n", 1)[1])
    assert f"[the first {missing} characters of this turn, cursors 7 to 9, are cut]" in text
    both = compose([*turns(100), huge])
    assert "[1 earlier turns left out, cursors 10 to 15" in both
    assert both.endswith("The beans are watered.")
    assert len(both) <= 24_000


def test_a_turn_that_just_fits_is_not_cut() -> None:
    room = 24_000 - len(compose(turns(10))) + 10
    assert compose(turns(room)).endswith(turns(room)[0].text)
    assert len(compose(turns(room))) == 24_000
    assert "are cut]" in compose(turns(room + 1))


def test_without_turns_there_is_nothing_to_tell() -> None:
    # proves: HAND-5
    assert compose([]) == ""


@given(st.lists(st.integers(0, 4_000), max_size=12), st.integers(0, 9_000))
def test_a_handoff_never_exceeds_its_budget_and_accounts_for_every_turn(
    lengths: list[int], budget: int
) -> None:
    # proves: HAND-3
    told = turns(*lengths)
    text = compose(told, budget)
    assert len(text) <= budget
    assert len(compose(told)) <= 24_000
    if not told or budget < 600:
        return
    whole = [one for one in told if one.text in text]
    assert whole == told[len(told) - len(whole) :]
    left = told[: len(told) - max(1, len(whole))]
    if left:
        marker = f"[{len(left)} earlier turns left out, cursors 10 to {left[-1].last}:"
        assert marker in text
    assert ("are cut]" in text) == (not whole)
