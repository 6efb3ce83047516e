"""SQLite keeps the contract of `store_pages`."""

from contracts.store_pages import *  # noqa: F403 - the tests of the contract become tests here
