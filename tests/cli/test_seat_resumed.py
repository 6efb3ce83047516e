"""A session that is resumed goes where its owner says."""

from pathlib import Path
from typing import Any

import pytest

from clankie.cli import seat_open
from clankie.seats.folder import Folder
from clankie.seats.launch import Place
from cli.conftest import Run


@pytest.fixture
def opened(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """What is opened while a seat of the head was left by its driver; no harness starts."""
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found: list[Place] = []

    def orphan(place: Place, _: str | None) -> tuple[Folder, Place]:
        return Folder(str(home / "seats" / "left")), place

    def run(_frame: Any, _adapter: Any, place: Place, folder: Folder, **_: Any) -> None:
        found.append(place)
        assert (folder.name == "left") == (place.conversation == "global-default")

    monkeypatch.setattr(seat_open, "orphan", orphan)
    monkeypatch.setattr(seat_open, "run", run)
    return found


OPEN = ("seat", "open", "codex", "--headless", "--resume", "thread-1")


def test_a_seat_that_was_left_is_taken_up_again_unless_another_place_is_meant(
    run: Run, opened: list[Place]
) -> None:
    assert run(*OPEN).code == 0
    assert run(*OPEN, "--new").code == 0
    assert [one.conversation == "global-default" for one in opened] == [True, False]
    refused = run(*OPEN, "--replace", "s-of-nobody")
    assert (refused.code, len(opened)) == (1, 2)
    assert "attachment_conflict" in refused.err
