#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_shapes.sh SOURCE-DIR BINARY-DIR: runs every build of every shape program and compares
# stdout with expected/NAME and the way it ended with shapes.tsv.
. "$(dirname "$0")/checking.sh"
source_dir=$1
binary_dir=$2
runs=0

while IFS=$tab read -r name arguments outcome; do
    case $name in '#'* | '') continue ;; esac
    [ "$arguments" = - ] && arguments=
    arguments=$(printf '%s' "$arguments" | sed "s|@DATA@|$source_dir/data|g")
    found=0
    for program in "$binary_dir/$name"_O[0-3]_*; do
        [ -x "$program" ] || continue
        found=1
        runs=$((runs + 1))
        # shellcheck disable=SC2086 # arguments are words
        (timeout 20 "$program" $arguments >"$work/out" 2>/dev/null </dev/null) 2>/dev/null
        got=$(outcome_of $?)
        if [ "$got" != "$outcome" ]; then
            echo "$program: $got instead of $outcome"
            bad=1
        fi
        if ! cmp "$source_dir/expected/$name" "$work/out"; then
            echo "$program: other output than expected"
            bad=1
        fi
    done
    if [ $found = 0 ]; then
        echo "$name: no build of it in $binary_dir"
        bad=1
    fi
done <"$source_dir/shapes.tsv"

for file in "$source_dir"/shapes/*.c; do
    name=$(basename "$file" .c)
    if ! grep -q "^$name$tab" "$source_dir/shapes.tsv"; then
        echo "$name: not in shapes.tsv"
        bad=1
    fi
done
echo "$runs runs"
[ $runs -gt 0 ] && exit $bad
exit 1
