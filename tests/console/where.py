"""Where Chromium is on this machine."""

import os
import shutil
from typing import Final

NAMES: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
"""In the order in which `scripts/chromium` looks."""


def chromium() -> str | None:
    """The program, or None when there is none."""
    given = os.environ.get("CLANKIE_CHROMIUM")
    return next(
        (found for name in ([given] if given else NAMES) if (found := shutil.which(name))), None
    )
