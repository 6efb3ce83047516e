"""The hall: every use case as a verb, and the ports it needs.

It sees the rooms only through the Protocols in `host.ports`; time, ids and randomness come through
such ports too.
"""
