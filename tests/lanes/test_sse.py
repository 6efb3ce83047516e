"""Server-sent events as servers really write them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clankie.lanes.model import ModelBadResponseError
from clankie.lanes.sse import LINE_LIMIT, TOTAL_LIMIT, WHOLE_LIMIT, Lines


def payloads(*chunks: bytes) -> list[bytes]:
    lines = Lines()
    return [one for chunk in chunks for one in lines.feed(chunk)] + lines.end()


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\rdata: b\r", [b"a", b"b"]),
        (b"data:a\ndata:b", [b"a", b"b"]),
        (b": keep-alive\nevent: x\nid: 1\nretry: 5\nnonsense\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b'data: a\n{"error": "broke"}\n', [b"a", b'{"error": "broke"}']),
        (b'  {"choices":\n[]}', [b'{"choices":\n[]}']),
        (b"", []),
    ],
)
def test_every_way_to_write_events_is_read(wire: bytes, expected: list[bytes]) -> None:
    assert payloads(wire) == expected


@given(cuts=st.lists(st.integers(0, 60), max_size=12))
def test_it_does_not_matter_where_the_stream_is_cut(cuts: list[int]) -> None:
    wire = b'data: {"a": 1}\r\n\r\n: no\r\ndata: {"b":2}\n\ndata: [DONE]\r\n\r\n'
    edges = [0, *sorted(cuts), len(wire)]
    chunks = [wire[start:end] for start, end in itertools.pairwise(edges)]
    assert payloads(*chunks) == [b'{"a": 1}', b'{"b":2}', b"[DONE]"]


def test_a_web_page_is_known_at_its_first_byte() -> None:
    with pytest.raises(ModelBadResponseError, match="web page"):
        payloads(b"\n", b"<", b"html>")


@pytest.mark.parametrize(
    ("first", "chunk", "limit"),
    [
        (b"data: ", b"x" * 65_536, LINE_LIMIT),
        (b"", b": " + b"x" * 1_000_000 + b"\n", TOTAL_LIMIT),
        (b"{", b"x" * 65_536, WHOLE_LIMIT),
    ],
)
def test_nothing_is_read_beyond_its_bound(first: bytes, chunk: bytes, limit: int) -> None:
    lines = Lines()
    lines.feed(first)
    fits = limit // len(chunk) - 1
    for _ in range(fits):
        lines.feed(chunk)
    with pytest.raises(ModelBadResponseError, match="MiB"):
        feed_all(lines, [chunk] * 3)


def feed_all(lines: Lines, chunks: list[bytes]) -> None:
    for chunk in chunks:
        lines.feed(chunk)
