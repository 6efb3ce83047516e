"""The promises ledger: docs/requirements.md against the `# proves: ID` comments of the tests.

Both directions fail: a promise said to be held that no test names, and a test that names a promise
which is unknown or said to be deferred. `--write` puts the names of the tests into the page.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "requirements.md"

# How many promises each family has, so that a row cannot quietly disappear from the page.
FAMILIES = {
    "CONV": 7,
    "FENCE": 13,
    "SEAT": 15,
    "HAND": 6,
    "SERV": 8,
    "ROOM": 6,
    "VOICE": 5,
    "LINK": 5,
    "FORK": 8,
    "WORK": 8,
    "REPT": 5,
    "LIMIT": 2,
    "LIN": 6,
    "MEDIA": 7,
    "PLAY": 9,
    "SEC": 13,
    "DAY": 4,
    "BASE": 5,
}
EXPECTED = [f"{family}-{n}" for family, count in FAMILIES.items() for n in range(1, count + 1)]

ROW = re.compile(r"^\| ([A-Z]+-\d+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$")
PROVES = re.compile(r"#\s*proves:\s*(.+)$")
MISSING = re.compile(r"missing: \S.*")
ISSUE = re.compile(r"issue ([3-9]|1[0-2])|a later issue")
NAMED = re.compile(r"`(tests/[^`]+)`")
SHOWN = 3  # tests named in one cell; the rest is a number


@dataclass(frozen=True)
class Row:
    """One promise."""

    id: str
    status: str
    evidence: str
    short: str

    def __str__(self) -> str:
        return f"| {self.id} | {self.status} | {self.evidence} | {self.short} |"


def rows(page: str) -> list[Row]:
    """The promises in a page, in its order."""
    found = (ROW.match(line) for line in page.splitlines())
    return [Row(*(cell.strip() for cell in match.groups())) for match in found if match]


def spans_in(tree: ast.AST, prefix: str) -> Iterator[tuple[int, str]]:
    """Last line and name of each test, those in classes included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from spans_in(node, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:4] == "test":
            yield node.end_lineno or node.lineno, prefix + node.name


def claims_in(source: str) -> Iterator[tuple[str, str | None]]:
    """Each promise a file's comments name, with the test it belongs to.

    That is the test around the comment, else the next one below it; None where there is none.
    """
    spans = sorted(spans_in(ast.parse(source), ""))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        match = PROVES.match(token.string) if token.type == tokenize.COMMENT else None
        if match is None:
            continue
        owner = next((name for last, name in spans if token.start[0] <= last), None)
        for promise in match[1].split(","):
            yield promise.strip(), owner


def claims(tests: Path) -> dict[str, list[str]]:
    """For each promise the tests that name it, as pytest would call them."""
    found: dict[str, list[str]] = {}
    for file in sorted(tests.rglob("*.py")):
        path = f"tests/{file.relative_to(tests).as_posix()}"
        for promise, owner in claims_in(file.read_text(encoding="utf-8")):
            name = f"{path}::{owner}" if owner else path
            known = found.setdefault(promise, [])
            if name not in known:
                known.append(name)
    return found


def check_deferred(row: Row, tests: list[str]) -> Iterator[str]:
    """What is wrong with a promise for later."""
    if not ISSUE.fullmatch(row.evidence):
        yield f"{row.id}: deferred, but to no issue from 3 to 12"
    if tests:
        yield f"{row.id}: deferred, yet {tests[0]} says it proves it"


def check_held(row: Row, tests: list[str]) -> Iterator[str]:
    """What is wrong with a promise that is held, in whole or in part."""
    says_missing = MISSING.search(row.evidence) is not None
    if row.status == "proven" and says_missing:
        yield f"{row.id}: proven, yet something is missing"
    if row.status == "partly" and not says_missing:
        yield f"{row.id}: partly, but the evidence does not say what is `missing:`"
    named = NAMED.findall(row.evidence)
    if not tests:
        yield f"{row.id}: {row.status}, but no test says `# proves: {row.id}`"
    elif not named:
        yield f"{row.id}: the evidence names no test; run scripts/ledger.py --write"
    for name in named:
        if name not in tests:
            yield f"{row.id}: {name} does not say that it proves it; run scripts/ledger.py --write"


def check_row(row: Row, tests: list[str]) -> Iterator[str]:
    """What is wrong with one promise."""
    match row.status:
        case "deferred":
            yield from check_deferred(row, tests)
        case "proven" | "partly":
            yield from check_held(row, tests)
        case _:
            yield f"{row.id}: no such status: {row.status}"


def check(page: str, proved: Mapping[str, list[str]], expected: list[str]) -> list[str]:
    """Everything that is wrong, one sentence each."""
    ledger = rows(page)
    ids = [row.id for row in ledger]
    wrong = [f"{name}: no row in the ledger" for name in expected if name not in ids]
    wrong += [f"{name}: not a promise we know" for name in ids if name not in expected]
    wrong += [f"{name}: more than one row" for name in sorted(set(ids)) if ids.count(name) > 1]
    wrong += [
        f"{name}: named by {tests[0]}, but not in the ledger"
        for name, tests in sorted(proved.items())
        if name not in ids
    ]
    for row in ledger:
        wrong += check_row(row, proved.get(row.id, []))
    return wrong


def with_tests(row: Row, tests: list[str]) -> Row:
    """The row with its tests named; what is missing stays as it was written."""
    if row.status == "deferred" or not tests:
        return row
    parts = [", ".join(f"`{name}`" for name in tests[:SHOWN])]
    if len(tests) > SHOWN:
        parts[0] += f" and {len(tests) - SHOWN} more"
    missing = MISSING.search(row.evidence)
    if missing:
        parts.append(missing[0].strip())
    return replace(row, evidence="; ".join(parts))


def rewritten(page: str, proved: Mapping[str, list[str]]) -> str:
    """The page with the tests named in every row that has some."""
    lines = page.splitlines()
    for number, line in enumerate(lines):
        for row in rows(line):
            lines[number] = str(with_tests(row, proved.get(row.id, [])))
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Print what is wrong; 1 if anything is."""
    page = PAGE.read_text(encoding="utf-8")
    proved = claims(ROOT / "tests")
    if "--write" in arguments:
        page = rewritten(page, proved)
        PAGE.write_text(page, encoding="utf-8")
    wrong = check(page, proved, EXPECTED)
    print("\n".join(wrong) or f"{len(EXPECTED)} promises, each as the page says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
