#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_faults.py BUILD-DIRECTORY O0|O2: known faults, found the way a user would find them.

Records each program of tests/programs/faults.tsv, replays it, slices back from the failure: the faulty line
has to be in the full slice, and `why` has to lead to it; and pruning by right output must not lose it. Prints how
much of the program is left to read.

Optimisation may leave a line no code at all ('no code': a constant was folded), or only the beginning of
another line's ('moved'); then nothing is asserted, and the table says so."""
import os
import shutil

import e2e

# What should have been done and was not leaves no dependence behind (relevant slices and predicate switching
# are for these); the same two are exempt in tests/slicer/test_faults.c.
OMISSIONS = {"fault_rpn", "fault_symtab"}
# The tables that hold a wrong entry: data, so no line runs; a slice names their bytes.
TABLES = {"fault_calendar": "days_before"}
# Opened again without their recording.
OPENED = ("fault_tokenizer", "fault_symtab")


def code_lines(bench, trace, fault):
    """Lines with a place for a breakpoint, and those of them that own code: optimised code has places at
    which several lines begin, and only the last of these owns the instructions."""
    run = bench.wet("replay", trace, "--batch", "--json", "-e", f"info lines {fault.file}")
    bench.check(run.status == 0, f"{fault.program}: info lines", run)
    rows = run.objects()[0]["lines"]
    return (sorted({row["line"] for row in rows}),
            {row["line"] for row in rows if row["start"] != row["end"]})


def own_lines(piece, fault):
    return {row["line"] for row in piece["lines"] if e2e.base_name(row["file"]) == fault.file}


def without_time(piece):
    return {key: value for key, value in piece.items() if key != "seconds"}


def ask(bench, trace, fault, lines):
    """Everything in one session, as one sits at the prompt. {question: answer}, the answers objects."""
    questions = [f"slice backward {fault.criterion}", f"why {fault.file}:{fault.line} --limit 0",
                 f"slice backward --data {fault.criterion}"]
    questions += [f"instances {fault.file}:{line} --limit 1" for line in lines]
    words = [word for question in questions for word in ("-e", question)]
    run = bench.wet("replay", trace, "--batch", "--json", *words)
    # A line that never ran is an error.
    answers = [{"count": 0} if "did not run" in answer.get("message", "") else answer for answer in run.objects()]
    bench.check(run.status in (0, 1) and not run.err, f"{trace}: the session", run)
    bench.check(len(answers) == len(questions), f"{trace}: {len(answers)} answers", run)
    return answers[0], answers[1], answers[2], answers[3:]


def check_why(bench, name, why, full, fault):
    if not bench.check(why["schema"] == "wetdbg.why/1" and why["hops"], f"{name}: why says {why}"):
        return
    first, last = why["hops"][0], why["hops"][-1]
    bench.check(first["kind"] == "criterion", f"{name}: the way begins with {first}")
    bench.check(first["time"] <= full["time"], f"{name}: the way begins after the failure")
    bench.check((e2e.base_name(last["file"]), last["line"]) == (fault.file, fault.line),
                f"{name}: the way ends at {last['file']}:{last['line']}")
    times = [hop["time"] for hop in why["hops"]]
    bench.check(times == sorted(times, reverse=True), f"{name}: the way goes forward: {times}")


def check_open(bench, name, trace, full, fault):
    kept = bench.path(f"{name}.wet")
    shutil.copy(f"{trace}/wetdbg.wet", kept)
    os.rename(trace, f"{trace}.away")
    run = bench.wet("open", kept, "--batch", "--json", "-e", f"slice backward {fault.criterion}")
    os.rename(f"{trace}.away", trace)
    bench.check(run.status == 0 and without_time(run.objects()[0]) == without_time(full),
                f"{name}: open without the recording gives another slice")


def check_pruned(bench, name, trace, fault):
    """Pruned by what came before, the fault is still there. How many lines are left."""
    run = bench.wet("replay", trace, "--batch", "--json", "-e", f"prune --wrong {fault.criterion}")
    rows = [row for row in run.objects()[0].get("lines", []) if row["file"] and e2e.base_name(row["file"]) == fault.file]
    bench.check([row for row in rows if row["line"] == fault.line and row["confidence"] < 1],
                f"{name}: pruning has lost line {fault.line}", run)
    return sum(1 for row in rows if row["confidence"] < 1)


def check_fault(bench, fault, build):
    name = f"{fault.program}_{build}"
    trace = bench.record(name, f"{bench.programs}/{name}", *fault.arguments, stdin=fault.stdin)
    lines, owners = code_lines(bench, trace, fault)
    full, why, data, instances = ask(bench, trace, fault, lines)
    if full["schema"] != "wetdbg.slice/1":
        # Optimisation may leave a variable no place at that line: said, and no slice is shown.
        bench.check(build != "O0", f"{name}: {full['message']}")
        print(f"{fault.program:16} {fault.kind:26} {build} {fault.criterion:24} {full['message']}")
        return
    in_full, in_data = (fault.line in own_lines(piece, fault) for piece in (full, data))
    ran = [row["count"] for row in instances]
    has_code = fault.line in owners and ran[lines.index(fault.line)] > 0
    without = "no" if has_code else "moved" if fault.line in lines else "no code"
    executed = sum(1 for count in ran if count)
    table = TABLES.get(fault.program)
    by = "yes" if in_full else without
    if table:
        by = "table" if any(entry["name"] == table for entry in full["initials"]) else "no"
        bench.check(by == "table", f"{name}: {table} is not in the slice: {full['initials']}")
    elif fault.program not in OMISSIONS and (build == "O0" or has_code):
        bench.check(in_full, f"{name}: line {fault.line} is not in the full slice")
    if in_full:
        check_why(bench, name, why, full, fault)
    left = ""
    if in_full and fault.criterion.startswith("output"):
        left = f"{check_pruned(bench, name, trace, fault)} after pruning"
    if fault.program in OPENED:
        check_open(bench, name, trace, full, fault)
    mine = len(own_lines(full, fault))
    print(f"{fault.program:16} {fault.kind:26} {build} {fault.criterion:24} {by:8}"
          f"{'yes' if in_data else without:8}{mine:5} {len(own_lines(data, fault)):5}"
          f" {executed:5} {100 * mine / executed:5.0f}% {full['instances']:9} {full['seconds']:6.2f} {left}", flush=True)


def test(bench, arguments):
    print(f"{'program':16} {'fault':26} {'':2} {'criterion':24} {'full':8}{'data':8}{'lines':>5} {'data':>5}"
          f" {'ran':>5} {'share':>6} {'instances':>9} {'s':>6}")
    for fault in e2e.faults():
        for build in arguments or ["O0", "O2"]:
            check_fault(bench, fault, build)


if __name__ == "__main__":
    e2e.main(test)
