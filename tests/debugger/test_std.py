#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of C++'s library, against gdb with the printers that come with GCC 12, on the same program; what is in them; and
what is not constructed yet."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from e2e import Bench  # noqa: E402

THERE = ["-ex", "set width 0", "-ex", "break stop", "-ex", "run", "-ex", "up", "-ex", "echo @@\\n"]
# Of a path gdb shows its parts, too.
OTHERWISE = {"path": 'path = filesystem::path "/usr/lib"'}
ANSWERS = {
    "numbers[7]": '"seven"', 'places["there"]': "{x = 3, y = 4.5}", 'places["there"].y': "4.5", 'ages["ann"] + 1': "32",
    "squares[3]": "9", "line[0]": "1", "line[298]": "299", "three[2]": "3", "nested[1][1]": "3", "deep[1][1]": '"b"',
    "bits[1]": "false", "chain[2]": "6", "single[1]": "113 'q'", "row[1]": '"two"', "part[1]": "3", "view[2]": "111 'o'",
    "named[1]": "5", "fixed[1]": "2", "by_reference[0]": "1", "*own": "9", "*owned[99]": "3", "*shared": '"both"', "*maybe": "42",
    "*text": '"inside"', "shared->_M_string_length": "4",
}
REFUSED = {
    'places["no"]': 'has no key "no"', "numbers[3]": "has no key 3", "line[299]": "has no element 299", "*nothing": "it holds nothing",
    'plain["x"]': "has no keys", "*weak": "points to nothing", "numbers[": "is no expression", 'places["x': "is no expression",
}


def masked(text):
    """Without what is another in each run, and names of types as people know them."""
    text = text.replace("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
    return re.sub(r"0x[0-9a-f]*[1-9a-f][0-9a-f]*", "ADDRESS", text)


def rows(text):
    return {line.split(" = ", 1)[0]: line for line in masked(text).splitlines() if " = " in line}


def check_locals(bench, program, trace):
    version = subprocess.run(["g++", "-dumpversion"], stdout=subprocess.PIPE, text=True).stdout.strip()
    ours = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto stop#1", "-e", "up", "-e", "info locals")
    found = rows(ours.out)
    bench.check(len(found) >= 60, "all variables", ours)
    if version != "12":
        print(f"SKIPPED: debugger_std_like_gdb: g++ is {version}, and the answers are those of version 12's printers", flush=True)
        return
    gdb = bench.run("env", "LC_ALL=C.UTF-8", "gdb", "-nx", "-batch", *THERE, "-ex", "info locals", program)
    expected = {**rows(gdb.out.split("@@\n")[-1]), **OTHERWISE}
    bench.check("std::map with" in gdb.out, "gdb has the printers", gdb)
    for name in expected:
        bench.check(found.get(name) == expected[name], f"\n gdb: {expected[name]}\nours: {found.get(name)}")


def ask(bench, trace, *expressions):
    words = [word for expression in expressions for word in ("-e", f"print {expression}")]
    return bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto stop#1", "-e", "up", *words)


def check_elements(bench, trace):
    run = ask(bench, trace, *ANSWERS)
    found = dict(zip(ANSWERS, run.out.splitlines()[-len(ANSWERS):]))
    for expression, expected in ANSWERS.items():
        bench.check(found.get(expression) == f"{expression} = {expected}", f"{expression} is {expected}: {found.get(expression)}")
    for expression, expected in REFUSED.items():
        run = ask(bench, trace, expression)
        bench.check(run.status and expected in run.err, f"{expression}: {expected}", run)


def check_unmade(bench, trace):
    """Before the first of them is constructed anything is there; that ends, and nothing is read that is not there."""
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto main#1", "-e", "set print elements 0", "-e", "info locals",
                    "-e", "print numbers[1]", "-e", "print *own", "-e", "print chain[3]")
    bench.check(run.status in (0, 1, 5) and len(rows(run.out)) >= 60, "what is not constructed", run)


def main():
    bench = Bench(sys.argv[1])
    program, trace = bench.path("std_values"), bench.path("trace")
    compiled = bench.run("g++", "-std=c++20", "-g", "-O0", "-o", program, f"{HERE}/std_values.cc")
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if bench.check(compiled.status == 0 and recorded.status == 0, f"no recording\n{compiled}", recorded):
        check_locals(bench, program, trace)
        check_elements(bench, trace)
        check_unmade(bench, trace)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
