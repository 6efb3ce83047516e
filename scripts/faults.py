"""Puts each hand-made fault into a copy of core and runs the tests of its module against it.

Every fault must be caught. `scripts/faults backoff` runs those whose name or module has the word.
Exit code 1 when a fault stays alive, when it breaks the import (then it proves nothing), or when
the tests do not pass without any.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from core.faults import FAULTS, Fault  # noqa: E402 - the list lives with the tests it asks

CORE = ROOT / "src" / "clankie" / "core"
TESTS = ROOT / "tests" / "core"
WORKERS = 2
SECONDS = 60  # one fault; a fault that makes the tests hang is not caught

INI = f"""
[pytest]
addopts = --import-mode=importlib
pythonpath = {ROOT / "tests"}
filterwarnings = error
"""


def tests_of(module: str) -> list[str]:
    """The test files of a module of core."""
    return [str(file) for file in sorted(TESTS.glob(f"test_{module}*.py"))]


class Copy:
    """A copy of core that a fault can be put into; one worker uses it at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        package = folder / "clankie"
        shutil.copytree(CORE, package / "core", ignore=lambda *_: ["__pycache__"])
        shutil.copy(CORE.parent / "__init__.py", package)
        (folder / "pytest.ini").write_text(INI, encoding="utf-8")

    def try_out(self, fault: Fault) -> str:
        """``caught``, ``ALIVE``, or what else came of it."""
        file = self.folder / "clankie" / "core" / f"{fault.module}.py"
        healthy = file.read_text(encoding="utf-8")
        if healthy.count(fault.old) != 1:
            return "NOT THERE ONCE"
        file.write_text(healthy.replace(fault.old, fault.new), encoding="utf-8")
        try:
            return {0: "ALIVE", 1: "caught"}.get(self.run(fault.module), "BROKEN")
        except subprocess.TimeoutExpired:
            return "HANGS"
        finally:
            file.write_text(healthy, encoding="utf-8")

    def run(self, module: str) -> int:
        """The exit code of pytest: 0 passed, 1 a test failed, more: they could not be run."""
        command = [sys.executable, "-P", "-B", "-m", "pytest", "-x", "-q", "--no-header"]
        command += ["-c", str(self.folder / "pytest.ini"), "--rootdir", str(ROOT)]
        command += ["--confcutdir", str(ROOT), "-p", "no:cacheprovider", *tests_of(module)]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(),
            check=False,
            capture_output=True,
            timeout=SECONDS,
        )
        return done.returncode

    def environment(self) -> dict[str, str]:
        """The copy stands before the package of the environment; no plugin has to be loaded."""
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HYPOTHESIS_PROFILE": "faults",
        }


def unhealthy(copy: Copy, modules: set[str]) -> Iterator[str]:
    """Why the answers would mean nothing: not the copy is tested, or it fails without a fault."""
    where = [sys.executable, "-P", "-c", "import clankie.core.ids as m; print(m.__file__)"]
    found = subprocess.run(where, env=copy.environment(), check=True, capture_output=True)
    if not found.stdout.decode().startswith(str(copy.folder)):
        yield f"the tests would run against {found.stdout.decode().strip()}"
    for module in sorted(modules):
        if copy.run(module) != 0:
            yield f"the tests of {module} fail without a fault"


def run(faults: Sequence[Fault]) -> list[tuple[Fault, str]]:
    """What became of each fault, printed as it is known."""
    with tempfile.TemporaryDirectory(prefix="clankie-faults-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(WORKERS):
            copies.put(Copy(Path(folder).resolve() / str(number)))

        def one(fault: Fault) -> tuple[Fault, str]:
            copy = copies.get()
            try:
                outcome = copy.try_out(fault)
            finally:
                copies.put(copy)
            print(f"{outcome:8} {fault.module}: {fault.name}", flush=True)
            return fault, outcome

        copy = copies.get()
        wrong = list(unhealthy(copy, {fault.module for fault in faults}))
        copies.put(copy)
        if wrong:
            raise SystemExit("\n".join(wrong))
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(one, faults))


def main(arguments: list[str]) -> int:
    """Run those asked for, all when none is; 1 unless every one is caught."""
    wanted = [
        fault
        for fault in FAULTS
        if all(word in f"{fault.module}: {fault.name}" for word in arguments)
    ]
    missed = [fault.name for fault, outcome in run(wanted) if outcome != "caught"]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} faults caught")
    return 1 if missed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
