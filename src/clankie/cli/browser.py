"""The web console in a browser: a page on disk logs in, so no code stands in an address."""

from __future__ import annotations

import os
import sys
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clankie.cli import places

if TYPE_CHECKING:
    from clankie.cli.client import Client

PAGE: Final = "login.html"
_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
_TEMPLATE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Clankie</title>
<form method="post" action="{action}">
<input type="hidden" name="code" value="{code}">
<button>Open Clankie</button>
</form>
<script>document.forms[0].submit()</script>
</html>
"""


def usable() -> bool:
    """Whether there is a screen that a browser could open on."""
    if sys.platform == "darwin":
        return "SSH_CONNECTION" not in os.environ
    return any(os.environ.get(name) for name in _DISPLAYS)


def code(client: Client) -> str:
    """A code that opens one session within a minute. Raises CommandError."""
    return str(client.post("/v1/login-codes")["code"])


def open_console(client: Client, url: str) -> bool:
    """Open a browser that is logged in; False when none could be started.

    Raises:
        CommandError: the service gives no code.
    """
    page = _written(url, code(client))
    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False


def _written(url: str, secret: str) -> Path:
    """The page, readable by its owner alone; the code in it is worth nothing after a minute."""
    page = Path(places.home()) / PAGE
    page.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(page, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(_TEMPLATE.format(action=escape(f"{url}/v1/login"), code=escape(secret)))
    return page


def remove_page() -> None:
    """The page has done its work."""
    (Path(places.home()) / PAGE).unlink(missing_ok=True)
