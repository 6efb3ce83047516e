"""Secrets in a keyring, which is only ever a made-up one here, in the child process."""

import io
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from clankie.core.errors import StorageUnavailableError
from clankie.store import keyring_probe
from clankie.store.errors import CredentialsUnsafeError, KeyringUnavailableError
from clankie.store.keyring_vault import BOUND, KEYRING, ChosenCredentials, Keyring, keyring_of

ORIGIN = "https://api.example.com"
BACKEND = """
import json, os, threading
from pathlib import Path
from keyring.backend import KeyringBackend

FILE = Path(os.environ["MADE_UP_KEYRING"])
MODE = os.environ.get("MADE_UP_MODE", "")

class MadeUp(KeyringBackend):
    priority = 0.5 if MODE == "untrusted" else 5

    def _all(self):
        if MODE == "hangs":
            threading.Event().wait()
        if MODE == "refuses":
            raise RuntimeError("locked: s3cret")
        return json.loads(FILE.read_text()) if FILE.exists() else {}

    def get_password(self, service, username):
        found = self._all().get(f"{service}/{username}")
        return None if MODE == "forgets" else found

    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({**self._all(), f"{service}/{username}": password}))

    def delete_password(self, service, username):
        kept = self._all()
        del kept[f"{service}/{username}"]
        FILE.write_text(json.dumps(kept))
"""
PATIENT = 60.0
"""Seconds: a busy machine starts programs slowly, and no test here is about that."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the made-up keyring keeps what it is given."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "made_up_keyring.py").write_text(BACKEND)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(modules), *sys.path]))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "made_up_keyring.MadeUp")
    monkeypatch.setenv("MADE_UP_KEYRING", str(tmp_path / "kept.json"))
    return tmp_path / "kept.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


def opened(home: Path, bound: float = PATIENT) -> ChosenCredentials:
    return ChosenCredentials(home, Keyring("test", bound), {})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_keyring_that_answers_keeps_the_secrets_and_no_file_does(home: Path, kept: Path) -> None:
    # proves: BASE-2
    credentials = opened(home)
    assert "chosen with the first" in credentials.place()
    credentials.put("model", ORIGIN, "s3cret")
    assert not (home / "credentials.json").exists()
    assert "s3cret" in kept.read_text()
    assert all(b"s3cret" not in one.read_bytes() for one in home.iterdir())
    assert [(one.name, one.source) for one in credentials.list()] == [("model", KEYRING)]
    assert "keyring" in credentials.place()
    assert mode(home / "credentials.store") == 0o600
    again = opened(home)
    assert again.known_secrets() == []
    again.open()
    assert again.known_secrets() == ["s3cret"]
    assert again.secret_for("model", ORIGIN) == "s3cret"
    assert again.secret_for("model", "https://evil.example") is None
    assert again.remove("model")
    assert json.loads(kept.read_text()) == {"clankie/test": "{}"}


@pytest.mark.parametrize("sick", ["untrusted", "refuses", "forgets"])
def test_without_a_keyring_to_be_trusted_a_private_file_keeps_them(
    home: Path, kept: Path, monkeypatch: pytest.MonkeyPatch, sick: str
) -> None:
    # proves: BASE-2
    monkeypatch.setenv("MADE_UP_MODE", sick)
    credentials = opened(home)
    credentials.put("model", ORIGIN, "s3cret")
    assert mode(home / "credentials.json") == 0o600
    assert credentials.list()[0].source == "file"
    assert "0600" in credentials.place()
    monkeypatch.setenv("MADE_UP_MODE", "")
    assert opened(home).secret_for("model", ORIGIN) == "s3cret"
    assert "s3cret" not in (kept.read_text() if kept.exists() else "")


def test_a_keyring_that_waits_for_somebody_is_given_up(
    home: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: BASE-2
    del kept  # it is there, and never answers
    monkeypatch.setenv("MADE_UP_MODE", "hangs")
    credentials = opened(home, bound=0.5)
    credentials.put("model", ORIGIN, "s3cret")
    assert credentials.list()[0].source == "file"
    assert keyring_of(home)._bound == BOUND == 2.0


def test_a_keyring_that_is_locked_later_is_told_and_nothing_is_lost(
    home: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # proves: BASE-2
    opened(home).put("model", ORIGIN, "s3cret")
    monkeypatch.setenv("MADE_UP_MODE", "refuses")
    locked = opened(home)
    locked.open()
    assert locked.known_secrets() == []
    with pytest.raises(KeyringUnavailableError) as told:
        locked.secret_for("model", ORIGIN)
    assert "s3cret" not in told.value.detail
    monkeypatch.setenv("MADE_UP_MODE", "")
    assert locked.secret_for("model", ORIGIN) == "s3cret"
    monkeypatch.setenv("MADE_UP_MODE", "refuses")
    with pytest.raises(StorageUnavailableError):
        locked.put("other", ORIGIN, "s3cret2")
    monkeypatch.setenv("MADE_UP_MODE", "")
    assert [one.name for one in locked.list()] == ["model"]
    kept.write_text(json.dumps({"clankie/test": "no json"}))
    with pytest.raises(KeyringUnavailableError):
        opened(home).list()
    with pytest.raises(KeyringUnavailableError):
        ChosenCredentials(home, None, {}).list()


def test_a_file_from_before_goes_on_to_be_used(home: Path, kept: Path) -> None:
    ChosenCredentials(home, None, {}).put("model", ORIGIN, "s3cret")
    (home / "credentials.store").unlink()
    credentials = opened(home)
    credentials.put("other", ORIGIN, "s3cret2")
    assert [one.source for one in credentials.list()] == ["file", "file"]
    assert not kept.exists()


def test_a_damaged_choice_is_refused(home: Path) -> None:
    (home / "credentials.store").write_text("{")
    with pytest.raises(CredentialsUnsafeError):
        opened(home)


def test_a_pipe_in_the_place_of_a_choice_is_refused(home: Path) -> None:
    os.mkfifo(home / "credentials.store", 0o600)
    with pytest.raises(CredentialsUnsafeError, match="plain"):
        opened(home)


def test_a_choice_that_cannot_be_written_keeps_no_secret(home: Path) -> None:
    (home / "credentials.store").mkdir()
    with pytest.raises((CredentialsUnsafeError, StorageUnavailableError)):
        opened(home).put("model", ORIGIN, "s3cret")


def test_no_program_is_no_keyring(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(home / "nothing"))
    credentials = opened(home)
    credentials.put("model", ORIGIN, "s3cret")
    assert credentials.list()[0].source == "file"


class Ring:
    """A backend of the library, in memory."""

    name = "memory"
    priority = 5.0

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, user: str) -> str | None:
        return self.kept.get((service, user))

    def set_password(self, service: str, user: str, secret: str) -> None:
        self.kept[service, user] = secret

    def delete_password(self, service: str, user: str) -> None:
        del self.kept[service, user]


def test_the_program_makes_one_call_and_leaves_nothing_of_its_trial(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = Ring()
    monkeypatch.setattr("keyring.get_keyring", lambda: ring)
    assert keyring_probe.main(["probe", "clankie", "me"]) == 0
    assert capsys.readouterr().out == "memory"
    assert ring.kept == {}
    monkeypatch.setattr("sys.stdin", io.StringIO("s3cret"))
    assert keyring_probe.main(["set", "clankie", "me"]) == 0
    assert keyring_probe.main(["get", "clankie", "me"]) == 0
    assert capsys.readouterr().out == "s3cret"
    ring.priority = 0.5
    assert keyring_probe.main(["probe", "clankie", "me"]) == keyring_probe.NONE
