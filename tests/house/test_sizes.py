"""The size gate: a file, a function and a class that can be read at one sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FILE_LINES = 500
FUNCTION_LINES = 60
CLASS_LINES = 300
PUBLIC_METHODS = 15

# "path" or "path::name": why it may be larger, and the issue that will make it smaller.
EXCEPTIONS: dict[str, str] = {
    "tests/core/test_delivery_machine.py::Lives": (
        "a machine of Hypothesis: each rule is a move of the real one, and splitting it would "
        "split what random lives can do."
    ),
}

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(node: FunctionDef | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def too_large(path: str, source: str) -> Iterator[tuple[str, str]]:
    """What is too large in one file: its key in the list of exceptions, and a sentence."""
    length = len(source.splitlines())
    if length > FILE_LINES:
        yield path, f"{length} lines, at most {FILE_LINES}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, FunctionDef) and lines_of(node) > FUNCTION_LINES:
            yield f"{path}::{node.name}", f"{lines_of(node)} lines, at most {FUNCTION_LINES}"
        if isinstance(node, ast.ClassDef):
            public = [n for n in node.body if isinstance(n, FunctionDef) and n.name[0] != "_"]
            if lines_of(node) > CLASS_LINES:
                yield f"{path}::{node.name}", f"{lines_of(node)} lines, at most {CLASS_LINES}"
            if len(public) > PUBLIC_METHODS:
                yield f"{path}::{node.name}", f"{len(public)} methods, at most {PUBLIC_METHODS}"


def everywhere() -> Iterator[tuple[str, str]]:
    for folder in ("src", "tests", "scripts"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            yield from too_large(path, file.read_text(encoding="utf-8"))


def test_nothing_is_too_large_to_read() -> None:
    found = [f"{key}: {why}" for key, why in everywhere() if key not in EXCEPTIONS]
    assert not found, "\n" + "\n".join(found)


def test_no_exception_outlives_its_reason() -> None:
    assert set(EXCEPTIONS) <= {key for key, _ in everywhere()}


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("x = 1\n" * 500, []),
        ("x = 1\n" * 501, ["a.py"]),
        ("def f():\n" + "    x = 1\n" * 59, []),
        ("async def f():\n" + "    x = 1\n" * 60, ["a.py::f"]),
        ("class C:\n" + "    x = 1\n" * 300, ["a.py::C"]),
        ("class C:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(16)), ["a.py::C"]),
        ("class C:\n" + "".join(f"    def _m{n}(self): ...\n" for n in range(16)), []),
    ],
)
def test_the_gate_knows_its_limits(source: str, keys: list[str]) -> None:
    assert [key for key, _ in too_large("a.py", source)] == keys
