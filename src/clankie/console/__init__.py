"""The window: static modules and styles of our own, a client of `/v1` like any other.

No build step, no framework, nothing from elsewhere: what stands here is what the browser gets. The
guide is docs/guides/console.md.
"""
