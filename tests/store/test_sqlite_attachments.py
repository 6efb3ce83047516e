"""SQLite keeps the contract of `store_attachments`."""

from contracts.store_attachments import *  # noqa: F403 - the tests of the contract become tests here
