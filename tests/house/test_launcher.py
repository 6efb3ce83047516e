"""The launcher makes its environment whole or not at all, and says what to do when it cannot.

No network: python3 and uv on the PATH are scripts that make a real, empty environment, whose pip
does what the test says.
"""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = "sh cat cksum date dirname env flock id mkdir mkfifo mv readlink rm sed sleep"

# $FAKE holds what the test decides: files old, no-venv, pip-fails, pip-waits, uv-fails.
MAKE_VENV = """
make_venv() {
    "$REAL_PYTHON" -m venv --without-pip "$1" || exit 1
    mv "$1/bin/python" "$1/bin/real-python"
    {
        echo '#!/bin/sh'
        echo '[ "$1 $2" = "-m pip" ] || exec "${0%/*}/real-python" "$@"'
        echo 'echo "$*" >>"$FAKE/pip.log"'
        echo '[ ! -e "$FAKE/pip-waits" ] || { echo >"$FAKE/started"; cat "$FAKE/pip-waits"; }'
        echo '[ ! -e "$FAKE/pip-fails" ] || { echo "no route to host" >&2; exit 1; }'
    } >"$1/bin/python"
    chmod=$(command -v chmod) && "$chmod" +x "$1/bin/python"
}
"""

PYTHON = f"""#!/bin/sh
{MAKE_VENV}
name=${{0##*/}}
case "$2" in
*version_info*) [ ! -e "$FAKE/$name-old" ] ;;
*ensurepip*) [ ! -e "$FAKE/$name-no-venv" ] ;;
venv) make_venv "$3" ;;
esac
"""

UV = f"""#!/bin/sh
{MAKE_VENV}
[ "$1" != --version ] || exit 0
echo "$*" >>"$FAKE/uv.log"
[ ! -e "$FAKE/uv-fails" ] || exit 1
make_venv "$UV_PROJECT_ENVIRONMENT"
"""

PROGRAM = """
import sys
from pathlib import Path

def main() -> int:
    print("clankie", *sys.argv[1:])
    return 3 if "fail" in sys.argv else 0
"""


@dataclass
class Checkout:
    """A copy of the launcher with a program of two lines, and a PATH of its own."""

    root: Path
    bin: Path
    fake: Path

    def provide(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def set(self, name: str) -> Path:
        path = self.fake / name
        path.touch()
        return path

    def unset(self, name: str) -> None:
        (self.fake / name).unlink()

    def log(self, name: str) -> list[str]:
        path = self.fake / f"{name}.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def environment(self) -> dict[str, str]:
        return {
            "PATH": str(self.bin),
            "HOME": str(self.fake),
            "FAKE": str(self.fake),
            "REAL_PYTHON": str(Path(sys.executable).resolve()),
        }

    def start(self, *arguments: str, launcher: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(launcher or self.root / "clankie"), *arguments],
            cwd=self.fake,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, launcher: Path | None = None) -> tuple[int, str, str]:
        with self.start(*arguments, launcher=launcher) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def left_behind(self) -> list[str]:
        return sorted(path.name for path in self.root.glob(".venv*") if "lock" not in path.name)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root, tools, fake = (tmp_path / name for name in ("a check'out with spaces", "bin", "fake"))
    room = root / "src" / "clankie" / "cli"
    for folder in (room, root / "scripts", tools, fake):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "clankie", root)
    shutil.copy(ROOT / "scripts" / "environment.sh", root / "scripts")
    (root / "requirements.lock").write_text("# nothing\n", encoding="utf-8")
    for package in (room.parent, room):
        (package / "__init__.py").touch()
    (room / "entry.py").write_text(PROGRAM, encoding="utf-8")
    for name in [*TOOLS.split(), "chmod"]:
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    made = Checkout(root, tools, fake)
    made.provide("python3", PYTHON)
    return made


def test_the_first_start_makes_the_environment_and_the_second_uses_it(checkout: Checkout) -> None:
    code, out, err = checkout.run("send", "two words")
    assert (code, out) == (0, "clankie send two words\n"), err
    assert "Preparing" in err
    assert "--require-hashes" in checkout.log("pip")[0]
    assert checkout.run("again") == (0, "clankie again\n", "")
    assert len(checkout.log("pip")) == 1
    assert checkout.left_behind() == [".venv"]


def test_the_programs_own_exit_status_comes_through(checkout: Checkout) -> None:
    assert checkout.run("fail")[0] == 3


def test_it_works_through_links_and_from_elsewhere(checkout: Checkout) -> None:
    absolute, relative = checkout.fake / "absolute", checkout.fake / "relative"
    absolute.symlink_to(checkout.root / "clankie")
    relative.symlink_to("absolute")
    code, out, err = checkout.run("up", launcher=relative)
    assert (code, out) == (0, "clankie up\n"), err


def test_the_console_script_works_through_a_link_too(checkout: Checkout) -> None:
    assert checkout.run()[0] == 0
    link = checkout.fake / "linked"
    link.symlink_to(checkout.root / ".venv" / "bin" / "clankie")
    assert checkout.run("hello", launcher=link) == (0, "clankie hello\n", "")


def test_a_changed_lock_and_a_moved_checkout_are_noticed(checkout: Checkout) -> None:
    assert checkout.run()[0] == 0
    (checkout.root / "requirements.lock").write_text("# something\n", encoding="utf-8")
    assert checkout.run()[0] == 0
    assert len(checkout.log("pip")) == 2
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    assert checkout.run("up")[:2] == (0, "clankie up\n")
    assert len(checkout.log("pip")) == 3


@pytest.mark.parametrize(
    ("facts", "apt", "command"),
    [
        (["python3-old"], False, "curl -LsSf https://astral.sh/uv/install.sh | sh"),
        (["python3-old"], True, "curl -LsSf https://astral.sh/uv/install.sh | sh"),
        (["python3-no-venv"], True, "apt install python3-venv"),
        (["python3-no-venv"], False, "curl -LsSf https://astral.sh/uv/install.sh | sh"),
        ([], True, "apt install python3 python3-venv"),
        ([], False, "curl -LsSf https://astral.sh/uv/install.sh | sh"),
    ],
)
def test_without_a_fitting_python_it_says_the_one_command_that_helps(
    checkout: Checkout, facts: list[str], apt: bool, command: str
) -> None:
    for fact in facts:
        checkout.set(fact)
    if not facts:
        (checkout.bin / "python3").unlink()
    if apt:
        checkout.provide("apt-get", "#!/bin/sh\nexit 9\n")
    code, out, err = checkout.run("up")
    assert (code, out) == (1, "")
    commands = [line.strip() for line in err.splitlines() if line.startswith("    ")]
    assert [line.removeprefix("sudo ") for line in commands] == [command], err
    assert checkout.left_behind() == []


def test_a_newer_python_beside_an_old_one_is_found(checkout: Checkout) -> None:
    checkout.set("python3-old")
    checkout.provide("python3.12", PYTHON)
    assert checkout.run("up")[:2] == (0, "clankie up\n")


def test_a_broken_download_leaves_nothing_that_counts_as_good(checkout: Checkout) -> None:
    checkout.set("pip-fails")
    code, out, err = checkout.run("up")
    assert (code, out) == (1, "")
    assert "no route to host" in err
    assert checkout.left_behind() == []
    checkout.unset("pip-fails")
    assert checkout.run("up")[:2] == (0, "clankie up\n")


def test_a_broken_update_leaves_the_environment_in_use_as_it_was(checkout: Checkout) -> None:
    assert checkout.run()[0] == 0
    stamp = checkout.root / ".venv" / ".stamp"
    before = stamp.read_bytes()
    (checkout.root / "requirements.lock").write_text("# something\n", encoding="utf-8")
    checkout.set("pip-fails")
    assert checkout.run()[0] == 1
    assert stamp.read_bytes() == before
    assert checkout.left_behind() == [".venv"]


def test_uv_is_used_where_it_is_and_needs_no_python(checkout: Checkout) -> None:
    checkout.provide("uv", UV)
    (checkout.bin / "python3").unlink()
    assert checkout.run("up")[:2] == (0, "clankie up\n")
    assert "sync --quiet --frozen --no-install-project --python 3.13" in checkout.log("uv")[0]
    assert checkout.log("pip") == []


def test_uv_takes_the_python_that_is_there_also_one_without_venv(checkout: Checkout) -> None:
    checkout.provide("uv", UV)
    checkout.set("python3-no-venv")
    assert checkout.run("up")[:2] == (0, "clankie up\n")
    assert "--python python3" in checkout.log("uv")[0]


def test_where_uv_fails_and_python_is_missing_nobody_is_told_to_install_uv(
    checkout: Checkout,
) -> None:
    checkout.provide("uv", UV)
    checkout.set("uv-fails")
    (checkout.bin / "python3").unlink()
    code, out, err = checkout.run("up")
    assert (code, out) == (1, "")
    assert "run it again" in err
    assert "install.sh" not in err


def test_uv_is_found_where_its_installer_puts_it(checkout: Checkout) -> None:
    home = checkout.fake / ".local" / "bin"
    home.mkdir(parents=True)
    checkout.provide("uv", UV)
    (checkout.bin / "uv").rename(home / "uv")
    assert checkout.run("up")[0] == 0
    assert len(checkout.log("uv")) == 1


def test_python_steps_in_where_uv_fails(checkout: Checkout) -> None:
    checkout.provide("uv", UV)
    checkout.set("uv-fails")
    code, out, err = checkout.run("up")
    assert (code, out) == (0, "clankie up\n")
    assert "trying python3" in err
    assert len(checkout.log("pip")) == 1


def blocked_start(checkout: Checkout) -> subprocess.Popen[str]:
    """A launcher that has got as far as pip, and waits there for `pip-waits` to be written."""
    for name in ("pip-waits", "started"):
        os.mkfifo(checkout.fake / name)
    process = checkout.start("first")
    (checkout.fake / "started").read_text(encoding="utf-8")
    return process


@pytest.mark.parametrize("flock", [True, False])
def test_two_starts_at_once_make_one_environment(checkout: Checkout, flock: bool) -> None:
    if not flock:
        (checkout.bin / "flock").unlink(missing_ok=True)
    with blocked_start(checkout) as first, checkout.start("second") as second:
        assert second.stderr is not None
        assert "waiting" in second.stderr.readline()
        (checkout.fake / "pip-waits").write_text("go", encoding="utf-8")
        assert first.communicate(timeout=60)[0] == "clankie first\n"
        assert second.communicate(timeout=60)[0] == "clankie second\n"
    assert len(checkout.log("pip")) == 1
    assert checkout.left_behind() == [".venv"]


@pytest.mark.parametrize("flock", [True, False])
def test_what_a_killed_launcher_leaves_working_is_waited_for(
    checkout: Checkout, flock: bool
) -> None:
    if not flock:
        (checkout.bin / "flock").unlink(missing_ok=True)
    with blocked_start(checkout) as first:
        first.kill()  # the shell alone: its installation goes on, and holds the lock
        first.wait(timeout=60)
        with checkout.start("second") as second:
            assert second.stderr is not None
            assert "waiting" in second.stderr.readline()
            (checkout.fake / "pip-waits").write_text("go", encoding="utf-8")
            assert second.communicate(timeout=60)[0] == "clankie second\n"
    assert len(checkout.log("pip")) == 1
    assert checkout.left_behind() == [".venv"]


@pytest.mark.parametrize("flock", [True, False])
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_start_is_made_good_by_the_next(
    checkout: Checkout, flock: bool, by: signal.Signals
) -> None:
    if not flock:
        (checkout.bin / "flock").unlink(missing_ok=True)
    with blocked_start(checkout) as process:
        os.killpg(process.pid, by)
        assert process.wait(timeout=60) != 0
    checkout.unset("pip-waits")
    assert not (checkout.root / ".venv").exists()
    assert checkout.run("up")[:2] == (0, "clankie up\n")
    assert checkout.left_behind() == [".venv"]
