#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_list_skipped.sh LIST-SKIPPED: what the list says of a log and an output of ctest made up here.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/log" <<'LOG'
1/5 Testing: test_one
Output:
SKIPPED: test_one: avx: the processor has none
 SKIPPED: test_one: this line is quoted, not said
SKIPPED: test_two: nothing may be mounted here
SKIPPED: test_one: avx: the processor has none
LOG
cat >"$work/out" <<'OUT'
1/5 Test  #1: test_one ...........................   Passed    0.10 sec
2/5 Test #12: test_two ...........................***Skipped   0.10 sec
3/5 Test #13: test_three .........................***Skipped   0.10 sec
Could not find executable test_four
4/5 Test  #4: test_four ..........................***Not Run   0.00 sec
5/5 Test  #5: test_five ..........................***Not Run (Disabled)   0.00 sec
OUT
cat >"$work/wanted" <<'WANTED'
Not tested on this machine:
  test_one: avx: the processor has none
  test_two: nothing may be mounted here
  test_three: ctest says 'Skipped'
  test_four: ctest says 'Not Run'
  test_five: ctest says 'Not Run (Disabled)'
WANTED
"$1" "$work/log" "$work/out" >"$work/got"
diff -u "$work/wanted" "$work/got"

grep -v SKIPPED "$work/log" >"$work/silent"
head -1 "$work/out" >"$work/passed"
[ "$("$1" "$work/silent" "$work/passed")" = "Nothing was skipped." ]
