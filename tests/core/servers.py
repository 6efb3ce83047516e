"""Made-up servers of tools, and patches of them."""

from typing import Any

from hypothesis import strategies as st

from clankie.core.mcp import McpServer

NAMES = ["a", "notes", "web-search", "x" * 32]
CREDENTIALS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)
PRINTABLE = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=20)
ENV = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,9}", fullmatch=True), CREDENTIALS)
HEADERS = st.dictionaries(st.from_regex(r"[A-Za-z0-9-]{1,9}", fullmatch=True), CREDENTIALS)


def bodies() -> st.SearchStrategy[dict[str, Any]]:
    """Whole servers that are allowed, as JSON."""
    common = {
        "timeout": st.floats(1.0, 600.0) | st.integers(1, 600),
        "on": st.booleans(),
        "env": ENV,
        "headers": HEADERS,
    }
    programs = {
        "command": st.sampled_from(["npx", "/usr/bin/notes server"]),
        "args": st.lists(PRINTABLE, max_size=3),
    }
    addresses = {"url": st.sampled_from(["http://localhost:3000/mcp", "https://[::1]?a=b"])}
    return st.fixed_dictionaries({**programs}, optional=common) | st.fixed_dictionaries(
        {**addresses}, optional=common
    )


def patches() -> st.SearchStrategy[dict[str, Any]]:
    """Whole servers by name, or null for those to remove."""
    return st.dictionaries(st.sampled_from(NAMES), st.none() | bodies(), max_size=3)


def whole(body: dict[str, Any]) -> McpServer:
    """What a body describes, on its own."""
    return McpServer(**{**body, "args": tuple(body.get("args", ()))})
