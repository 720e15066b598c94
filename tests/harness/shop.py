# SPDX-License-Identifier: GPL-3.0-or-later
"""The project that these tests build: a library with a fault in shop.c, and tests of it."""
import os
import shutil

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
with open(f"{SOURCE}/shop.c") as file:
    FAULT = [number for number, text in enumerate(file, 1) if "/* FAULT" in text][0]


def skip(test, why):
    print(f"SKIPPED: {test}: {why}", flush=True)


def has_gtest(bench):
    """Its headers, and a compiler for them."""
    return shutil.which("c++") and bench.run("c++", "-E", "-x", "c++", "-include", "gtest/gtest.h",
                                             os.devnull).status == 0


def make(bench, name, *options):
    """Configures and builds. The build directory."""
    build = bench.path(name)
    for command in (("cmake", "-S", SOURCE, "-B", build, *options), ("cmake", "--build", build, "-j2")):
        run = bench.run(*command, patience=200)
        if not bench.check(run.status == 0, "the project is not built", run):
            raise SystemExit(bench.finish())
    return build


def names(bench, build):
    run = bench.run("ctest", "--test-dir", build, "--show-only")
    return [line.split(": ")[1] for line in run.out.splitlines() if ": " in line and "Test" in line]
