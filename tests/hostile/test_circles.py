#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_circles.py BUILD-DIRECTORY: a program whose debug information describes types that are made of themselves.
Every question about its variables ends, with an answer of bounded length or one sentence."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

VARIABLES = ("arrays", "pointers", "structures", "types")
QUESTIONS = ("print {}", "print/x {}", "print *{}", "print &{}", "print {}[1]", "print {}.first", "print sizeof({})",
             "ptype {}", "whatis {}", "ptype *{}", "history {}", "slice backward {}")
LONGEST = 1 << 20


def main():
    bench = e2e.Bench(sys.argv[1])
    trace = bench.record("trace", f"{bench.build}/tests/hostile/hostile_circles")
    wet = bench.path("circles.wet")
    run = bench.wet("replay", trace, "--batch", "-o", wet)
    bench.check(run.status == 0, "the .wet is built", run)
    answered = 0
    for variable in VARIABLES:
        for question in QUESTIONS:
            what = question.format(variable)
            run = bench.wet("open", wet, "--batch", "-e", what)
            answered += run.status == 0
            bench.check(run.status is not None and 0 <= run.status <= 5, f"{what}: status {run.status}", run)
            bench.check(len(run.out) < LONGEST, f"{what}: {len(run.out)} bytes")
            bench.check(run.status == 0 or run.err.count("\n") == 1, f"{what}: not one sentence", run)
    bench.check(answered > len(QUESTIONS), "the variables are known")
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
