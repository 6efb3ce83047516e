"""The owner's secrets in the system's keyring where there is one, else in the file.

Rule 1: the choice is made once, with the first secret, and written down. A keyring that is not
        there later is an error to be told, never a reason to look into an empty file.
Rule 2: every call has a bound, so that no question on somebody's desktop holds the service.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from clankie.core.errors import StorageUnavailableError
from clankie.store.credentials import FILE, Entry, FileCredentials, write_private
from clankie.store.errors import CredentialsUnsafeError, KeyringUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

KEYRING: Final = "keyring"
SERVICE: Final = "clankie"
BOUND: Final = 2.0
"""Seconds that the keyring has for one call."""
CHOICE_FILE: Final = "credentials.store"


class _Choice(msgspec.Struct, frozen=True):
    """Where secrets are kept, and why there."""

    store: str
    why: str


class Keyring:
    """Calls to the keyring, each in a child process. `user` keeps two states apart."""

    def __init__(self, user: str, bound: float = BOUND) -> None:
        self._user = user
        self._bound = bound

    def probe(self) -> str | None:
        """The backend's name; None where none can be trusted, or none answers in time."""
        try:
            return self._call("probe") or None
        except KeyringUnavailableError:
            return None

    def get(self) -> str:
        """What is kept, empty when there is nothing. Raises KeyringUnavailableError."""
        return self._call("get")

    def set(self, secret: str) -> None:
        """Keep it. Raises KeyringUnavailableError."""
        self._call("set", secret)

    def _call(self, verb: str, given: str = "") -> str:
        command = [sys.executable, "-P", "-m", "clankie.store.keyring_probe"]
        try:
            done = subprocess.run(  # noqa: S603 - our own module, with words of our own
                [*command, verb, SERVICE, self._user],
                input=given,
                capture_output=True,
                text=True,
                timeout=self._bound,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise KeyringUnavailableError(f"it did not answer within {self._bound:g} s") from error
        except OSError as error:
            raise KeyringUnavailableError(str(error)) from error
        if done.returncode != 0:
            # What it wrote is not repeated: it may hold what it was given.
            raise KeyringUnavailableError("it refused, or there is none")
        return done.stdout


class ChosenCredentials(FileCredentials):
    """The port Credentials over the store that was chosen. `keyring` None: always the file."""

    def __init__(
        self, home: Path, keyring: Keyring | None, environ: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(home / "credentials.json", environ)
        self._choice_path = home / CHOICE_FILE
        self._keyring = keyring
        self._held: dict[str, Entry] | None = None
        self._choice = self._chosen_before()

    @property
    def source(self) -> str:
        """What lists say of a secret that is kept."""
        return FILE if self._choice is None else self._choice.store

    def settle(self) -> None:
        """Choose where secrets are kept, if that is still open. May take as long as one call."""
        if self._choice is not None:
            return
        name = None if self._keyring is None else self._keyring.probe()
        if name is not None:
            choice = _Choice(KEYRING, f"The keyring of this system ({name}) keeps them.")
        elif self._keyring is None:
            choice = _Choice(FILE, "A file of mode 0600 keeps them, as this service was told.")
        else:
            why = "no keyring that can be trusted answered"
            choice = _Choice(FILE, f"A file of mode 0600 keeps them: {why}.")
        try:
            with contextlib.suppress(FileNotFoundError):
                self._choice_path.unlink()
            write_private(self._choice_path, msgspec.json.encode(choice))
        except OSError as error:
            raise StorageUnavailableError(str(error)) from error
        self._choice = choice

    def open(self) -> None:
        """Read what the keyring keeps; one that is locked now is asked again when needed."""
        if self.source == KEYRING:
            with contextlib.suppress(KeyringUnavailableError):
                self._load()

    def known_secrets(self) -> Sequence[str]:
        """See the port. Called for every line of the log, so it never asks the keyring."""
        if self.source == FILE:
            return super().known_secrets()
        held = self._held or {}
        return [*(entry.secret for entry in held.values()), *self._environment.secrets()]

    def place(self) -> str:
        """See the port."""
        if self._choice is None:
            return "Where they are kept is chosen with the first one: the keyring, else a file."
        return self._choice.why

    def put(self, name: str, origin: str, secret: str) -> None:
        """See the port."""
        self.settle()
        super().put(name, origin, secret)

    def _load(self) -> dict[str, Entry]:
        if self.source == FILE:
            return super()._load()
        if self._held is None:
            self._held = self._read()
        return dict(self._held)

    def _save(self, stored: dict[str, Entry]) -> None:
        if self.source == FILE:
            super()._save(stored)
            return
        try:
            self._ring().set(msgspec.json.encode(stored).decode())
        except KeyringUnavailableError as error:
            self._held = None
            raise StorageUnavailableError(error.detail) from error
        self._held = dict(stored)

    def _read(self) -> dict[str, Entry]:
        text = self._ring().get()
        try:
            return msgspec.json.decode(text, type=dict[str, Entry]) if text else {}
        except msgspec.DecodeError as error:
            raise KeyringUnavailableError("what it keeps for Clankie is damaged") from error

    def _ring(self) -> Keyring:
        if self._keyring is None:
            raise KeyringUnavailableError("this service was told not to use it")
        return self._keyring

    def _chosen_before(self) -> _Choice | None:
        if self._choice_path.exists() and not self._choice_path.is_file():
            raise CredentialsUnsafeError(self._choice_path, "it is not a plain file")
        try:
            return msgspec.json.decode(self._choice_path.read_bytes(), type=_Choice)
        except FileNotFoundError:
            if self._path.exists():
                return _Choice(FILE, "A file of mode 0600 keeps them, as it did before.")
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise CredentialsUnsafeError(self._choice_path, "it is damaged") from error


def keyring_of(home: Path) -> Keyring:
    """The keyring for the secrets of this state."""
    return Keyring(hashlib.sha256(str(home).encode()).hexdigest()[:16])
