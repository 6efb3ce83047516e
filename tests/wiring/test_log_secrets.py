"""Striking secrets out of the log when nobody can read what they are."""

import json
import logging

from clankie.core.errors import StorageUnavailableError
from clankie.wiring.logs import JsonLines


def test_secrets_that_cannot_be_read_cost_no_line_and_stay_struck_out() -> None:
    # proves: SEC-8
    readable = True

    def secrets() -> list[str]:
        if not readable:
            raise StorageUnavailableError("the file of secrets is damaged")
        return ["sk-1234"]

    lines, record = JsonLines(secrets), logging.makeLogRecord({"msg": "it says sk-1234"})
    assert json.loads(lines.format(record))["action"] == "it says [secret]"
    readable = False
    assert json.loads(lines.format(record))["action"] == "it says [secret]"
