"""One Chromium for a file of tests, and a service for each test or for all of them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from console.kit import FLAGS, Desk
from console.where import chromium
from process.service import Place


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # For a module only: while it runs there is an event loop in this thread, and the tests of other
    # rooms bring their own.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS])
        yield browser
        browser.close()


@pytest.fixture
def desk(browser: Browser) -> Iterator[Desk]:
    """A service of its own."""
    with Place() as place:
        made = Desk(browser, place)
        yield made
        made.leave()


@pytest.fixture(scope="module")
def shared(browser: Browser) -> Iterator[Desk]:
    with Place() as place:
        yield Desk(browser, place)


@pytest.fixture
def visit(shared: Desk) -> Iterator[Desk]:
    """A service that other tests of the file look at too: nothing is said in it or changed."""
    yield shared
    shared.leave()
