#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_buffered.sh WETDBG GUEST FILE: programs recorded with and without buffered system calls do
# the same, and say the same when they are asked. What the guest puts out is the oracle of both
# recordings, the one without buffering that of the other's slices.
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
"$guest" "$file" >"$work/native.out" </dev/null
native=$?
for way in buffered plain; do
    option=
    [ $way = buffered ] && option=--syscallbuf
    # shellcheck disable=SC2086 # no option is no word
    record $way $option -- "$guest" "$file"
    [ $status = $native ] || complain "$way: status $status instead of $native"
    cmp "$work/native.out" "$work/$way.out" || complain "$way: other output"
    replays $way -o "$work/$way.wet"
    grep -q "exited with status $native" "$work/said" || complain "$way: $(cat "$work/said")"
    "$wetdbg" verify "$work/$way.wet" >"$work/said" 2>&1 || complain "$way: $(cat "$work/said")"
done

# There are events of all kinds that only buffering has.
"$wetdbg" dump --events "$work/buffered" >"$work/events"
for event in PATCH_SYSCALL SYSCALLBUF_FLUSH SYSCALLBUF_RESET SYSCALLBUF_ABORT_COMMIT 'number=1002'; do
    grep -q "$event" "$work/events" || complain "no $event was recorded"
done
"$wetdbg" dump --events "$work/plain" | grep -q SYSCALLBUF && complain "buffered without being asked"

# The same slices by line of the guest's source, with as many instances of each.
lines_of() { # lines_of WAY CRITERION
    "$wetdbg" open "$work/$1.wet" --batch -e "slice $2 --limit 0" 2>&1 |
        grep '^buffered\.c:' | cut -d'|' -f1 | sort
}
for criterion in output:4 output:10 output:14 output:20 output:24 exit 'exit --data' 'exit --thin'; do
    lines_of buffered "$criterion" >"$work/buffered.lines"
    lines_of plain "$criterion" >"$work/plain.lines"
    [ -s "$work/plain.lines" ] || complain "slice $criterion is empty"
    diff "$work/plain.lines" "$work/buffered.lines" || complain "slice $criterion differs"
done

# The child, which was forked within rr's library, and programs of the system.
child=$("$wetdbg" dump --tasks "$work/buffered" | sed -n 's/.*tid=\([0-9]*\) what=clone.*/\1/p' | tail -1)
[ -n "$child" ] && replays buffered --no-trace --process="$child"
check_program() {
    command -v "$1" >/dev/null || return
    record "$1" --syscallbuf -- "$@"
    replays "$1" --no-trace
    rm -rf "${work:?}/$1"
}
check_program ls -l /usr
check_program sort "$file"
check_program sh -c "ls /usr | wc -l; exec wc -c $file"
check_program perl -e 'my %h; $h{$_ * 7 % 13} .= $_ for 1..500; print %h'
exit $bad
