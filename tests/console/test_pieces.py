"""The pure parts, run where they run: in the browser."""

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from console.kit import Desk
from console.test_strangers import event


@pytest.fixture(scope="module")
def run(shared: Desk) -> Any:
    """JavaScript in one page for all of them: what they try keeps nothing."""
    return shared.open("/login", log_in=False).run


def test_a_stream_is_cut_into_events_wherever_its_pieces_end(run: Any) -> None:
    text = 'retry: 2000\n\n:\n\nid: 1\ndata: {"a":1}\n\nevent: draft\ndata: x\ndata: y\n\n'
    got = run(
        """async ([text]) => {
          const { Cutter } = await import("/console/stream.js");
          const found = [];
          for (let size = 1; size < 9; size += 1) {
            const cutter = new Cutter();
            const events = [];
            for (let at = 0; at < text.length; at += size)
              events.push(...cutter.push(text.slice(at, at + size)));
            found.push(JSON.stringify(events));
          }
          return [...new Set(found)];
        }""",
        text,
    )
    assert [json.loads(one) for one in got] == [
        [
            {"kind": "", "id": "1", "data": '{"a":1}'},
            {"kind": "draft", "id": "", "data": "x\ny"},
        ]
    ]


def told(run: Any, events: list[dict[str, Any]], more: dict[str, Any] | None = None) -> Any:
    return run(
        """async ([events, more]) => {
          const { tell } = await import("/console/rows.js");
          if (more.receipts) more.receipts = new Map(Object.entries(more.receipts));
          return tell(events, more).rows.filter((row) => row.type !== "day");
        }""",
        events,
        more or {},
    )


@pytest.mark.parametrize(
    ("turns", "state"),
    [
        ([], "queued"),
        ([{"phase": "started"}], "running"),
        ([{"phase": "started"}, {"phase": "completed"}], "settled"),
        ([{"phase": "started"}, {"phase": "cancelled"}], "cancelled"),
        ([{"phase": "started"}, {"phase": "uncertain"}], "uncertain"),
        ([{"phase": "failed", "code": "model_timeout"}], "failed"),
        ([{"phase": "failed", "code": "conversation_closed"}], "not_sent"),
    ],
)
def test_a_message_stands_as_its_events_say(run: Any, turns: list[Any], state: str) -> None:
    events = [event(1, "message", role="owner", text="hi", delivery_id="d")]
    events += [event(2 + n, "turn", delivery_id="d", **one) for n, one in enumerate(turns)]
    row, *_ = told(run, events)
    assert row["state"] == state


def test_what_runs_has_a_place_for_its_answer_before_the_first_word(run: Any) -> None:
    events = [
        event(1, "message", role="owner", text="hi", delivery_id="d"),
        event(2, "turn", phase="started", delivery_id="d"),
    ]
    assert [row["type"] for row in told(run, events)] == ["message", "draft"]


def test_a_receipt_adds_what_the_log_does_not_say(run: Any) -> None:
    events = [
        event(1, "message", role="owner", text="hi", delivery_id="d"),
        event(2, "turn", phase="uncertain", delivery_id="d"),
    ]
    receipt = {"state": "abandoned", "detail": "Nobody knows."}
    [row] = told(run, events, {"receipts": {"d": receipt}})
    assert (row["state"], row["sentence"]) == ("abandoned", "Nobody knows.")


def test_a_message_on_its_way_is_one_row_with_the_one_in_the_log(run: Any) -> None:
    out = {"id": "d", "at": "2026-11-30T12:00:01.000Z", "text": "hi"}
    [before] = told(run, [], {"outgoing": [out]})
    logged = [event(1, "message", role="owner", text="hi", delivery_id="d")]
    [after] = told(run, logged, {"outgoing": [out]})
    assert before["key"] == after["key"]
    assert (before["state"], after["state"]) == ("sending", "queued")


def test_steps_of_a_tool_call_are_one_row_and_calls_with_the_same_id_are_not(run: Any) -> None:
    step = {"call_id": "c", "name": "look", "delivery_id": "d"}
    events = [
        event(1, "tool", phase="started", detail="{}", **step),
        event(2, "tool", phase="completed", detail="done", **step),
        event(3, "tool", phase="started", detail="{}", **step),
    ]
    first, second = told(run, events)
    assert (first["phase"], first["result"]) == ("completed", "done")
    assert second["phase"] == "started"


def test_an_answer_names_its_question_where_something_stands_between(run: Any) -> None:
    events = [
        event(1, "message", role="owner", text="first", delivery_id="a"),
        event(2, "message", role="owner", text="second", delivery_id="b"),
        event(3, "message", role="agent", text="to the first", delivery_id="a"),
        event(4, "message", role="agent", text="more", delivery_id="a"),
    ]
    rows = told(run, events)
    assert [row.get("about") for row in rows[2:]] == ["first", ""]


def test_news_is_what_waits_for_the_owner(run: Any) -> None:
    got = run(
        """async () => {
          const { news } = await import("/console/notify.js");
          const row = (state, uncertain) => ({ state, uncertain });
          return [news(row("running", 0), row("idle", 0)), news(row("idle", 0), row("running", 0)),
            news(row("running", 0), row("idle", 1))];
        }"""
    )
    assert got[0] == "An answer waits for you."
    assert got[1] is None
    assert "not known" in got[2]


def test_a_hidden_page_says_that_an_answer_waits(browser: Browser, desk: Desk) -> None:
    # proves: DAY-2
    del browser
    context = desk.context(permissions=["notifications"])
    context.add_init_script(
        """window.shown = [];
        window.Notification = class { constructor(title, more) { shown.push([title, more.body]); }
          static permission = "granted"; static requestPermission() { return "granted"; } };
        Object.defineProperty(document, "hidden", { get: () => window.away === true });"""
    )
    screen = desk.open(context=context)
    page = screen.page
    page.get_by_role("button", name="Notify me").click()
    screen.send("hold [one]")
    expect(page.locator("#list .dot.busy")).to_be_visible()
    assert screen.run("() => shown") == []
    screen.run("() => { window.away = true; }")
    desk.place.model.release("one")
    screen.wait("() => shown.length > 0")
    assert screen.run("() => shown") == [["Clankie", "An answer waits for you."]]


def test_two_pages_share_one_feed(desk: Desk) -> None:
    context = desk.context()
    first = desk.open(context=context)
    second = desk.open(context=context, log_in=False)
    second.page.locator(".composer").wait_for()
    for screen in (first, second):
        expect(screen.page.locator("#link")).to_have_text("Connected")
    desk.service.client.send("d-1", "hold [one]")
    for screen in (first, second):
        expect(screen.page.locator("#list .dot.busy")).to_be_visible()
    first.page.close()
    desk.place.model.release("one")
    expect(second.page.locator("#list .dot.busy")).to_have_count(0)
