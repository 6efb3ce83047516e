# shellcheck shell=sh
# Makes a Python environment from the lock, for ./clankie and ./test, which source this file.
#
#   ensure_environment ROOT NAME LOCK [ARGUMENTS OF UV SYNC]
#
# Rules:
# - Built aside as NAME.building.PID and renamed when whole, stamp included. An interrupted or
#   failed install therefore never counts as good, and the environment in use stays as it was.
# - The stamp holds the lock's checksum, the checkout's path and the layout below. When one of
#   them changes the environment is made anew.
# - Only hashed downloads. The project itself is put on the path by a .pth file and a console
#   script written here: installing it the usual way would fetch a build backend, which no lock
#   names, and would leave the script with a #! line that breaks in a path with spaces.

environment_layout=1
environment_wait='Another start is making the environment; waiting for it.'

say() {
    printf 'clankie: %s\n' "$*" >&2
}

environment_stamp() {
    printf 'layout %s\nlock %s\nroot %s\n' \
        "$environment_layout" "$(cksum <"$environment_root/$environment_lock")" "$environment_root"
}

environment_is_good() {
    # -x follows the link, so an environment whose python was uninstalled is made anew.
    [ -x "$environment_dir/bin/python" ] && [ -r "$environment_dir/.stamp" ] &&
        [ "$(cat "$environment_dir/.stamp")" = "$(environment_stamp)" ]
}

find_uv() {
    # The installer of uv writes to ~/.local/bin, which the present shell may not know yet. It must
    # also run: a version manager can leave a stub on the PATH.
    for candidate in uv "${HOME:-/nonexistent}/.local/bin/uv"; do
        if "$candidate" --version >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# Prints the first python that will do; else "old", "no-venv NAME" or "none", and fails.
find_python() {
    finding=none
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        "$candidate" -c '' >/dev/null 2>&1 || continue
        if ! "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            [ "$finding" != none ] || finding=old
        elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            finding="no-venv $candidate"
        else
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    printf '%s\n' "$finding"
    return 1
}

# Says the one command that helps on this machine.
advise() {
    fix='curl -LsSf https://astral.sh/uv/install.sh | sh'
    apt=
    if command -v apt-get >/dev/null 2>&1; then
        apt='sudo apt install'
        [ "$(id -u)" != 0 ] || apt='apt install'
    fi
    case $1 in
    old)
        # Not apt: the python it would bring is the one that is too old.
        say 'Python 3.11 or newer is needed, and python3 here is older. This brings one:'
        ;;
    no-venv*)
        say "${1#no-venv } is here, but without venv and ensurepip. This brings them:"
        [ -z "$apt" ] || fix="$apt ${1#no-venv }-venv"
        ;;
    *)
        say 'Python 3.11 or newer is needed, and there is no python3 here. This brings one:'
        [ -z "$apt" ] || fix="$apt python3 python3-venv"
        ;;
    esac
    printf '\n    %s\n\n' "$fix" >&2
    say 'Then run the same command again.'
}

# Fills "$1" with the locked packages.
install_packages() {
    building=$1
    shift
    python=$(find_python) && found=yes || found=
    if uv=$(find_uv); then
        # uv takes the same python as we would, one without venv too; it fetches one only where
        # there is none, and then not the newest, for which some library may have no wheel yet.
        case $python in
        old | none) wanted=3.13 ;;
        *) wanted=${python#no-venv } ;;
        esac
        if env -u VIRTUAL_ENV UV_PROJECT_ENVIRONMENT="$building" "$uv" sync --quiet --frozen \
            --no-install-project --python "$wanted" --project "$environment_root" "$@" >&2; then
            return 0
        fi
        rm -rf "$building"
        if [ -z "$found" ]; then
            say 'uv could not install the packages (see above). Nothing was changed; run it again.'
            return 1
        fi
        say 'uv could not install the packages (see above); trying python3 instead.'
    fi
    if [ -z "$found" ]; then
        advise "$python"
        return 1
    fi
    if "$python" -m venv "$building" >&2 &&
        "$building/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
            --no-deps --require-hashes -r "$environment_root/$environment_lock" >&2; then
        return 0
    fi
    say 'The packages could not be installed (see above). Nothing was changed; run it again.'
    return 1
}

# Puts src on the path, writes the console script, and corrects the paths that name "$1".
install_project() {
    "$1/bin/python" -I - "$1" "$environment_dir" "$environment_root" <<'END'
import sys
import sysconfig
from pathlib import Path

building, final, root = sys.argv[1:]
Path(sysconfig.get_path("purelib"), "clankie.pth").write_text(f"{root}/src\n", encoding="utf-8")
# sh runs the second line, python reads it as a string: so no #! line has to hold a long path or
# one with spaces.
python = "'" + f"{final}/bin/python".replace("'", "'\"'\"'") + "'"
lines = [
    "#!/bin/sh",
    "'''exec' " + python + ' -P "$0" "$@"',
    "' '''",
    "import sys",
    "from clankie.cli.entry import main",
    "sys.exit(main())",
]
script = Path(building, "bin", "clankie")
script.write_text("\n".join(lines) + "\n", encoding="utf-8")
script.chmod(0o755)
for file in [*Path(building, "bin").iterdir(), Path(building, "pyvenv.cfg")]:
    if file.is_symlink() or not file.is_file():
        continue
    data = file.read_bytes()
    if b"\0" not in data and building.encode() in data:
        file.write_bytes(data.replace(building.encode(), final.encode()))
END
}

# Waits for other launchers; released when the subshell that took it ends.
take_environment_lock() {
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$environment_dir.lock"
        flock -n 9 || {
            say "$environment_wait"
            flock 9
        }
        return
    fi
    # No flock on macOS: a directory with its owner's process id, taken over when that one is gone.
    told=
    until mkdir "$environment_dir.lock.d" 2>/dev/null; do
        owner=$(cat "$environment_dir.lock.d/pid" 2>/dev/null || :)
        if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
            rm -rf "$environment_dir.lock.d"
        else
            [ -n "$told" ] || say "$environment_wait"
            told=yes
            sleep 1
        fi
    done
    holds_lock_directory=yes
    # Our own number: $$ is that of the shell around us, which may die while we clear away.
    (exec sh -c 'echo $PPID') >"$environment_dir.lock.d/pid"
}

leave_environment_lock() {
    [ -z "$new" ] || rm -rf "$new"
    [ -z "$holds_lock_directory" ] || rm -rf "$environment_dir.lock.d"
}

make_environment() {
    holds_lock_directory=
    new=
    take_environment_lock
    trap leave_environment_lock EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    if environment_is_good; then
        return 0 # the launcher we waited for made it
    fi
    say 'Preparing the Python environment (once for each version; about half a minute) ...'
    started=$(date +%s)
    new=$environment_dir.building.$$
    rm -rf "$environment_dir".building.* "$environment_dir.old"
    install_packages "$new" "$@" || return 1
    install_project "$new" || return 1
    environment_stamp >"$new/.stamp"
    # A reader between the two renames finds nothing and waits for the lock.
    [ ! -e "$environment_dir" ] || mv "$environment_dir" "$environment_dir.old"
    mv "$new" "$environment_dir"
    rm -rf "$environment_dir.old"
    say "Ready after $(($(date +%s) - started)) s."
}

ensure_environment() {
    environment_root=$1
    environment_dir=$1/$2
    environment_lock=$3
    shift 3
    # A subshell, so that the lock and the traps end with it.
    environment_is_good || (make_environment "$@")
}
