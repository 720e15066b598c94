#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_programs.sh RECORD-DRIVER ORACLE-DRIVER PROGRAM-SOURCES PROGRAM-BINARIES: records every
# build of every sample program and re-enacts it natively: each recorded event must be met with
# the recorded registers, up to the last one, with no guess about where a signal belongs.
record=$1
oracle=$2
source_dir=$3
binary_dir=$4
. "$source_dir/checking.sh"
runs=0

check() { # check PROGRAM ARGUMENTS INPUT
    runs=$((runs + 1))
    rm -rf "$work/trace"
    (eval "timeout 60 \"$record\" -q -o \"$work/trace\" -- \"$1\" $2" <"$3" >/dev/null 2>&1) 2>/dev/null
    if [ ! -d "$work/trace" ]; then
        echo "$1: not recorded"
        bad=1
    elif ! said=$(timeout 60 "$oracle" "$work/trace" --run 2>&1); then
        echo "$1: $said"
        bad=1
    elif [ "${said##*, }" != "0 ambiguous" ]; then
        echo "$1: $said"
        bad=1
    fi
}

while IFS=$tab read -r name arguments rest; do
    case $name in '#'* | '') continue ;; esac
    [ "$arguments" = - ] && arguments=
    arguments=$(printf '%s' "$arguments" | sed "s|@DATA@|$source_dir/data|g")
    for program in "$binary_dir/$name"_O[0-3]_*; do
        [ -x "$program" ] && check "$program" "$arguments" /dev/null
    done
done <"$source_dir/shapes.tsv"

while IFS=$tab read -r name arguments input rest; do
    case $name in '#'* | '') continue ;; esac
    [ "$arguments" = - ] && arguments=
    if [ "$input" = - ]; then input=/dev/null; else input=$source_dir/data/$input; fi
    check "$binary_dir/${name}_O0" "$arguments" "$input"
    check "$binary_dir/${name}_O2" "$arguments" "$input"
done <"$source_dir/faults.tsv"

echo "$runs recordings re-enacted"
[ $runs -gt 100 ] && exit $bad
exit 1
