"""SQLite keeps the contract of `store_wakes`."""

from contracts.store_wakes import *  # noqa: F403 - the tests of the contract become tests here
