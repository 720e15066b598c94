# SPDX-License-Identifier: GPL-3.0-or-later
# What scripts share that hold recordings with buffered system calls against others. They are given
# WETDBG GUEST FILE; to be sourced.
. "$(dirname "$0")/../programs/checking.sh"
wetdbg=$1
guest=$2
file=$3

record() { # record NAME OPTION... -- PROGRAM...: status in $status, output in NAME.out
    name=$1
    shift
    "$wetdbg" record --ticks=software -o "$work/$name" "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
}

replays() { # replays NAME OPTION...
    name=$1
    shift
    "$wetdbg" replay --batch "$@" "$work/$name" >"$work/said" 2>&1 ||
        complain "$name does not replay: $(tail -1 "$work/said")"
}

# The guest, natively and recorded in both ways: output and exit status.
record_both_ways() { # record_both_ways OPTION...: of both recordings
    "$guest" "$file" >"$work/native.out" </dev/null
    native=$?
    for way in buffered plain; do
        option=
        [ $way = buffered ] && option=--syscallbuf
        # shellcheck disable=SC2086 # no option is no word
        record $way "$@" $option -- "$guest" "$file"
        [ $status = $native ] || complain "$way: status $status instead of $native"
        cmp "$work/native.out" "$work/$way.out" || complain "$way: other output"
        replays $way -o "$work/$way.wet"
        grep -q "exited with status $native" "$work/said" || complain "$way: $(cat "$work/said")"
        "$wetdbg" verify "$work/$way.wet" >"$work/said" 2>&1 || complain "$way: $(cat "$work/said")"
    done
}

# The same slices by line of the guest's source, with as many instances of each.
lines_of() { # lines_of SOURCE WAY CRITERION
    "$wetdbg" open "$work/$2.wet" --batch -e "slice $3 --limit 0" 2>&1 |
        grep "^$1\\.c:" | cut -d'|' -f1 | sort
}
compare_slices() { # compare_slices SOURCE CRITERION...
    source=$1
    shift
    for criterion in "$@"; do
        lines_of "$source" buffered "$criterion" >"$work/buffered.lines"
        lines_of "$source" plain "$criterion" >"$work/plain.lines"
        [ -s "$work/plain.lines" ] || complain "slice $criterion is empty"
        diff "$work/plain.lines" "$work/buffered.lines" || complain "slice $criterion differs"
    done
}

# A program of the system, if it is there.
check_program() {
    command -v "$1" >/dev/null || return
    record "$1" --syscallbuf -- "$@"
    replays "$1" --no-trace
    rm -rf "${work:?}/$1"
}
