"""Which process is the harness, as the kernel tells it of real ones."""

import os
import subprocess
import sys
from pathlib import Path

from clankie.seats import process

if Path("/proc/self/stat").exists():

    def test_a_harness_that_ended_is_not_alive_though_nobody_has_collected_it() -> None:
        # proves: SEAT-13
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            began = process.started_at(child.pid)
            assert process.alive(child.pid, began)
            child.kill()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            assert process.started_at(child.pid) == ""
            assert not process.alive(child.pid, began)
