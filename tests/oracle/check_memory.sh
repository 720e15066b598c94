#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_memory.sh RECORD-DRIVER ORACLE-DRIVER PROGRAM-SOURCES PROGRAM-BINARIES: records the shape
# programs with rr's checksum of every mapping at every event, re-enacts them, and compares.
record=$1
oracle=$2
source_dir=$3
binary_dir=$4
WETDBG_RR=$(dirname "$0")/rr_with_checksums.sh
export WETDBG_RR
. "$source_dir/checking.sh"
runs=0

# Code that stores processor state (the dynamic linker's resolver) leaves on dead stack which components
# the processor held for unused. That depends on the machine's own switches between processes, so of one
# program a recording or its re-enactment may differ there, now and then, but not each time.
compare() {
    for try in 1 2 3; do
        rm -rf "$work/trace"
        # shellcheck disable=SC2086 # arguments are words
        (timeout 60 "$record" -q -o "$work/trace" -- "$program" $arguments </dev/null >/dev/null 2>&1) \
            2>/dev/null
        said=$(timeout 60 "$oracle" "$work/trace" --checksums 2>&1) && return 0
        echo "$program (try $try): $said"
        case $said in *'checksum '*'[stack]'*) ;; *) return 1 ;; esac
    done
    return 1
}

while IFS=$tab read -r name arguments rest; do
    case $name in '#'* | '') continue ;; esac
    [ "$arguments" = - ] && arguments=
    arguments=$(printf '%s' "$arguments" | sed "s|@DATA@|$source_dir/data|g")
    for program in "$binary_dir/${name}_O0_static" "$binary_dir/${name}_O2_pie"; do
        runs=$((runs + 1))
        compare || bad=1
    done
done <"$source_dir/shapes.tsv"

echo "$runs recordings compared"
[ $runs -gt 40 ] && exit $bad
exit 1
