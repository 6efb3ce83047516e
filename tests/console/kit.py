"""The console as tests use it: a real service, a real Chromium, pages that may not complain."""

import json
import re
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Route

from process.service import Place

FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BOUND: Final = 15_000
"""Milliseconds after which a wait in a test is a failure."""
WIDE: Final = {"width": 1280, "height": 800}
GONE: Final = re.compile(r"net::ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)")
"""What a browser says of a service that is being killed and started again."""


class Screen:
    """A page of the console. What it complains of must be foreseen by the test."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self._foreseen: list[re.Pattern[str]] = []
        page.set_default_timeout(BOUND)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} {message.location.get('url', '')}")

    def foreseen(self, pattern: str | re.Pattern[str]) -> None:
        """Complaints of this kind are a part of the test, also those that are still to come."""
        self._foreseen.append(re.compile(pattern))

    def unforeseen(self) -> list[str]:
        """What it complained of besides."""
        return [one for one in self.complaints if not any(p.search(one) for p in self._foreseen)]

    @property
    def box(self) -> Locator:
        return self.page.locator("#box")

    def send(self, text: str) -> None:
        """Write it and press Enter."""
        self.box.fill(text)
        self.box.press("Enter")

    def message(self, text: str) -> Locator:
        """The owner's message with these words."""
        return self.page.locator("article.mine", has=self.page.get_by_text(text, exact=True))

    def answer(self, text: str) -> Locator:
        """The finished answer with these words."""
        return self.page.locator("article.answer:not(.draft)", has_text=text)

    def wait(self, condition: str, *arguments: Any) -> None:
        """Until this JavaScript holds in the page."""
        self.page.wait_for_function(condition, arg=list(arguments), timeout=BOUND)

    def run(self, code: str, *arguments: Any) -> Any:
        """What this JavaScript gives, with the arguments as an array."""
        return self.page.evaluate(code, list(arguments))


class Desk:
    """A service with its model, and pages that look at it; `leave` holds the pages to account."""

    def __init__(self, browser: Browser, place: Place) -> None:
        self.browser = browser
        self.place = place
        self.service = place.start()
        self.screens: list[Screen] = []
        self._contexts: list[BrowserContext] = []

    @property
    def url(self) -> str:
        return str(self.service.ready["url"])

    def context(self, **options: Any) -> BrowserContext:
        """A browser of its own, with nothing kept in it."""
        made = self.browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
        self._contexts.append(made)
        return made

    def code(self) -> str:
        """What `clankie up` shows."""
        return str(self.service.client.ask("POST", "/v1/login-codes").body["code"])

    def session(self, context: BrowserContext) -> None:
        """Log this browser in, without a page."""
        context.request.post(f"{self.url}/v1/login", data={"code": self.code()})

    def open(
        self,
        path: str = "/",
        *,
        context: BrowserContext | None = None,
        log_in: bool = True,
        log: list[dict[str, Any]] | None = None,
    ) -> Screen:
        """A page. `log_in`: its browser is not yet. `log`: the events it reads, not the service's.

        The queries that are made of such a log are in `asked`.
        """
        made = context or self.context()
        if log_in:
            self.session(made)
        screen = Screen(made.new_page())
        self.screens.append(screen)
        if log is not None:
            screen.asked = serve_log(screen, log)
        screen.page.goto(f"{self.url}{path}")
        if log_in:
            screen.page.locator("#shell h1").first.wait_for()
        return screen

    def restart(self, **environ: str) -> None:
        """The service again, at the same address, after it ended."""
        port = urlsplit(self.url).port
        self.service = self.place.start(CLANKIE_PORT=str(port), **environ)

    def leave(self) -> None:
        """Close every page; none may have complained."""
        for context in self._contexts:
            context.close()
        screens, self.screens, self._contexts = self.screens, [], []
        complaints = [one for screen in screens for one in screen.unforeseen()]
        assert not complaints, "\n".join(complaints)


def serve_log(screen: Screen, events: list[dict[str, Any]]) -> list[str]:
    """Let the page read this log instead of the service's; the queries it made."""
    asked: list[str] = []

    def fulfil(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        if route.request.headers.get("accept") == "text/event-stream":
            # It stays open and says nothing: all that there is was read as pages.
            route.fulfill(status=204)
            return
        asked.append(urlsplit(route.request.url).query)
        before, limit = int(query["before"][0]), int(query["limit"][0])
        if before == 1:
            before = events[-1]["cursor"] + 1  # the list of conversations knows of no log here
        page = [one for one in events if one["cursor"] < before][-limit:]
        body = {
            "events": page,
            "next_cursor": page[0]["cursor"] if page else before,
            "head_cursor": events[-1]["cursor"],
            "has_more": bool(page) and page[0]["cursor"] > 1,
        }
        route.fulfill(status=200, content_type="application/json", body=json.dumps(body))

    screen.page.route(re.compile(r"/v1/conversations/[^/]+/events"), fulfil)
    return asked
