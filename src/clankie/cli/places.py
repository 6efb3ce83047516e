"""Where things of this state directory are. Hook commands import this, so it imports only `os`."""

from __future__ import annotations

import os

# pathlib would cost a hook command several milliseconds that it does not have.
# ruff: noqa: PTH100, PTH111, PTH118, PTH123

TOKEN_FILE = "operator.token"  # noqa: S105 - the name of a file
SOCKET_FILE = "service.sock"
LOG_FILE = "service.log"


def home() -> str:
    """The state directory: `CLANKIE_HOME`, else ``~/.clankie``. It need not exist."""
    return os.path.abspath(os.environ.get("CLANKIE_HOME") or os.path.expanduser("~/.clankie"))


def socket_path() -> str:
    """The service's Unix socket."""
    return os.path.join(home(), SOCKET_FILE)


def operator_token() -> str | None:
    """The operator's bearer token; None while the service has never run.

    Raises:
        PermissionError: the file can be read by others, or not by us.
    """
    path = os.path.join(home(), TOKEN_FILE)
    try:
        with open(path, encoding="ascii") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise PermissionError(
                    f"{path} can be read by other users. Run `chmod 600 {path}`, and make a new "
                    "token if somebody may have read it."
                )
            return file.read().strip()
    except FileNotFoundError:
        return None
