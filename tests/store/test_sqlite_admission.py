"""SQLite keeps the contract of `store_admission`."""

from contracts.store_admission import *  # noqa: F403 - the tests of the contract become tests here
