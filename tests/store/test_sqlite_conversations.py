"""SQLite keeps the contract of `store_conversations`."""

from contracts.store_conversations import *  # noqa: F403 - the tests of the contract become tests here
