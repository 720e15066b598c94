#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_locate_inputs.py BUILD-DIRECTORY: inputs that `wetdbg locate` finds by itself: beginnings that pass, smaller ones that
fail, and what is near them. Each is held against the program itself, run natively."""
import json
import os
import signal
import subprocess
import time

import e2e

RIGHT = {"add": lambda total, n: total + n, "sub": lambda total, n: total - n}


class Program:
    """answers.c: what it is to put out for an input, and what it does natively."""

    def __init__(self, bench):
        self.bench = bench
        self.path = f"{bench.build}/tests/e2e/e2e_answers"
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "answers.c")) as source:
            lines = list(source)
        self.line_of = lambda mark: next(n for n, text in enumerate(lines, 1) if mark in text)

    def right(self, text):
        total, out = 0, []
        for line in text.splitlines():
            word, _, number = line.partition(" ")
            if word in RIGHT:
                total = RIGHT[word](total, int(number))
            if word in ("add", "sub", "at", "log"):
                out.append(f"{total}\n")
        return "".join(out)

    def native(self, data):
        child = subprocess.run([self.path], input=data, stdout=subprocess.PIPE, cwd=self.bench.path("home"))
        return child.returncode, child.stdout


def save(bench, name, text):
    with open(bench.path(name), "w") as file:
        file.write(text)
    return bench.path(name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def located(bench, *words, **how):
    run = bench.wet("locate", "--json", "--jobs=1", *words, **how)
    answers = run.objects() if run.status == 0 else []
    bench.check(answers, "an answer", run)
    return (answers or [{"found_passing": [], "missing": [], "reduced": None, "suspects": []}]), run


def check_prefix(bench, program):
    """The longest beginning that puts out what is expected is told, from a file and from a pipe; nothing is reduced."""
    text = "add 40\nsub 2\nadd 1\nsub 9\nsub 30\nadd 5\nsub 20\n"
    given, right = save(bench, "wrong", text), save(bench, "right", program.right(text))
    best = max(size for size in range(len(text)) if text[:size].endswith("\n") and
               program.right(text).encode().startswith(program.native(text[:size].encode())[1]))
    words = ["locate", "--budget=6", f"--expect={right}", "--"]
    runs = [bench.wet(*words[:1], "--json", *words[1:], program.path, given)]
    with subprocess.Popen(["cat", given], stdout=subprocess.PIPE) as cat:
        cat.wait()
        child = subprocess.run([bench.wetdbg, *words, program.path], stdin=cat.stdout, stdout=subprocess.PIPE,
                               env=bench.environment, cwd=bench.work, text=True)
    answer = runs[0].objects()[-1]
    part = answer["passing_beginning"]
    if bench.check(part and part["bytes"] == best, f"{part}, and not {best} bytes"):
        data = read(part["file"])
        status, out = program.native(data)
        bench.check(data == text.encode()[:best] and status == 0 and len(out) == part["output_bytes"], f"{data}")
        bench.check(f"the first 4 of 7 lines of {given}" in part["because"], f"{part}")
    bench.check(not answer["reduced"] and any("reducing the input: for a smaller one" in why for why in answer["missing"]), f"{answer['missing']}")
    bench.check("passes: the first 4 of 7 lines of the standard input" in child.stdout, f"as text: {child.stdout}")


def check_words(bench, program):
    """What puts out nothing is no beginning that passes, nor one with another exit status than the right one."""
    for text, how in (("sub 30\nadd 5\n", []), ("add 4\nsub 30\nend 3\n", ["--status=3"])):
        given, right = save(bench, "bad", text), save(bench, "good", program.right(text))
        answer = located(bench, "--budget=4", f"--expect={right}", *how, "--", program.path, stdin=given)[0][-1]
        bench.check(answer["passing_beginning"] is None and any("none of the standard" in why for why in answer["missing"]), f"{answer['missing']}")


def check_crash(bench, program):
    """The smaller input crashes, nothing of it can go, and what is near it does not crash."""
    text = "add 1\nsub 2\nat 50\nadd 3\nat 100\nadd 4\n" * 3
    given = save(bench, "crashes", text)
    answers, run = located(bench, "--budget=40", "--", program.path, given)
    first, last = answers[0], answers[-1]
    if not bench.check(last["reduced"] and first["reduced"] is None, f"{last['missing']}", run):
        return
    small = read(last["reduced"]["file"])
    bench.check(last["reduced"]["bytes"] == len(small) < len(text) == last["reduced"]["of"], f"{last['reduced']}")
    bench.check(last["reduced"]["run"] == last["run"] != first["run"], f"{last['run']}")
    bench.check(program.native(small)[0] == -signal.SIGSEGV, f"{small} fails")
    bench.check(all(program.native(small[:i] + small[i + 1:])[0] >= 0 for i in range(len(small))) and last["reduced"]["is_minimal"],
                f"{small} is minimal")
    bench.check(last["executed_lines"] < first["executed_lines"], "fewer lines ran")
    bench.check(last["found_passing"], f"something near it passes: {last['missing']}")
    for near in last["found_passing"]:
        data = read(near["file"])
        bench.check(program.native(data)[0] == 0 and len(data) == near["bytes"], f"{data}: {near}")
    bench.check("touch" in [suspect["function"] for suspect in last["suspects"][:3]], f"{last['suspects'][:3]}")
    shown = bench.wet("locate", "--budget=20", "--limit=1", "--", program.path, stdin=given)
    bench.check(f'smaller input: 6 of {len(text)} bytes' in shown.out and ': "at 100"' in shown.out, "as text", shown)


def check_oracle(bench, program):
    """A command says which inputs fail; the fault's line is what no passing run did."""
    save(bench, "oracle.py", "import os, sys\ntotal, out = 0, ''\n"
         "for line in open(os.environ['WETDBG_INPUT'], 'rb').read().decode(errors='replace').split('\\n'):\n"
         "    word, _, number = line.partition(' ')\n"
         "    n = int(number) if number.isdigit() and len(line) > 4 else 0\n"
         "    total += n if line.startswith('add ') else -n if line.startswith('sub ') else 0\n"
         "    out += f'{total}\\n' if line.startswith(('add ', 'sub ')) else ''\n"
         "sys.exit(sys.stdin.buffer.read().decode() != out)\n")
    given = save(bench, "asked", "add 7\nadd 2\nsub 3\nsub 12\nadd 4\n" * 4)
    answers, run = located(bench, "--budget=20", "--oracle=python3 oracle.py", "--", program.path, stdin=given)
    last = answers[-1]
    if not bench.check(last["reduced"], f"{last['missing']}", run):
        return
    small = read(last["reduced"]["file"])
    asked = lambda data: subprocess.run(["python3", "oracle.py"], input=program.native(data)[1], cwd=bench.work,
                                        env=dict(os.environ, WETDBG_INPUT=save(bench, "candidate", data.decode()))).returncode
    bench.check(asked(small) == 1 and len(small) < last["reduced"]["of"], f"{small}")
    bench.check(len(small) < 20 or not last["reduced"]["is_minimal"], f"{small} is minimal")
    for near in last["found_passing"]:
        bench.check(asked(read(near["file"])) == 0, f"{near}")


def check_refusals(bench, program):
    """A program that leaves a file runs once, as does any with --once; a recording is not run at all."""
    text = "add 3\nlog 7\nat 100\n"
    given, left = save(bench, "leaves", text), bench.path("left")
    answer = located(bench, "--budget=6", "--", program.path, stdin=given)[0][-1]
    with open(left) as file:
        bench.check(file.read() == "7\n", "it ran once")
    bench.check(not answer["reduced"] and any("it wrote left" in why for why in answer["missing"]), f"{answer['missing']}")
    given = save(bench, "once", "add 3\nat 100\n")
    answer = located(bench, "--once", "--budget=6", "--", program.path, stdin=given)[0][-1]
    bench.check(not answer["reduced"] and not answer["found_passing"] and not any("other inputs" in why for why in answer["missing"]), f"{answer['missing']}")
    answer = located(bench, "--budget=6", bench.record("trace", program.path, stdin=given))[0][-1]
    bench.check(not answer["reduced"] and not answer["found_passing"], "a recording")


def check_interrupt(bench, program):
    """Ctrl-C while it reduces leaves a list, and nothing of the program runs on."""
    given = save(bench, "long", "".join(f"add {n}\n" for n in range(4000)) + "at 100\n")
    with open(given, "rb") as stdin:
        child = subprocess.Popen([bench.wetdbg, "locate", "--json", "--budget=10m", "--oracle=sleep 0.2; test $WETDBG_STATUS -lt 128", "--", program.path],
                                 stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment, cwd=bench.work)
    first = child.stdout.readline()
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    answers = [json.loads(line) for line in (first + out).splitlines()]
    lists = [answer for answer in answers if answer["schema"] == "wetdbg.locate/1"]
    bench.check(child.returncode == 130 and lists and lists[-1]["final"], f"status {child.returncode}: {err}")
    if lists[-1]["reduced"]:
        small = read(lists[-1]["reduced"]["file"])
        bench.check(program.native(small)[0] == -signal.SIGSEGV and not lists[-1]["reduced"]["is_minimal"], "what is left fails")
    time.sleep(0.5)
    left = subprocess.run(["pgrep", "-f", program.path], stdout=subprocess.PIPE, text=True).stdout
    bench.check(not left, f"still there: {left}")


def run_test(bench, _):
    program = Program(bench)
    check_prefix(bench, program)
    check_words(bench, program)
    check_crash(bench, program)
    check_oracle(bench, program)
    check_refusals(bench, program)
    check_interrupt(bench, program)


e2e.main(run_test)
