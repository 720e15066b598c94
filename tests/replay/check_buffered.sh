#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_buffered.sh WETDBG GUEST FILE: programs recorded with and without buffered system calls do
# the same, and say the same when they are asked. What the guest puts out is the oracle of both
# recordings, the one without buffering that of the other's slices.
. "$(dirname "$0")/buffered_checking.sh"

record_both_ways

# There are events of all kinds that only buffering has.
"$wetdbg" dump --events "$work/buffered" >"$work/events"
for event in PATCH_SYSCALL PATCH_TRAPPING_INSTRUCTION SYSCALLBUF_FLUSH SYSCALLBUF_RESET SYSCALLBUF_ABORT_COMMIT 'number=1002'; do
    grep -q "$event" "$work/events" || complain "no $event was recorded"
done
"$wetdbg" dump --events "$work/plain" | grep -q SYSCALLBUF && complain "buffered without being asked"

compare_slices buffered output:4 output:10 output:14 output:20 output:24 output:32 exit 'exit --data' 'exit --thin'

# The child, which was forked within rr's library, and programs of the system.
child=$("$wetdbg" dump --tasks "$work/buffered" | sed -n 's/.*tid=\([0-9]*\) what=clone.*/\1/p' | tail -1)
[ -n "$child" ] && replays buffered --no-trace --process="$child"
check_program ls -l /usr
check_program sort "$file"
check_program sh -c "ls /usr | wc -l; exec wc -c $file"
check_program perl -e 'my %h; $h{$_ * 7 % 13} .= $_ for 1..500; print %h'
exit $bad
