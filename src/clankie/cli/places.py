"""Where things of this state directory are. Hook commands import this: nothing that `os` lacks."""

from __future__ import annotations

import os
import stat

# pathlib would cost a hook command several milliseconds that it does not have.
# ruff: noqa: PTH100, PTH111, PTH118

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
        PermissionError: the file can be read by others, or not by us, or is none.
    """
    path = os.path.join(home(), TOKEN_FILE)
    try:
        # Without O_NONBLOCK a pipe at this place would hang a hook.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, encoding="ascii") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise PermissionError(
                f"{path} is not a plain file. Remove it; the next start makes a new one."
            )
        if mode & 0o077:
            raise PermissionError(
                f"{path} can be read by other users. Run `chmod 600 {path}`, and make a new "
                "token if somebody may have read it."
            )
        return file.read().strip()
