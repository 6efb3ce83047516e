"""SQLite keeps the contract of `store_handoff`."""

from contracts.store_handoff import *  # noqa: F403 - the tests of the contract become tests here
