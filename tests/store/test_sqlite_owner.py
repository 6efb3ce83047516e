"""SQLite keeps the contract of `store_owner`."""

from contracts.store_owner import *  # noqa: F403 - the tests of the contract become tests here
