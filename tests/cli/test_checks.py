"""The doctor, with the service up and down: what is wrong, in a sentence, and how to mend it."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from clankie.cli import checks
from clankie.cli.checks import Finding
from clankie.cli.client import Client
from cli.conftest import Run


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def named(findings: list[Finding], name: str) -> list[Finding]:
    return [one for one in findings if one.name == name]


# proves: BASE-4
def test_a_healthy_service_passes_and_is_asked_for_its_own_findings(run: Run, home: Path) -> None:
    done = run("doctor", "--json")
    assert done.code == 0
    names = {one["name"] for one in done.json["findings"]}
    assert {"python", "sqlite", "state", "disk", "service", "store", "model"} <= names
    assert str(home) in run("doctor").out


# proves: BASE-4
def test_with_the_service_down_the_doctor_still_looks_and_says_how_to_start_it(
    run: Run, away: Path
) -> None:
    done = run("doctor", "--json")
    assert done.code == 0
    found = {one["name"]: one for one in done.json["findings"]}
    assert found["service"]["level"] == "warn"
    assert found["service"]["fix"] == "clankie up"
    assert str(away) in found["state"]["sentence"]


# proves: BASE-4
def test_a_state_that_others_can_read_fails_with_the_command_that_closes_it(
    run: Run, away: Path
) -> None:
    away.mkdir(mode=0o755)
    done = run("doctor", "--json")
    assert done.code == 1
    assert not done.json["ok"]
    state = next(one for one in done.json["findings"] if one["name"] == "state")
    assert state["fix"] == f"chmod 700 {away}"
    assert f"chmod 700 {away}" in run("doctor").out.replace("\n", "")


def test_a_secret_file_that_others_can_read_fails(away: Path) -> None:
    away.mkdir(mode=0o700)
    (away / "operator.token").write_text("t")
    (away / "operator.token").chmod(0o640)
    found = named(list(checks.local()), "state")
    assert [one.level for one in found] == ["ok", "fail"]
    assert found[1].fix.startswith("chmod 600")


def test_a_state_of_another_user_fails(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12_345)
    assert named(list(checks.local()), "state")[0].level == "fail"


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize(("free", "level"), [(2**20, "fail"), (2**29, "warn"), (2**40, "ok")])
def test_little_disk_space_is_said(free: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2**41, 0, free))
    assert named(list(checks.local()), "disk")[0].level == level


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize(("version", "level"), [("3.40.1.0", "fail"), ("3.54.1.0", "ok")])
def test_a_sqlite_that_could_corrupt_the_log_fails(
    version: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "version", lambda _: version)
    assert named(list(checks.local()), "sqlite")[0].level == level


def test_a_service_that_answers_nonsense_is_a_failure_and_not_a_crash(
    away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away.mkdir(mode=0o700)
    token = away / "operator.token"
    token.touch(mode=0o600)
    token.write_text("t")
    monkeypatch.setattr(checks, "Client", lambda address: Client(address, lambda *_: b"<html>"))
    assert [one.level for one in checks.service()] == ["fail"]


def harness(folder: Path, name: str, version: str) -> None:
    """A program on the path, in a package of this version."""
    package = folder / "lib" / name
    (package / "bin").mkdir(parents=True)
    (package / "package.json").write_text(f'{{"version": "{version}"}}')
    program = package / "bin" / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / name).symlink_to(program)


# proves: BASE-4
def test_harnesses_are_named_with_their_versions_and_with_what_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    nothing = {one.name: one for one in checks.local()}
    assert (nothing["tmux"].level, nothing["pi"].level) == ("ok", "ok"), "neither is needed"
    assert "npm install -g @openai/codex" in nothing["codex"].sentence
    harness(tmp_path, "claude", "2.1.332")
    harness(tmp_path, "codex", "9.9.9")
    found = {one.name: one for one in checks.local()}
    assert found["claude"].sentence == "claude 2.1.332."
    assert found["codex"].sentence.startswith("codex 9.9.9; tried with this Clankie: 0.")
    assert found["tmux"].level == "warn"
    assert "install tmux" in found["tmux"].fix
    (tmp_path / "tmux").symlink_to(tmp_path / "claude")
    assert {one.name: one for one in checks.local()}["tmux"].level == "ok"
