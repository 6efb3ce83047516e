"""The pages for people: they lead somewhere, and say what is supported."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "AGENTS.md",
        *ROOT.glob("docs/**/*.md"),
    ]
)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    inside = [one for one in targets if "://" not in one]
    assert [one for one in inside if not (page.parent / one).exists()] == []


@pytest.mark.parametrize(
    "said", ["Debian 12", "Ubuntu 24.04", "macOS 14", "WSL", "Not yet", "./clankie up", "./test"]
)
def test_the_readme_says_what_is_supported_and_how_to_begin(said: str) -> None:
    # proves: DAY-4
    assert said in README


def test_the_map_of_the_house_is_short_enough_to_be_read() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) < 80
