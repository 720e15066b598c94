#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_locate_tests.py BUILD: `wetdbg locate` on a failing test finds what is tested, not the check that noticed it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e
import shop

with open(f"{shop.SOURCE}/bag.c") as file:
    FAULT = [number for number, text in enumerate(file, 1) if "/* FAULT" in text][0]
PIECES_MAX, STEPS_HALF = 63, 6
# Which files are a test's by name.
NAMES = {"test_bag.c": True, "bag_test.c": True, "bag-tests.c": True, "BagTest.c": True, "test1.c": True, "TEST_BAG.c": True,
         "TestSuite.c": True, "TestString.c": True, "XMLTest.c": True, "arrayTests.c": True, "a.test.c": True,
         "LATEST.c": False, "latest.c": False, "attest_it.c": False, "testing.c": False, "contest.c": False, "testament.c": False}


def build(bench, name, *sources):
    run = bench.run("cc", "-g", "-O0", "-o", bench.path(name), *sources, cwd=shop.SOURCE)
    if not bench.check(run.status == 0, f"{name} is not built", run):
        raise SystemExit(bench.finish())


def located(bench, program):
    run = bench.wet("locate", "--harness", "--json", "--features", "--limit=0", "--budget=20", "--", program)
    answers = run.objects()
    if not bench.check(run.status == 0 and answers and "suspects" in answers[-1], f"{program}: an answer", run):
        raise SystemExit(bench.finish())
    return answers[-1]


def own_score(row, weights):
    return sum(row["features"][name] * weight for name, weight in weights.items())


def check_ranks(bench, answer):
    """The fault is first; the test's own lines keep a share of their scores, also of what lifts them."""
    weights, constants = e2e.weights()
    first = answer["suspects"][0]
    bench.check((e2e.base_name(first["file"]), first["line"]) == ("bag.c", FAULT), f"first is {first}")
    bench.check(answer["criterion"]["kind"] == "test" and answer["criterion"]["text"] == "exit", f"{answer['criterion']}")
    for row in answer["suspects"]:
        is_test = e2e.base_name(row["file"]) == "test_bag.c"
        bench.check(row["evidence"]["in_test"] == is_test, f"{row['file']}: {row['evidence']}")
        bench.check(any(reason["kind"] == "test" for reason in row["reasons"]) == is_test, f"{row['reasons']}")
        if not any(reason["kind"] == "beside" for reason in row["reasons"]):
            own = own_score(row, weights)
            kept = constants["LOC_TEST"] if is_test and own > 0 else 1
            bench.check(abs(row["score"] - own * kept) < 1e-9, f"the score of {row}")


def check_steps(bench, answer):
    """In how many steps of the test a line ran, and how long ago, counted by the times of instances."""
    ask = lambda *commands: bench.wet("open", answer["run"], "--batch", "--json", *(word for command in commands for word in ("-e", command))).objects()
    sliced, = ask("slice backward exit")
    until = answer["criterion"]["time"]
    times = sorted({line["last_time"] for line in sliced["lines"] if line["file"] and e2e.base_name(line["file"]) == "test_bag.c"
                    and line["last_time"] < until})[-PIECES_MAX:]
    bench.check(len(times) > 10, f"several steps: {times}")
    rows = [row for row in answer["suspects"] if e2e.base_name(row["file"]) == "bag.c"]
    equal = 0
    for row, found in zip(rows, ask(*(f"instances bag.c:{row['line']} --limit=0" for row in rows))):
        ran = {next((i for i, end in enumerate(times) if item["time"] <= end), len(times)) for item in found["instances"] if item["time"] <= until}
        ago = len(times) - max(ran, default=len(times))
        evidence = row["evidence"]
        equal += (evidence["pieces"], evidence["pieces_ago"], evidence["in_failing_piece"]) == (len(ran - {len(times)}), ago, len(times) in ran)
        others = evidence["pieces"] - (0 if evidence["in_failing_piece"] or not evidence["pieces"] else 1)
        late = 1 if evidence["in_failing_piece"] else 2 ** (-evidence["pieces_ago"] / STEPS_HALF)
        bench.check(abs(row["features"]["piece_ochiai"] - late / (1 + others) ** 0.5) < 1e-9 and
                    abs(row["features"]["piece_only"] - (0 if others else late)) < 1e-9, f"features of {row}")
    # A loop that goes on is no new instance of its line.
    bench.check(equal >= len(rows) - 3, f"only {equal} of {len(rows)} lines have the steps of their instances")


def check_one_file(bench):
    """Where all that ran is the test's own, nothing is taken from its lines."""
    with open(bench.path("test_whole.c"), "w") as out:
        for name in ("bag.c", "test_bag.c", "bag_runner.c"):
            with open(f"{shop.SOURCE}/{name}") as file:
                out.write(file.read().replace('#include "bag.h"', f'#include "{shop.SOURCE}/bag.h"' if name == "bag.c" else ""))
    build(bench, "whole", bench.path("test_whole.c"))
    weights, _ = e2e.weights()
    answer = located(bench, "./whole")
    own = [row for row in answer["suspects"] if not any(reason["kind"] == "beside" for reason in row["reasons"])]
    bench.check(own and all(abs(row["score"] - own_score(row, weights)) < 1e-9 for row in own), "scores as they are")
    bench.check(not any(reason["kind"] == "test" for row in answer["suspects"] for reason in row["reasons"]), "no reason")


def check_names(bench):
    """A file is a test's own by a word of its name; that with main() is, too, if a framework is known."""
    for number, (name, is_test) in enumerate(NAMES.items()):
        with open(f"{shop.SOURCE}/test_bag.c") as file, open(bench.path(name), "w") as out:
            out.write(file.read().replace('"bag.h"', f'"{shop.SOURCE}/bag.h"'))
        build(bench, f"named{number}", bench.path(name), "bag.c", "bag_runner.c")
        run = bench.wet("locate", "--harness", "--json", "--limit=0", "--budget=1", "--", f"./named{number}")
        rows = [row for row in run.objects()[-1]["suspects"] if e2e.base_name(row["file"]) == name]
        bench.check(rows and all(row["evidence"]["in_test"] == is_test for row in rows), f"{name}: {rows[:1]}", run)
    build(bench, "shop", "shop.c", "shop_unity.c")
    run = bench.wet("locate", "--harness", "--json", "--limit=0", "--budget=1", "--", "./shop")
    found = {(e2e.base_name(row["file"]), row["evidence"]["in_test"]) for row in run.objects()[-1]["suspects"]}
    bench.check({("shop.c", False), ("shop_unity.c", True)} <= found, f"a framework's main(): {found}", run)


def run_test(bench, _):
    build(bench, "bag", "bag.c", "test_bag.c", "bag_runner.c")
    answer = located(bench, "./bag")
    check_ranks(bench, answer)
    check_steps(bench, answer)
    check_one_file(bench)
    check_names(bench)


e2e.main(run_test)
