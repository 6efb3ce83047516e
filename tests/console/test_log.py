"""The log: long ones stay light, old ones are found, and the reader stays where they are."""

from typing import Any

from playwright.sync_api import expect

from console.kit import Desk, Screen
from console.test_strangers import event

MANY = 10_000
MOST_ROWS = 120


def long_log(count: int) -> list[dict[str, Any]]:
    """Questions and answers of different length, over a few days."""
    found: list[dict[str, Any]] = []
    for cursor in range(1, count + 1):
        turn, step = divmod(cursor - 1, 4)
        day = 1 + turn * 28 // (count // 4)
        at = f"2026-10-{day:02}T12:00:00.000Z"
        delivery = f"d-{turn}"
        words = f"Line of {cursor}. " * (1 + cursor % 7)
        match step:
            case 0:
                one = event(cursor, "message", role="owner", text=words, delivery_id=delivery)
            case 1:
                one = event(cursor, "turn", phase="started", delivery_id=delivery)
            case 2:
                one = event(cursor, "message", role="agent", text=words, delivery_id=delivery)
            case _:
                one = event(cursor, "turn", phase="completed", delivery_id=delivery)
        found.append(one | {"at": at})
    return found


def opened(visit: Desk, count: int) -> Screen:
    context = visit.context()
    context.route("**/html?*", lambda route: route.fulfill(status=200, body='{"html":{}}'))
    screen = visit.open(context=context, log=long_log(count))
    screen.page.locator("article.answer").first.wait_for()
    return screen


def rows(screen: Screen) -> int:
    return int(screen.run("() => document.querySelectorAll('.rows > *').length"))


def test_of_ten_thousand_events_only_what_is_seen_is_in_the_page(visit: Desk) -> None:
    screen = opened(visit, MANY)
    expect(screen.page.get_by_text("Line of 9999.").last).to_be_visible()
    assert len(screen.asked) == 1
    screen.run(
        "async () => { const c = await import('/console/conversation.js');"
        "await c.current().log.show(1); }"
    )
    expect(screen.page.get_by_text("The log begins here.")).to_be_attached()
    assert rows(screen) < MOST_ROWS
    longest = screen.run(
        """async () => {
          const view = document.querySelector(".view");
          let most = 0, tasks = 0;
          for (let step = 0; step <= 60; step += 1) {
            view.scrollTop = (view.scrollHeight * step) / 60;
            await new Promise((resolve) => requestAnimationFrame(resolve));
            most = Math.max(most, document.querySelectorAll(".rows > *").length);
          }
          return most;
        }"""
    )
    assert longest < MOST_ROWS
    total = screen.run("() => document.querySelectorAll('*').length")
    assert total < 2_500


def test_older_events_come_as_the_reader_goes_up_and_nothing_jumps(visit: Desk) -> None:
    screen = opened(visit, 1_000)
    got = screen.run(
        """async () => {
          const view = document.querySelector(".view");
          const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
          const top = () => {
            const edge = view.getBoundingClientRect().top;
            const all = [...document.querySelectorAll("article[data-key]")];
            const one = all.find((row) => row.getBoundingClientRect().bottom > edge + 1);
            return [one.dataset.key, one.getBoundingClientRect().top - edge];
          };
          let worst = 0;
          for (let step = 0; step < 40; step += 1) {
            view.scrollTop -= 400;
            await frame();
            const [key, off] = top();
            await frame(); await frame();
            const still = document.querySelector(`[data-key="${key}"]`);
            const edge = view.getBoundingClientRect().top;
            worst = Math.max(worst, Math.abs(still.getBoundingClientRect().top - edge - off));
          }
          return worst;
        }"""
    )
    assert got <= 2
    assert len(screen.asked) > 1
    assert len(set(screen.asked)) == len(screen.asked)


def test_it_sticks_to_the_end_only_while_the_reader_is_there(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    for number in range(12):
        desk.service.client.send(f"d-{number}", f"say [{number}]")
    expect(screen.answer("said 11")).to_be_in_viewport()
    expect(page.locator(".jump")).to_be_hidden()
    page.locator(".view").focus()
    page.keyboard.press("Home")
    expect(page.locator(".jump")).to_be_visible()
    desk.service.client.send("d-12", "say [12]")
    expect(page.locator(".jump")).to_contain_text("2 new")
    page.locator(".jump").click()
    expect(screen.answer("said 12")).to_be_in_viewport()
    expect(page.locator(".jump")).to_be_hidden()


def test_days_are_told_apart(visit: Desk) -> None:
    screen = opened(visit, 400)
    days = screen.page.locator(".day")
    expect(days.first).to_be_attached()
    assert "October" in (days.last.text_content() or "")
