"""Starting with the computer: a made-up home, and managers that only write down what they hear."""

import plistlib
import stat
import sys
from pathlib import Path

import pytest

from clankie.cli import units
from cli.conftest import Run

MANAGER = """#!/bin/sh
echo "$(basename "$0") $*" >>"$HEARD"
[ "$1 $2" != "--user enable" ] || [ -z "$REFUSES" ] || { echo "no bus" >&2; exit 1; }
"""


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the managers were told; everything else of this machine is out of reach."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "launchctl"):
        (programs / name).write_text(MANAGER)
        (programs / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HEARD", str(tmp_path / "heard"))
    monkeypatch.setenv("CLANKIE_HOME", str(tmp_path / "my state"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("CLANKIE_PORT", "4999")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("CLANKIE_TOKEN", "tk-secret")
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "heard"


def test_it_is_installed_as_a_user_unit_with_a_private_environment(
    heard: Path, tmp_path: Path, run: Run
) -> None:
    # proves: DAY-3
    done = run("service", "install")
    assert done.code == 0, done.err
    unit = tmp_path / ".config/systemd/user/clankie.service"
    environment = tmp_path / "my state/service.env"
    assert f"EnvironmentFile={environment}\n" in unit.read_text()
    assert f'ExecStart="{sys.executable}" "-P" "-m" "clankie" "serve"\n' in unit.read_text()
    assert environment.read_text().splitlines() == [
        'CLANKIE_CREDENTIALS="file"',
        f'CLANKIE_HOME="{tmp_path / "my state"}"',
        'CLANKIE_LOG="file"',
        'CLANKIE_PORT="4999"',
    ]
    for path in (unit, environment):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "secret" not in path.read_text()
    assert heard.read_text().splitlines() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now clankie.service",
    ]
    assert "enable-linger" in done.out


def test_removing_it_stops_it_and_keeps_everything_it_knows(
    heard: Path, tmp_path: Path, run: Run
) -> None:
    # proves: DAY-3
    assert run("service", "remove", "--json").json["error"]["code"] == "not_installed"
    run("service", "install")
    heard.unlink()
    (tmp_path / "my state/clankie.db").write_text("everything")
    done = run("service", "remove")
    assert done.code == 0
    assert "Everything is kept in" in done.out
    assert "uninstall" in done.out
    assert heard.read_text().splitlines() == [
        "systemctl --user disable --now clankie.service",
        "systemctl --user daemon-reload",
    ]
    assert [one.name for one in (tmp_path / "my state").iterdir()] == ["clankie.db"]
    assert not (tmp_path / ".config/systemd/user/clankie.service").exists()


def test_it_can_be_looked_at_first(heard: Path, tmp_path: Path, run: Run) -> None:
    shown = run("service", "install", "--print")
    assert "ExecStart=" in shown.out
    assert len(run("service", "install", "--print", "--json").json["files"]) == 2
    assert not heard.exists()
    assert not (tmp_path / ".config").exists()


def test_a_manager_that_refuses_is_quoted(
    heard: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSES", "yes")
    failed = run("service", "install")
    assert failed.code == 1
    assert "no bus" in failed.err
    assert heard.exists()


def test_without_a_manager_nothing_is_written(
    heard: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    failed = run("service", "install", "--json")
    assert failed.json["error"]["code"] == "no_service_manager"
    assert not heard.exists()


def test_a_place_that_cannot_be_written_is_told(heard: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / ".config").write_text("in the way")
    failed = run("service", "install", "--json")
    assert failed.json["error"]["code"] == "not_written"
    assert not heard.exists()


def test_it_is_not_installed_beside_a_service_that_runs(
    heard: Path, run: Run, service: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLANKIE_HOME", str(service))
    assert run("service", "install", "--json").json["error"]["code"] == "service_running"
    assert not heard.exists()


def test_on_a_mac_it_is_an_agent_of_launchd(
    heard: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: DAY-3
    monkeypatch.setattr(sys, "platform", "darwin")
    assert run("service", "install").code == 0
    path = tmp_path / "Library/LaunchAgents/dev.clankie.service.plist"
    agent = plistlib.loads(path.read_bytes())
    assert agent["ProgramArguments"] == [sys.executable, "-P", "-m", "clankie", "serve"]
    assert agent["EnvironmentVariables"]["CLANKIE_HOME"] == str(tmp_path / "my state")
    assert agent["RunAtLoad"] is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run("service", "remove").code == 0
    told = heard.read_text().splitlines()
    assert [one.split()[1] for one in told] == ["bootstrap", "bootout"]
    assert not path.exists()


def test_what_systemd_would_read_as_its_own_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", '/a b/50%"$x\\y/python')
    plan = units.plan({}, "/st%ate", mac=False)
    text = plan.files[plan.unit]
    assert 'ExecStart="/a b/50%%\\"$$x\\\\y/python" ' in text
    assert "EnvironmentFile=/st%%ate/service.env\n" in text
