"""What strangers write stays words, and what strangers open stays shut."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from console.kit import Desk

NASTY = (
    "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
    "<svg onload='window.hit = 1'></svg><a href='javascript:window.hit = 1'>x</a>"
    "<iframe srcdoc='<script>parent.hit = 1</script>'></iframe><style>*{display:none}</style>"
)
AUTHOR = {"principal": "operator", "id": "operator"}
AT = "2026-11-30T12:00:00.000Z"


def event(cursor: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"cursor": cursor, "kind": kind, "author": AUTHOR, "at": AT, **more}


EVERYWHERE = [
    event(1, "message", role="owner", text=NASTY, delivery_id="d-1"),
    event(2, "turn", phase="started", delivery_id="d-1"),
    event(3, "tool", name=NASTY, call_id="c", phase="started", detail=NASTY, delivery_id="d-1"),
    event(4, "tool", name=NASTY, call_id="c", phase="failed", detail=NASTY, delivery_id="d-1"),
    event(5, "message", role="agent", text=NASTY, delivery_id="d-1"),
    event(6, "turn", phase="failed", code=NASTY, detail=NASTY, partial=NASTY, delivery_id="d-1"),
    event(7, "message", role="external", source=NASTY, text=NASTY),
    event(8, "notice", code=NASTY, text=NASTY),
]


def test_markup_in_messages_tools_and_notices_is_shown_as_it_was_written(visit: Desk) -> None:
    # proves: SEC-2
    context = visit.context()
    html = {"html": {"5": NASTY, "7": NASTY}}
    context.route("**/html?*", lambda route: route.fulfill(status=200, body=json.dumps(html)))
    context.route("**/v1/deliveries/*", lambda route: route.fulfill(status=404, body="{}"))
    screen = visit.open(context=context, log=EVERYWHERE)
    page = screen.page
    expect(page.locator("article.mine .words")).to_have_text(NASTY)
    expect(page.locator(".tool pre").first).to_have_text(NASTY)
    expect(page.locator(".notice span")).to_have_text(NASTY)
    assert screen.run("() => window.hit") is None
    made = "script, iframe, style, svg:not(.glyph), img:not([src^='/']), [onerror], [onload]"
    expect(page.locator(f"#main :is({made}, a[href^='javascript:'])")).to_have_count(0)
    screen.foreseen("404")
    # The inert document in which it was parsed has the page's policy too, and says what it saw.
    screen.foreseen("Content Security Policy")


def test_a_name_that_is_markup_is_a_name(desk: Desk) -> None:
    name = "<img src=x onerror='window.hit=1'>"
    body = {"request_id": "r-1", "name": name, "kind": "global"}
    made = desk.service.client.ask("POST", "/v1/conversations", body).body
    screen = desk.open(f"/#/c/{made['id']}")
    expect(screen.page.get_by_role("heading", level=1)).to_have_text(name)
    expect(screen.page.locator("#list")).to_contain_text(name)
    screen.page.keyboard.press("Control+k")
    expect(screen.page.get_by_role("option").nth(1)).to_have_text(name)
    assert screen.run("() => window.hit") is None


def test_rendered_answers_keep_their_form_and_nothing_that_acts(visit: Desk) -> None:
    # proves: SEC-2
    screen = visit.open()
    html = (
        "<h2 onclick='x()' id=a style='color:red'>T</h2><p>a <b>b</b> <strong>c</strong></p>"
        "<a href='https://a.example/x' target=_self rel=opener>l</a>"
        "<a href='data:text/html,x'>d</a>"
        "<form action='/'><input name=n></form><img src='https://evil.example/x.png'>"
    )
    kept = screen.run(
        "async ([html]) => { const m = await import('/console/markdown.js');"
        "const made = document.createElement('div'); made.append(m.sanitised(html));"
        "return made.innerHTML; }",
        html,
    )
    # The inert document has the page's policy too, and says so of the style.
    screen.foreseen("Content Security Policy")
    assert kept == (
        "<h2>T</h2><p>a  <strong>c</strong></p>"
        '<a href="https://a.example/x" rel="noopener noreferrer nofollow" target="_blank"'
        ' title="a.example">l</a><a>d</a>'
    )


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example"])
def test_a_foreign_name_for_our_address_gets_no_page(visit: Desk, host: str) -> None:
    # proves: SEC-2
    context = visit.context()
    screen = visit.open("/login", context=context, log_in=False)
    answer = context.request.get(f"{visit.url}/", headers={"Host": host})
    assert answer.status == 421
    assert screen.page.locator("#code").is_visible()


def test_a_foreign_page_can_neither_read_nor_write(visit: Desk) -> None:
    # proves: SEC-2
    context = visit.context()
    visit.open(context=context)
    foreign = context.new_page()
    foreign.route("http://evil.example/**", lambda route: route.fulfill(status=200, body="<p>x"))
    foreign.goto("http://evil.example/")
    tried = foreign.evaluate(
        """async ([url]) => {
          const said = [];
          for (const [path, options] of [
            ["/v1/conversations", {}],
            ["/v1/conversations/global-default/inputs",
             { method: "POST", body: '{"delivery_id":"x","text":"x"}' }],
          ]) {
            said.push(await fetch(url + path, { credentials: "include", ...options })
              .then((answer) => answer.status, () => "refused"));
          }
          return said;
        }""",
        [visit.url],
    )
    assert tried == ["refused", "refused"]
    framed = foreign.evaluate(
        """async ([url]) => {
          const frame = document.createElement("iframe");
          frame.src = url;
          document.body.append(frame);
          await new Promise((resolve) => (frame.onload = resolve));
          try { return frame.contentDocument?.title ?? "closed"; } catch { return "closed"; }
        }""",
        [visit.url],
    )
    assert framed == "closed"
    assert visit.service.client.ask("GET", "/v1/deliveries").body["deliveries"] == []


def test_a_write_with_the_cookie_alone_is_refused(visit: Desk) -> None:
    context = visit.context()
    screen = visit.open(context=context)
    body = {"delivery_id": "x", "text": "x"}
    status = screen.run(
        "async ([body]) => (await fetch('/v1/conversations/global-default/inputs', {method: 'POST',"
        "headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)})).status",
        body,
    )
    assert status == 403
    screen.foreseen("403")


def test_no_code_can_be_brought_into_the_page(visit: Desk) -> None:
    # proves: SEC-2
    screen = visit.open()
    got = screen.run(
        """async () => {
          const blocked = [];
          addEventListener("securitypolicyviolation", (e) => blocked.push(e.effectiveDirective));
          const inline = document.createElement("script");
          inline.textContent = "window.hit = 1";
          const remote = document.createElement("img");
          remote.src = "https://evil.example/x.png";
          document.body.append(inline, remote);
          await fetch("https://evil.example/").catch(() => {});
          // In a task of its own: what a debugger runs itself may do anything.
          await new Promise((resolve) => setTimeout(() => {
            try { Function("window.hit = 1")(); } catch { /* as it should be */ }
            resolve();
          }));
          await new Promise((resolve) => setTimeout(resolve));
          return [window.hit ?? null, [...new Set(blocked)].sort()];
        }"""
    )
    assert got == [None, ["connect-src", "img-src", "script-src", "script-src-elem"]]
    screen.foreseen("Content Security Policy|violates the following|evil.example")
