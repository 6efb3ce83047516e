"""SQLite keeps the contract of `store_purge`."""

from contracts.store_purge import *  # noqa: F403 - the tests of the contract become tests here
