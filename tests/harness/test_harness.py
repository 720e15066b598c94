#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_harness.py BUILD: `wetdbg switch --ctest` and `--harness` find the fault of a project by its failing tests,
whatever they were written with; what they refuse; and what they write for other tools."""
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e
import shop

# The test, the framework, its case that fails, the file with the assertion, and Debian's package.
FRAMEWORKS = (("cmocka", "cmocka", "test_price", "shop_cmocka.c", "libcmocka-dev"),
              ("check", "Check", "test_price", "shop_check.c", "check"),
              ("cunit", "CUnit", "prices", "shop_cunit.c", "libcunit1-dev"),
              ("gtest", "GoogleTest", "Shop.Prices", "shop_gtest.cc", "libgtest-dev, g++"),
              ("tap", "TAP", "3 - ten pieces", "shop_tap.c", None))
# test_ctest_module.py has all of them.
OTHERS = ("assert", "forks", "till_prints", "till_refuses", "script")


def marked(name):
    """The line of the assertion that fails."""
    with open(f"{shop.SOURCE}/{name}") as file:
        return [number for number, text in enumerate(file, 1) if re.search(r"10, 10\)", text)][-1]


def find(bench, build, name, *options):
    run = bench.wet("switch", "--json", f"--ctest={name}", f"--build={build}", *options)
    if not bench.check(run.status == 0 and run.out, f"{name}: no critical predicate", run):
        return [], {}
    *findings, end = run.objects()
    found = {(e2e.base_name(row["file"]), row["line"], row["verdict"]) for row in findings}
    bench.check(found == {("shop.c", shop.FAULT, "exact")}, f"{name}: what was found is {found}", run)
    bench.check(end["schema"] == "wetdbg.switch-end/1" and end["test"] == name and not end["in_test"] and end["tried"],
                f"{name}: the end is {end}")
    return findings, end


def check_frameworks(bench, build, there):
    ends = {}
    for name, framework, case, file, package in FRAMEWORKS:
        if name not in there:
            shop.skip("test_harness", f"{framework} (Debian: {package}) is not installed")
            continue
        _, end = find(bench, build, name)
        ends[name] = end
        got = tuple(end.get(key) for key in ("framework", "case", "assertion_line"))
        bench.check(got == (framework, case, marked(file)), f"{name}: {got}")
    return ends


def check_filters(bench, ends):
    """What the framework can leave out is not in the recording: no case but the failing one."""
    for name, said in (("check", "Checks: 1, Failures: 1"), ("gtest", "Running 1 test from")):
        if name in ends:
            run = bench.wet("replay", ends[name]["recording"], "--batch", "-e", "output 1")
            bench.check(run.status == 0 and said in run.out, f"{name}: others ran, too", run)


def check_others(bench, build):
    for name in OTHERS:
        _, end = find(bench, build, name)
        bench.check(end.get("case") is None, f"{name}: {end}")
        is_child = name in ("forks", "script")
        bench.check(is_child == (end["process"] != processes(bench, end["recording"])[0]), f"{name}: {end['process']}")


def processes(bench, trace):
    return [row["select"] for row in bench.wet("ps", "--json", trace).objects()[0]["processes"]]


def check_program(bench, build):
    """The same without CTest: a program, and a case of it by its name."""
    run = bench.wet("switch", "--harness", "--case=ten pieces", "--", f"{build}/shop_tap")
    bench.check(run.status == 0 and f"shop.c:{shop.FAULT} in shop_price" in run.out and "3 - ten pieces" in run.out,
                "--harness", run)


def check_refusals(bench, build):
    empty = bench.path("empty")
    os.mkdir(empty)
    at = f"--build={build}"
    for words, status, said in (
            (("--ctest=tll", at), 2, "did you mean 'till'"), (("--ctest=till_nine", at), 2, "passes"),
            (("--ctest=tap", "--case=2", at), 2, "passes"), (("--ctest=tap", "--case=ten peaces", at), 2, "no test that"),
            (("--ctest=hangs", at), 3, "did not end within 1 s"), (("--ctest=gone", at), 2, "is it built?"),
            (("--ctest=till", "--build=/nowhere"), 2, "no build directory /nowhere"),
            (("--ctest=till",), 2, "--build=DIR"), (("--ctest=till", f"--build={empty}"), 2, "CTestTestfile.cmake"),
            (("--ctest=till", at, "x"), 2, "takes no program"), (("--build=x", "--harness", "x"), 2, "goes with --ctest"),
            (("--ctest=till", "--expect=x", at), 2, "only one"), (("--harness",), 2, "needs the test program"),
            (("--harness", "--", f"{build}/shop_bare"), 3, "no debug information"),
            (("--harness", "--", "/nowhere/program"), 125, "no program /nowhere/program"), ((), 2, "says what is right")):
        run = bench.wet("switch", *words)
        bench.check(run.status == status and said in run.err and run.err.count("\n") == 1 and not run.out,
                    f"{words} is not refused so", run)
    bench.environment["WETDBG_RR"] = "/bin/false"
    run = bench.wet("switch", "--ctest=till", at)
    del bench.environment["WETDBG_RR"]
    bench.check(run.status == 5 and "'till' could not be recorded" in run.err, "a recorder that fails", run)


def check_junit(bench, build):
    path = bench.path("junit.xml")
    strange = "--ctest=<\"&'>\x01"
    for name, words in (("till", ("--ctest=till",)), (strange, (strange,))):
        run = bench.wet("switch", *words, f"--build={build}", f"--junit={path}", "--budget=60s")
        bench.check(run.status == 0, name, run)
        suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
        case = suite.find("testcase")
        failure = case.find("failure")
        bench.check(suite.get("failures") == suite.get("tests") == "1" and case.get("line") == str(shop.FAULT)
                    and case.get("file").endswith("/shop.c") and f"shop.c:{shop.FAULT} in" in failure.get("message")
                    and case.get("classname") == words[0][len("--ctest="):].replace("\x01", "?"), f"{name}: JUnit",
                    bench.run("cat", path))
    run = bench.wet("switch", "--ctest=till", f"--build={build}", "--junit=/nowhere/x")
    bench.check(run.status == 5 and "/nowhere/x" in run.err, "a file that cannot be written", run)


# What names of tests may hold: what shells, XML, TAP, CMake, formats and terminals take for something else.
HOSTILE = ("$(touch PWNED) `touch PWNED`; touch PWNED \"; touch PWNED #", "<a b='c'>&]]>\" caf\u00e9 \ufffe", "\x1b[31mred\x1b[0m",
           "--junit=../../PWNED", "one\ntwo %s%n", "a;b ${HOME} $ENV{HOME}", "x\rok 3 # TODO not so")


def check_hostile(bench, build):
    """Whatever a test is called, it is that which is told, as text, in every form of the answer; nothing of it is run."""
    hostile, path = bench.path("hostile"), bench.path("hostile.xml")
    os.mkdir(hostile)
    with open(f"{hostile}/CTestTestfile.cmake", "w", newline="") as file:
        for name in HOSTILE:
            file.write(f"add_test([==[{name}]==] {build}/shop_till 10 10 90)\n")
    before = set(os.listdir(hostile)) | {"Testing"}
    for number, name in enumerate(HOSTILE):
        words = ("switch", f"--ctest={name}", f"--build={hostile}", "--budget=60s")
        run = bench.wet(*words, "--tap", f"--junit={path}")
        case = xml.etree.ElementTree.parse(path).getroot().find("testsuite/testcase")
        shown = "".join(c if c >= " " and c != "\ufffe" or c in "\n\t" else "?" for c in name)
        bench.check(run.status == 0 and case.get("classname") == shown, f"{name!r}: {case.get('classname')!r}", run)
        tests = [line for line in run.out.splitlines() if line.startswith(("ok", "not ok", "1.."))]
        bench.check(len(tests) == 2 and "#" not in tests[1] and "\n  ---\n" in run.out, f"{name!r}: TAP", run)
        text = bench.wet(*words, *(["--json"] if number % 2 else []))
        told = [row.get("test") for row in text.objects()] if number % 2 else [name]
        bench.check(name in told, f"{name!r}: {told}", text)
        bench.check(text.status == 0 and not any(c < " " and c not in "\n\t" for c in text.out + text.err + run.out + run.err),
                    f"{name!r} reaches the terminal", text)
    bench.check(set(os.listdir(hostile)) <= before and not os.path.exists(bench.path("PWNED")), f"{os.listdir(hostile)}")
    wrapped = bench.wet("switch", "--wrap", "--", "/nowhere/\x1b[7m")
    bench.check(wrapped.status == 127 and "\x1b" not in wrapped.err and "cannot run /nowhere/" in wrapped.err, "--wrap", wrapped)
    endless = bench.wet("switch", "--harness", "--", "yes")
    bench.check(endless.status == 3 and "'yes' printed more than 64 MB" in endless.err, "a test that prints for ever", endless)


def check_tap(bench, build):
    run = bench.wet("switch", "--tap", "--ctest=tap", f"--build={build}")
    lines = run.out.splitlines()
    bench.check(run.status == 0 and lines[:4] == ["TAP version 13", "1..1", "not ok 1 - tap: 3 - ten pieces", "  ---"]
                and lines[-1] == "  ...", "TAP", run)
    block = dict(line.strip(" -").split(": ", 1) for line in lines[4:-1] if ": " in line)
    bench.check(json.loads(block["line"]) == shop.FAULT and json.loads(block["verdict"]) == "exact"
                and f"shop.c:{shop.FAULT}" in json.loads(block["message"]), f"TAP's block: {block}")
    if not shutil.which("prove"):
        shop.skip("test_harness", "prove (Debian: perl) is not installed")
        return
    file = bench.path("answer.tap")
    with open(file, "w") as tap:
        tap.write(run.out)
    proved = bench.run("prove", "--exec", "cat", file)
    bench.check(proved.status != 0 and "Failed 1/1 subtests" in proved.out + proved.err
                and "Parse errors" not in proved.out + proved.err, "prove", proved)


def test(bench, _):
    gtest = shop.has_gtest(bench)
    build = shop.make(bench, "project", f"-DWITH_GTEST={'ON' if gtest else 'OFF'}")
    there = shop.names(bench, build)
    bench.check("till" in there, f"the tests are {there}")
    ends = check_frameworks(bench, build, there)
    check_filters(bench, ends)
    check_others(bench, build)
    check_program(bench, build)
    check_refusals(bench, build)
    check_junit(bench, build)
    check_hostile(bench, build)
    check_tap(bench, build)


e2e.main(test)
