"""Settings: bounds are said, what others change meanwhile is seen, and nothing is overwritten."""

from playwright.sync_api import expect

from console.kit import GONE, Desk


def test_a_setting_is_changed_with_its_bounds_in_sight(desk: Desk) -> None:
    screen = desk.open("/#/settings/watchdog")
    page = screen.page
    field = page.get_by_role("spinbutton", name="Idle")
    expect(page.locator("[data-path='watchdog.idle'] small").first).to_contain_text("1 to 86,400")
    field.fill("0")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_be_empty()
    field.fill("90")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    read = desk.service.client.ask("GET", "/v1/settings").body
    assert read["settings"]["watchdog"]["idle"] == 90


def test_what_others_changed_meanwhile_comes_in_and_what_both_changed_is_asked(desk: Desk) -> None:
    # proves: BASE-1
    screen = desk.open("/#/settings/wakes")
    page = screen.page
    page.get_by_label("Attempts").fill("7")
    page.get_by_label("Waiting").fill("30")
    theirs = {"wakes": {"attempts": 9, "depth": 4}, "expected_revision": 0}
    desk.service.client.ask("PATCH", "/v1/settings", theirs)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="changed elsewhere")).to_be_visible()
    expect(page.get_by_label("Attempts")).to_have_value("7")
    expect(page.get_by_label("Depth")).to_have_value("4")
    expect(page.locator(".conflict")).to_contain_text("Changed elsewhere meanwhile to 9.")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.get_by_role("button", name="Keep mine").click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    wakes = desk.service.client.ask("GET", "/v1/settings").body["settings"]["wakes"]
    assert (wakes["attempts"], wakes["waiting"], wakes["depth"]) == (7, 30, 4)
    screen.foreseen("409")


def test_merging_two_changes_of_one_tree(visit: Desk) -> None:
    screen = visit.open()
    got = screen.run(
        """async () => {
          const { flat, merged, patchOf } = await import("/console/merge.js");
          const base = flat({ a: { x: 1, y: 2, z: 3 } });
          const theirs = flat({ a: { x: 5, y: 2, z: 4 } });
          const mine = new Map([["a.x", 6], ["a.y", 7], ["a.z", 4]]);
          const { values, conflicts, news } = merged(base, theirs, mine);
          return [[...values], [...conflicts], [...news], patchOf(theirs, values)];
        }"""
    )
    assert got == [
        [["a.x", 6], ["a.y", 7], ["a.z", 4]],
        [["a.x", 5]],
        [["a.z", 4]],
        {"a": {"x": 6, "y": 7}},
    ]


def test_a_conversation_is_made_renamed_begun_afresh_and_closed(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("textbox", name="Name").fill("Side")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Side")

    def order(name: str) -> None:
        page.get_by_role("button", name="What can be done").click()
        page.get_by_role("menuitem", name=name).click()

    order("Rename")
    page.get_by_role("textbox", name="Name").fill("Other side")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Other side")
    order("Begin afresh")
    page.get_by_role("dialog").get_by_role("button", name="Begin afresh").click()
    expect(page.locator(".reset")).to_contain_text("Begun afresh")
    order("Close")
    page.get_by_role("dialog").get_by_role("button", name="Close it").click()
    expect(page.locator(".shut")).to_contain_text("closed")
    expect(page.locator("details.closed")).to_contain_text("Closed (1)")


def test_a_secret_is_written_and_never_shown(desk: Desk) -> None:
    # proves: BASE-2
    screen = desk.open("/#/access")
    page = screen.page
    page.get_by_label("Name").fill("openai")
    page.get_by_label("Sent to").fill("https://api.example.com")
    page.get_by_label("Secret").fill("sk-very-secret")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("rowheader", name="openai")).to_be_visible()
    assert "sk-very-secret" not in page.content()
    assert "sk-very-secret" not in screen.run("() => JSON.stringify({...localStorage})")
    page.get_by_role("button", name="Forget openai").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("rowheader", name="openai")).to_have_count(0)
    screen.foreseen(GONE)
