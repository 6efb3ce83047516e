"""Tests do not sleep and are not skipped: both hide what nobody then looks at."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

SLEEPS = {"asyncio.sleep", "time.sleep", "anyio.sleep", "anyio.sleep_until", "trio.sleep"}
SKIPS = {
    "pytest.skip",
    "pytest.importorskip",
    "pytest.xfail",
    "pytest.mark.skip",
    "pytest.mark.skipif",
    "pytest.mark.xfail",
    "unittest.skip",
    "unittest.skipIf",
    "unittest.skipUnless",
}

# "path": why a test in it may be skipped.
SKIPPING: dict[str, str] = {}


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Local names and what they stand for, so that an alias hides nothing."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """The full name an expression spells, or nothing."""
    match node:
        case ast.Name(id=name):
            return names.get(name, name)
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value, names)}.{attr}"
        case _:
            return ""


def sleeps(source: str) -> Iterator[int]:
    """The lines that sleep. `asyncio.sleep(0)` only lets others run, and is allowed."""
    tree = ast.parse(source)
    names = imported_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or dotted(node.func, names) not in SLEEPS:
            continue
        zero = [ast.dump(argument) for argument in node.args] == [ast.dump(ast.Constant(0))]
        if not (zero and dotted(node.func, names) == "asyncio.sleep"):
            yield node.lineno


def skips(source: str) -> Iterator[int]:
    """The lines that skip a test or expect it to fail."""
    tree = ast.parse(source)
    names = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and dotted(node, names) in SKIPS:
            yield node.lineno


def sources() -> Iterator[tuple[str, str]]:
    for file in sorted(TESTS.rglob("*.py")):
        yield file.relative_to(TESTS).as_posix(), file.read_text(encoding="utf-8")


def test_no_test_sleeps() -> None:
    found = [f"tests/{path}:{line}" for path, source in sources() for line in sleeps(source)]
    assert not found, f"wait for an event, or move the fake clock: {found}"


def test_no_test_is_skipped_without_a_reason_written_here() -> None:
    found = {path: [*skips(source)] for path, source in sources()}
    assert {path for path, lines in found.items() if lines} == set(SKIPPING)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import asyncio\nasyncio.sleep(0)", []),
        ("import asyncio\nasyncio.sleep(0.1)", [2]),
        ("import asyncio as a\na.sleep(1)", [2]),
        ("from time import sleep as nap\nnap(0)", [2]),
        ("import anyio\nanyio.sleep(0)", [2]),
        ("clock.sleep(5)", []),
    ],
)
def test_the_gate_sees_every_way_to_sleep(source: str, lines: list[int]) -> None:
    assert [*sleeps(source)] == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import pytest\n@pytest.mark.skip\ndef test(): ...", [2]),
        ("import pytest\npytest.skip('no')", [2]),
        ("from pytest import importorskip\nx = importorskip('y')", [2]),
        ("import pytest\npytest.mark.parametrize", []),
    ],
)
def test_the_gate_sees_every_way_to_skip(source: str, lines: list[int]) -> None:
    assert [*skips(source)] == lines
