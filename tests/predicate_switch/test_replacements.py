#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_replacements.py BUILD: values whose replacement repairs a failing run.

gdb is the oracle: the program itself gets the other value in its register, at the same execution of the instruction, and
its output is then as right as the replaced run's was. The faults' lines are among those that repair, and what is found
depends neither on the number of jobs nor, up to its end, on the budget."""
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e

REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
CHECKED = 6  # replacements that gdb makes, of each program
# Faults that some replaced value repairs, and how many lines at most are repaired as often.
NEAR = {"fault_histogram": 1, "fault_matrix": 1, "fault_csvsum": 1, "fault_formatter": 2}


class Failing:
    """A program that fails, recorded and built."""

    def __init__(self, bench, fault):
        self.bench, self.fault, self.answers = bench, fault, {}
        self.program = f"{bench.programs}/{fault.program}_O0"
        self.right = bench.run(f"{self.program}_fixed", *fault.arguments, stdin=fault.stdin).out
        self.expected = bench.path(f"{fault.program}.right")
        with open(self.expected, "w") as file:
            file.write(self.right)
        trace = bench.record(fault.program, self.program, *fault.arguments, stdin=fault.stdin)
        self.wet = f"{trace}/wetdbg.wet"
        bench.check(bench.wet("replay", trace, "--batch", "-e", "info threads").status == 0, f"{fault.program}: replay")

    def ask(self, *options):
        """(those that repair, lines, the end), each question once."""
        if options not in self.answers:
            self.answers[options] = self.asked(*options)
        return self.answers[options]

    def asked(self, *options):
        run = self.bench.run(f"{self.bench.build}/tests/predicate_switch/replace_driver", *options, self.wet,
                             self.fault.criterion, self.expected, "0")
        if not self.bench.check(run.status == 0 and not run.err, f"{self.fault.program}: {' '.join(options)}", run):
            return [], [], {"tried": 0}
        rows = run.objects()
        return [row for row in rows if "verdict" in row], [row for row in rows if "of" in row], rows[-1]

    def natively(self, item):
        """The output of the program if gdb replaces the value."""
        out = self.bench.path("native.out")
        start = f"starti {shlex.join(self.fault.arguments)} > {out} < {self.fault.stdin or '/dev/null'}"
        place = f"break *(0x555555554000+{item['pc']:#x})"
        commands = ["set confirm off", "set startup-with-shell on", "set pagination off", start, place,
                    f"ignore 1 {item['instance'] - 1}", "continue", "delete", "stepi",
                    f"set ${REGISTERS[item['reg']]} = {item['is']}", "continue"]
        each = [word for command in commands for word in ("-ex", command)]
        run = subprocess.run(["gdb", "-nx", "-q", "-batch", *each, self.program], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        with open(out) as file:
            return file.read(), run.stdout


def common(one, other):
    return next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))


def check_natively(bench, failing):
    items = [item for item in failing.ask()[0] if item["reg"] >= 0 and 0 <= item["was"] < 1 << 32]  # no addresses
    wrong = int(failing.fault.criterion.split(":")[1])
    items = items[::max(1, len(items) // CHECKED)][:CHECKED]
    bench.check(len(items) >= 2, f"{failing.fault.program}: replacements in registers")
    for item in items:
        output, said = failing.natively(item)
        is_right = output == failing.right if item["verdict"] == "exact" else common(output, failing.right) > wrong
        bench.check(is_right, f"{failing.fault.program}: {item}: gdb has {output!r}\n{said}")


def check_lines(bench, failing):
    """The fault's line is repaired as often as any but some."""
    lines = failing.ask()[1]
    count = lambda row: (row["exact"] > 0, row["exact"] + row["prefix"])
    own = next((row for row in lines if row["line"] == failing.fault.line), None)
    most = NEAR[failing.fault.program]
    bench.check(own and sum(count(row) >= count(own) for row in lines) <= most, f"{failing.fault.program}: {lines}")


def check_same(bench, failing):
    """Jobs change nothing; a budget leaves a beginning."""
    items, lines, end = failing.ask()
    bench.check((items, lines) == failing.ask("--jobs", "3")[:2], f"{failing.fault.program}: three jobs")
    bench.check(end["tried"] == end["listed"] > 500, f"{failing.fault.program}: all are tried: {end}")
    some, _, early = failing.ask("--budget", "300")
    bench.check(early["tried"] == 300 and all(item in items for item in some), f"{failing.fault.program}: a budget: {early}")


def check_passing(bench, failing):
    """A passing run's values are natural, too: there are more to try."""
    fixed = bench.record("passing", failing.program, stdin="/dev/null")
    bench.check(bench.wet("replay", fixed, "--batch", "-e", "info threads").status == 0, "the passing run")
    more = failing.ask("--passing", f"{fixed}/wetdbg.wet")[2]
    bench.check(more["listed"] >= failing.ask("--budget", "1")[2]["listed"], f"with a passing run: {more}")


def test(bench, _):
    faults = {fault.program: fault for fault in e2e.faults()}
    failing = {name: Failing(bench, faults[name]) for name in NEAR}
    for one in failing.values():
        check_lines(bench, one)
    check_natively(bench, failing["fault_matrix"])
    check_natively(bench, failing["fault_formatter"])
    check_same(bench, failing["fault_histogram"])
    check_passing(bench, failing["fault_csvsum"])


e2e.main(test)
