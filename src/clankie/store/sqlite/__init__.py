"""The store on SQLite. Nothing of its dialect leaves this package."""

from clankie.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
