"""Seats in words: the pure part, run where it runs, in the browser."""

from typing import Any

import pytest

from console.kit import Desk
from console.test_strangers import event

NOW = "2026-11-30T12:00:00.000Z"
LATER = "2026-11-30T12:00:25.000Z"
SEAT = {"principal": "seat", "id": "s-1"}
DRIVER = {
    "kind": "seat",
    "seat": "s-1",
    "harness": "claude",
    "since": "2026-11-30T11:00:00.000Z",
    "last_ask": "2026-11-30T11:59:40.000Z",
}


@pytest.fixture(scope="module")
def run(shared: Desk) -> Any:
    """JavaScript in one page for all of them: what they try keeps nothing."""
    return shared.open("/login", log_in=False).run


def driving(run: Any, driver: Any, seat: Any = None) -> Any:
    return run(
        "async ([driver, seat, now]) => (await import('/console/seatwords.js'))"
        ".driving(driver, seat, new Date(now).getTime())",
        driver,
        seat,
        NOW,
    )


def test_where_the_service_drives_and_no_seat_is_attached_nothing_is_said(run: Any) -> None:
    assert driving(run, {"kind": "service"}) is None
    assert driving(run, None) is None


@pytest.mark.parametrize(
    ("driver", "seat", "says", "fact"),
    [
        ({"state": "live"}, {"activity": "responding"}, "drives", "works now"),
        ({"state": "live"}, {"waiting": 3, "in_flight": 1}, "drives", "3 waiting there"),
        ({"state": "holding", "hold_until": LATER}, None, "is silent", "takes over in 25 s"),
        ({"state": "holding", "grace_until": LATER}, None, "is silent", "takes over in 25 s"),
        ({"state": "absent"}, None, "is away", "the service answers"),
        ({"state": "parked"}, {"parked_until": LATER}, "usage limit until", "answers meanwhile"),
        ({"state": "parked"}, None, "begin a new session", "type /clear or /new in its terminal"),
        ({"state": "parked"}, None, "begin a new session", "answers meanwhile"),
    ],
)
def test_who_drives_is_said_as_it_is(
    run: Any, driver: Any, seat: Any, says: str, fact: str
) -> None:
    told = driving(run, DRIVER | driver, seat)
    assert told["name"] == "Claude Code"
    assert told["tone"] == driver["state"]
    assert says in told["says"]
    assert fact in " · ".join(told["facts"])


def test_hold_and_grace_are_counted_down_side_by_side(run: Any) -> None:
    soon = "2026-11-30T12:00:10.000Z"
    told = driving(run, DRIVER | {"state": "holding", "hold_until": LATER, "grace_until": soon})
    facts = " · ".join(told["facts"])
    assert "takes over in 25 s" in facts
    assert "queue is kept 10 s more" in facts
    assert told["share"] == pytest.approx(25 / 45)


@pytest.mark.parametrize(
    ("until", "words"),
    [
        ("2026-11-30T12:00:00.400Z", "1 s"),
        ("2026-11-30T11:00:00.000Z", "0 s"),
        ("2026-11-30T12:01:05.000Z", "1 min 05 s"),
        ("2026-11-30T14:10:30.000Z", "2 h 10 min"),
    ],
)
def test_what_is_left_is_never_below_nothing(run: Any, until: str, words: str) -> None:
    code = (
        "async ([until, now]) => (await import('/console/seatwords.js')).left(until, new Date(now))"
    )
    assert run(code, until, NOW) == words


def receipt(attempt: str | None, *, mode: str = "auto", **more: Any) -> dict[str, Any]:
    where = {"kind": "seat", "seat": "s-1", "occupant": "o-1"}
    last = {"n": 1, "destination": where, "state": attempt, "started_at": NOW}
    return {"state": "running", "mode": mode, "attempts": [last] if attempt else [], **more}


OWN = [
    event(1, "message", role="owner", text="first", delivery_id="a"),
    event(2, "message", role="owner", text="second", delivery_id="b"),
]
TAKEN = event(3, "turn", phase="started", delivery_id="b")


def told(run: Any, events: list[Any], receipts: dict[str, Any], seat: Any = DRIVER) -> Any:
    return run(
        """async ([events, receipts, seat]) => {
          const { tell } = await import("/console/rows.js");
          const more = { receipts: new Map(Object.entries(receipts)), seat, names: {} };
          return tell(events, more).rows.filter((row) => row.type !== "day");
        }""",
        events,
        receipts,
        seat,
    )


@pytest.mark.parametrize(
    ("given", "state", "words"),
    [
        (receipt(None), "queued", None),
        (receipt(None, mode="queue"), "behind", "Queued behind the turn of Claude Code"),
        (receipt("offered"), "offered", "Waits at Claude Code"),
        (receipt("offered", mode="queue"), "behind", "Queued behind the turn of Claude Code"),
        (receipt("attempting"), "attempting", "On its way to Claude Code"),
        (receipt("taken"), "taken", "Taken by Claude Code"),
        (receipt("accepted"), "accepted", "In the transcript of Claude Code"),
        (receipt("released"), "queued", None),
        (receipt("refused"), "queued", None),
    ],
)
def test_a_message_stands_where_its_attempt_at_the_seat_is(
    run: Any, given: Any, state: str, words: str | None
) -> None:
    row = told(run, OWN[:1], {"a": given})[0]
    assert (row["state"], row.get("words")) == (state, words)


def test_a_message_that_came_while_another_was_in_flight_was_steered(run: Any) -> None:
    _, second, *_ = told(run, OWN, {"a": receipt("accepted"), "b": receipt("taken")})
    assert second["state"] == "steered"
    assert second["words"] == "Steered into the turn of Claude Code, taken"


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (receipt("replied", reply_cursor=9), "settled"),
        (receipt("delivered", reply_cursor=9), "settled"),
        (receipt("delivered"), "delivered"),
    ],
)
def test_answered_is_only_what_was_answered(run: Any, given: Any, state: str) -> None:
    events = [OWN[0], event(2, "turn", phase="completed", delivery_id="a")]
    row, *_ = told(run, events, {"a": given})
    assert row["state"] == state


@pytest.mark.parametrize(
    ("turns", "state"),
    [
        ([{"phase": "cancelled", "code": "seat_left"}], "not_sent"),
        ([{"phase": "cancelled"}], "cancelled"),
        ([{"phase": "started"}, {"phase": "cancelled", "code": "operator_interrupt"}], "cancelled"),
    ],
)
def test_what_ended_for_a_reason_before_it_was_given_out_was_not_sent(
    run: Any, turns: list[dict[str, str]], state: str
) -> None:
    # proves: SEAT-8
    steps = [event(2 + n, "turn", delivery_id="a", **one) for n, one in enumerate(turns)]
    row, *_ = told(run, [OWN[0], *steps], {"a": receipt(None, mode="queue")})
    assert row["state"] == state
    assert ("went away" in (row.get("sentence") or "")) is (state == "not_sent")


def test_notices_name_the_harness_as_people_do(run: Any) -> None:
    notices = ["claude drives this conversation now.", "sudo drives", "A claude drives"]
    notices.append("The seat s-1 (codex) last asked at 12:00 UTC.")
    events = [event(1 + n, "notice", code="x", text=text) for n, text in enumerate(notices)]
    shown = [row["text"] for row in told(run, events, {})]
    assert shown[0] == "Claude Code drives this conversation now."
    assert shown[1:] == [*notices[1:3], "Codex last asked at 12:00 UTC."]


def test_a_notice_names_the_message_that_it_is_about_where_another_stands_between(
    run: Any,
) -> None:
    said = {"code": "seat_refused", "text": "claude did not take this message."}
    for delivery, about in (("a", "first"), ("b", "")):
        events = [*OWN, event(3, "notice", delivery_id=delivery, **said)]
        (row,) = [row for row in told(run, events, {}) if row["type"] == "notice"]
        assert row["about"] == about


def test_the_evidence_of_a_doubt_names_seat_session_acknowledgement_and_proof(run: Any) -> None:
    given = receipt("uncertain")["attempts"][0] | {"evidence": {"acknowledged_at": LATER}}
    pairs = run(
        "async ([one]) => (await import('/console/seatwords.js'))"
        ".evidence(one, 'Claude Code', (at) => at)",
        given,
    )
    assert dict(pairs) == {
        "Given to": "Claude Code, seat s-1",
        "In session": "o-1",
        "Handed over": NOW,
        "Acknowledged": LATER,
        "Proof": "none",
    }


def test_a_handoff_is_one_row_when_it_opens_and_one_for_its_handover(run: Any) -> None:
    span = {"span": "x", "from_cursor": 4}
    events = [
        event(1, "handoff", phase="open", **span),
        event(2, "handoff", phase="attempting", to_cursor=9, **span),
        event(3, "handoff", phase="uncertain", to_cursor=9, **span),
    ]
    opened, handed = told(run, events, {})
    assert (opened["type"], opened["phase"]) == ("handoff", "open")
    assert (handed["phase"], handed["from"], handed["to"]) == ("uncertain", 4, 9)


def test_what_a_harness_says_stands_under_its_name(run: Any) -> None:
    words = {"author": SEAT, "source": "codex", "text": "x"}
    rows = told(run, [event(1, "message", role="external") | words], {})
    assert rows[0]["harness"] == "Codex"
    rows = told(run, [event(1, "message", role="agent", text="x") | {"author": SEAT}], {})
    assert rows[0]["harness"] == "Claude Code"


@pytest.mark.parametrize(
    ("activity", "state", "works"),
    [("responding", "live", True), ("waiting", "live", False), ("responding", "parked", False)],
)
def test_the_place_for_an_answer_is_there_while_the_harness_works(
    run: Any, activity: str, state: str, *, works: bool
) -> None:
    seat = DRIVER | {"activity": activity, "state": state}
    rows = told(run, [OWN[1], TAKEN], {"b": receipt("taken")}, seat)
    assert ("draft" in [row["type"] for row in rows]) is works


def test_a_turn_of_the_service_has_its_place_also_under_a_seat(run: Any) -> None:
    service = receipt(None) | {"attempts": [{"n": 1, "destination": {"kind": "service"}}]}
    rows = told(run, [OWN[1], TAKEN], {"b": service})
    assert rows[-1]["type"] == "draft"
    assert "harness" not in rows[-1]
