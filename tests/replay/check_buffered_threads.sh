#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_buffered_threads.sh WETDBG GUEST FILE: the same for threads, and for processes that share
# memory with their makers. Which thread waited for which differs from run to run, so only slices
# by data are compared.
. "$(dirname "$0")/buffered_checking.sh"

record_both_ways --chaos

# Threads have buffers of their own, and were switched while they ran.
"$wetdbg" dump --events "$work/buffered" >"$work/events"
[ "$(grep SYSCALLBUF_FLUSH "$work/events" | cut -d' ' -f3 | sort -u | wc -l)" -ge 4 ] ||
    complain "fewer than four threads had buffered calls"
grep -q 'event=SCHED' "$work/events" || complain "no thread was switched"

compare_slices buffered_threads 'output:4 --data' 'output:20 --data' 'exit --data'

check_program sort --parallel=2 -S 1M "$file"
check_program xz -T2 --block-size=4KiB -c "$file"
check_program python3 -c 'import threading as t
n = [t.Thread(target=print, args=(i,)) for i in range(3)]
[x.start() for x in n]; [x.join() for x in n]'
exit $bad
