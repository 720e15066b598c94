# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that go on unchanged, at some times of their run, without their recording: each run that is not
unresolved ends as the recording did, in status, output and instructions. What may be unresolved is how far
the virtual kernel knows what the program asks."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

TIMES = 8
# Words, and how many of the times may be unresolved.
PROGRAMS = {
    "true": (["/bin/true"], 2),
    "gzip": (["gzip", "-kc", "text"], 2),
    "sort": (["sort", "text"], 2),
    "awk": (["awk", "{ n += length($0) } END { print n }", "text"], 4),
}


def fields(line):
    return dict(re.findall(r"(\w+)=(\S*)", line))


def check_program(bench, name, words, unresolved_most):
    trace = bench.record(name, *words)
    made = bench.wet("replay", "-o", bench.path(name + ".wet"), trace)
    if not bench.check(made.status == 0, f"{name}: no .wet", made):
        return
    run = bench.run(f"{bench.build}/tests/predicate_switch/switch_driver", bench.path(name + ".wet"), "unchanged",
                    str(TIMES), "7")
    lines = [fields(line) for line in run.out.splitlines()]
    recorded = next((line for line in lines if line.keys() == {"status", "instructions"}), None)
    runs = [line for line in lines if "end" in line]
    if not bench.check(run.status == 0 and recorded and len(runs) == TIMES, f"{name}: no runs", run):
        return
    unresolved = [line for line in runs if line["end"] == "unresolved"]
    for line in runs:
        if line in unresolved:
            continue
        same = line["end"] == "exit" and line["differs"] == "0" and all(
            line[key] == recorded[key] for key in recorded)
        bench.check(same, f"{name}: went on at {line['time']} and did not end as recorded", run)
    bench.check(len(unresolved) <= unresolved_most, f"{name}: {len(unresolved)} runs are unresolved", run)
    print(f"{name}: {len(runs) - len(unresolved)} of {len(runs)} runs end as recorded")


def test(bench, _):
    with open(bench.path("text"), "w") as text:
        text.writelines(f"{number * 7919 % 1009} line {number}\n" for number in range(400))
    for name, (words, unresolved_most) in PROGRAMS.items():
        check_program(bench, name, words, unresolved_most)


if __name__ == "__main__":
    e2e.main(test)
