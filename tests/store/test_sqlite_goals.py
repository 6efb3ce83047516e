"""SQLite keeps the contract of `store_goals`."""

from contracts.store_goals import *  # noqa: F403 - the tests of the contract become tests here
