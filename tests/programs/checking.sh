# SPDX-License-Identifier: GPL-3.0-or-later
# For check_*.sh, which source this file: a directory for the time of the check, no core files,
# complaints, of which each makes `bad` 1, and the tab that tables are split at.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ulimit -c 0
bad=0
tab=$(printf '\t')

complain() {
    echo "$*"
    bad=1
}

outcome_of() { # the shell's status as exit:N or signal:N
    if [ "$1" -gt 128 ]; then echo "signal:$(($1 - 128))"; else echo "exit:$1"; fi
}
