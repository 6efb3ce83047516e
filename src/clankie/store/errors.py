"""Why a state directory or one of its files cannot be used. Raised before anything is changed.

UnusableStateError
├── NewerDatabaseError, UnreleasedDatabaseError,
│   ForeignFileError, CorruptDatabaseError                       the database file
├── EngineTooOldError                                            the SQLite that would read it
├── StateHeldError, StateTakenError                              another process has it
├── StateUnwritableError                                         we may not write into it
├── RestoreRefusedError                                          the backup offered
└── CredentialsUnsafeError, KeyringUnavailableError              where the secrets are
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clankie.core.errors import FaultError

if TYPE_CHECKING:
    from pathlib import Path


class UnusableStateError(FaultError):
    """The state cannot be used as it is; it was left untouched."""

    code = "state_unusable"


class NewerDatabaseError(UnusableStateError):
    """A later version of Clankie wrote this database."""

    code = "database_newer"

    def __init__(self, path: Path, found: int, known: int, backup: Path | None) -> None:
        way = "" if backup is None else f", or restore the backup made before: {backup}"
        super().__init__(
            f"{path} has schema {found}; this version knows schemas up to {known}. It was not "
            f"touched. Start the version that wrote it{way}.",
            found=found,
            known=known,
        )


class UnreleasedDatabaseError(UnusableStateError):
    """A version between two releases wrote this database."""

    code = "database_unreleased"

    def __init__(self, path: Path, version: int, difference: str) -> None:
        super().__init__(
            f"{path} says that it has schema {version}, but {difference}: a version between two "
            "releases made it. It was not touched. Bring back an older backup with `clankie "
            "restore FILE`, or begin anew with another CLANKIE_HOME.",
            difference=difference,
        )


class ForeignFileError(UnusableStateError):
    """The file is not a database of Clankie."""

    code = "database_foreign"

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is not a database of Clankie ({why}). It was not touched. Move it away, "
            "or name another place with CLANKIE_HOME or CLANKIE_DATABASE.",
        )


class CorruptDatabaseError(UnusableStateError):
    """The database is damaged."""

    code = "database_corrupt"

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"{path} is damaged ({cause}). It was not touched. Keep a copy of it, then bring back "
            "a backup with `clankie restore FILE`.",
            cause=cause,
        )


class EngineTooOldError(UnusableStateError):
    """The SQLite that was loaded can lose committed data."""

    code = "engine_too_old"

    def __init__(self, found: str, needed: str) -> None:
        super().__init__(
            f"SQLite {found} was loaded, but {needed} or newer is needed: older ones can lose "
            "committed data. Install the locked packages again.",
        )


class StateHeldError(UnusableStateError):
    """Another process has the state."""

    code = "state_held"

    def __init__(self, home: Path, pid: int | None, url: str | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        where = "" if url is None else f" at {url}"
        super().__init__(
            f"{home} is in use by {who}{where}. Use that one, or stop it first.", pid=pid, url=url
        )
        self.pid, self.url = pid, url


class StateTakenError(UnusableStateError):
    """Another service has taken the state over while this one ran."""

    code = "state_taken"

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"Another service has taken over {home}, so this one stopped. What it was doing is "
            "shown as uncertain there; nothing of it is lost. Use that one."
        )


class StateUnwritableError(UnusableStateError):
    """The state directory cannot be written."""

    code = "state_unwritable"

    def __init__(self, home: Path, cause: str) -> None:
        super().__init__(
            f"{home} cannot be written ({cause}). Put that right, or name another place with "
            "CLANKIE_HOME.",
            cause=cause,
        )


class RestoreRefusedError(UnusableStateError):
    """The file offered cannot be restored."""

    code = "restore_refused"

    def __init__(self, archive: Path, why: str) -> None:
        super().__init__(
            f"{archive} cannot be restored: {why}. Nothing was changed; name a file that "
            "`clankie backup` wrote.",
        )


class CredentialsUnsafeError(UnusableStateError):
    """Others can read or replace the file of secrets, or it is damaged."""

    code = "credentials_unsafe"

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is not used: {why}. Put that right (`chmod 600`, your own, a plain file), or "
            "remove it and store the credentials again.",
        )


class KeyringUnavailableError(UnusableStateError):
    """The keyring that keeps the secrets does not give them out."""

    code = "keyring_unavailable"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The keyring of this system was chosen to keep secrets, but {why}. Unlock it and try "
            "again, or set CLANKIE_CREDENTIALS=file, remove `credentials.store` in the state "
            "directory and store the secrets anew."
        )
