"""A harness drives: what a reader of the page sees, with the real service and a scripted seat."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from console.kit import GONE, Desk, Screen
from console.test_strangers import NASTY
from process.seat import HEAD, ScriptedSeat


def seated(desk: Desk, **more: Any) -> ScriptedSeat:
    """A seat at the head that has asked: it drives."""
    seat = ScriptedSeat(desk.service.client, **more).open()
    assert seat.poll(wait=0.01) == []
    return seat


def opened(desk: Desk) -> tuple[Screen, ScriptedSeat]:
    screen = desk.open()
    return screen, seated(desk)


def strip(screen: Screen) -> Locator:
    return screen.page.locator(".driving")


def standing(screen: Screen, text: str) -> Locator:
    return screen.message(text).locator(".standing")


def test_who_drives_is_said_as_soon_as_a_seat_is_attached(desk: Desk) -> None:
    screen, seat = opened(desk)
    page = screen.page
    expect(strip(screen)).to_contain_text("Claude Code drives · since")
    expect(page.locator("#list .item").first).to_contain_text("Claude Code")
    expect(page.locator(".notice").first).to_be_visible()
    seat.sync(activity="responding")
    expect(strip(screen)).to_contain_text("works now")
    desk.service.client.ask("DELETE", f"/v1/seats/{seat.id}/attachment")
    expect(strip(screen)).to_be_hidden()
    expect(page.locator(".facts")).to_contain_text("Service")


def test_a_message_is_followed_from_the_seat_to_its_answer(desk: Desk) -> None:
    # proves: SEC-4
    screen, seat = opened(desk)
    page = screen.page
    expect(strip(screen)).to_contain_text("drives")
    screen.send("fix the test")
    expect(standing(screen, "fix the test")).to_contain_text("Waits at Claude Code")
    expect(strip(screen)).to_contain_text("1 waiting there")
    event = seat.one()
    expect(standing(screen, "fix the test")).to_contain_text("On its way to Claude Code")
    seat.ack(event)
    expect(standing(screen, "fix the test")).to_contain_text("Taken by Claude Code")
    seat.sync(seat.shows(event, "fix the test"), activity="responding")
    expect(standing(screen, "fix the test")).to_contain_text("In the transcript of Claude Code")
    expect(page.locator(".draft")).to_contain_text("Claude Code")
    expect(strip(screen)).to_contain_text("1 in flight")
    seat.sync(seat.row("assistant", "**Done**: 14 passed."), activity="waiting")
    expect(screen.message("fix the test").locator(".tick")).to_be_visible()
    answer = screen.answer("Done: 14 passed.")
    expect(answer).to_contain_text("written in the harness")
    expect(answer.locator(".who b")).to_have_text("Claude Code")
    expect(page.locator(".draft")).to_have_count(0)
    expect(page.locator("article.mine")).to_have_count(1)
    assert desk.place.model.asked.total() == 0


def test_a_turn_that_a_harness_ends_without_a_word_is_delivered_and_not_answered(
    desk: Desk,
) -> None:
    screen, seat = opened(desk)
    expect(strip(screen)).to_contain_text("drives")
    screen.send("just do it")
    event = seat.one()
    seat.ack(event)
    seat.sync(seat.shows(event, "just do it"), activity="responding")
    seat.sync(activity="waiting")
    # Its answer may still come, but not after somebody has said something else there.
    expect(standing(screen, "just do it")).to_contain_text("In the transcript of Claude Code")
    seat.sync(seat.row("user", "and now this"), activity="responding")
    expect(standing(screen, "just do it")).to_contain_text("Delivered to Claude Code")
    screen.page.reload()
    expect(standing(screen, "just do it")).to_contain_text("Delivered to Claude Code")
    expect(screen.page.locator(".tick")).to_have_count(0)
    screen.foreseen(GONE)


def test_words_of_a_harness_are_found_under_its_name(desk: Desk) -> None:
    # proves: SEC-4
    screen, seat = opened(desk)
    page = screen.page
    seat.sync(seat.row("user", "plums"), seat.row("assistant", "plums too"))
    expect(screen.answer("plums too")).to_be_visible()
    assert len(desk.service.client.found("plums")) == 2
    page.get_by_role("button", name="Search in this conversation").click()
    page.keyboard.type("plums")
    expect(page.locator(".result b")).to_have_text(["Claude Code", "Claude Code"])


def test_a_message_into_a_turn_that_runs_is_steered(desk: Desk) -> None:
    screen, seat = opened(desk)
    expect(strip(screen)).to_contain_text("drives")
    screen.send("first")
    event = seat.one()
    seat.ack(event)
    seat.sync(seat.shows(event, "first"), activity="responding")
    screen.send("second")
    seat.ack(seat.one())
    expect(standing(screen, "second")).to_contain_text("Steered into the turn of Claude Code")


def test_how_a_message_reaches_the_seat_is_chosen_only_where_a_seat_drives(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    expect(page.locator(".modes")).to_be_hidden()
    seat = seated(desk)
    expect(page.locator(".modes")).to_be_visible()
    seat.sync(activity="responding")
    page.get_by_role("radio", name="Auto").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("radio", name="Queue")).to_be_checked()
    screen.send("afterwards")
    expect(standing(screen, "afterwards")).to_contain_text("Queued behind the turn of Claude Code")
    expect(page.get_by_role("radio", name="Auto")).to_be_checked()
    sent = desk.service.client.ask("GET", "/v1/deliveries").body["deliveries"]
    assert [one["mode"] for one in sent] == ["queue"]
    desk.service.client.ask("DELETE", f"/v1/seats/{seat.id}/attachment")
    expect(screen.message("afterwards").locator(".question")).to_contain_text("Not sent")
    expect(page.locator(".modes")).to_be_hidden()


def test_what_a_harness_writes_is_never_the_owners_and_stays_words(desk: Desk) -> None:
    # proves: SEC-2, SEC-4
    screen, seat = opened(desk)
    page = screen.page
    seat.sync(
        seat.row("user", NASTY),
        seat.row(
            "tool", tool={"name": "Bash", "call_id": "c", "phase": "completed", "detail": NASTY}
        ),
        seat.row("assistant", NASTY),
    )
    typed = page.locator("article.foreign")
    expect(typed.locator(".words")).to_have_text(NASTY)
    expect(typed.locator(".who")).to_contain_text("typed in the harness")
    expect(page.locator("article.answer .who")).to_contain_text("written in the harness")
    expect(page.locator(".who b")).to_have_text(["Claude Code", "Claude Code"])
    expect(page.locator("article.mine")).to_have_count(0)
    expect(page.locator(".tool pre").first).to_have_text(NASTY)
    assert screen.run("() => window.hit") is None
    made = "script, iframe, style, svg:not(.glyph), img:not([src^='/']), [onerror], [onload]"
    expect(page.locator(f"#main :is({made}, a[href^='javascript:'])")).to_have_count(0)
    screen.foreseen("Content Security Policy")


def test_a_doubt_shows_its_evidence_and_a_late_acknowledgement_settles_it(desk: Desk) -> None:
    # proves: DAY-1
    screen, seat = opened(desk)
    page = screen.page
    expect(strip(screen)).to_contain_text("drives")
    screen.send("tag it")
    event = seat.one()
    desk.service.kill()
    desk.restart()
    seat.owner = desk.service.client
    doubt = screen.message("tag it").locator(".question")
    expect(doubt).to_contain_text("Uncertain")
    expect(doubt.locator(".proof")).to_contain_text(f"Given to Claude Code, seat {seat.id}")
    expect(doubt.locator(".proof")).to_contain_text("Acknowledged never")
    expect(doubt.locator(".proof")).to_contain_text("Proof none")
    doubt.get_by_role("button", name="Look").click()
    expect(page.get_by_role("dialog")).to_contain_text("uncertain at a seat")
    page.keyboard.press("Escape")
    seat.ack(event)
    expect(doubt).to_have_count(0)
    expect(standing(screen, "tag it")).to_contain_text("Taken by Claude Code")
    screen.foreseen(GONE)


def worked_alone(desk: Desk, seat: ScriptedSeat) -> None:
    """The harness has driven; then the service ran a turn while no seat was attached."""
    seat.sync(seat.row("user", "hello"), seat.row("assistant", "Good day."))
    desk.service.client.ask("DELETE", f"/v1/seats/{seat.id}/attachment")
    desk.service.client.send("d-alone", "say [alone]")
    assert desk.service.client.known("d-alone")["state"] == "settled"
    body = {"conversation": HEAD, "expected": None}
    back = desk.service.client.ask("PUT", f"/v1/seats/{seat.id}/attachment", body)
    assert back.status == 200, back


def test_a_handoff_is_told_in_the_log_with_a_way_to_what_it_holds(desk: Desk) -> None:
    # proves: HAND-3
    screen, seat = opened(desk)
    page = screen.page
    worked_alone(desk, seat)
    event = seat.one()
    assert event["source"] == "service-handoff"
    rows = page.locator(".handoff")
    expect(rows.first).to_contain_text("From here the service answers")
    expect(rows.last).to_contain_text("On its way to Claude Code")
    seat.ack(event)
    expect(rows.last).to_contain_text("Handed over to Claude Code")
    expect(rows).to_have_count(2)
    seat.sync(*(seat.row("assistant", f"line {number}") for number in range(20)))
    expect(screen.answer("line 19")).to_be_in_viewport()
    page.locator(".view").hover()
    page.mouse.wheel(0, -9_000)
    page.set_viewport_size({"width": 1280, "height": 420})
    rows.last.get_by_role("button", name="Show it").click()
    expect(rows.first).to_be_in_viewport()


def test_a_handoff_that_may_have_been_lost_is_dashed(desk: Desk) -> None:
    # proves: HAND-6
    screen, seat = opened(desk)
    worked_alone(desk, seat)
    seat.one()
    desk.service.kill()
    desk.restart()
    seat.owner = desk.service.client
    assert seat.poll(wait=0.5) == []
    row = screen.page.locator(".handoff[data-phase='uncertain']")
    expect(row).to_contain_text("It is not known whether Claude Code got")
    screen.foreseen(GONE)


def test_a_silent_seat_is_counted_down_and_its_takeover_is_a_notice(desk: Desk) -> None:
    # proves: SEAT-7
    screen = desk.open()
    desk.service.client.set("seats", hold=6, grace=1)
    seat = seated(desk)
    expect(strip(screen)).to_contain_text("drives")
    seat.parked().close()
    expect(strip(screen)).to_have_attribute("data-tone", "holding")
    expect(strip(screen)).to_contain_text("is silent · the service takes over in")
    screen.send("say [meanwhile]")
    expect(standing(screen, "say [meanwhile]")).to_contain_text("Waits at Claude Code")
    expect(screen.answer("said meanwhile")).to_be_visible(timeout=15_000)
    expect(strip(screen)).to_contain_text("is away")
    expect(screen.page.locator(".notice", has_text="silent")).to_have_count(1)


def test_a_seat_at_its_limit_is_parked_with_its_time(desk: Desk) -> None:
    screen, seat = opened(desk)
    limit = {"window": "five_hour", "resets_at": "2999-01-01T12:00:00Z", "occurred_at": None}
    limit["occurred_at"] = str(desk.service.client.ask("GET", "/v1/status").body["started_at"])
    seat.sync(seat.row("limit", limit=limit))
    expect(strip(screen)).to_have_attribute("data-tone", "parked")
    expect(strip(screen)).to_contain_text("is at its usage limit until")
    screen.send("say [parked]")
    expect(screen.answer("said parked")).to_be_visible()


def test_seats_are_attached_and_let_go_from_the_sheet(desk: Desk) -> None:
    screen, seat = opened(desk)
    page = screen.page
    page.keyboard.press("Control+k")
    page.keyboard.type("who drives")
    page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name="Who drives", exact=True)
    expect(sheet).to_contain_text(seat.id)
    sheet.get_by_role("button", name="Detach").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Detach").click()
    expect(sheet).to_contain_text("The service drives Clankie.")
    expect(sheet.locator(".seat-card")).to_contain_text("attached nowhere")
    sheet.get_by_role("button", name="Attach here").click()
    expect(sheet.get_by_role("status")).to_contain_text("Claude Code drives from here on.")
    assert seat.row_of_roster()["conversation"] == HEAD
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_who_was_slower_is_told_and_may_take_the_place(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    client = desk.service.client
    late = ScriptedSeat(client, session="late").open()
    client.ask("DELETE", f"/v1/seats/{late.id}/attachment")
    stale = client.ask("GET", "/v1/seats").data
    page.route("**/v1/seats", lambda route: route.fulfill(status=200, body=stale))
    page.get_by_role("button", name="What can be done").click()
    page.get_by_role("menuitem", name="Who drives").click()
    sheet = page.get_by_role("dialog")
    fast = ScriptedSeat(client, harness="codex", session="fast").open()
    sheet.get_by_role("button", name="Attach here").click()
    conflict = sheet.locator(".conflict")
    expect(conflict).to_contain_text(f"({fast.id})")
    assert fast.row_of_roster()["conversation"] == HEAD
    page.unroute("**/v1/seats")
    conflict.get_by_role("button", name="Take its place").click()
    expect(sheet.get_by_role("status")).to_contain_text("Claude Code drives from here on.")
    assert late.row_of_roster()["conversation"] == HEAD
    assert "conversation" not in fast.row_of_roster()
    screen.foreseen("409")


def test_a_harness_asks_and_the_owner_answers(desk: Desk) -> None:
    screen, seat = opened(desk)
    page = screen.page
    seat.asks("q-1", f"Run {NASTY}", f"git push {NASTY}")
    seat.asks("q-2", "Write a file")
    first, second = page.locator(".ask").first, page.locator(".ask").last
    expect(first.locator(".summary")).to_have_text(f"Run {NASTY}")
    expect(first.locator("pre")).to_have_text(f"git push {NASTY}")
    assert screen.run("() => window.hit") is None
    expect(page.locator("#list .badge.leave")).to_have_text("2")
    expect(screen.box).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("answer what")
    page.keyboard.press("Enter")
    expect(first.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".ask")).to_have_count(1)
    second.get_by_role("button", name="Deny").click()
    expect(page.locator(".asks")).to_be_hidden()
    seat.poll()
    assert seat.last["decisions"] == [
        {"approval": "q-1", "decision": "approve"},
        {"approval": "q-2", "decision": "deny"},
    ]


def test_a_question_that_was_answered_elsewhere_goes_away_and_says_why(desk: Desk) -> None:
    screen, seat = opened(desk)
    page = screen.page
    seat.asks("q-1", "Write a file")
    approve = page.locator(".ask").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    expect(page.locator(".ask .hint")).to_have_text("These are its words. It waits for yours.")
    (asked,) = json.loads(desk.service.client.ask("GET", "/v1/approvals").data)
    stale = json.dumps([{**asked, "unwatched": True}])
    page.route("**/v1/approvals", lambda route: route.fulfill(status=200, body=stale))
    expect(page.locator(".ask .hint")).to_contain_text("It may no longer be open")
    answer = {"decision": "deny", "expected_state": "pending"}
    assert desk.service.client.ask("POST", "/v1/approvals/q-1", answer).status == 200
    approve.click()
    expect(page.locator(".toast.bad")).to_be_visible()
    page.unroute("**/v1/approvals")
    expect(page.locator(".ask")).to_have_count(0)
    screen.foreseen("409")


def test_escape_interrupts_what_the_seat_has(desk: Desk) -> None:
    screen, seat = opened(desk)
    expect(strip(screen)).to_contain_text("drives")
    screen.send("long work")
    event = seat.one()
    seat.ack(event)
    seat.sync(seat.shows(event, "long work"), activity="responding")
    expect(screen.page.get_by_role("button", name="Interrupt Claude Code")).to_be_visible()
    screen.box.press("Escape")
    seat.poll()
    assert seat.last["interrupts"] == [{"event": event["id"], "attempt": event["attempt"]}]


def test_what_a_harness_cannot_do_is_not_offered(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    seat = seated(desk, interrupt=False, steer=False)
    expect(page.get_by_role("radio", name="Steer")).to_be_disabled()
    screen.send("long work")
    seat.ack(seat.one())
    expect(standing(screen, "long work")).to_contain_text("Taken")
    expect(page.locator(".halt")).to_be_hidden()
    screen.box.press("Escape")
    seat.poll(wait=0.3)
    assert "interrupts" not in seat.last


def test_a_service_that_dies_and_comes_back_finds_the_page_and_the_seat(desk: Desk) -> None:
    # proves: DAY-1, SEAT-5
    screen, seat = opened(desk)
    page = screen.page
    expect(strip(screen)).to_contain_text("drives")
    screen.send("before")
    event = seat.one()
    seat.ack(event)
    seat.sync(seat.shows(event, "before"), activity="responding")
    expect(standing(screen, "before")).to_contain_text("In the transcript")
    desk.service.kill()
    expect(page.locator("#link")).to_have_text("Reconnecting …")
    screen.send("during")
    desk.restart()
    seat.owner = desk.service.client
    expect(strip(screen)).to_contain_text("Claude Code")
    expect(standing(screen, "during")).to_contain_text("Waits at Claude Code")
    seat.ack(seat.one())
    seat.sync(seat.row("assistant", "done both"), activity="waiting")
    expect(screen.answer("done both")).to_have_count(1)
    expect(screen.message("before")).to_have_count(1)
    expect(screen.message("during")).to_have_count(1)
    assert desk.place.model.asked.total() == 0
    screen.foreseen(GONE)


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_all_of_it_fits(desk: Desk, *, dark: bool) -> None:
    context = desk.context(
        viewport={"width": 360, "height": 640},
        is_mobile=True,
        has_touch=True,
        color_scheme="dark" if dark else "light",
    )
    screen = desk.open(context=context)
    page = screen.page
    seat = seated(desk)
    expect(page.locator(".modes")).to_be_visible()
    screen.box.fill("x" * 300)
    page.get_by_role("button", name="Send").tap()
    seat.ack(seat.one())
    seat.sync(seat.row("user", "y" * 300), activity="responding")
    seat.asks("q-1", "z" * 300, "w" * 300)
    expect(page.locator(".ask")).to_be_visible()
    assert screen.run("() => [document.scrollingElement.scrollWidth, innerWidth]") == [360, 360]
    page.get_by_role("button", name="Who drives").tap()
    expect(page.locator(".seat-card")).to_be_visible()
    assert screen.run("() => [document.scrollingElement.scrollWidth, innerWidth]") == [360, 360]
