"""SQLite keeps the contract of `store_fence`."""

from contracts.store_fence import *  # noqa: F403 - the tests of the contract become tests here
