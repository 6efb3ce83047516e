"""The checker sees what it is for: each kind of wrong, made by hand in the files of a good run."""

import json
import shutil
from pathlib import Path

import apsw
import pytest

from process import checker
from process.service import Place

DELIVERIES = {"m-1", "m-2"}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database and the record of effects of a run in which nothing went wrong."""
    kept = tmp_path_factory.mktemp("good")
    with Place() as place:
        service = place.start()
        for delivery in sorted(DELIVERIES):
            place.send(service, delivery, "mark")
            assert service.client.known(delivery)["state"] == "settled"
        place.finish(service)
        shutil.copy(place.database, kept / "clankie.db")
        shutil.copy(place.effects, kept / "effects")
    return kept


WRONG = {
    "m-9: promised": "",
    "its cursors are": "DELETE FROM event WHERE cursor = 3",
    "its words stand in the log 0 times": "DELETE FROM event WHERE cursor = 1",
    "answered 0 times": "DELETE FROM event WHERE body LIKE '%\"agent\"%'",
    "answered 2 times": """
        INSERT INTO event (conversation, cursor, at, kind, body)
        SELECT conversation, 99, at, kind, body FROM event WHERE body LIKE '%"agent"%' LIMIT 1""",
    "left running": "UPDATE input SET state = 'running', settled_at = NULL WHERE id = 'm-1'",
    "says 1, there are 0": "UPDATE conversation SET waiting = 1",
    "an attempt is still open": """
        UPDATE attempt SET state = 'running', ended_at = NULL WHERE delivery = 'm-1'""",
    "its attempts were": """
        INSERT INTO attempt (id, delivery, conversation, n, state, node, token, started_at,
          asked_at, ended_at)
        SELECT 'm-1#2', delivery, conversation, 2, state, node, token, started_at, asked_at,
          ended_at FROM attempt WHERE id = 'm-1#1'""",
    "moved from settled to running": """
        INSERT INTO transition (record, before, after, at)
        VALUES ('m-1', 'settled', 'running', 0)""",
    "the moves give": "DELETE FROM transition WHERE record = 'm-2' AND after = 'settled'",
    "nothing says that it was started": """
        UPDATE attempt SET state = 'released', asked_at = NULL WHERE id = 'm-1#1'""",
    "nothing says that it was begun": "DELETE FROM tool_call",
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_in_the_database_is_named(good: Path, tmp_path: Path, said: str) -> None:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    connection = apsw.Connection(str(tmp_path / "clankie.db"))
    connection.execute(WRONG[said])
    connection.close()
    promised = DELIVERIES | {"m-9"} if said.startswith("m-9") else DELIVERIES
    found = checker.check(tmp_path / "clankie.db", tmp_path / "effects", promised)
    assert said in "\n".join(found.violations)


TWICE = [
    {"what": "run", "delivery": "m-1", "attempt": "m-1#1"},
    {"what": "run", "delivery": "m-1", "attempt": "m-1#2"},
    {"what": "effect", "call": "m-1#1-1-0", "mark": "other"},
    {"what": "effect", "call": "m-1#1-1-9", "mark": "m-1"},
]


@pytest.mark.parametrize("line", TWICE)
def test_what_ran_twice_is_named(good: Path, tmp_path: Path, line: dict[str, str]) -> None:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "effects").open("a") as effects:
        effects.write(json.dumps(line) + "\n")
    found = checker.check(tmp_path / "clankie.db", tmp_path / "effects", DELIVERIES)
    assert "2 times" in "\n".join(found.violations)
    assert found.twice
