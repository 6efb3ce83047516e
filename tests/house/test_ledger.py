"""The promises ledger holds in both directions, and so does its gate."""

from pathlib import Path

import pytest

import ledger

T = "tests/core/test_a.py::test_one"


def page(*rows: str) -> str:
    return (
        "# A page\n\n| ID | status | evidence | in short |\n| --- | --- | --- | --- |\n"
        + "".join(f"| {row} | words |\n" for row in rows)
    )


def test_the_page_and_the_tests_agree() -> None:
    text = ledger.PAGE.read_text(encoding="utf-8")
    wrong = ledger.check(text, ledger.claims(ledger.ROOT / "tests"), ledger.EXPECTED)
    assert not wrong, "\n" + "\n".join(wrong)


def test_a_ledger_that_holds_has_no_complaint() -> None:
    text = page(
        f"A-1 | proven | `{T}`", f"A-2 | partly | `{T}`; missing: rain", "A-3 | deferred | issue 4"
    )
    assert ledger.check(text, {"A-1": [T], "A-2": [T]}, ["A-1", "A-2", "A-3"]) == []


@pytest.mark.parametrize(
    ("row", "tests", "complaint"),
    [
        ("A-1 | proven | here", [], "no test says"),
        ("A-1 | partly | missing: rain", [], "no test says"),
        ("A-1 | partly | being built", [T], "does not say what is `missing:`"),
        ("A-1 | proven | trust me", [T], "names no test"),
        ("A-1 | proven | `tests/gone.py::test_x`", [T], "tests/gone.py::test_x does not say"),
        (f"A-1 | proven | `{T}`; missing: rain", [T], "yet something is missing"),
        ("A-1 | deferred | issue 4", [T], "says it proves it"),
        ("A-1 | deferred | some day", [], "to no issue"),
        ("A-1 | deferred | issue 2", [], "to no issue"),
        ("A-1 | deferred | issue 13", [], "to no issue"),
        ("A-1 | done | yes", [T], "no such status"),
    ],
)
def test_a_row_the_tests_do_not_bear_out_is_refused(
    row: str, tests: list[str], complaint: str
) -> None:
    wrong = ledger.check(page(row), {"A-1": tests} if tests else {}, ["A-1"])
    assert any(complaint in line for line in wrong), wrong


def test_a_test_that_proves_an_unknown_promise_is_refused() -> None:
    wrong = ledger.check(page("A-1 | deferred | issue 3"), {"A-9": [T]}, ["A-1"])
    assert wrong == [f"A-9: named by {T}, but not in the ledger"]


def test_a_lost_a_foreign_and_a_double_row_are_refused() -> None:
    text = page("A-1 | deferred | issue 3", "A-1 | deferred | issue 3", "B-1 | deferred | issue 3")
    assert ledger.check(text, {}, ["A-1", "A-2"]) == [
        "A-2: no row in the ledger",
        "B-1: not a promise we know",
        "A-1: more than one row",
    ]


def test_comments_belong_to_the_test_around_or_below_them(tmp_path: Path) -> None:
    folder = tmp_path / "core"
    folder.mkdir()
    (folder / "test_a.py").write_text(
        "# proves: A-1\n"
        "@mark\n"
        "def test_one():\n"
        "    # proves: A-2, A-3\n"
        '    text = "# proves: A-8"\n'
        "class TestGroup:\n"
        "    async def test_two(self):\n"
        "        pass  # proves: A-1\n"
        "# proves: A-4\n",
        encoding="utf-8",
    )
    two = "tests/core/test_a.py::TestGroup::test_two"
    assert ledger.claims(tmp_path) == {
        "A-1": [T, two],
        "A-2": [T],
        "A-3": [T],
        "A-4": ["tests/core/test_a.py"],
    }


def test_writing_names_the_tests_and_keeps_what_is_missing() -> None:
    before = page("A-1 | proven | ", "A-2 | partly | missing: rain", "A-3 | deferred | issue 4")
    after = ledger.rewritten(
        before, {"A-1": ["tests/a", "tests/b", "tests/c", "tests/d"], "A-2": [T]}
    )
    assert [row.evidence for row in ledger.rows(after)] == [
        "`tests/a`, `tests/b`, `tests/c` and 1 more",
        f"`{T}`; missing: rain",
        "issue 4",
    ]
