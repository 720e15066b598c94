#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole answers of `info types` and `info frame`, and functions by their parameters, against gdb on the same program."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from e2e import Bench  # noqa: E402
from schemas import SCHEMAS, errors_of, validator  # noqa: E402

MARK, MARKED = "print 987654321", "987654321 = 987654321\n"
GDB = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", "set backtrace past-main on", "-ex",
       "handle SIGUSR1 nostop noprint pass"]


def both(bench, program, trace, theirs, ours, questions):
    """The answers of gdb and ours to the same questions, after the commands that lead there."""
    for question in questions:
        theirs = theirs + ["-ex", "echo @@\\n", "-ex", question]
        ours = ours + ["-e", MARK, "-e", question]
    gdb = bench.run(*GDB, *theirs, program)
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", *ours)
    expected, found = gdb.out.split("@@\n")[1:], run.out.split(MARKED)[1:]
    if len(expected) != len(questions) or len(found) != len(questions):
        bench.fail(f"not all was answered\n{gdb}\n{run}")
        return []
    return zip(questions, expected, found)


# ---- info types ----

def sections(text):
    """The rows of each of our files. gdb lists namespaces, too, which are no types."""
    rows, file = {}, None
    for line in text.splitlines():
        title = re.match(r"File (.*):$", line)
        if title:
            file = title[1]
        elif file and file.startswith(HERE) and line and not re.match(r"\d*:?\t(ns|\S*\(anonymous namespace\))$", line):
            rows.setdefault(os.path.basename(file), []).append(line)
    return rows


def check_types(bench, program, trace, regexes, count):
    """The types of our own files; of the C library's those are known of which there is debug information."""
    seen = 0
    for question, left, right in both(bench, program, trace, [], [], [f"info types {regex}".strip() for regex in regexes]):
        expected, found = sections(left), sections(right)
        seen += sum(len(rows) for rows in found.values())
        if expected != found or left.split("\n", 1)[0] != right.split("\n", 1)[0]:
            bench.fail(f"{question}\n gdb: {expected}\nours: {found}\n{right.splitlines()[:1]}")
    bench.check(seen >= count, f"{seen} rows of types are too few")


def check_json(bench, trace):
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", "-e", "info types ^(node|shared|int|row)")
    answers = run.objects()
    rows = {row["name"]: row for row in answers[0].get("types", []) if row["file"].startswith(HERE)}
    bench.check(rows.get("row", {}).get("target") == "int [3]" and rows["row"]["bytes"] == 12, "a typedef's row", run)
    bench.check(rows.get("int", {"line": 0})["line"] is None and rows["node"]["target"] is None, "rows of others", run)
    python = validator("debugger_info_like_gdb")
    with open(bench.path("answers"), "w") as file:
        file.write(run.out)
    if python:
        schema = f"{SCHEMAS}/wetdbg.types.1.json"
        errors = errors_of(bench, python, schema, bench.path("answers"), "lines")
        bench.check(not errors, f"the schema of types: {errors}", run)
        with open(bench.path("wrong"), "w") as file:
            file.write(run.out.replace('"target"', '"meant"'))
        bench.check(errors_of(bench, python, schema, bench.path("wrong"), "lines"), "the schema accepts another key")


# ---- info frame ----

def frame_lines(text):
    """An answer with addresses near the frame's counted from its own. What the kernel saves for a signal's handler is
    aligned, so that it lies elsewhere each time: of that frame names only."""
    base = re.search(r"frame at 0x([0-9a-f]+):", text)
    start = int(base[1], 16) if base else 0

    def from_base(match):
        value = int(match[1], 16)
        return f"BASE{value - start:+d}" if abs(value - start) < 1000 else "ADDRESS"
    is_signal = "rax at " in text
    text = re.sub(r"0x([0-9a-f]+)", "ADDRESS" if is_signal else from_base, text)
    text = re.sub(r" in __restore_rt\b", "", text)  # a symbol of debug information only
    return re.sub(r"\(\S*/", "(", text).splitlines()


def line_of(source, mark):
    with open(source) as file:
        return next(n for n, line in enumerate(file, 1) if mark in line)


def check_frames(bench, program, trace, source, mark, count):
    """Each frame from the one that holds the mark to main's."""
    place = f"{os.path.basename(source)}:{line_of(source, mark)}"
    theirs = ["-ex", f"break {place}", "-ex", "run > /dev/null"]
    ours = ["-e", f"goto {place}#1"]
    questions = [word for index in range(count) for word in (f"frame {index}", "info frame")]
    for question, left, right in both(bench, program, trace, theirs, ours, questions):
        if question != "info frame":
            title = question
            continue
        expected, found = frame_lines(left), frame_lines(right)
        if expected != found or len(found) < 4:
            bench.fail(f"{os.path.basename(program)}, {mark}, {title}\n gdb: {expected}\nours: {found}")


# ---- functions by their parameters ----

SIGNATURES = ["inlined(int)", "inlined(const char *)", "inlined(char const*)", "inlined(unsigned long,const char**)",
              "called(int)", "called(const char*)", "called(char const *)", "get(long)", "box::get(int) const",
              "(anonymous namespace)::box::get(long)", "none(void)"]
UNKNOWN = ["inlined()", "inlined(char)", "called(void)", "none(int)"]


def check_signatures(bench, program, trace, source):
    """Each of them stops in the line that says so; of functions that are not inlined gdb says the same."""
    words = [word for text in SIGNATURES for word in ("-e", f"break {text}")]
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", *words)
    found = [[place["line"] for place in row["breakpoint"]["places"]] for row in run.objects()
             if row["schema"] == "wetdbg.breakpoint/1"]
    expected = [[line_of(source, f"// {text}\n")] for text in
                ("INT", "TEXT", "TEXT", "LONG", "CALLED", "TEXT CALLED", "TEXT CALLED", "GET LONG", "GET INT", "GET LONG", "NONE")]
    bench.check(found == expected, f"by their parameters: {found}, not {expected}", run)
    called = [text for text in SIGNATURES if text.startswith("called")]
    gdb = bench.run(*GDB, *[word for text in called for word in ("-ex", f"break {text}")], program)
    theirs = [[int(line)] for line in re.findall(r"line (\d+)\.", gdb.out)]
    bench.check(theirs == expected[4:7], f"gdb: {theirs}", gdb)
    for text in UNKNOWN:
        run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", f"break {text}")
        bench.check(run.status == 1 and "no function is called" in run.err, f"there is no {text}", run)


def record(bench, name, *command):
    program, trace = bench.path(name), bench.path(f"{name}.trace")
    built = bench.run(*command, "-g", "-o", program)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
    return program, trace


def main():
    bench = Bench(sys.argv[1])
    walk, frames, info = (os.path.join(HERE, name) for name in ("walk.c", "frames.c", "info.cc"))
    program, trace = record(bench, "declared", "gcc", "-O0", os.path.join(HERE, "declared.c"),
                            os.path.join(HERE, "declared_other.c"))
    check_types(bench, program, trace, ["", "node", "^int$", "o", "unsigned char", "tag$"], 45)
    check_json(bench, trace)
    program, trace = record(bench, "info", "g++", "-O2", info)
    check_types(bench, program, trace, ["", "ns::", "box<int>", "^shape"], 25)
    check_frames(bench, program, trace, info, "INLINED", 3)
    check_frames(bench, program, trace, info, "HANDLER", 2)
    signatures = os.path.join(HERE, "signatures.cc")
    program, trace = record(bench, "signatures", "g++", "-O2", signatures)
    check_signatures(bench, program, trace, signatures)
    program, trace = record(bench, "walk", "gcc", "-O0", walk)
    check_frames(bench, program, trace, walk, "return sum;", 3)
    check_frames(bench, program, trace, walk, "/* LAST */", 2)
    for level in ("-O2", "-Og"):
        program, trace = record(bench, f"frames{level}", "gcc", level, frames)
        check_frames(bench, program, trace, frames, "STOP", 5)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
