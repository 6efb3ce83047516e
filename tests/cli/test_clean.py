"""Nothing that a terminal would obey passes; nothing that a person wrote is lost."""

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from clankie.cli.clean import line, plain
from clankie.cli.look import console

NASTY = st.text(
    alphabet=st.one_of(
        st.sampled_from("\x1b\x9b\x9d\x90\x07\x9c\\[]PX^_;:mHJ0123456789?\r\n\t\b"),
        st.sampled_from("\u202e\u2066\u200f\u061c\u2028\ufeff\U000e0041\ud800"),
        st.characters(codec="utf-8"),
    )
)
DIRECTION = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


# proves: SEC-8
@given(NASTY)
def test_what_is_left_has_no_control_characters_but_newline_and_tab(text: str) -> None:
    for letter in plain(text):
        assert letter in "\n\t" or unicodedata.category(letter) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(letter) not in DIRECTION
        assert letter not in "\u2028\u2029"


@given(NASTY)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]8;;https://evil.example\x1b\\bank\x1b]8;;\x1b\\", "bank"),
        ("\x1b]52;c;ZXZpbA==\x07copied", "copied"),
        ("\x9d52;c;ZXZpbA==\x9ccopied", "copied"),
        ("\x1bP1$qm\x1b\\asked", "asked"),
        ("\x1b]0;title never closed", "0;title never closed"),
        ("over\rwritten", "over\nwritten"),
        ("a\r\nb", "a\nb"),
        ("abc\b\b\bxyz", "abcxyz"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("lone \ud800 half", "lone \ufffd half"),
        ("a\u2028b", "a\nb"),
        (
            "family \U0001f468\u200d\U0001f469\u200d\U0001f467",
            "family \U0001f468\u200d\U0001f469\u200d\U0001f467",
        ),
    ],
)
def test_a_sequence_goes_as_a_whole_and_the_words_stay(given_text: str, shown: str) -> None:
    # proves: SEC-8
    assert plain(given_text) == shown


@given(NASTY, st.integers(min_value=1, max_value=80))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    found = line(text, limit)
    assert "\n" not in found
    assert len(found) <= limit


@given(NASTY)
def test_a_console_writes_markup_and_emoji_codes_as_they_stand(text: str) -> None:
    # proves: SEC-8
    paper = io.StringIO()
    words = plain(f"[bold red]x[/] [link=https://evil.example]y[/link] :smile: {text}")
    console(paper, width=10_000, terminal=True).print(Text(words), soft_wrap=True)
    console(paper, width=10_000, terminal=True).print(words, soft_wrap=True)
    assert "\x1b" not in paper.getvalue()
    assert "[bold red]x[/] [link=https://evil.example]y[/link] :smile:" in paper.getvalue()


def test_without_colour_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    paper = io.StringIO()
    console(paper, width=80, terminal=True).print(Text("careful", style="bad"))
    assert "\x1b[3" not in paper.getvalue()
