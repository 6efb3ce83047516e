"""Text reaches a prompt through framing only: every place that could do otherwise is named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import clankie

SOURCE = Path(clankie.__file__).parent

ALLOWED: dict[str, dict[str, set[str] | None]] = {
    # What becomes a message of a model: the owner's words, or a frame.
    "UserText": {"lanes/prompt.py": {"heard", "beside"}, "lanes/session.py": {"seeded", "_seed"}},
    # The log as a text for a harness.
    "as_text": {"host/selfstate.py": {"prompt"}, "api/conversations.py": {"read_projection"}},
    "system_prompt": {"lanes/runner.py": None},
}
"""Name of a function or class: where it may be called, and in which functions."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield file.relative_to(SOURCE).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def calls(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
        for node in ast.walk(tree)
    )


def found(name: str) -> set[tuple[str, str]]:
    return {
        (path, one.name) for path, tree in modules() for one in functions(tree) if calls(one, name)
    }


# proves: SEC-7
def test_text_enters_a_prompt_in_the_functions_named_here_and_in_no_other() -> None:
    for name, places in ALLOWED.items():
        here = found(name)
        assert here, f"nobody calls {name} any more: take it out of the list"
        for path, function in here:
            assert path in places, f"{path}:{function} calls {name}"
            allowed = places[path]
            assert allowed is None or function in allowed, f"{path}:{function} calls {name}"


# proves: SEC-7
def test_nobody_reads_the_bare_lines_of_a_projection() -> None:
    """`Entry.line` and `Projection.text` are for people and for budgets, not for models."""
    for path, tree in modules():
        if path in {"core/projection.py", "host/shown.py"}:
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            owner = getattr(node.value, "id", "")
            assert node.attr != "line" or owner not in {"entry", "one"}, f"{path}:{node.lineno}"
            bare = node.attr == "text" and owner in {"projection", "found", "view"}
            assert not bare, f"{path}:{node.lineno} takes the text of a projection as it stands"


# proves: SEC-7
def test_words_of_inputs_are_read_by_framing_lanes_and_the_store_only() -> None:
    """`delivery.text` is what somebody sent: whoever else reads it could put it anywhere."""
    readers = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "text"
        and getattr(node.value, "id", getattr(node.value, "attr", "")) == "delivery"
    }
    assert {one for one in readers if not one.startswith("store/")} <= {"lanes/prompt.py"}
