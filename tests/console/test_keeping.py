"""What is kept: attachments, search, export, deletion for good, and what it cost."""

import base64
import json
from pathlib import Path

from playwright.sync_api import expect

from console.kit import GONE, Desk

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_an_answer_is_shown_as_the_service_rendered_it(desk: Desk) -> None:
    # proves: SEC-2
    screen = desk.open()
    page = screen.page
    page.route(
        "**/html?*",
        lambda route: route.fulfill(
            status=200, body=json.dumps({"html": {"4": "<p>said <strong>one</strong></p>"}})
        ),
    )
    screen.send("say [one]")
    expect(page.locator(".answer .prose strong")).to_have_text("one")
    page.unroute("**/html?*")
    page.reload()
    expect(page.locator(".answer .prose p")).to_have_text("said one")
    screen.foreseen(GONE)


def test_a_picture_and_a_text_go_with_a_message_and_survive_a_reload_before_it(
    desk: Desk, tmp_path: Path
) -> None:
    # proves: DAY-2
    (tmp_path / "cat.png").write_bytes(PIXEL)
    (tmp_path / "notes.txt").write_text("words", encoding="utf-8")
    screen = desk.open()
    page = screen.page
    page.locator("input[type=file]").set_input_files([tmp_path / "cat.png", tmp_path / "notes.txt"])
    tray = page.get_by_role("list", name="Attachments").get_by_role("listitem")
    expect(tray).to_have_count(2)
    expect(page.locator(".uploading")).to_have_count(0)
    page.reload()
    expect(tray).to_have_count(2)
    screen.send("say [one]")
    expect(page.locator("article.mine .picture img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator("article.mine .file")).to_contain_text("notes.txt")
    expect(tray).to_have_count(0)
    expect(screen.answer("said one")).to_be_visible()
    message = desk.service.client.events()[0]
    assert [one["name"] for one in message["attachments"]] == ["cat.png", "notes.txt"]
    screen.foreseen(GONE)


def test_a_picture_is_pasted_and_taken_away_again(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.run(
        """([raw]) => {
          const bytes = Uint8Array.from(atob(raw), (c) => c.charCodeAt(0));
          const data = new DataTransfer();
          data.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
          const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
          document.querySelector("#box").dispatchEvent(paste);
        }""",
        base64.b64encode(PIXEL).decode(),
    )
    expect(page.locator(".tray img")).to_have_js_property("naturalWidth", 1)
    page.get_by_role("button", name="Remove pasted.png").click()
    expect(page.locator(".tray")).to_be_hidden()


def test_what_cannot_be_attached_is_said(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "it.exe").write_bytes(b"MZ\0\0")
    screen = desk.open()
    screen.page.locator("input[type=file]").set_input_files(tmp_path / "it.exe")
    expect(screen.page.locator("#toasts")).to_contain_text("it.exe was not attached.")
    # It is said where it hides nothing of what one is writing.
    said = screen.page.locator("#toasts").bounding_box()
    writing = screen.page.locator(".composer").bounding_box()
    assert said is not None
    assert writing is not None
    assert said["y"] + said["height"] <= writing["y"]
    screen.foreseen("415|422")


def test_words_are_found_and_the_place_is_shown(desk: Desk) -> None:
    # proves: DAY-2
    for number in range(40):
        desk.service.client.send(f"d-{number}", f"say [{number}] {'needle' if not number else ''}")
    for number in range(40):
        desk.service.client.known(f"d-{number}")
    screen = desk.open()
    page = screen.page
    expect(screen.answer("said 39")).to_be_visible()
    page.get_by_role("button", name="Search in this conversation").click()
    field = page.get_by_role("searchbox")
    found = page.locator(".result")
    # What was said last is indexed a moment later: ask until it is there.
    page.wait_for_function(
        """async () => (await (await fetch(
          "/v1/conversations/global-default/search?q=needle")).json()).results.length > 0"""
    )
    field.fill("needle")
    expect(found).to_have_count(1)
    expect(found.locator("mark")).to_have_text("needle")
    page.keyboard.press("Enter")
    expect(page.locator(".mine", has_text="say [0]").first).to_be_in_viewport()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_everything_said_can_be_taken_away_as_a_file(desk: Desk) -> None:
    # proves: DAY-2
    screen = desk.open()
    page = screen.page
    screen.send("say [one]")
    expect(screen.answer("said one")).to_be_visible()
    page.get_by_role("button", name="What can be done").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["kind"] == "message"
    assert len(lines) == len(desk.service.client.events())


def test_a_closed_conversation_is_deleted_for_good_by_typing_its_name(desk: Desk) -> None:
    # proves: DAY-2
    ask = desk.service.client.ask
    body = {"request_id": "r-1", "name": "Side", "kind": "global"}
    side = ask("POST", "/v1/conversations", body).body["id"]
    desk.service.client.send("d-1", "say [one]", conversation=side)
    desk.service.client.known("d-1")
    ask("DELETE", f"/v1/conversations/{side}")
    screen = desk.open(f"/#/c/{side}")
    page = screen.page
    expect(screen.answer("said one")).to_be_visible()
    page.get_by_role("button", name="What can be done").click()
    page.get_by_role("menuitem", name="Delete its content for good").click()
    dialog = page.get_by_role("dialog")
    go = dialog.get_by_role("button", name="Delete for good")
    expect(go).to_be_disabled()
    dialog.get_by_role("textbox").fill("Side")
    go.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Clankie")
    assert "said one" not in json.dumps(desk.service.client.events(side))
    screen.foreseen(GONE)


def test_the_model_of_a_conversation_is_chosen(desk: Desk) -> None:
    # proves: DAY-2
    screen = desk.open()
    page = screen.page
    page.get_by_role("button", name="What can be done").click()
    page.get_by_role("menuitem", name="Choose its model").click()
    page.get_by_label("Another").fill("practice")
    page.get_by_role("button", name="Use it").click()
    expect(page.locator(".facts")).to_contain_text("practice")
    screen.send("help")
    expect(screen.answer("I am the practice model")).to_be_visible()


def test_what_was_used_is_shown_by_the_day(desk: Desk) -> None:
    # proves: DAY-2
    screen = desk.open("/#/usage")
    day = {"day": "2026-11-29", "input_tokens": 1_200, "output_tokens": 300, "requests": 2}
    body = {"days": [{**day, "cost_usd": 0.25}], "today": {**day, "cost_usd": 0.25}}
    screen.page.route(
        "**/v1/usage?*",
        lambda route: route.fulfill(status=200, body=json.dumps({**body, "daily_tokens": 2_000})),
    )
    screen.page.reload()
    expect(screen.page.locator(".figures")).to_contain_text("1.5k tokens")
    expect(screen.page.locator(".figures")).to_contain_text("$0.25")
    expect(screen.page.get_by_role("row").nth(1)).to_contain_text("2026-11-29")
    screen.foreseen(GONE)


def test_a_wake_is_seen_and_removed(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    desk.service.client.ask(
        "PATCH", "/v1/settings", {"models": {"model": "practice"}, "expected_revision": 0}
    )
    desk.service.terminate()
    desk.service.ended()
    desk.restart(CLANKIE_MODEL="practice")
    screen.send("remind me in 3 hours to stretch")
    expect(page.locator("details.tool")).to_contain_text("schedule_wake")
    page.get_by_role("link", name="Wakes").click()
    expect(page.locator(".card")).to_contain_text("stretch")
    expect(page.locator(".card")).to_contain_text("in 3 h")
    page.get_by_role("button", name="Remove the wake: stretch").click()
    expect(page.get_by_text("Nothing is set.")).to_be_visible()
    screen.foreseen(GONE)


def test_logging_out_forgets_what_this_browser_kept(desk: Desk) -> None:
    screen = desk.open()
    page = screen.page
    screen.box.fill("half a thought")
    page.get_by_role("link", name="Access").click()
    page.get_by_role("button", name="Log out here").click()
    page.get_by_role("dialog").get_by_role("button", name="Log out").click()
    expect(page.locator("#code")).to_be_visible()
    assert screen.run("() => Object.keys(localStorage).length") == 0
    page.reload()
    expect(page.locator("#code")).to_be_visible()
    assert page.locator("#shell").is_hidden()
    screen.foreseen(GONE)
