"""The form: light in weight, readable in both lights, whole at phone width, usable by keyboard."""

import json

from playwright.sync_api import expect

from console.kit import Desk

WEIGHT = 100_000
"""Bytes that come over the wire for the console, all of it."""
PAGES = ("c/global-default", "settings", "wakes", "health", "access", "usage")

CONTRAST = """([dark]) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const probe = document.body.appendChild(document.createElement("i"));
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (name) => {
    probe.style.color = `var(--${name})`;
    canvas.fillStyle = getComputedStyle(probe).color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = [];
  for (const ink of ["ink", "soft", "faint", "accent", "doubt", "bad", "good"])
    for (const paper of ["paper", "side", "raised", "tint"]) pairs.push([ink, paper]);
  pairs.push(["on-accent", "accent"], ["doubt", "doubt-paper"], ["bad", "bad-paper"],
    ["ink", "doubt-paper"], ["ink", "bad-paper"], ["ink", "glow"], ["paper", "bad"],
    ["faint", "hover"]);
  return pairs.map(([a, b]) => {
    const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
    return [`${a} on ${b}`, (x + 0.05) / (y + 0.05)];
  }).filter(([, ratio]) => ratio < 4.5);
}"""


def test_everything_together_weighs_less_than_a_picture(visit: Desk) -> None:
    context = visit.context()
    sizes: dict[str, int] = {}
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    paths: dict[str, str] = {}
    session.on(
        "Network.responseReceived", lambda e: paths.update({e["requestId"]: e["response"]["url"]})
    )
    session.on(
        "Network.loadingFinished",
        lambda e: sizes.update({paths.get(e["requestId"], ""): int(e["encodedDataLength"])}),
    )
    visit.session(context)
    page.goto(f"{visit.url}/")
    page.locator(".composer").wait_for()
    for name in PAGES:
        page.goto(f"{visit.url}/#/{name}")
        page.get_by_role("heading", level=1).first.wait_for()
    files = {path: size for path, size in sizes.items() if "/v1/" not in path}
    assert all(path.startswith(visit.url) for path in sizes if path), sizes
    assert len(files) > 20
    assert sum(files.values()) <= WEIGHT, json.dumps(files, indent=1)


def test_every_text_has_enough_contrast_in_light_and_in_dark(visit: Desk) -> None:
    screen = visit.open()
    assert screen.run(CONTRAST, False) == []
    assert screen.run(CONTRAST, True) == []


def test_nothing_is_wider_than_a_small_phone(desk: Desk) -> None:
    context = desk.context(viewport={"width": 360, "height": 640}, is_mobile=True, has_touch=True)
    screen = desk.open(context=context)
    page = screen.page
    desk.service.client.send("d-1", f"say [{'x' * 100}] {'https://example.com/' * 20}")
    expect(page.locator("article.answer")).to_have_count(1)
    for name in PAGES:
        page.goto(f"{desk.url}/#/{name}")
        page.get_by_role("heading", level=1).first.wait_for()
        assert screen.run("() => document.scrollingElement.scrollWidth") <= 360, name
        wide = screen.run(
            "() => [...document.querySelectorAll('#main *')].filter((one) => !one.closest"
            "('.scroll, pre, .groups, .unseen') && one.getBoundingClientRect().right > 361)"
            ".map((one) => one.outerHTML.slice(0, 80))"
        )
        assert wide == [], name
        cut = screen.run(
            "() => [...document.querySelectorAll('.view, .page, .words')]"
            ".filter((one) => one.scrollWidth > one.clientWidth + 1).length"
        )
        assert cut == 0, name
    screen.foreseen("404")


def test_on_a_phone_the_list_is_a_drawer(visit: Desk) -> None:
    context = visit.context(viewport={"width": 360, "height": 640}, is_mobile=True, has_touch=True)
    page = visit.open(context=context).page
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("button", name="Conversations").tap()
    expect(page.locator("#side")).to_be_visible()
    page.get_by_role("link", name="Settings").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    expect(page.locator("#side")).to_be_hidden()


def test_the_palette_goes_everywhere_from_the_keyboard(visit: Desk) -> None:
    page = visit.open().page
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("wak")
    expect(page.get_by_role("option", selected=True)).to_have_text("Wakes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Wakes")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_first_key_leads_to_the_message_box(visit: Desk) -> None:
    page = visit.open().page
    skip = page.get_by_role("link", name="Skip to the message box")
    assert page.evaluate("() => document.querySelector('a[href], button') .className") == "skip"
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#box")).to_be_focused()


def test_everything_that_can_be_pressed_has_a_name(visit: Desk) -> None:
    screen = visit.open()
    page = screen.page
    for name in PAGES:
        page.goto(f"{visit.url}/#/{name}")
        page.get_by_role("heading", level=1).first.wait_for()
        nameless = screen.run(
            """() => [...document.querySelectorAll("button, a[href], input, textarea, select")]
              .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim()
                || one.labels?.length || one.hidden || one.closest("[hidden]")))
              .map((one) => one.outerHTML)"""
        )
        assert nameless == [], name
    screen.foreseen("404")


def test_light_and_dark_follow_the_system_until_the_owner_chooses(visit: Desk) -> None:
    context = visit.context(color_scheme="dark")
    page = visit.open(context=context).page
    paper = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.locator("#theme").click()
    assert page.evaluate(paper) != dark
    page.reload()
    assert page.evaluate(paper) != dark
    page.locator("#theme").click()
    assert page.evaluate(paper) == dark
