"""Made-up servers of tools, and patches of them."""

from typing import Any

from hypothesis import strategies as st

from clankie.core.mcp import McpServer

NAMES = ["a", "notes", "web-search", "x" * 32]
CREDENTIALS = st.sampled_from(["notes", "0", "a.b_c-d", "x" * 64])
PRINTABLE = st.sampled_from(["", "-y", "two words", "--size=é", "x" * 1_024])
ENV = st.dictionaries(st.sampled_from(["A", "_", "NOTES_TOKEN", "a1"]), CREDENTIALS)
HEADERS = st.dictionaries(st.sampled_from(["Authorization", "x-key", "1"]), CREDENTIALS)


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
