#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_unseen.py BUILD-DIRECTORY: calls that change a mapped file without the recording's having the bytes are told of,
once when the trace is built and by `info`; those that change nothing there are not."""
import os

import e2e

# Of each way: the call, how often, and where in the mapping; None where there is nothing to be told.
CASES = {"shared sendfile": ("sendfile", 1, 0, 6), "private sendfile": ("sendfile", 1, 0, 6),
         "shared write": None, "private write": ("pwrite", 2, 5, 3),
         "shared ftruncate": ("ftruncate", 1, 4, 8188), "private ftruncate": ("ftruncate", 1, 4, 8188),
         "shared truncate": ("truncate", 1, 4, 8188), "shared hole": ("fallocate", 1, 4096, 4096),
         "private reopen": ("open", 1, 0, 8192), "shared grow": None, "shared unmapped": None, "private other": None}


def check_case(bench, number, words, expected):
    trace = bench.record(f"trace{number}", f"{bench.build}/tests/e2e/e2e_unseen", *words.split())
    built = bench.wet("replay", trace, "--batch", "--json", "-e", "info files")
    told = [line for line in built.err.splitlines() if "the recording has no bytes" in line]
    answer = bench.wet("info", "--json", trace).objects()[0]
    if not expected:
        bench.check(not told and answer["unseen"] == [], f"{words}: {answer['unseen']}", built)
        return
    call, calls, offset, size = expected
    bench.check(len(told) == 1 and f"{call}() changed shown" in told[0] and words.split()[0] in told[0],
                f"{words}: {told}", built)
    bench.check(len(answer["unseen"]) == 1, f"{words}: {answer['unseen']}")
    if number == 0:
        again = bench.wet("replay", trace, "--batch", "-e", "info program")
        bench.check("the recording has no bytes" not in again.err, f"{words} is told twice", again)
        bench.check(f"{call}() changed shown" in again.out, f"{words}: info tells nothing", again)
    row = answer["unseen"][0]
    start = int(row["address"], 16) & -4096 if offset < 4096 else int(row["address"], 16) - 4096
    bench.check((row["call"], row["calls"], row["file"]) == (call, calls, "shown") and row["bytes"] == size
                and (int(row["address"], 16) - start == offset) and row["is_shared"] == words.startswith("shared")
                and 0 < row["time"] <= row["last_time"], f"{words}: {row}")


def main_test(bench, _):
    os.chdir(bench.work)
    for number, (words, expected) in enumerate(CASES.items()):
        check_case(bench, number, words, expected)


if __name__ == "__main__":
    e2e.main(main_test)
