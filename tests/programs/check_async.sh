#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_async.sh SOURCE-DIR BINARY-DIR: runs every build of the programs of async.tsv and compares
# the fixed part of stdout with expected/NAME and the way it ended with the table.
. "$(dirname "$0")/checking.sh"
source_dir=$1
binary_dir=$2
runs=0

check_output() { # of $program, in $work/out
    case $fixed in
    whole) cmp "$source_dir/expected/$name" "$work/out" || complain "$program: other output" ;;
    prefix)
        head -c "$(wc -c <"$source_dir/expected/$name")" "$work/out" |
            cmp "$source_dir/expected/$name" - || complain "$program: other output"
        ;;
    none) [ -s "$work/out" ] || complain "$program: no output" ;;
    *) complain "$name: unknown kind $fixed" ;;
    esac
}

while IFS=$tab read -r name arguments outcome fixed; do
    case $name in '#'* | '') continue ;; esac
    [ "$arguments" = - ] && arguments=
    for build in O0_static O2_pie; do
        program=$binary_dir/${name}_$build
        runs=$((runs + 1))
        # shellcheck disable=SC2086 # arguments are words
        (timeout 20 "$program" $arguments >"$work/out" 2>/dev/null </dev/null) 2>/dev/null
        got=$(outcome_of $?)
        [ "$got" = "$outcome" ] || complain "$program: $got instead of $outcome"
        check_output
    done
done <"$source_dir/async.tsv"

for file in "$source_dir"/threads/*.c "$source_dir"/signals/*.c; do
    name=$(basename "$file" .c)
    grep -q "^$name$tab" "$source_dir/async.tsv" || complain "$name: not in async.tsv"
done
echo "$runs runs"
[ $runs -gt 60 ] && exit $bad
exit 1
