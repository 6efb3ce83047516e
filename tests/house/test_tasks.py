"""Every task lives in a group: what fails in one is then heard by whoever started it."""

import ast
from pathlib import Path

import clankie

SOURCES = sorted(Path(clankie.__file__).parent.rglob("*.py"))
GROUPS = {"group", "tasks"}


def loose(source: str) -> list[int]:
    """The lines of a source at which a task is made outside of a group."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _is_loose(call)]


def _is_loose(node: ast.Call) -> bool:
    """A group goes by its name; the linter knows `asyncio.create_task`, and no method of a loop."""
    if not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "ensure_future":
        return True
    if node.func.attr != "create_task":
        return False
    owner = node.func.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return str(name).lstrip("_") not in GROUPS


def test_no_task_is_made_outside_of_a_group() -> None:
    found = {str(path): lines for path in SOURCES if (lines := loose(path.read_text()))}
    assert not found, found


def test_a_loose_task_is_seen() -> None:
    assert loose("loop.create_task(x())") == [1]
    assert loose("asyncio.get_running_loop().create_task(x())") == [1]
    assert loose("asyncio.ensure_future(x())") == [1]
    assert loose("self._tasks.create_task(x())\nasyncio.TaskGroup") == []
