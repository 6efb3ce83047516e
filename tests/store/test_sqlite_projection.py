"""SQLite keeps the contract of `store_projection`."""

from contracts.store_projection import *  # noqa: F403 - the tests of the contract become tests here
