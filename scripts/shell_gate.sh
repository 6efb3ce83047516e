#!/bin/sh
# Every shell script passes shellcheck. The linter comes with the locked packages; one from the
# system serves where its wheel does not run. Without either the gate says so and lets it pass.
set -eu
cd "$(dirname "$0")/.."
for shellcheck in .venv-dev/bin/shellcheck shellcheck ''; do
    if [ -n "$shellcheck" ] && "$shellcheck" --version >/dev/null 2>&1; then
        exec "$shellcheck" --external-sources --severity=style clankie test .ci/run \
            scripts/*.sh scripts/chromium scripts/faults scripts/kill
    fi
done
echo '!!! NOT CHECKED: no shellcheck on this machine (apt install shellcheck)'
