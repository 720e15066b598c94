#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_verb.py BUILD: `wetdbg switch` as a user runs it: what it finds is what the real program under ptrace says; what
it refuses, and its exit statuses."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e

NAMES = ("notes.txt", "aaaabbc", "Makefile", "all:::::")
SYMBOLS = ("a=1", "e=5", "b=2", "i=9", "a", "-i", "e", "b")


def save_right(bench, program, arguments):
    path = bench.path("right")
    with open(path, "w") as file:
        file.write(bench.run(f"{program}_fixed", *arguments).out)
    return path


def ask_native(bench, trace, criterion, right):
    run = bench.run(f"{bench.build}/tests/switch/switch_oracle", "--no-confidence", f"{trace}/wetdbg.wet", criterion,
                    right, "0")
    exact = [row for row in run.objects()[:-1] if row["verdict"] == "exact"]
    first = min(exact, key=lambda row: row["position"])
    return first["switches"][0]["time"], first["switches"][0]["line"], first["position"]


def check_expect(bench):
    """The first finding is that of the real program, run and counted by breakpoints."""
    program = f"{bench.build}/tests/switch/switch_omission_O0"
    right = save_right(bench, program, NAMES)
    trace = bench.record("omission", program, *NAMES)
    run = bench.wet("switch", "--json", f"--expect={right}", trace)
    if not bench.check(run.status == 0, "an omission is not found", run):
        return
    findings = [row for row in run.objects() if row["schema"] == "wetdbg.switch/1" and row["verdict"] == "exact"]
    end = run.objects()[-1]
    first = min(findings, key=lambda row: row["tried"])
    time, line, position = ask_native(bench, trace, "output:72", right)
    bench.check((first["time"], first["line"], first["tried"]) == (time, line, position),
                f"the engine finds {first}, the real program {time}, {line}, {position}")
    bench.check(end["schema"] == "wetdbg.switch-end/1" and end["tried"] and end["target"] == "output:72",
                f"the end is {end}", run)
    again = bench.wet("switch", "--json", f"--expect={right}", trace)
    bench.check(again.status == 0 and again.objects()[-1]["tried"] == 0 and again.objects()[-1]["known"],
                "the journal is not used", again)
    text = bench.wet("switch", f"--expect={right}", "--restart", trace)
    bench.check(text.status == 0 and f"switch_omission.c:{line} in begin" in text.out and "exact" in text.out,
                "the text", text)
    few = bench.wet("switch", f"--expect={right}", "--restart", "--order=lefs", "--budget=2", trace)
    bench.check(few.status == 1 and "none found: 2 switched runs" in few.out, "a budget of 2", few)
    grep = f'cmp -s "$WETDBG_OUTPUT" {right}'
    oracle = bench.wet("switch", "--json", f"--oracle={grep}", "--target=output:72", trace)
    bench.check(oracle.status == 0 and {row["time"] for row in oracle.objects()[:-1]} >= {time},
                "an oracle that is a command", oracle)
    refused = bench.wet("switch", "--oracle=true", trace)
    bench.check(refused.status == 2 and "does not fail" in refused.err, "an oracle that likes all", refused)
    flaky = bench.wet("switch", f"--oracle=test -e {bench.path('once')} && exit 0; touch {bench.path('once')}; exit 1",
                      trace)
    bench.check(flaky.status == 2 and "two answers" in flaky.err, "a flaky oracle", flaky)


def check_crash(bench):
    program = f"{bench.build}/tests/programs/fault_symtab_O0"
    run = bench.wet("switch", "--no-crash", "--json", "--", program, *SYMBOLS)
    findings = run.objects()[:-1]
    bench.check(run.status == 0 and findings and all(row["verdict"] == "no-crash" for row in findings), "a crash", run)


def check_refusals(bench):
    for arguments, said in ((["x"], "says what is right"), (["--no-crash", "--expect=/dev/null", "x"], "only one"),
                            (["--expect=/nowhere", f"{bench.path('omission')}"], "/nowhere"),
                            (["--no-crash", f"{bench.path('omission')}"], "did not crash"),
                            (["--no-crash", "--order=best", f"{bench.path('omission')}"], "")):
        run = bench.wet("switch", *arguments)
        bench.check(run.status == 2 or (run.status == 5 and "/nowhere" in run.err), f"{arguments} is not refused", run)
        bench.check(said in run.err and run.err.count("\n") == 1, f"{arguments}: what is said", run)


def test(bench, _):
    check_expect(bench)
    check_crash(bench)
    check_refusals(bench)


e2e.main(test)
