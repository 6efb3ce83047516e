"""SQLite keeps the contract of `store_sessions`."""

from contracts.store_sessions import *  # noqa: F403 - the tests of the contract become tests here
