"""SQLite keeps the contract of `store_search`."""

from contracts.store_search import *  # noqa: F403 - the tests of the contract become tests here
