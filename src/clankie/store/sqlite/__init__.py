"""The store on SQLite. Nothing of its dialect leaves this package."""
