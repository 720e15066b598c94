#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_processes.py BUILD-DIRECTORY: every process of a recording can be found, chosen and replayed.

Records programs that make processes in every way there is, and shell lines. Of each recording, `ps` has to
show the family as expected, and each process has to replay with the status and the output that were recorded;
those that `ps` gives a program of their own are opened too, and asked what they printed."""
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios

import e2e

SOURCE_FILE = "processes.c"


def compute(seed):
    value = seed
    for i in range(1, 100):
        value = (value * 31 + i) & 0xffffffff
    return value


def line(who):
    return f"{who} {compute(len(who))}\n"


class Case:
    """What is recorded; `tree`: per process in order of start (depth, made by, name of the program, end), and
    the index of the default with its reason; `said`: per index, what that process itself wrote."""

    def __init__(self, name, command, status, tree, default, because, said=None, options=()):
        self.name, self.command, self.status, self.options = name, command, status, options
        self.tree, self.default, self.because, self.said = tree, default, because, said or {}


def own_cases(program):
    name = os.path.basename(program)

    def case(title, tree, default, because, said, mode=None, options=()):
        rows = [(depth, made_by, name if what == "." else what, end) for depth, made_by, what, end in tree]
        return Case(title, [program, mode or title], 0, rows, default, because, said, options)
    first = (0, None, ".", 0)
    return [
        case("fork", [first, (1, "fork", ".", 3)], 0, "first", {0: ["parent"], 1: ["child"]}),
        case("three", [first, (1, "fork", ".", 11), (2, "fork", ".", 12), (3, "fork", ".", 13)], 0, "first",
             {0: ["waited"], 1: ["one", "waited"], 2: ["one", "two", "waited"], 3: ["one", "two", "three"]}),
        case("vfork", [first, (1, "vfork", ".", 0)], 0, "first", {0: ["parent"], 1: ["vforked"]}),
        case("vfork-exit", [first, (1, "vfork", ".", 9)], 0, "first", {0: ["parent"]}),
        case("spawn", [first, (1, "vfork", ".", 0)], 0, "first", {0: ["parent"], 1: ["spawned"]}),
        case("system", [first, (1, "vfork", "sh", 6), (2, None, ".", 0)], 0, "first",
             {0: ["parent"], 2: ["asked"]}),
        case("popen", [first, (1, "vfork", ".", 0)], 0, "first", {0: ["parent"], 1: ["piped"]}),
        case("daemon", [first, (1, "fork", ".", 0), (2, "fork", ".", 4)], 2, "late-failure",
             {0: ["starter"], 1: ["middle"], 2: ["daemon"]}, options=["--wait"]),
        case("daemon-killed", [first, (1, "fork", ".", 0), (2, "fork", ".", "SIGKILL")], 0, "first",
             {0: ["starter"], 1: ["middle"], 2: []}, mode="daemon"),
        case("crash", [first, (1, "fork", ".", "SIGSEGV")], 1, "crash", {0: ["parent"], 1: ["doomed"]}),
        case("failed-exec", [first, (1, "fork", ".", 127)], 0, "first", {1: ["stranded"]}),
    ]


def shell_cases():
    sh = (0, None, "sh", 0)
    return [
        Case("pipeline", ["sh", "-c", "echo deed | tr a-z A-Z | cat"], 0,
             [sh, (1, None, "sh", 0), (1, None, "tr", 0), (1, None, "cat", 0)], 0, "first",
             {2: "DEED\n", 3: "DEED\n"}),
        Case("sigpipe", ["sh", "-c", "yes | head -n 1"], 0,
             [sh, (1, None, "yes", "SIGPIPE"), (1, None, "head", 0)], 0, "first", {2: "y\n"}),
        Case("xargs", ["sh", "-c", "echo /nonexistent/file | xargs -n1 cat"], 123,
             [(0, None, "sh", 123), (1, None, "sh", 0), (1, None, "xargs", 123), (2, None, "cat", 1)], 3,
             "failure"),
        Case("pipeline-fails", ["sh", "-c", "echo x | grep -q y"], 1,
             [(0, None, "sh", 1), (1, None, "sh", 0), (1, None, "grep", 1)], 2, "failure"),
        Case("subshell", ["sh", "-c", "(echo inner; exit 5); echo outer; exit 7"], 7,
             [(0, None, "sh", 7), (1, None, "sh", 5)], 0, "failure", {0: "outer\n", 1: "inner\n"}),
        Case("passed-on", ["sh", "-c", "true; sh -c 'cat /nonexistent/file; exit 9'; exit 9"], 9, None, None,
             "failure"),
        Case("wrapper", ["sh", "-c", "expr 0 >/dev/null; grep -q y /dev/null; exec cat /nonexistent/file"], 1,
             [(0, None, "cat", 1), (1, None, "expr", 1), (1, None, "grep", 1)], 0, "failure"),
    ]


def end_of(process):
    return process["signal"] if process["signal"] else process["exit"]


def check_tree(bench, case, answer):
    rows = answer["processes"]
    bench.check(answer["default_because"] == case.because, f"{case.name}: default {answer['default_because']}")
    if case.tree is None:
        return
    if not bench.check(len(rows) == len(case.tree), f"{case.name}: {len(rows)} processes: {rows}"):
        return
    for index, (row, (depth, made_by, program, end)) in enumerate(zip(rows, case.tree)):
        got = (row["depth"], row["made_by"], e2e.base_name(row["argv"][0]), end_of(row))
        wanted = (depth, made_by or row["made_by"], program, end)
        bench.check(got == wanted, f"{case.name}: process {index} is {got}, not {wanted}")
        bench.check(row["default"] == (index == case.default), f"{case.name}: process {index}: default")
        bench.check(row["ended"] and row["threads"] == 1 and row["frames"] > 0, f"{case.name}: {row}")


def said_by(bench, directory, select):
    """What `output` shows of a process's run, and how `info` says that it ended."""
    run = bench.wet("replay", directory, "--process", select, "--batch", "--json", "-e", "output",
                    "-e", "info program")
    if not bench.check(run.status in (0, 1) and not run.err, f"{directory}: session with {select}", run):
        return None, None
    answers = run.objects()
    text = "".join(piece["text"] for answer in answers for piece in answer.get("writes", []))
    facts = [answer for answer in answers if answer["schema"] == "wetdbg.info/1"]
    return text, facts[0] if facts else None


def expected_text(said):
    return said if isinstance(said, str) else "".join(line(who) for who in said)


def check_replays(bench, case, directory, answer):
    for index, row in enumerate(answer["processes"]):
        who = f"{case.name}: process {index} ({row['select']})"
        run = bench.wet("replay", directory, "--no-trace", "--json", "--process", row["select"])
        if not bench.check(run.status == 0 and run.objects()[0]["events_checked"] > 0, f"{who} replays", run):
            continue
        if index not in case.said:
            continue
        text, facts = said_by(bench, directory, row["select"])
        if facts is None:
            continue
        wanted = expected_text(case.said[index])
        bench.check(text == wanted, f"{who} wrote {text!r}, not {wanted!r}")
        end = facts["signal"]["name"] if facts["signal"] else facts["exit"]
        bench.check(end == end_of(row), f"{who} ended with {end}, not {end_of(row)}")


def check_case(bench, case):
    directory = bench.path(case.name)
    run = bench.wet("record", "-o", directory, *case.options, "--", *case.command)
    bench.check(run.status == case.status, f"{case.name}: recorded with status {run.status}", run)
    run = bench.wet("ps", "--json", directory)
    if not bench.check(run.status == 0, f"{case.name}: ps", run):
        return
    answer = run.objects()[0]
    check_tree(bench, case, answer)
    check_replays(bench, case, directory, answer)


def check_replaced(bench):
    """A program that another one replaced can be chosen, and its run ends there."""
    directory = bench.path("wrapper")
    run = bench.wet("ps", "--json", directory)
    replaced = run.objects()[0]["processes"][0]["replaced"]
    bench.check([row["select"] for row in replaced] == ["sh#1"], f"replaced: {replaced}")
    run = bench.wet("replay", directory, "--no-trace", "--process", "sh#1")
    bench.check(run.status == 0, "the shell before its exec replays", run)
    run = bench.wet("replay", directory, "--no-trace", "--process", "sh")
    bench.check(run.status == 0, "the only sh by its name", run)
    run = bench.wet("info", "--json", "--process", "sh", directory)
    bench.check(run.status == 0 and run.objects()[0]["end"] == "exec", "it ended in exec", run)


def check_vfork_without_exec(bench):
    """It ran in its parent's memory, so what is replayed is the parent, with the child among its threads."""
    directory = bench.path("vfork-exit")
    parent, child = bench.wet("ps", "--json", directory).objects()[0]["processes"]
    text, facts = said_by(bench, directory, child["select"])
    bench.check(text == line("parent") and facts and facts["exit"] == 0 and facts["pid"] == parent["pid"]
                and [row["tid"] for row in facts["thread_list"]] == [parent["pid"], child["pid"]],
                f"the parent's run: {text!r}, {facts}")


def check_exec_by_a_thread(bench, program):
    """The program gets the number of the process, though it was another thread that ran it."""
    directory = bench.record("thread-exec", program, "thread-exec")
    run = bench.wet("ps", "--json", directory)
    rows = run.objects()[0]["processes"]
    if not bench.check(len(rows) == 1 and rows[0]["threads"] == 2 and len(rows[0]["replaced"]) == 1
                       and rows[0]["exit"] == 0, f"thread-exec: {rows}", run):
        return
    before, after = rows[0]["replaced"][0]["select"], rows[0]["select"]
    for select, said, end in ((before, "thread", "exec"), (after, "instead", "exit")):
        text, facts = said_by(bench, directory, select)
        bench.check(text == line(said) and facts and facts["end"] == end, f"{select}: {text}, {facts}")


def check_refusals(bench):
    """Each says what there is instead."""
    directory = bench.path("pipeline")
    rows = [("cat#7", 1, r'no process "cat" number 7; it has \d+ \(sh\)'),
            ("emacs", 1, r'no process "emacs"; it has \d+ \(sh\), \d+ \(sh, forked\), \d+ \(tr\), \d+ \(cat\)'),
            ("999999", 1, r"no process 999999; it has"),
            ("#1", 2, r'"#1" is no process')]
    for which, status, pattern in rows:
        run = bench.wet("replay", directory, "--no-trace", "--process", which)
        bench.check(run.status == status and re.search(pattern, run.err), f"--process {which}", run)
    run = bench.wet("replay", bench.path("pipeline"), "--no-trace", "--process", "sh#2")
    bench.check(run.status == 0, "a shell's fork by number", run)


def marked_line():
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{SOURCE_FILE}") as source:
        return [number for number, text in enumerate(source, 1) if "/* MARK */" in text][0]


def check_slice_in_fork(bench):
    """The third process of three forks: what it wrote depends on the loop's 99 turns in each of its lines."""
    directory, marked = bench.path("three"), marked_line()
    last = bench.wet("ps", "--json", directory).objects()[0]["processes"][3]
    run = bench.wet("replay", directory, "--process", last["select"], "--batch", "--json",
                    "-e", f"slice backward output:{len(line('one')) + len(line('two')) + 6}",
                    "-e", f"instances {SOURCE_FILE}:{marked} --limit 1", "-e", "slice backward exit")
    if not bench.check(run.status == 0, "slices in a forked process", run):
        return
    piece, instances, ending = run.objects()
    rows = [row for row in piece["lines"] if row["line"] == marked and e2e.base_name(row["file"]) == SOURCE_FILE]
    bench.check(instances["count"] == 3 * 99, f"the marked line ran {instances['count']} times")
    bench.check(len(rows) == 1 and rows[0]["instances"] > 0, f"the marked line is in the slice: {rows}", run)
    bench.check(ending["instances"] > 0, "the exit status has a slice", run)


def on_terminal(bench, columns, *arguments):
    """What the command shows on a terminal that is so wide."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([bench.wetdbg, *arguments], stdin=child, stdout=child, stderr=child,
                               env=dict(bench.environment, NO_COLOR="1"), cwd=bench.work)
    os.close(child)
    text = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(parent)
    process.wait(timeout=30)
    return text.decode().replace("\r\n", "\n").splitlines()


def check_terminals(bench):
    for columns in (40, 80, 200):
        lines = on_terminal(bench, columns, "ps", bench.path("subshell"))
        bench.check(lines and all(len(line) <= columns for line in lines[:-1]), f"{columns} columns: {lines}")
        bench.check(("THREADS" in lines[0]) == (columns >= 60), f"{columns} columns: {lines[0]}")
        bench.check(any(text.startswith("* ") for text in lines), f"{columns} columns: no default: {lines}")
    run = bench.wet("ps", bench.path("subshell"))
    bench.check("(forked) sh -c '(echo inner; exit 5); echo outer; exit 7'" in run.out, "nothing is cut in a file", run)


def check_many(bench, program):
    directory = bench.record("many", program, "many")
    run = bench.wet("ps", "--json", directory)
    rows = run.objects()[0]["processes"]
    bench.check(len(rows) == 81 and all(row["depth"] == 1 for row in rows[1:]), f"{len(rows)} processes")
    bench.check([row["exit"] for row in rows[1:41]] == [i % 7 for i in range(40)], "statuses in order", run)
    for row in (rows[1], rows[40], rows[80]):
        run = bench.wet("replay", directory, "--no-trace", "--process", row["select"])
        bench.check(run.status == 0, f"child {row['index']} of many replays", run)


def check_reused_number(bench, program):
    """Three processes with one number, one after the other: each can be chosen, and the number alone cannot."""
    directory = bench.path("reuse")
    run = bench.wet("record", "-o", directory, "--", program, "reuse")
    if run.status == 77:
        print("NOT TESTED: reused process numbers; /proc/sys/kernel/ns_last_pid cannot be written")
        return
    rows = bench.wet("ps", "--json", directory).objects()[0]["processes"]
    number = rows[1]["pid"]
    rows = [row for row in rows if row["pid"] == number]
    bench.check([(row["select"], row["exit"]) for row in rows] == [(f"{number}#{i + 1}", 20 + i) for i in range(3)],
                f"reused numbers: {rows}")
    run = bench.wet("replay", directory, "--no-trace", "--process", str(number))
    bench.check(run.status == 2 and f"3 processes had the number {number}" in run.err, "which one?", run)
    for row in rows:
        run = bench.wet("info", directory, "--json", "--process", row["select"])
        bench.check(run.status == 0 and run.objects()[0]["exit"] == row["exit"], f"{row['select']}", run)


def check_bytes_of_names(bench):
    """Paths and arguments that are no UTF-8 come back as they were, where they are opened by them."""
    folder = os.fsencode(bench.path("n")) + b"\xe9\xff"
    os.mkdir(folder)
    shutil.copy("/bin/true", folder + b"/pr\xf6g")
    directory = bench.path("bytes")
    bench.wet("record", "-o", directory, "--", folder + b"/pr\xf6g", b"caf\xe9", "caf\u00e9")
    listed = bench.wet("ps", "--json", directory).objects()[0]["processes"][0]
    run = bench.wet("info", "--json", directory)
    facts = run.objects()[0]
    bench.check(run.status == 0 and facts["argv"] == listed["argv"] and facts["program"] == listed["program"],
                f"names: {facts['argv']} and {listed['argv']}", run)
    bench.check(facts["argv"][1:] == ["caf\ufffd", "caf\u00e9"], f"arguments: {facts['argv']}", run)


def main_test(bench, arguments):
    program = f"{bench.build}/tests/e2e/e2e_processes"
    cases = own_cases(program) + shell_cases()
    for case in cases:
        if not arguments or case.name in arguments:
            check_case(bench, case)
    if not arguments:
        check_replaced(bench)
        check_exec_by_a_thread(bench, program)
        check_vfork_without_exec(bench)
        check_refusals(bench)
        check_slice_in_fork(bench)
        check_terminals(bench)
        check_many(bench, program)
        check_reused_number(bench, program)
        check_bytes_of_names(bench)


if __name__ == "__main__":
    e2e.main(main_test)
