"""Answers as HTML that is safe to show: rendered here, never in a page.

Rule 1: raw HTML in the text stays text. What the renderer makes is sanitised all the same.
Rule 2: nothing is loaded from elsewhere: a picture in the text becomes a link to it.
Rule 3: links lead to http, https and mailto only, and a link whose words are not its own address
        says where it leads.

The libraries are loaded with the first answer that somebody looks at.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it.token import Token

SCHEMES: Final = frozenset({"http", "https", "mailto"})
TAGS: Final = frozenset(
    {"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "s", "code", "pre"}
    | {"blockquote", "ul", "ol", "li", "a", "span"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
)
ATTRIBUTES: Final = {"a": frozenset({"href", "title"}), "ol": frozenset({"start"})}
REL: Final = "noopener noreferrer nofollow"
SHORT: Final = 2_000
"""Characters up to which rendering costs less than handing it to a thread."""
LONGEST: Final = 100_000
"""Characters beyond which a text is shown as it is: no answer of that length is read as prose."""
KEPT: Final = 2_000_000
"""Characters of rendered answers that are kept."""


class Rendered:
    """HTML by conversation and cursor; the least recently used goes first.

    The text's digest stands beside it: after a purge the same place has other words.
    """

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[tuple[str, int], tuple[bytes, str]] = OrderedDict()

    async def html(self, conversation: str, cursor: int, text: str) -> str:
        """The message as HTML; a long one is rendered beside the event loop."""
        place, mark = (conversation, cursor), hashlib.sha256(text.encode()).digest()
        found = self._kept.get(place)
        if found is not None and found[0] == mark:
            self._kept.move_to_end(place)
            return found[1]
        made = render(text) if len(text) <= SHORT else await run_in_threadpool(render, text)
        self._keep(place, mark, made)
        return made

    def forget(self, conversation: str) -> None:
        """Keep nothing of it."""
        for place in [one for one in self._kept if one[0] == conversation]:
            self._size -= len(self._kept.pop(place)[1])

    def _keep(self, place: tuple[str, int], mark: bytes, made: str) -> None:
        before = self._kept.pop(place, None)
        self._size += len(made) - (len(before[1]) if before else 0)
        self._kept[place] = (mark, made)
        while self._size > self._limit:
            _, (_, gone) = self._kept.popitem(last=False)
            self._size -= len(gone)


def render(text: str) -> str:
    """Markdown as HTML that may be put into a page."""
    if len(text) > LONGEST:
        return f"<pre>{escape(text)}</pre>"
    return _machine()(text)


@cache
def _machine() -> Callable[[str], str]:
    import nh3  # noqa: PLC0415 - loaded with the first answer somebody looks at
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    class Parser(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
            return _scheme(url) in SCHEMES

    parser = Parser("commonmark", {"html": False}).enable(["table", "strikethrough"])
    cleaner = nh3.Cleaner(
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        url_relative="deny",
        link_rel=REL,
        strip_comments=True,
    )

    def machine(text: str) -> str:
        tokens = parser.parse(text)
        for token in tokens:
            if token.children:
                token.children = _linked(token.children)
        return cleaner.clean(str(parser.renderer.render(tokens, parser.options, {})))

    return machine


def _linked(children: Sequence[Token]) -> list[Token]:
    """The same words, pictures as links, and links that say where they lead."""
    made: list[Token] = []
    address, words = "", list[str]()
    for child in children:
        if child.type == "link_open":
            address, words = str(child.attrGet("href") or ""), []
            made.append(child)
        elif child.type == "link_close":
            made += [child, *_where(address, "".join(words))]
            address = ""
        elif child.type == "image":
            made += _picture(child, linked=bool(address))
            words.append(child.content)
        else:
            made.append(child)
            words.append(child.content)
    return made


def _picture(image: Token, *, linked: bool) -> list[Token]:
    """A link to the picture; inside another link only its words."""
    address = str(image.attrGet("src") or "")
    words = image.content.strip() or "picture"
    if linked:
        return [_text(words)]
    opening = _token("link_open", "a", 1)
    opening.attrSet("href", address)
    return [opening, _text(words), _token("link_close", "a", -1), *_where(address, words)]


def _where(address: str, words: str) -> list[Token]:
    """Where the link leads, unless its words are that very address."""
    host = _host(address)
    if not host or host in {_host(words.strip()), words.strip().lower()}:
        return []
    note = _token("html_inline", "", 0)
    note.content = f" <span>({escape(host)})</span>"
    return [note]


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = parts.hostname or (parts.path if parts.scheme == "mailto" else "")
    except ValueError:
        return ""
    return host.lower()


def _scheme(address: str) -> str:
    try:
        return urlsplit(address.strip()).scheme.lower()
    except ValueError:
        return ""


def _text(words: str) -> Token:
    token = _token("text", "", 0)
    token.content = words
    return token


def _token(kind: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
    from markdown_it.token import Token as Made  # noqa: PLC0415 - see the head of this module

    return Made(kind, tag, nesting)
