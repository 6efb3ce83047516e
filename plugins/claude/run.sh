#!/bin/sh
# Runs `clankie` as a hook or as the server of tools of this session: `sh run.sh bridge`.
#
# Rule 1: a hook never stops the session: whatever happens is one line on standard error, and 0.
# Rule 2: outside of a seat a hook does nothing, at once.
#
# CLANKIE_RUN is the command that opened the seat, quoted for a shell.
run() {
    eval "${CLANKIE_RUN:-clankie} \"\$@\""
}

if [ "${1:-}" = bridge ]; then
    eval "exec ${CLANKIE_RUN:-clankie} bridge"
fi
[ -n "${CLANKIE_SEAT_GRANT:-}" ] || exit 0
run "$@" || echo "clankie: the hook \`$1\` did not work; the session goes on." >&2
exit 0
