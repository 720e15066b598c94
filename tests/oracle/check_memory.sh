#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_memory.sh RECORD-DRIVER ORACLE-DRIVER PROGRAM-SOURCES PROGRAM-BINARIES: records the shape
# programs with rr's checksum of every mapping at every event, re-enacts them, and compares.
set -u
record=$1
oracle=$2
source_dir=$3
binary_dir=$4
WETDBG_RR=$(dirname "$0")/rr_with_checksums.sh
export WETDBG_RR
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ulimit -c 0
runs=0
bad=0

tab=$(printf '\t')
while IFS=$tab read -r name arguments rest; do
    case $name in '#'* | '') continue ;; esac
    [ "$arguments" = - ] && arguments=
    arguments=$(printf '%s' "$arguments" | sed "s|@DATA@|$source_dir/data|g")
    for program in "$binary_dir/${name}_O0_static" "$binary_dir/${name}_O2_pie"; do
        runs=$((runs + 1))
        rm -rf "$work/trace"
        # shellcheck disable=SC2086 # arguments are words
        (timeout 60 "$record" -q -o "$work/trace" -- "$program" $arguments </dev/null >/dev/null 2>&1) \
            2>/dev/null
        if ! said=$(timeout 60 "$oracle" "$work/trace" --checksums 2>&1); then
            echo "$program: $said"
            bad=1
        fi
    done
done <"$source_dir/shapes.tsv"

echo "$runs recordings compared"
[ $runs -gt 40 ] && exit $bad
exit 1
