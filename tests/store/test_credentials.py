"""Secrets lie in a private file, each for one origin, and go nowhere else."""

import os
from pathlib import Path

import pytest

from clankie.core.errors import InvalidFieldError, StorageUnavailableError
from clankie.host.ports import Credential
from clankie.store.credentials import FileCredentials, origin_of
from clankie.store.errors import CredentialsUnsafeError

ORIGIN = "https://models.example"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "credentials.json"


@pytest.fixture
def kept(path: Path) -> FileCredentials:
    credentials = FileCredentials(path, {})
    credentials.put("mine", ORIGIN, "s3cret")
    return credentials


def test_a_secret_is_given_for_its_own_origin_only(kept: FileCredentials) -> None:
    # proves: SEC-3
    assert kept.secret_for("mine", "https://MODELS.example:443/v1/chat") == "s3cret"
    assert kept.secret_for("mine", "http://models.example") is None
    assert kept.secret_for("mine", "https://models.example:8443") is None
    assert kept.secret_for("mine", "https://models.example.evil.test") is None
    assert kept.secret_for("other", ORIGIN) is None


def test_lists_show_no_secret(kept: FileCredentials) -> None:
    # proves: BASE-2
    (listed,) = kept.list()
    assert listed == Credential(name="mine", origin=ORIGIN, source="file")
    assert "s3cret" not in repr(listed)
    assert kept.known_secrets() == ["s3cret"]


def test_a_secret_is_replaced_and_removed(kept: FileCredentials, path: Path) -> None:
    kept.put("mine", "https://elsewhere.example", "n3w")
    assert kept.secret_for("mine", ORIGIN) is None
    assert kept.secret_for("mine", "https://elsewhere.example") == "n3w"
    assert kept.remove("mine")
    assert not kept.remove("mine")
    assert kept.list() == []
    assert [file.name for file in path.parent.iterdir()] == ["credentials.json"]


def test_the_file_is_for_its_owner_alone(kept: FileCredentials, path: Path) -> None:
    # proves: BASE-2
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    for use in (kept.list, kept.known_secrets, lambda: kept.put("x", ORIGIN, "y")):
        with pytest.raises(CredentialsUnsafeError):
            use()
    assert "s3cret" in path.read_text()


def test_a_link_is_not_followed(kept: FileCredentials, path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises(CredentialsUnsafeError):
        kept.list()


def test_what_is_no_file_of_ours_is_not_used(
    kept: FileCredentials, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(CredentialsUnsafeError, match="another user"):
        kept.list()
    monkeypatch.undo()
    path.write_text("{")
    with pytest.raises(CredentialsUnsafeError, match="damaged"):
        kept.list()
    path.unlink()
    path.mkdir()
    with pytest.raises(CredentialsUnsafeError):
        kept.list()


def test_a_write_that_fails_leaves_the_old_secrets(
    kept: FileCredentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        message = "No space left on device"
        raise OSError(message)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageUnavailableError):
        kept.put("mine", ORIGIN, "n3w")
    monkeypatch.undo()
    assert kept.secret_for("mine", ORIGIN) == "s3cret"
    kept.put("mine", ORIGIN, "n3w")
    assert kept.secret_for("mine", ORIGIN) == "n3w"


@pytest.mark.parametrize(
    ("variable", "names", "origin"),
    [
        ("ANTHROPIC_API_KEY", ["anthropic"], "https://api.anthropic.com"),
        ("GEMINI_API_KEY", ["google"], "https://generativelanguage.googleapis.com"),
        ("GOOGLE_API_KEY", ["google"], "https://generativelanguage.googleapis.com"),
        ("OPENAI_API_KEY", ["openai", "openai-chat"], "https://api.openai.com"),
        ("XAI_API_KEY", ["xai"], "https://api.x.ai"),
    ],
)
def test_a_key_in_the_environment_is_a_credential_for_its_own_service(
    path: Path, variable: str, names: list[str], origin: str
) -> None:
    # proves: SEC-3
    credentials = FileCredentials(path, {variable: "sk-1\n"})
    assert credentials.list() == [
        Credential(name=name, origin=origin, source="environment") for name in names
    ]
    for name in names:
        assert credentials.secret_for(name, f"{origin}:443/v1") == "sk-1"
        assert credentials.secret_for(name, "http://127.0.0.1:8000") is None
        assert credentials.secret_for(name, f"{origin}.example.com") is None
        assert not credentials.remove(name)
    assert credentials.known_secrets() == ["sk-1"]
    assert not path.exists()


def test_of_two_variables_for_one_provider_the_first_counts_and_both_are_secrets(
    path: Path,
) -> None:
    credentials = FileCredentials(path, {"GOOGLE_API_KEY": "old", "GEMINI_API_KEY": "new"})
    google = "https://generativelanguage.googleapis.com"
    assert credentials.secret_for("google", google) == "new"
    assert sorted(credentials.known_secrets()) == ["new", "old"]


def test_a_stored_secret_hides_the_one_in_the_environment(path: Path) -> None:
    credentials = FileCredentials(path, {"XAI_API_KEY": "sk-1"})
    credentials.put("xai", "https://api.x.ai", "sk-2")
    assert [one.source for one in credentials.list()] == ["file"]
    assert credentials.secret_for("xai", "https://api.x.ai") == "sk-2"
    assert credentials.known_secrets() == ["sk-2", "sk-1"]


def test_the_environment_of_the_process_is_the_default(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert FileCredentials(path).list() == []


@pytest.mark.parametrize("secret", ["", "two\nlines", "nul\0"])
def test_what_cannot_stand_in_a_header_is_no_secret(path: Path, secret: str) -> None:
    with pytest.raises(InvalidFieldError):
        FileCredentials(path, {}).put("mine", ORIGIN, secret)
    assert not path.exists()


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Api.Example/v1?x=1", "https://api.example"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"),
        ("http://[::1]:80", "http://[::1]"),
        ("HTTPS://a.example:443", "https://a.example"),
    ],
)
def test_an_origin_is_scheme_host_and_port(address: str, origin: str) -> None:
    assert origin_of(address) == origin


@pytest.mark.parametrize(
    "address",
    ["", "api.example", "ftp://a.example", "https://", "https://u:p@a.example", "http://a:99999"],
)
def test_what_has_no_origin_is_refused(address: str) -> None:
    with pytest.raises(InvalidFieldError):
        origin_of(address)
