"""SQLite keeps the contract of `store_mail`."""

from contracts.store_mail import *  # noqa: F403 - the tests of the contract become tests here
