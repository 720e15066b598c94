#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_silent.py BUILD-DIRECTORY: why a program put out nothing: the switch whose case would have printed."""
import os

import e2e

SOURCE = "silent_switch.c"


def check_file(bench):
    """Of a file that the program wrote, whose end and what is behind it are the same question."""
    with open(bench.path("numbers"), "w") as text:
        text.writelines(f"{n}\n" for n in range(500))
    trace = bench.record("compressed", "/bin/gzip", "-k", "numbers")
    size = os.path.getsize(bench.path("numbers.gz"))
    for place in ("end", size, size + 1000):
        run = bench.wet("replay", trace, "--batch", "-e", f"slice backward output:numbers.gz:{place}")
        wanted = f"no more output to numbers.gz after byte {size - 1}: decided by"
        bench.check(run.status == 0 and wanted in run.out, f"{place}: {wanted}", run)


def main_test(bench, _):
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{SOURCE}") as source:
        switch = 1 + [line.rstrip().endswith("/* SWITCH */") for line in source].index(True)
    trace = bench.record("trace", f"{bench.build}/tests/e2e/e2e_silent_switch")
    for criterion in ("output:end", "output:0", "output:1:end", "output:nowhere:end"):
        run = bench.wet("replay", trace, "--batch", "--json", "-e", f"slice backward {criterion}")
        answers = run.objects()
        bench.check(run.status == 0 and len(answers) == 1, criterion, run)
        lines = {row["line"] for row in answers[0]["lines"] if e2e.base_name(row["file"]) == SOURCE}
        bench.check(switch in lines, f"{criterion}: the slice lacks the switch, line {switch}: {sorted(lines)}")
        what = answers[0]["description"]
        bench.check(f"decided by the branch at {SOURCE}:{switch} " in what, f"{criterion}: {what}")
    check_file(bench)
    run = bench.wet("replay", trace, "--batch", "-e", "slice backward output:2:end")
    bench.check(run.status != 0 and "no branch of its own kept it" in run.err, "nothing speaks of errors", run)


e2e.main(main_test)
