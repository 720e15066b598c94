#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_ci.py BUILD: `wetdbg ci` is as if it were not there, and tells of a failure what led there."""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e
import shop

FILES = {"locate.txt", "locate.html", "locate.json", "locate.sarif", "junit.xml", "summary.md", "output.txt", "run.wet"}


def count_recordings(bench):
    return len(bench.wet("ls", "--json").objects()[0]["recordings"])


def build(bench):
    for name, words in (("case", ["-g", "ci_case.c"]), ("bare", ["ci_case.c"]), ("shop", ["-g", "shop.c", "shop_unity.c"]),
                        ("till", ["-g", "shop.c", "shop_till.c"]), ("pay", ["-g", "-O0", "ci_pay.c"])):
        run = bench.run("cc", "-o", bench.path(name), *words, cwd=shop.SOURCE)
        if not bench.check(run.status == 0, f"{name} is not built", run):
            raise SystemExit(bench.finish())


def read(bench, *names):
    with open(bench.path(*names), errors="replace") as file:
        return file.read()


def check_pass(bench):
    """A test that passes: nothing but the test."""
    with open(bench.path("runs"), "w") as file:
        file.write("5\n")
    before = count_recordings(bench)
    run = bench.wet("ci", "--", "./case", "count", "runs", "1000")
    bench.check(run.status == 0 and not run.err and run.out == "run 5\n", "its output alone", run)
    bench.check(read(bench, "runs") == "6\n", "it ran once")
    bench.check(not os.path.exists(bench.path("wetdbg-report")) and count_recordings(bench) == before, "nothing is kept")


def check_failure(bench):
    """A framework's failing case: all reports tell of one list, standard output is the test's, and so is the status."""
    native = bench.run("./shop")
    with open(bench.path("steps.md"), "w") as file:
        file.write("before\n")
    bench.environment["GITHUB_STEP_SUMMARY"] = bench.path("steps.md")
    run = bench.wet("ci", "--report=a/b", "--budget=4", "./shop")
    del bench.environment["GITHUB_STEP_SUMMARY"]
    bench.check(run.status == native.status == 1 and run.out == native.out, "as it is", run)
    if not bench.check(set(os.listdir(bench.path("a", "b"))) == FILES, f"{os.listdir(bench.path('a', 'b'))}", run):
        return
    bench.check(read(bench, "a", "b", "output.txt") == native.out + native.err, "what the recorded run printed", run)
    answer = json.loads(read(bench, "a", "b", "locate.json"))
    places = [f"{e2e.base_name(row['file'])}:{row['line']}" for row in answer["suspects"]]
    bench.check(answer["final"] and answer["criterion"]["kind"] == "test" and f"shop.c:{shop.FAULT}" in places[:10],
                f"{answer['criterion']}: {places}", run)
    results = json.loads(read(bench, "a", "b", "locate.sarif"))["runs"][0]["results"]
    lines = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results]
    bench.check(lines == [row["line"] for row in answer["suspects"][:10]], f"SARIF: {lines}", run)
    case = xml.etree.ElementTree.parse(bench.path("a", "b", "junit.xml")).getroot().find("testsuite/testcase")
    bench.check(case.get("name") == "./shop: test_price" and places[0] in case.find("failure").text, "JUnit", run)
    bench.check(all(place in read(bench, "a", "b", "locate.html") for place in places[:10]), "a page", run)
    bench.check(all(f"{n + 1}. {place}" in read(bench, "a", "b", "locate.txt") for n, place in enumerate(places[:10])), "text", run)
    bench.check(all(f"{n + 1}. {place}" in run.err for n, place in enumerate(places[:3])) and "a/b" in run.err, "said", run)
    summary = read(bench, "a", "b", "summary.md")
    bench.check(read(bench, "steps.md") == "before\n" + summary and f"| 1 | {places[0]}".replace("_", "&#95;") in summary, summary, run)
    shown = bench.wet("open", "a/b/run.wet", "--batch", "-e", f"slice backward {answer['criterion']['text']}", "-e",
                      answer["suspects"][0]["reasons"][0]["command"])
    bench.check(shown.status == 0, "run.wet", shown)


def check_children(bench):
    """A script, and CTest if it is there, of whose processes one fails."""
    with open(bench.path("all.sh"), "w") as file:
        file.write("./till 10 2 20 && ./till 10 10 90\n")
    commands = [["sh", "all.sh"]]
    if shutil.which("ctest"):
        os.mkdir(bench.path("tree"))
        with open(bench.path("tree", "CTestTestfile.cmake"), "w") as file:
            file.write(f"add_test(right {bench.path('till')} 10 2 20)\nadd_test(wrong {bench.path('till')} 10 10 90)\n")
        commands.append(["ctest", "--test-dir", "tree"])
    else:
        shop.skip("test_ci", "ctest (Debian: cmake) is not installed")
    for number, command in enumerate(commands):
        run = bench.wet("ci", f"--report=children{number}", "--budget=3", "--", *command, patience=120)
        bench.check(run.status == (8 if number else 1) and "in it, process" in run.err, f"{command}", run)
        bench.check(os.path.exists(bench.path(f"children{number}", "locate.json")), "an answer", run)
        answer = json.loads(read(bench, f"children{number}", "locate.json"))
        bench.check(shop.FAULT in [row["line"] for row in answer["suspects"] if row["file"].endswith("/shop.c")][:4], f"{command}", run)


# A script that compares what programs put out: its own text, its exit status, the tool's words, the criterion and its kind.
COMPARING = (("cp bare other\n./pay 700 out.o\ncmp out.o out.650 || exit 1\n./pay 500 out.o\nif cmp -s out.o out.r; then :; else\n"
              "echo wrong\nfail=127\nfi\nrm out.o\ncmp -s other case\nexit $fail\n", 127, "cmp -s out.o out.r", "output:out.o:7", "compared"),
             ("./pay 500 | diff - out.r || exit 3\n", 3, "diff - out.r", "output:7", "output"),
             ("(./pay 500 > out.o)\ndiff -u -I x out.r out.o > log\n", 1, "diff -u -I x out.r out.o", "output:7", "output"))


def check_comparing(bench):
    """A script's comparison fails: what is looked at is the program that the user wrote, not shell or tool."""
    with open(os.path.join(shop.SOURCE, "ci_pay.c")) as source:
        fault, = (number for number, text in enumerate(source, 1) if "/* FAULT" in text)
    for name, text in (("out.r", "price 400\n"), ("out.650", "price 650\n")):
        with open(bench.path(name), "w") as file:
            file.write(text)
    for number, (script, status, words, criterion, kind) in enumerate(COMPARING):
        with open(bench.path("check.sh"), "w") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(bench.path("check.sh"), 0o755)
        run = bench.wet("ci", f"--report=compared{number}", "--budget=1", "--", "./check.sh", patience=120)
        bench.check(run.status == status and f"./pay, whose output '{words}' found wrong" in run.err, f"{words}", run)
        if bench.check(os.path.exists(bench.path(f"compared{number}", "locate.json")), f"{words}: no answer", run):
            answer = json.loads(read(bench, f"compared{number}", "locate.json"))
            bench.check((answer["criterion"]["text"], answer["criterion"]["kind"]) == (criterion, kind), f"{answer['criterion']}", run)
            suspects = [row["line"] for row in answer["suspects"] if row["file"].endswith("/ci_pay.c")]
            bench.check(fault in suspects, f"{words}: {suspects}", run)
    run = bench.wet("ci", "--report=other", "--budget=1", "--", "sh", "-c", "./till 10 10 90 || exit 7")
    bench.check(run.status == 7 and " failed: ./till\n" in run.err, "another status than the program's", run)
    run = bench.wet("ci", "--report=unknown", "--budget=1", "--", "sh", "-c", "cp out.r r; ./pay 500 | cmp -s - r || { rm r; exit 4; }")
    bench.check(run.status == 4 and "what it should have put out is not known" in run.err, "what is right is gone", run)


def check_input(bench):
    """A file is read again from where it was; of a pipe nothing is left."""
    with open(bench.path("numbers"), "w") as file:
        file.write("700 5 6\n")
    with open(bench.path("numbers")) as file:
        os.lseek(file.fileno(), 4, os.SEEK_SET)
        run = subprocess.run([bench.wetdbg, "ci", "--report=file", "--budget=1", "./case", "read"], stdin=file, capture_output=True,
                             text=True, env=bench.environment, cwd=bench.work, timeout=60)
    bench.check(run.returncode == 1 and run.stdout == "sum 11\n" == read(bench, "file", "output.txt"), f"{run}")
    run = subprocess.run([bench.wetdbg, "ci", "--report=pipe", "--tries=1", "./case", "read"], input="11\n", capture_output=True,
                         text=True, env=bench.environment, cwd=bench.work, timeout=60)
    bench.check(run.returncode == 1 and run.stdout == "sum 11\n" and "standard input" in run.stderr and "none of 1" in run.stderr, f"{run}")


def check_flaky(bench):
    """It fails natively, and again in the fourth run that is recorded; or not at all."""
    run = bench.wet("ci", "--report=flaky", "--budget=1", "./case", "count", "rare", "4")
    bench.check(run.status == 3 and "of the recorded runs the 4. failed" in run.err, "flaky", run)
    bench.check(read(bench, "flaky", "output.txt") == "run 4\n", "the last run's output alone", run)
    before = count_recordings(bench)
    run = bench.wet("ci", "--report=seldom", "--tries=2", "./case", "count", "rarer", "100")
    bench.check(run.status == 3 and "none of 2 recorded runs failed" in run.err and count_recordings(bench) == before, "rare", run)
    bench.check(os.listdir(bench.path("seldom")) == ["summary.md"] and "flaky" in read(bench, "seldom", "summary.md"), "what is kept", run)


def start(bench, *words, **how):
    return subprocess.Popen([bench.wetdbg, "ci", "--report=signals", "--", *words], env=bench.environment, cwd=bench.work, **how)


def check_signals(bench):
    """What is sent goes to the test, and a test that was told to end is not asked why."""
    for number in (signal.SIGTERM, signal.SIGINT):
        child = start(bench, "./case", "wait", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stdout.readline()
        child.send_signal(signal.SIGUSR1)
        time.sleep(0.1)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        bench.check(child.returncode == 9 and out == "told 1, also 1\n" and not err, f"{number}: {child.returncode} {out} {err}")
    run = bench.wet("ci", "--report=crash", "--budget=1", "./case", "crash")
    bench.check(run.status == -signal.SIGSEGV and "SIGSEGV" in read(bench, "crash", "locate.txt"), "a crash", run)


def check_terminal(bench):
    """The test has the terminal; Ctrl-C comes to it once."""
    for words, typed, wanted, status in ((["terminal"], None, b"a terminal", 0), (["wait"], b"\x03", b"told 1, also 0", 9)):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(bench.work)
            os.execve(bench.wetdbg, [bench.wetdbg, "ci", "./case", *words], bench.environment)
        text = b""
        while wanted not in text:
            try:
                more = os.read(fd, 4096)
            except OSError:
                break
            text += more
            if typed and b"ready" in text:
                os.write(fd, typed)
                typed = None
        _, ended = os.waitpid(pid, 0)
        os.close(fd)
        bench.check(wanted in text and os.waitstatus_to_exitcode(ended) == status, f"{words}: {text} {ended}")


def check_bad(bench):
    """What cannot be done is one sentence, and the status is the test's."""
    run = bench.wet("ci", "./nowhere")
    bench.check(run.status == 127 and run.err == "wetdbg: ci: there is no program ./nowhere\n", "no command", run)
    run = bench.wet("ci", "./numbers")
    bench.check(run.status == 126 and "./numbers: Permission denied" in run.err and run.err.count("\n") == 1, "no program", run)
    for words, what in (((), "which COMMAND"), (("--tries=0", "true"), "--tries"), (("--budget=soon", "true"), "--budget"),
                        (("--report=", "true"), "--report")):
        run = bench.wet("ci", *words)
        bench.check(run.status == 2 and what in run.err and run.err.count("\n") == 1, f"{words}", run)
    run = bench.wet("ci", "--report=numbers/x", "--budget=1", "./case", "crash")
    bench.check(run.status == -signal.SIGSEGV and "no reports are kept: numbers" in run.err and "case.c" in run.err, "no folder", run)
    run = bench.wet("ci", "--report=bare.out", "--budget=1", "./bare", "crash")
    bench.check(run.status == -signal.SIGSEGV and "no source lines" in run.err and "summary.md" in os.listdir(bench.path("bare.out")),
                "no debug information", run)
    bench.environment["WETDBG_RR"] = "/nowhere/rr"
    run = bench.wet("ci", "--report=norr", "./case", "crash")
    del bench.environment["WETDBG_RR"]
    bench.check(run.status == -signal.SIGSEGV and "could not be recorded" in run.err and "/nowhere/rr" in run.err, "no rr", run)
    bench.environment["WETDBG_WRAPPED"] = "1"
    run = bench.wet("ci", "./case", "crash")
    del bench.environment["WETDBG_WRAPPED"]
    bench.check(run.status == -signal.SIGSEGV and not run.err, "in another that looks for the fault", run)


def test(bench, _):
    build(bench)
    check_pass(bench)
    check_failure(bench)
    check_children(bench)
    check_comparing(bench)
    check_input(bench)
    check_flaky(bench)
    check_signals(bench)
    check_terminal(bench)
    check_bad(bench)


e2e.main(test)
