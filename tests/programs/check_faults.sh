#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_faults.sh SOURCE-DIR BINARY-DIR: every faulty program of faults.tsv fails in the stated
# way, in both builds; its fixed twin gives the expected output and status; the marks are there.
. "$(dirname "$0")/checking.sh"
source_dir=$1
binary_dir=$2
rows=0

run() { # run PROGRAM OUT: with $arguments and $stdin; status in $status
    # shellcheck disable=SC2086 # arguments are words
    (eval "timeout 20 \"\$1\" $arguments" >"$2" 2>/dev/null <"$input") 2>/dev/null
    status=$?
}

check_criterion() { # after a run of the faulty build
    case $criterion in
    crash)
        [ $status -gt 128 ] || complain "$program: ended with $status instead of a signal"
        ;;
    exit)
        [ $status != "$expected_status" ] || complain "$program: status is right, $status"
        [ $status -le 128 ] || complain "$program: crashed, $status"
        ;;
    output:*)
        [ $status -le 128 ] || complain "$program: crashed, $status"
        # cmp counts from 1 and names the first byte that differs
        at=$(cmp "$expected" "$work/out" | sed -n 's/.*\(byte\|char\) \([0-9]*\).*/\2/p')
        [ "${at:-0}" -gt 0 ] || complain "$program: output does not differ"
        [ $((${at:-0} - 1)) = "${criterion#output:}" ] ||
            complain "$program: differs at $((${at:-0} - 1)), not $criterion"
        ;;
    *.c:*#*:*)
        line=${criterion#*:}
        line=${line%%#*}
        sed -n "${line}p" "$source_dir/faults/${criterion%%:*}" |
            grep -q "${criterion##*:}.*/\* CRITERION \*/" ||
            complain "$program: $criterion does not name the marked line"
        cmp -s "$expected" "$work/out" && complain "$program: output does not differ"
        ;;
    *)
        complain "$program: unknown criterion $criterion"
        ;;
    esac
}

while IFS=$tab read -r program arguments input kind expected_status criterion file; do
    case $program in '#'* | '') continue ;; esac
    rows=$((rows + 1))
    [ "$arguments" = - ] && arguments=
    if [ "$input" = - ]; then input=/dev/null; else input=$source_dir/data/$input; fi
    expected=$source_dir/expected/$program
    marks=$(grep -c '/\* FAULT' "$source_dir/faults/$file")
    [ "$marks" = 1 ] || complain "$file: $marks fault marks"
    for build in O0 O2; do
        run "$binary_dir/${program}_${build}_fixed" "$work/out"
        [ $status = "$expected_status" ] || complain "$program $build fixed: status $status"
        cmp "$expected" "$work/out" || complain "$program $build fixed: wrong output"
        run "$binary_dir/${program}_$build" "$work/out"
        [ $status != 126 ] && [ $status != 127 ] || complain "$program $build: cannot run"
        check_criterion
    done
done <"$source_dir/faults.tsv"

for file in "$source_dir"/faults/*.c; do
    name=$(basename "$file" .c)
    grep -q "^$name$tab" "$source_dir/faults.tsv" || complain "$name: not in faults.tsv"
done
echo "$rows faults"
[ $rows -gt 0 ] && exit $bad
exit 1
