#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_ctest_module.py BUILD: with cmake/WetdbgCTest.cmake each failing test of a project tells of the fault, and nothing
else changes: which tests there are, which fail, how they are called; and those that pass are not recorded."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e
import shop

# Of these nothing can be told: it is not run, hangs, would be swayed, is not built.
SILENT = {"hangs", "till_swayed", "gone"}
ROW = re.compile(r"^ *\d+/\d+ Test +#\d+: (.*?) \.{2,}(.*?) +[\d.]+ sec", re.M | re.S)


def run_tests(bench, build, *options):
    """What CTest says of each test, and what each printed."""
    run = bench.run("ctest", "--test-dir", build, "-j2", "--output-on-failure", *options, patience=250)
    rows = list(ROW.finditer(run.out))
    bench.check(len(rows) > 10, "CTest's rows", run)
    ends = [row.start() for row in rows[1:]] + [len(run.out)]
    said = {row[1]: " ".join(re.sub(r"^[. ]+", "", row[2]).split()) for row in rows}
    return said, {row[1]: run.out[row.end():end] for row, end in zip(rows, ends)}


def recordings(bench):
    return [row["name"] for row in bench.wet("ls", "--json").objects()[0]["recordings"]]


def test(bench, _):
    gtest = f"-DWITH_GTEST={'ON' if shop.has_gtest(bench) else 'OFF'}"
    module = ("-DCMAKE_PROJECT_INCLUDE=" + f"{e2e.SOURCE}/cmake/WetdbgCTest.cmake", f"-DWETDBG_PROGRAM={bench.wetdbg}")
    plain = shop.make(bench, "plain", gtest)
    said, _ = run_tests(bench, plain)
    explained, texts = run_tests(bench, shop.make(bench, "explained", gtest, *module))
    bench.check(said == explained, f"without it {said}, with it {explained}")
    for name, verdict in sorted(said.items()):
        found = f"shop.c:{shop.FAULT} in shop_price" in texts[name]
        expected = "Passed" not in verdict and name not in SILENT
        bench.check(found == expected, f"{name} ({verdict}) {'tells' if found else 'does not tell'} of the fault:\n{texts[name]}")
    right = shop.make(bench, "right", "-DFIXED=ON", *module)
    before = recordings(bench)
    said, _ = run_tests(bench, right, "-E", "hangs|gone|swayed")
    bench.check(set(said.values()) == {"Passed"}, f"without the fault: {said}")
    bench.check(before and recordings(bench) == before, f"tests that pass were recorded: {before}, {recordings(bench)}")
    off = shop.make(bench, "off", *module, "-DWETDBG_EXPLAIN_FAILURES=OFF")
    with open(f"{off}/CTestTestfile.cmake") as file:
        bench.check("Wetdbg" not in file.read(), "it is not to be switched off")


e2e.main(test)
