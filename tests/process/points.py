"""The crash points: before and after the commit of each kind of unit the store knows."""

import re
from pathlib import Path

import pytest

from clankie.store.sqlite import parts, seat_parts, store
from clankie.store.sqlite.unit import Kind

HERE = Path(__file__).parent
_DIES = re.compile(r'@dies_at\("(\w+)"\)')
BEFORE, AFTER = ".before-commit", ".after-commit"


def dies_at(kind: str) -> pytest.MarkDecorator:
    """Run a test for the point before and the point after the commit."""
    return pytest.mark.parametrize("point", [kind + BEFORE, kind + AFTER])


def kinds() -> set[str]:
    """All kinds of units that are written."""
    found = [one for it in (parts, seat_parts, store) for one in vars(it).values()]
    return {one.before.removesuffix(BEFORE) for one in found if isinstance(one, Kind)}


def killed() -> set[str]:
    """The kinds at which some test here dies."""
    sources = [file.read_text(encoding="utf-8") for file in HERE.glob("test_*.py")]
    return {name for source in sources for name in _DIES.findall(source)}
