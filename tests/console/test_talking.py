"""Talking: what is written goes out once, what comes in is shown as it comes."""

from playwright.sync_api import expect

from console.kit import GONE, Desk


def test_a_code_opens_the_console_and_a_wrong_one_does_not(desk: Desk) -> None:
    # proves: SEC-2
    screen = desk.open("/login", log_in=False)
    page = screen.page
    page.locator("#code").fill("wrongone")
    expect(page.get_by_role("alert")).to_contain_text("does not open it")
    screen.foreseen("401")
    assert page.locator("#code").input_value() == "WRONGONE"
    page.locator("#code").fill(desk.code().lower())
    page.locator(".composer").wait_for()
    assert page.url == f"{desk.url}/"
    expect(page.get_by_role("heading", level=1)).to_have_text("Clankie")
    kept = screen.run("() => JSON.stringify(localStorage) + document.cookie")
    assert "session" not in kept


def test_a_message_is_sent_from_the_keyboard_and_answered(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    page.keyboard.type("say [first]")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second line")
    page.keyboard.press("Enter")
    expect(screen.answer("said first")).to_be_visible()
    expect(page.locator("article.mine .words")).to_have_text("say [first]\nsecond line")
    expect(page.locator("article.mine .tick")).to_have_attribute("aria-label", "Answered")
    assert screen.box.input_value() == ""
    assert desk.place.model.asked["first"] == 1
    expect(page.locator("#live")).to_have_text("Clankie: said first")


def test_a_draft_streams_and_a_reload_in_the_middle_of_it_loses_nothing(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.send("begin [one]")
    expect(page.locator(".draft .words")).to_have_text("I begin. ")
    expect(page.locator("article.mine .standing")).to_contain_text("Working")
    page.reload()
    expect(page.locator(".draft .words")).to_have_text("I begin. ")
    screen.foreseen(GONE)
    desk.place.model.release("one")
    expect(screen.answer("I begin. said one")).to_have_count(1)
    expect(page.locator(".draft")).to_have_count(0)
    expect(page.locator("article.mine")).to_have_count(1)
    assert desk.place.model.asked["one"] == 1


def test_a_message_that_waits_says_so_and_escape_cancels_what_runs(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.send("begin [one]")
    expect(page.locator(".draft .words")).to_have_text("I begin. ")
    screen.send("say [two]")
    expect(screen.message("say [two]").locator(".standing")).to_contain_text("Queued")
    page.keyboard.press("Escape")
    expect(screen.message("begin [one]").locator(".standing")).to_contain_text("Cancelled")
    expect(page.locator(".partial")).to_contain_text("It ended here, unfinished.")
    expect(screen.answer("said two")).to_be_visible()
    expect(page.locator(".send.halt")).to_be_hidden()


def test_a_message_that_waits_can_be_cancelled_by_itself(desk: Desk) -> None:
    screen = desk.open()
    screen.send("begin [one]")
    expect(screen.page.locator(".draft .words")).to_have_text("I begin. ")
    screen.send("say [two]")
    screen.message("say [two]").get_by_role("button", name="Cancel").click()
    expect(screen.message("say [two]").locator(".standing")).to_contain_text("Cancelled")
    expect(screen.message("begin [one]").locator(".standing")).to_contain_text("Working")
    desk.place.model.release("one")
    expect(screen.answer("said one")).to_be_visible()
    assert desk.place.model.asked["two"] == 0


def test_a_message_joins_the_running_turn_when_asked_to(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.send("begin [one]")
    expect(page.locator(".draft .words")).to_have_text("I begin. ")
    page.get_by_label("Join the running turn").check()
    screen.send("say [two]")
    expect(screen.message("say [two]").locator("button.chip").first).to_contain_text(
        "Joins the running turn"
    )
    sent = desk.service.client.ask("GET", "/v1/deliveries?limit=500").body["deliveries"]
    assert [one["mode"] for one in sent] == ["auto", "steer"]
    desk.place.model.release("one")
    expect(screen.message("say [two]").locator(".tick")).to_be_visible()


def test_an_unsent_draft_survives_a_reload_and_belongs_to_its_conversation(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    made = desk.service.client.ask(
        "POST", "/v1/conversations", {"request_id": "r-1", "name": "Side", "kind": "global"}
    ).body
    screen.box.fill("half a thou")
    page.get_by_role("link", name="Side").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Side")
    expect(screen.box).to_have_value("")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Side")
    assert page.url.endswith(f"#/c/{made['id']}")
    page.goto(f"{desk.url}/#/c/global-default")
    expect(screen.box).to_have_value("half a thou")


def test_tool_calls_are_lines_that_open(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.send("mark [one]")
    tool = page.locator("details.tool")
    expect(tool).to_contain_text("leave_mark")
    expect(tool).to_have_attribute("data-phase", "completed")
    expect(page.locator("article.answer")).to_be_visible()
    tool.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(tool.locator("pre").last).to_have_text("left one")


def test_a_list_asked_for_while_an_older_one_is_read_is_read_again(desk: Desk) -> None:
    screen = desk.open()
    names = screen.run(
        """async () => {
          const { reload } = await import("/console/conversations.js");
          const { state } = await import("/console/state.js");
          const real = window.fetch;
          let asked, release;
          const old = new Promise((resolve) => (asked = resolve));
          const gate = new Promise((resolve) => (release = resolve));
          let lists = 0;
          window.fetch = async (address, ...rest) => {
            const answer = await real(address, ...rest);
            if (String(address).includes("/v1/conversations?state=all") && lists++ === 0) {
              asked();
              await gate;
            }
            return answer;
          };
          const first = reload();
          await old;
          const made = await fetch("/v1/conversations", {
            method: "POST",
            headers: {
              "Content-Type": "application/json",
              "X-Clankie-CSRF": /clankie_csrf=([^;]+)/.exec(document.cookie)[1],
            },
            body: JSON.stringify({ request_id: "r-late", name: "Late", kind: "global" }),
          });
          if (!made.ok) return [made.status];
          const second = reload();
          release();
          await Promise.all([first, second]);
          return [...state.conversations.values()].map((one) => one.name);
        }"""
    )
    assert "Late" in names
