"""Rendered answers, search, export and purge."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.kit import HERE, Api
from clankie.api.markdown import LONGEST, SCHEMES, TAGS, Rendered, render
from clankie.core.conversation import Principal
from fakes.lane import answers


class Looked(HTMLParser):
    """What a browser would find: tags with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def harmless(html: str) -> None:
    for tag, attributes in Looked(html).tags:
        assert tag in TAGS
        assert set(attributes) <= {"href", "title", "rel", "start"}
        if tag == "a" and "href" in attributes:
            assert str(attributes["href"]).partition(":")[0].lower() in SCHEMES
            assert attributes["rel"] == "noopener noreferrer nofollow"


def test_markdown_becomes_html() -> None:
    html = render("# One\n\n*two* **three** `four`\n\n3. a\n4. b\n\n| x |\n| - |\n| ~~y~~ |\n")
    for piece in ("<h1>One</h1>", "<em>two</em>", "<strong>three</strong>", "<code>four</code>"):
        assert piece in html
    assert '<ol start="3">' in html
    assert "<td><s>y</s></td>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "hi <b onclick=x>there</b>",
        "<!-- x --><style>*{}</style>",
    ],
)
def test_html_in_the_text_stays_text(text: str) -> None:
    # proves: SEC-2
    html = render(text)
    assert Looked(html).words.strip() == text
    assert [tag for tag, _ in Looked(html).tags] in ([], ["p"])


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "/v1/settings",
        "//evil.example",
        "&#106;avascript:alert(1)",
        "java\\\nscript:x",
        "http://[",
    ],
)
def test_links_lead_to_three_schemes_only(address: str) -> None:
    # proves: SEC-2
    for text in (f"[x]({address})", f"![x]({address})", f"[x]: {address}\n\n[x]", f"<{address}>"):
        html = render(text)
        assert "href" not in html, html
        harmless(html)


def test_a_picture_from_elsewhere_is_a_link_and_never_loaded() -> None:
    # proves: SEC-2
    html = render("![a cat](https://evil.example/track.png)")
    assert "<img" not in html
    (_, link) = Looked(html).tags[1]
    assert link["href"] == "https://evil.example/track.png"
    assert "a cat" in html
    assert "(evil.example)" in html
    inside = render("[![go](https://evil.example/a.png)](https://good.example/)")
    assert [one["href"] for tag, one in Looked(inside).tags if tag == "a"] == [
        "https://good.example/"
    ]
    assert "picture" in render("![](https://evil.example/a.png)")


def test_a_link_whose_words_are_not_its_address_says_where_it_leads() -> None:
    # proves: SEC-2
    assert "(evil.example)" in render("[your bank](https://evil.example/login)")
    assert "(evil.example)" in render("[https://bank.example](https://evil.example/)")
    assert "(evil.example)" in render("[evil.example.bank.example](https://evil.example/)")
    assert "(a@b.example)" in render("[write](mailto:a@b.example)")
    assert "(xn--" in render("[аpple.com](https://аpple.com/)")  # noqa: RUF001 - a Cyrillic a is the point
    assert "<span>" not in render("<https://good.example/a>")
    assert "<span>" not in render("[good.example](https://good.example/)")


def test_a_text_too_long_to_be_prose_is_shown_as_it_is() -> None:
    html = render("*" * LONGEST + "<b>")
    assert html.startswith("<pre>***")
    assert html.endswith("&lt;b&gt;</pre>")


PIECES = ["<", ">", "[", "]", "(", ")", "!", "`", "*", "|", "\\", '"', "'", "a", "-", "//", "<b>"]
PIECES += ["http://a.b", "javascript:", "&#x6a;", "mailto:"]
PIECES += ["<a href=", "<img src=x onerror=y>", " ", "\n", "> "]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_anything_but_harmless_html(parts: list[str]) -> None:
    # proves: SEC-2
    harmless(render("".join(parts)))


async def test_what_is_kept_is_bounded_and_never_stale() -> None:
    kept = Rendered(limit=40)
    assert await kept.html("c", 1, "one") == "<p>one</p>\n"
    assert await kept.html("c", 1, "two") == "<p>two</p>\n"
    for cursor in range(2, 9):
        await kept.html("c", cursor, "x" * 10)
    assert kept._size <= 40
    kept.forget("c")
    assert kept._size == 0


async def said(api: Api, *texts: str) -> list[int]:
    """Have these answered; the cursors of the answers."""
    for number, text in enumerate(texts):
        api.hall.lane.plays(answers(text))
        await api.send(f"question {number}", f"m-{number}")
        await api.settled(f"m-{number}")
    return [one["cursor"] for one in await api.hall.log() if one.get("role") == "agent"]


async def test_answers_are_rendered_by_the_service_for_whoever_may_read_them(api: Api) -> None:
    # proves: SEC-2
    long = "**b** " * 1_000
    first, second = await said(api, "*a*", long)
    answer = await api.get(f"{HERE}/html?cursors={second},{first},{first + 1},999")
    assert answer.json["html"][str(first)] == "<p><em>a</em></p>\n"
    assert answer.json["html"][str(second)].count("<strong>") == 1_000
    assert set(answer.json["html"]) == {str(first), str(second)}
    again = await api.get(f"{HERE}/html?cursors={first}")
    assert again.json["html"] == {str(first): "<p><em>a</em></p>\n"}
    seat = await api.token(Principal.SEAT)
    assert (await api.get(f"{HERE}/html?cursors={first}", token=seat)).status == 404


@pytest.mark.parametrize("cursors", ["", "0", "x", "1,,2", "-1", "1," * 50 + "1", str(2**53)])
async def test_cursors_out_of_form_are_refused(api: Api, cursors: str) -> None:
    answer = await api.get(f"{HERE}/html?cursors={cursors}")
    assert (answer.status, answer.code) == (422, "invalid_field")


async def indexed(api: Api) -> None:
    while await api.hall.house.store.conversations.index(256):
        pass


async def test_search_finds_words_newest_first_and_goes_on_below_a_cursor(api: Api) -> None:
    # proves: DAY-2
    cursors = await said(api, "a red apple", "nothing", "a green apple")
    await indexed(api)
    page = (await api.get(f"{HERE}/search?q=apple&limit=1")).json
    assert [one["cursor"] for one in page["results"]] == [cursors[2]]
    assert page["has_more"] is True
    assert page["indexed"] > cursors[2]
    hit = page["results"][0]
    assert (hit["role"], hit["kind"]) == ("agent", "message")
    assert "green apple" in hit["snippet"]
    older = (await api.get(f"{HERE}/search?q=apple&before={cursors[2]}")).json
    assert [one["cursor"] for one in older["results"]] == [cursors[0]]
    assert (await api.get(f"{HERE}/search?q=pear")).json["results"] == []
    for bad in ("", "?q=", "?q=%20", f"?q={'a' * 201}", "?q=a&limit=0", "?q=a&before=0"):
        assert (await api.get(f"{HERE}/search{bad}")).status == 422, bad


def lines(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(one) for one in raw.decode().splitlines()]


async def test_an_export_holds_every_event_of_the_log(api: Api) -> None:
    # proves: DAY-2
    await said(api, *(f"answer {number}" for number in range(3)))
    answer = await api.get(f"{HERE}/export")
    assert lines(answer.raw) == await api.hall.log()
    assert answer.headers["content-type"] == "application/jsonl"
    assert answer.headers["content-disposition"] == 'attachment; filename="global-default.jsonl"'
    nowhere = await api.get("/v1/conversations/nowhere/export")
    assert (nowhere.status, nowhere.code) == (404, "conversation_not_found")
    empty = await api.hall.make("empty")
    assert (await api.get(f"/v1/conversations/{empty}/export")).raw == b""


async def test_an_export_comes_in_pages_and_ends_where_the_log_ended(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clankie.api.reading.PAGE", 2)
    await said(api, "one", "two")
    before = await api.hall.log()
    async with api.stream(f"{HERE}/export") as stream:
        stream.open.clear()
        await said_more(api)
        stream.open.set()
        raw, pieces = b"", 0
        while (piece := await stream.chunk()) is not None:
            raw, pieces = raw + piece, pieces + 1
    assert lines(raw) == before
    assert pieces > len(before) // 2


async def said_more(api: Api) -> None:
    await api.send("more", "m-9")
    await api.settled("m-9")


async def test_a_purge_removes_words_html_hits_and_files_and_leaves_ids(api: Api) -> None:
    # proves: DAY-2
    side = await api.hall.make("side")
    here = f"/v1/conversations/{side}"
    refused = await api.post(f"{here}/purge")
    assert (refused.status, refused.code) == (409, "run_in_progress")
    api.hall.lane.plays(answers("a secret answer"))
    await api.send("my secret", "m-1", here=here)
    await api.settled("m-1")
    await indexed(api)
    cursor = next(one["cursor"] for one in await api.hall.log(side) if one.get("role") == "agent")
    assert "secret" in (await api.get(f"{here}/html?cursors={cursor}")).json["html"][str(cursor)]
    assert (await api.ask("DELETE", here)).status == 200
    purged = await api.post(f"{here}/purge")
    assert (purged.status, purged.json["state"]) == (200, "closed")
    assert side in api.hall.lane.evicted
    assert b"secret" not in (await api.get(f"{here}/export")).raw
    assert (await api.get(f"{here}/html?cursors={cursor}")).json["html"][str(cursor)] == ""
    assert (await api.get(f"{here}/search?q=secret")).json["results"] == []
    again = await api.send("something else", "m-1", here=here)
    assert again.status in {409, 410}
    head = await api.post(f"{HERE}/purge")
    assert (head.status, head.code) == (403, "not_allowed")


def test_no_library_for_markdown_is_loaded_before_somebody_looks() -> None:
    code = (
        "import sys, clankie.api.app\n"
        "print([one for one in ('nh3', 'markdown_it') if one in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
