"""The little Markdown that a terminal can show, and rows that keep to their column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clankie.cli.chat.marks import CODE, Line, Markdown, said
from clankie.cli.chat.paint import rows
from clankie.cli.clean import line


def styled(text: str) -> list[Line]:
    markdown = Markdown()
    made = [markdown.line(row) for row in text.split("\n")]
    return [one for one in made if one is not None]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("plain", (("", "plain"),)),
        ("# Heading", (("strong", "Heading"),)),
        ("a **b** c", (("", "a "), ("strong", "b"), ("", " c"))),
        ("run `ls -l`", (("", "run "), ("code", "ls -l"))),
        ("- item", (("quiet", "• "), ("", "item"))),
        ("2 * 3 * 4", (("", "2 * 3 * 4"),)),
        ("**open", (("", "**open"),)),
        ("`open", (("", "`open"),)),
        ("#hashtag", (("", "#hashtag"),)),
        ("", ()),
    ],
)
def test_a_line_is_styled(text: str, spans: tuple[tuple[str, str], ...]) -> None:
    assert styled(text)[0].spans == spans


def test_a_code_block_is_set_apart_without_its_fences() -> None:
    made = styled("```python\nprint('**not bold**')\n```\nafter")
    assert [one.text for one in made] == ["python", "print('**not bold**')", "after"]
    assert made[1].indent == CODE
    assert made[1].spans == (("code", "print('**not bold**')"),)


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert [one.text for one in styled("````\n```\n````\nafter")] == ["```", "after"]


@given(st.text(max_size=300), st.integers(0, 6), st.integers(16, 100))
def test_rows_fit_their_width_and_lose_no_word(text: str, indent: int, width: int) -> None:
    one = line(text)
    made = rows([said("", one, indent)], width)
    assert all(cell_len(row.plain) <= width for row in made)
    assert "".join("".join(row.plain.split()) for row in made) == "".join(one.split())


def test_a_blank_line_is_one_empty_row() -> None:
    assert [row.plain for row in rows([Line()], 80)] == [""]
