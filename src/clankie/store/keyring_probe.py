"""One call to the system's keyring, in a process of its own.

A keyring may ask somebody at a desktop, wait for a bus that is not there, or load whatever its
backends bring along. Here it can do so: the service gives this program its time and then ends it.

    python -m clankie.store.keyring_probe probe|get|set SERVICE USER

`probe` prints the name of the backend after an item went in, came back and was deleted; `get`
prints the secret, and nothing when there is none; `set` reads it from standard input. Exit
status 3: there is no keyring to be trusted with secrets.
"""

from __future__ import annotations

import sys
from typing import Final, Protocol, cast

NONE: Final = 3
TRUSTED: Final = 1
"""Priority from which the library itself recommends a backend: plain files have less."""


class _Backend(Protocol):
    """As much of a backend as is used: the library's own types leave parts of it open."""

    name: str
    priority: float

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def main(arguments: list[str]) -> int:
    """Do the one call."""
    verb, service, user = arguments
    import keyring  # noqa: PLC0415 - only this process ever loads it

    backend = cast("_Backend", keyring.get_keyring())
    if not backend.priority >= TRUSTED:
        return NONE
    if verb == "get":
        sys.stdout.write(backend.get_password(service, user) or "")
        return 0
    if verb == "set":
        backend.set_password(service, user, sys.stdin.read())
        return 0
    trial = f"{user} trial"
    backend.set_password(service, trial, trial)
    whole = backend.get_password(service, trial) == trial
    backend.delete_password(service, trial)
    sys.stdout.write(str(backend.name))
    return 0 if whole else NONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
