#!/bin/sh
# The locks agree: uv.lock answers pyproject.toml, and the two hashed requirement files are what
# uv.lock exports. Reads no network.
set -eu
cd "$(dirname "$0")/.."
.venv-dev/bin/uv lock --quiet --check --offline --python .venv-dev/bin/python
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
scripts/export_locks.sh "$fresh"
for file in requirements.lock requirements-dev.lock; do
    if ! diff -u "$file" "$fresh/$file"; then
        echo "$file is not what uv.lock says; run scripts/export_locks.sh"
        exit 1
    fi
done
