#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random moments of small programs, as built in several ways: the prompt says what gdb says.

test_moments.py BUILD COUNT [COMPILER-LEVEL]...: all ways if none is named."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from e2e import Bench  # noqa: E402
import moments  # noqa: E402

BUILDS = [("gcc", "-O0"), ("gcc", "-Og"), ("gcc", "-O2"), ("gcc", "-O3"), ("clang", "-O0"), ("clang", "-O2")]


def check(bench, source, compiler, level, count):
    name = f"{source}_{compiler}{level}"
    program, trace = bench.path(name), bench.path(name + ".trace")
    built = bench.run(compiler, "-g", level, "-o", program, os.path.join(HERE, f"{source}.c"))
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return
    os.environ.update({name: bench.environment[name] for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")})
    rows = moments.compare(bench.build, bench.work, program, trace, count, 1, compiler == "clang", level == "-O0")
    for moment, found in rows:
        for part, what, left, right in found:
            bench.fail(f"{name}, {moment['pc']:#x}#{moment['count']}, {part}: {what}\n gdb: {left}\nours: {right}")
    print(f"{name}: {sum(not found for _, found in rows)} of {count} moments are the same", flush=True)
    if len(rows) != count:
        bench.fail(f"{name}: gdb came to {len(rows)} of {count} moments")


def main():
    bench = Bench(sys.argv[1])
    count, names = int(sys.argv[2]), sys.argv[3:]
    for compiler, level in BUILDS:
        if not names or compiler + level in names:
            check(bench, "walk", compiler, level, count)
            check(bench, "frames", compiler, level, count)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
