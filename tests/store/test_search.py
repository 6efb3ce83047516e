"""The index against the plain meaning of a search, whatever signs they are made of."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clankie.core.errors import InvalidFieldError
from clankie.core.ids import HEAD
from clankie.store.sqlite import SqliteStore, search
from contracts.store_kit import Told, admitted
from fakes.clock import FakeClock, FakeIds
from fakes.crash import NoCrash

SIGNS = "abcABCäßİñ\u0301東한हि1²½ -_.\"'*:()^\n\u00a0\u200dﬁ"
TEXTS = st.lists(st.text(SIGNS, max_size=12), min_size=1, max_size=4)
QUERIES = st.lists(st.text(SIGNS, max_size=6), min_size=1, max_size=4)


def holds(text: str, query: str) -> bool:
    """Whether every word of the query is a word of the text; the last may be its beginning."""
    there, wanted = set(search.words(text).split()), search.words(query).split()
    last = wanted[-1]
    begun = len(last) >= 3 and any(word.startswith(last) for word in there)
    return all(word in there for word in wanted[:-1]) and (last in there or begun)


@settings(max_examples=100)
@given(TEXTS, QUERIES)
def test_what_is_found_is_what_holds_the_words(texts: list[str], queries: list[str]) -> None:
    # proves: DAY-2
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(asked(Path(directory) / "clankie.db", texts, queries))


async def asked(path: Path, texts: list[str], queries: list[str]) -> None:
    async with SqliteStore(
        path,
        clock=FakeClock(),
        ids=FakeIds(),
        crash=NoCrash(),
        committed=Told(),
        inline=True,
        durable=False,
    ) as store:
        await store.boot()
        for n, text in enumerate(texts):
            await admitted(store, f"m-{n}", text)
        while await store.conversations.index(3):
            pass
        for query in queries:
            try:
                page = await store.conversations.search(HEAD, query, before=None, limit=50)
            except InvalidFieldError:
                assert search.words(query) == ""
                continue
            meant = [2 * n + 1 for n, text in enumerate(texts) if holds(text, query)]
            assert [one.cursor for one in page.results] == meant[::-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World_wide!", "hello world wide"),
        ("Straße İstanbul café", "strasse istanbul cafe"),
        ("今日はABC", "今 日 は abc"),
        ("हिन्दी", "हनद"),
        ("ﬁne ½ x²", "fine 1 2 x2"),
        ("…", ""),
    ],
)
def test_the_words_of_a_text_never_change(text: str, words: str) -> None:
    # What is in an index already must be taken out again with the same words: see `search`.
    assert search.words(text) == words


def test_a_snippet_of_a_short_text_is_the_text() -> None:
    assert search.snippet("The red  kettle\nboils", ["kettle"]) == "The red kettle boils"


@pytest.mark.parametrize("accent", ["", " naïve"])
def test_a_snippet_begins_near_the_first_of_the_words(accent: str) -> None:
    text = "over and over " * 40 + f"a redder red kettles{accent} " + "down " * 60
    assert "a redder red kettles" in search.snippet(text, ["red", "kettle"])
    assert "a redder red kettles" in search.snippet(text, ["kettles", "of", "re"])
    assert search.snippet(text, ["elsewhere"]).startswith("over and over")


def test_a_snippet_shows_the_hit_and_not_a_longer_word_before_it() -> None:
    text = "concatenate " * 30 + "a cat sat " + "down " * 60
    assert "a cat sat" in search.snippet(text, ["cat"])
