"""core imports a short list of modules and itself; the import contract names only the worst."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / "src" / "clankie" / "core"

ALLOWED = {
    "__future__",
    "collections",
    "dataclasses",
    "datetime",  # values only; ruff bans the calls that read a clock
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "re",
    "types",
    "typing",
    "unicodedata",  # line ends, control and bidirectional characters are a matter of the law
}


def foreign_imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "."]
        else:
            continue
        for module in modules:
            if module.split(".")[0] not in ALLOWED and not module.startswith("clankie.core"):
                yield module


def test_core_imports_nothing_but_values() -> None:
    found = [
        f"{file.name}: {module}"
        for file in sorted(CORE.rglob("*.py"))
        for module in foreign_imports(file.read_text(encoding="utf-8"))
    ]
    assert not found


@pytest.mark.parametrize("module", ["os", "asyncio", "clankie.host.ports", "pydantic"])
def test_the_gate_refuses_anything_else(module: str) -> None:
    assert [*foreign_imports(f"import {module}")] == [module]
    assert [*foreign_imports(f"from {module} import x")] == [module]


def test_the_list_names_modules_of_python_itself() -> None:
    assert set(sys.stdlib_module_names) >= ALLOWED
