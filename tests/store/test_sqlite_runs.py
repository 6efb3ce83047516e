"""SQLite keeps the contract of `store_runs`."""

from contracts.store_runs import *  # noqa: F403 - the tests of the contract become tests here
