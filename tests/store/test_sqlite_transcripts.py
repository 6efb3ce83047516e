"""SQLite keeps the contract of `store_transcripts`."""

from contracts.store_transcripts import *  # noqa: F403 - the tests of the contract become tests here
