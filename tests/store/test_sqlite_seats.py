"""SQLite keeps the contract of `store_seats`."""

from contracts.store_seats import *  # noqa: F403 - the tests of the contract become tests here
