"""Clankie, a self-hosted persistent AI agent.

Nothing is imported or re-exported here: a command that prints its version must not pay for a web
framework, and a facade would tie the rooms into one knot. Import from the room that owns a name.
"""

__version__ = "0.1.0"
