"""The service dies and comes back under an open page; what cannot be known is shown and settled."""

import re

from playwright.sync_api import Route, expect

from console.kit import GONE, Desk


def test_a_killed_service_that_comes_back_leaves_nothing_doubled_and_nothing_lost(
    desk: Desk,
) -> None:
    # proves: DAY-1
    screen = desk.open()
    page = screen.page
    screen.send("say [before]")
    expect(screen.answer("said before")).to_be_visible()
    screen.send("begin [cut]")
    expect(page.locator(".draft .words")).to_have_text("I begin. ")
    desk.service.kill()
    expect(page.locator("#link")).to_have_text("Reconnecting …")
    screen.send("say [during]")
    expect(screen.message("say [during]")).to_contain_text("the service does not answer")
    desk.restart()
    expect(screen.answer("said during")).to_have_count(1)
    expect(page.locator("#link")).to_have_text("Connected")
    expect(page.locator(".draft")).to_have_count(0)
    cut = screen.message("begin [cut]")
    expect(cut).to_contain_text("Uncertain")
    expect(cut).to_contain_text(
        re.compile(r"The model was asked at \d\d:\d\d UTC; .*tools run: none")
    )
    expect(page.locator("article.mine")).to_have_count(3)
    expect(page.locator("#list .badge.doubt")).to_have_text("1")
    assert desk.place.model.asked == {"before": 1, "cut": 1, "during": 1}
    held = screen.run(
        "async () => (await import('/console/conversation.js')).current()"
        ".thread.events.map((one) => one.cursor)"
    )
    assert held == [one["cursor"] for one in desk.service.client.events()]
    screen.foreseen(GONE)


def test_a_message_that_was_stored_but_not_confirmed_is_offered_again_under_its_id(
    desk: Desk,
) -> None:
    screen = desk.open()
    page = screen.page
    lost: list[str] = []

    def swallow(route: Route) -> None:
        answer = route.fetch()
        lost.append(answer.json()["delivery"]["id"])
        route.abort()

    page.route("**/inputs", swallow, times=1)
    screen.send("say [once]")
    expect(screen.answer("said once")).to_have_count(1)
    page.wait_for_function("() => !localStorage.getItem('clankie.outbox')")
    expect(page.locator("article.mine")).to_have_count(1)
    sent = desk.service.client.ask("GET", "/v1/deliveries").body["deliveries"]
    assert [one["id"] for one in sent] == lost
    screen.foreseen("ERR_FAILED")


def test_what_was_not_sent_before_a_reload_is_sent_after_it_under_the_same_id(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    page.route("**/inputs", lambda route: route.abort())
    screen.send("say [kept]")
    expect(screen.message("say [kept]")).to_contain_text("Not sent yet")
    before = screen.run("() => JSON.parse(localStorage.getItem('clankie.outbox'))[0].id")
    page.unroute("**/inputs")
    page.reload()
    expect(screen.answer("said kept")).to_have_count(1)
    sent = desk.service.client.ask("GET", "/v1/deliveries").body["deliveries"]
    assert [one["id"] for one in sent] == [before]
    screen.foreseen("ERR_FAILED")
    screen.foreseen(GONE)


def test_what_was_not_sent_can_be_taken_back(desk: Desk) -> None:
    screen = desk.open()
    screen.page.route("**/inputs", lambda route: route.abort())
    screen.send("say [no]")
    screen.message("say [no]").get_by_role("button", name="Take it back").click()
    expect(screen.box).to_have_value("say [no]")
    expect(screen.page.locator("article.mine")).to_have_count(0)
    screen.foreseen("ERR_FAILED")


def test_a_refused_message_stays_with_its_reason_until_it_is_edited_or_dropped(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    body = '{"code":"delivery_conflict","detail":"It was used before."}'
    page.route("**/inputs", lambda route: route.fulfill(status=409, body=body))
    screen.send("say [refused]")
    expect(screen.message("say [refused]")).to_contain_text("Not accepted It was used before.")
    page.reload()
    expect(screen.message("say [refused]")).to_contain_text("It was used before.")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("article.mine")).to_have_count(0)
    screen.foreseen("409")
    screen.foreseen(GONE)


def test_an_uncertain_message_is_looked_at_sent_again_and_closed_as_unknown(desk: Desk) -> None:
    # proves: DAY-1
    screen = desk.open()
    page = screen.page
    screen.send("begin [one]")
    expect(page.locator(".draft .words")).to_have_text("I begin. ")
    desk.service.kill()
    desk.restart()
    message = screen.message("begin [one]")
    message.get_by_role("button", name="Look").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("uncertain on the service lane")
    expect(dialog).to_contain_text("Tools run: none")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    message.get_by_role("button", name="Close as unknown").click()
    page.get_by_role("dialog").get_by_role("button", name="Close as unknown").click()
    expect(message.first.locator(".standing")).to_contain_text("Closed as unknown")
    expect(page.locator("#list .badge.doubt")).to_have_count(0)
    sent = desk.service.client.ask("GET", "/v1/deliveries").body["deliveries"]
    assert [one["state"] for one in sent] == ["abandoned"]
    screen.foreseen(GONE)


def test_sending_again_is_a_new_message_that_names_the_old_one(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.send("break [one]")
    failed = screen.message("break [one]")
    expect(failed).to_contain_text("Failed")
    failed.get_by_role("button", name="Send again").click()
    expect(screen.message("break [one]")).to_have_count(2)
    expect(page.get_by_role("dialog")).to_have_count(0)
    first, second = desk.service.client.ask("GET", "/v1/deliveries").body["deliveries"]
    assert second["retry_of"] == first["id"] != second["id"]


def test_it_warns_before_a_message_whose_tool_had_started_is_sent_again(desk: Desk) -> None:
    # proves: DAY-1
    screen = desk.open()
    page = screen.page
    desk.service.die_at("tool_started.after-commit")
    screen.send("mark [one]")
    desk.service.ended()
    desk.restart()
    message = screen.message("mark [one]")
    expect(message).to_contain_text("tools run: leave_mark")
    message.get_by_role("button", name="Send again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("A tool had started: leave_mark")
    dialog.get_by_role("button", name="Not now").click()
    expect(page.locator("article.mine")).to_have_count(1)
    message.get_by_role("button", name="Send again").click()
    dialog.get_by_role("button", name="Send again").click()
    expect(page.locator("article.mine")).to_have_count(2)
    screen.foreseen(GONE)


def test_a_session_that_ends_asks_for_a_code_and_goes_on_where_it_was(desk: Desk) -> None:
    screen = desk.open("/#/wakes")
    page = screen.page
    expect(page.get_by_role("heading", level=1)).to_have_text("Wakes")
    for token in desk.service.client.ask("GET", "/v1/tokens").body["tokens"]:
        desk.service.client.ask("DELETE", f"/v1/tokens/{token['id']}")
    expect(page.locator("#code")).to_be_visible()
    assert page.locator("#shell").is_hidden()
    page.locator("#code").fill(desk.code())
    expect(page.get_by_role("heading", level=1)).to_have_text("Wakes")
    screen.foreseen("401")
    screen.foreseen(GONE)
