"""SQLite keeps the contract of `store_turns`."""

from contracts.store_turns import *  # noqa: F403 - the tests of the contract become tests here
