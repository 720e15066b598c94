#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_against.py BUILD-DIRECTORY: slices held against passing runs of the same program."""
import os
import subprocess

import e2e


def record(bench, name, program, *words, text=None):
    stdin = None
    if text is not None:
        stdin = bench.path(f"{name}.txt")
        with open(stdin, "w") as file:
            file.write(text)
    return bench.record(name, program, *words, stdin=stdin)


def answers(bench, trace, *commands):
    words = [word for command in commands for word in ("-e", command)]
    run = bench.wet("replay", trace, "--batch", "--json", *words)
    bench.check(run.status == 0, f"{commands}", run)
    return [answer for answer in run.objects() if answer["schema"] == "wetdbg.slice/1"]


def check_ranks(bench, fault):
    """The faulty line comes first, which is far from it in the slice alone: no other run refunded anything."""
    with open(fault.stdin) as file:
        lines = file.read().splitlines(keepends=True)
    program = f"{bench.programs}/{fault.program}_O0"
    failing = record(bench, "failing", program, text="".join(lines))
    record(bench, "sales", program, text="".join(line for line in lines if "sale" in line))
    record(bench, "moves", program, text="".join(line for line in lines if "move" in line or "sale" in line))
    plain, ranked, dstar = answers(bench, failing, f"slice backward {fault.criterion}",
                                   f"slice backward {fault.criterion} --against sales --against moves",
                                   f"slice backward {fault.criterion} --against sales --measure dstar --limit 2")
    rows = {row["line"]: row for row in ranked["lines"] if e2e.base_name(row["file"]) == fault.file}
    own = [row["line"] for row in ranked["lines"] if e2e.base_name(row["file"]) == fault.file]
    before = [row["line"] for row in plain["lines"] if e2e.base_name(row["file"]) == fault.file]
    bench.check(own[0] == fault.line and before.index(fault.line) > 0, f"line {fault.line}: {own[:5]}, before {before[:5]}")
    bench.check(sorted(own) == sorted(before), "the lines are those of the slice")
    row = rows[fault.line]["against"]
    bench.check((row["executed"], row["sliced"], row["score"]) == (0, 0, 1.0), f"{row}")
    both = [line["against"] for line in rows.values() if line["against"]["executed"] == 2]
    bench.check(both and all(abs(line["score"] - (1 / 3) ** 0.5) < 1e-9 for line in both), f"lines that all executed: {both[:2]}")
    bench.check(any(line["new_values"] and line["new_values"] < line["values"] for line in both), "values that only it made")
    scores = [line["against"]["score"] for line in ranked["lines"]]
    bench.check(scores == sorted(scores, reverse=True), "the order is that of the scores")
    bench.check(ranked["against"] == {"measure": "ochiai", "runs": [{"run": "sales", "has_slice": True},
                                                                    {"run": "moves", "has_slice": True}]}, f"{ranked['against']}")
    bench.check(dstar["against"]["measure"] == "dstar" and dstar["lines"][0]["against"]["score"] == 2.0 and
                len(dstar["lines"]) == 2, f"{dstar['lines'][:1]}")
    run = bench.wet("replay", failing, "--batch", "-e", f"slice backward {fault.criterion} --against sales")
    first = next(line for line in run.out.splitlines() if f"{fault.file}:" in line and "|" in line)
    bench.check(first.startswith(f"* {fault.file}:{fault.line}") and "1.00" in first, f"its mark: {first}", run)
    wet = f"{bench.path('sales')}/wetdbg.wet"
    same, = answers(bench, failing, f"slice backward {fault.criterion} --against {wet}")
    bench.check(same["lines"][0]["line"] == fault.line, "against a trace file")


def check_crash(bench):
    """What corresponds to a crash is the same instruction where it did not crash. It came of what the other never did."""
    program = f"{bench.programs}/fault_symtab_O0"
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_symtab")
    failing = bench.record("crashing", program, *fault.arguments)
    bench.record("right", program, "a=1", "e=5", "a")
    found, = answers(bench, failing, "slice backward crash --against right")
    own = [row for row in found["lines"] if e2e.base_name(row["file"]) == fault.file]
    bench.check(found["against"]["runs"][0]["has_slice"], "the passing run executed it, too")
    bench.check(own[0]["text"] == "symbol->name = NULL;" and own[0]["against"]["executed"] == 0, f"{own[0]}")
    bench.check(any(row["against"]["sliced"] for row in own), "what both have in their slices")


def check_refusals(bench, fault):
    stripped = bench.path("stripped")
    subprocess.run(["strip", "-o", stripped, f"{bench.programs}/{fault.program}_O0"], check=True)
    bench.record("bare", stripped, stdin=fault.stdin)
    fixed = bench.path("other", f"{fault.program}_O0")
    os.mkdir(bench.path("other"))
    subprocess.run(["cp", f"{bench.programs}/{fault.program}_O0_fixed", fixed], check=True)
    bench.record("fixed", fixed, stdin=fault.stdin)
    for trace, words, sentence in (
            ("failing", "--against crashing", "crashing is a run of another program: fault_symtab_O0, not fault_ledger_O0"),
            ("failing", "--against fixed", "fixed is a run of another build of fault_ledger_O0"),
            ("failing", "--against nowhere", "nowhere: no such recording"),
            ("failing", "--against nowhere.wet", "nowhere.wet: No such file"),
            ("failing", "--measure ochiai", "--measure ranks what --against=RUN compares"),
            ("failing", "--against sales --measure best", "'best' is no measure: there are ochiai,"),
            ("bare", "--against bare", "the slice has no source lines"),
            ("crashing", "--against crashing", "crashing is no passing run: the same signal ended it")):
        run = bench.wet("replay", bench.path(trace), "--batch", "-e", f"slice backward exit {words}"
                        if trace != "crashing" else f"slice backward crash {words}")
        bench.check(run.status != 0 and sentence in run.err, f"{words}: {sentence!r}", run)
    after = bench.wet("replay", bench.path("failing"), "--batch", "--json", "-e", "slice backward exit --against nowhere",
                      "-e", "slice backward exit").objects()
    bench.check(after[-1]["schema"] == "wetdbg.slice/1", "the next slice is made all the same")


def main_test(bench, _):
    ledger = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    check_ranks(bench, ledger)
    check_crash(bench)
    check_refusals(bench, ledger)


if __name__ == "__main__":
    e2e.main(main_test)
