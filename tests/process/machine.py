"""What a test can do to the machine under a service: take rights away, give it a small disk."""

import ctypes
import os
import resource
import sys
from pathlib import Path
from typing import Final

_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUSER: Final = 0x10000000
_MS_REC_PRIVATE: Final = 0x4000 | 0x40000
_CAPABILITIES: Final = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Rights(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def obey_permissions() -> None:
    """Make the superuser heed the permissions of files, as everybody else does."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        return
    none = (_Rights * 2)()
    header = _Header(_CAPABILITIES, 0)
    if ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def limit_files(size: int | None) -> None:
    """No file may grow beyond `size` bytes from now on, as on a full disk; None: any size."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def small_disk(at: Path, size: int) -> bool:
    """Put a disk of `size` bytes at a directory, for this process only; whether that was allowed.

    Others see it below `/proc/PID/root`.
    """
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    spaces = _CLONE_NEWNS if os.geteuid() == 0 else _CLONE_NEWNS | _CLONE_NEWUSER
    if library.unshare(spaces) != 0:
        return False
    if library.mount(b"none", b"/", None, _MS_REC_PRIVATE, None) != 0:
        return False
    at.mkdir(mode=0o700, exist_ok=True)
    options = f"size={size},mode=0700".encode()
    return bool(library.mount(b"none", str(at).encode(), b"tmpfs", 0, options) == 0)
