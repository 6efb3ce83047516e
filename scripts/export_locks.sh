#!/bin/sh
# Writes the two hashed requirement files from uv.lock, into the directory given (default: the
# checkout). They exist for machines without uv; uv.lock stays the one place where versions are
# chosen. After changing a dependency: `uv lock && scripts/export_locks.sh`.
set -eu
cd "$(dirname "$0")/.."
target=${1:-.}
uv=uv
if [ -x .venv-dev/bin/uv ]; then
    uv=.venv-dev/bin/uv # the locked uv, so that the files do not depend on who writes them
fi
export_to() {
    file=$1
    shift
    {
        printf '# Written by scripts/export_locks.sh from uv.lock. Do not edit.\n'
        "$uv" export --quiet --frozen --no-emit-project --no-header "$@"
    } >"$target/$file.new"
    mv "$target/$file.new" "$target/$file"
}
export_to requirements.lock --no-dev
export_to requirements-dev.lock --group dev
