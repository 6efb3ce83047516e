"""Who connected is asked of the kernel, in the words of each one."""

import asyncio
import os
import socket
import struct
from typing import Any

from clankie.api.peers import credentials


class Transport(asyncio.BaseTransport):
    """A connection that is there already."""

    def __init__(self, connection: object) -> None:
        super().__init__({"socket": connection})


class MacSocket:
    """Answers as the sockets of macOS do; this machine has none."""

    family = socket.AF_UNIX

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        answers = {
            (0, 1): struct.pack("=IIhxx16I", 0, 501, 1, *([20] * 16)),
            (0, 2): struct.pack("=i", 4_711),
        }
        answer = answers[level, option]
        assert len(answer) == size
        return answer


def test_the_kernel_says_which_process_and_user_connected() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert credentials(Transport(ours)) == (os.getpid(), os.getuid())


def test_macos_is_asked_in_its_own_words() -> None:
    assert credentials(Transport(MacSocket()), "darwin") == (4_711, 501)


def test_nobody_is_known_over_tcp() -> None:
    with socket.socket(socket.AF_INET) as connection:
        found: Any = credentials(Transport(connection))
    assert found is None
