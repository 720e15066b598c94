#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_languages.py BUILD-DIRECTORY cxx|rust|go: programs in other languages than C, found out as a user would.

Each program of programs/ has one wrong line, marked FAULT (what it should be is behind the mark, or in an #ifdef
FIXED). It is compiled twice, to learn which byte of the output is the first wrong one; recorded; and asked: the slice
of that byte has the faulty line and not the one marked UNRELATED. In C++ also: names as people know them, frames,
variables. Needs g++, rustc or go in PATH, and says so if it is not there."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import e2e  # noqa: E402

# The fault decides what is executed, and is no part of the value.
DECIDED = {"cxx_unwind"}
PROGRAMS = f"{e2e.SOURCE}/tests/languages/programs"
COMPILE_SECONDS = 300


class Language:
    def __init__(self, suffix, tools, package):
        self.suffix = suffix
        self.tools = tools
        self.package = package

    def tool(self):
        for tool in self.tools:
            if shutil.which(tool):
                return shutil.which(tool)
        raise SystemExit(f"FAILED: none of {', '.join(self.tools)} is installed: apt-get install {self.package}")


LANGUAGES = {
    "cxx": Language(".cpp", ("g++",), "g++"),
    # The distribution's compiler rather than one that a version manager hides behind a wrapper of its own.
    "rust": Language(".rs", ("/usr/bin/rustc", "rustc"), "rustc"),
    "go": Language(".go", ("go",), "golang-go"),
}


class Source:
    """A program's text, and its lines by mark."""

    def __init__(self, name, language):
        self.name = name
        self.language = language
        self.file = name + language.suffix
        self.path = f"{PROGRAMS}/{self.file}"
        with open(self.path, encoding="utf-8") as file:
            self.text = file.read()

    def line(self, mark):
        numbers = [number for number, text in enumerate(self.text.splitlines(), 1)
                   if re.search(rf"(/\*|//) {mark}\b", text)]
        assert len(numbers) == 1, f"{self.file}: {mark} marks lines {numbers}"
        return numbers[0]

    def fixed(self):
        """Languages without a preprocessor have the right line behind the mark."""
        return re.sub(r"^(\s*)\S.*// FAULT: (.*)$", r"\1\2", self.text, flags=re.M)


def compile_one(bench, source, path, output, optimise, is_fixed):
    tool = source.language.tool()
    if source.language.suffix == ".cpp":
        command = [tool, "-std=c++17", "-g", f"-{optimise}", "-Wall", "-Wextra", "-Werror", "-o", output, path]
        command += ["-DFIXED"] if is_fixed else []
    elif source.language.suffix == ".rs":
        command = [tool, "-g", "-C", f"opt-level={optimise[1]}", "-o", output, path]
    else:
        flags = ["-gcflags=all=-N -l"] if optimise == "O0" else []
        command = [tool, "build", *flags, "-o", output, path]
    environment = dict(bench.environment, GOCACHE=bench.path("go-cache"), GO111MODULE="off", GOFLAGS="")
    run = bench.run(*command, env=environment, patience=COMPILE_SECONDS)
    return bench.check(run.status == 0, f"{source.file} does not compile", run)


def build(bench, source, optimise):
    """The faulty program and its first wrong byte, or None."""
    program, fixed = bench.path(f"{source.name}_{optimise}"), bench.path(f"{source.name}_{optimise}_fixed")
    fixed_path = bench.path(f"fixed_{source.file}")
    with open(fixed_path, "w", encoding="utf-8") as file:
        file.write(source.fixed())
    if not (compile_one(bench, source, source.path, program, optimise, False) and
            compile_one(bench, source, fixed_path, fixed, optimise, True)):
        return None, None
    wrong, right = bench.run(program).out, bench.run(fixed).out
    differing = [at for at, pair in enumerate(zip(wrong, right)) if pair[0] != pair[1]]
    if not bench.check(differing, f"{source.name}: the fault does not show"):
        return None, None
    return program, differing[0]


def rows_of(piece, source):
    return {row["line"]: row for row in piece["lines"] if e2e.base_name(row["file"]) == source.file}


def session(bench, trace, *questions):
    words = [word for question in questions for word in ("-e", question)]
    run = bench.wet("replay", trace, "--batch", "--json", *words)
    answers = run.objects()
    bench.check(len(answers) == len(questions), f"{trace}: {len(answers)} answers to {len(questions)} questions", run)
    return answers + [{"schema": "none"}] * (len(questions) - len(answers))


def check_slices(bench, name, source, trace, offset):
    """The slices of the first wrong byte."""
    full, why, data = session(bench, trace, f"slice backward output:{offset}",
                              f"why {source.file}:{source.line('FAULT')} --limit 0",
                              f"slice backward --data output:{offset}")
    if not bench.check("lines" in full and "lines" in data, f"{name}: no slice: {full.get('message')}"):
        return {}
    bench.check(source.line("FAULT") in rows_of(full, source), f"{name}: the fault is not in the slice")
    if source.name not in DECIDED:
        bench.check(source.line("FAULT") in rows_of(data, source), f"{name}: the fault is not in the data slice")
    for piece, kind in ((full, "slice"), (data, "data slice")):
        bench.check(source.line("UNRELATED") not in rows_of(piece, source), f"{name}: the {kind} has the unrelated line")
    hops = why.get("hops", [])
    bench.check(hops and hops[-1]["line"] == source.line("FAULT"), f"{name}: why does not lead to the fault: {why}")
    print(f"{name}: {len(rows_of(full, source))} of {source.text.count(chr(10))} lines in the slice, "
          f"{len(rows_of(data, source))} in the data slice", flush=True)
    return rows_of(full, source)


# ---- C++ ----

# What each program's slice must have besides, and how the function of a line is called.
CXX = {
    "cxx_exception": {"lines": ("THROW", "DECIDES"), "functions": {"THROW": "bank::refuse", "FAULT": "bank::fee_of"}},
    "cxx_unwind": {"lines": ("THROW", "DECIDES", "SETS"), "functions": {"THROW": "descend", "FAULT": "limit_of"}},
    "cxx_templates": {"lines": (), "functions": {"FAULT": "stats::Scale<double>::apply"}},
    "cxx_virtual": {"lines": ("CALLS",), "functions": {"FAULT": "shapes::Panel::area"}},
    "cxx_static": {"lines": (), "functions": {"FAULT": "plant::Machine::run"}},
}

# Asked at a line of the -O0 build: what print says, as a regular expression.
PRINTS = {
    ("cxx_exception", "PRINTS"): [
        ("refused.fee", r"refused\.fee = 405"),
        ("refused", r"refused = \(const bank::Refused &\) @0x[0-9a-f]+: \{<std::runtime_error> = \{.*\}, fee = 405\}"),
        ("amounts[2]", r"amounts\[2\] = 4000"),
    ],
    ("cxx_templates", "UNRELATED"): [
        ("word", r'word = "birch"'),
        ("words", r'words = std::vector of length 4, capacity 4 = \{"oak", "elm", "oak", "birch"\}'),
        ("words[1]", r'words\[1\] = "elm"'),
        ("words[3][4]", r"words\[3\]\[4\] = 104 'h'"),
        ("word[5]", r"word\[5\] = 0 '\\000'"),
        ("words[4]", r"there is no element 4: the vector has 4"),
        ("word[-1]", r"there is no element -1: the string has 5"),
        ("words.at(1)", r"a recorded run can call no functions"),
        ("words._M_impl._M_start[1]", r'words\._M_impl\._M_start\[1\] = "elm"'),
    ],
    ("cxx_templates", "FAULT"): [
        ("value", r"value = 2\.5"),
    ],
    ("cxx_virtual", "CALLS"): [
        ("sum", r"sum = 56"),
    ],
    ("cxx_virtual", "FAULT"): [
        ("this->width", r"this->width = 2"),
        ("height", r"height = 5"),
        ("colour", r"colour = shapes::Coloured::Colour::blue"),
        ("name", r'name = 0x[0-9a-f]+( <[^>]*>)? "panel"'),
        ("*this", r"\*this = \{<shapes::Shape> = \{<shapes::Named> = \{.*name = 0x.*\"panel\"\}.*\}, "
                  r"<shapes::Coloured> = \{.*colour = shapes::Coloured::Colour::blue\}, width = 2, height = 5\}"),
    ],
    ("cxx_static", "FAULT"): [
        ("power", r"power = 5"),
        ("state", r"state = plant::Machine::busy"),
        ("counter", r"counter = 15"),
        ("::counter", r"::counter = 1000"),
        ("plant::counter", r"plant::counter = 15"),
        ("Machine::made", r"Machine::made = 2"),
        ("made", r"made = 2"),
        ("hidden", r"hidden = 3"),
        ("limit", r"limit = 4"),
        ("this", r"this = \(plant::Machine \* ?const\) 0x[0-9a-f]+"),
    ],
}


def check_prints(bench, source, trace):
    for (program, mark), rows in PRINTS.items():
        if program != source.name:
            continue
        words = ["-e", f"goto {source.file}:{source.line(mark)}"]
        for expression, _ in rows:
            words += ["-e", f"print {expression}"]
        run = bench.wet("replay", trace, "--batch", *words)
        for expression, wanted in rows:
            bench.check(re.search(rf"^(?:{wanted})$", run.out + run.err.replace("wetdbg: ", ""), re.M),
                        f"{source.name}: print {expression} is not {wanted}", run)


def check_names(bench, name, source, rows):
    wanted = CXX[source.name]
    for mark in wanted["lines"]:
        bench.check(source.line(mark) in rows, f"{name}: the slice has no {mark}")
    for mark, function in wanted["functions"].items():
        row = rows.get(source.line(mark), {})
        bench.check(row.get("function") == function and row.get("linkage_name", "").startswith("_Z"),
                    f"{name}: {mark} is in {row.get('function')} ({row.get('linkage_name')}), not in {function}")


def check_frames(bench, source, trace):
    """Of the build with inlined functions: where a breakpoint hits, gdb's frames are ours."""
    line = source.line("FAULT")
    _, frames = session(bench, trace, f"goto {source.file}:{line}", "backtrace")
    names = [frame["function"] for frame in frames.get("frames", [])]
    bench.check(names and CXX[source.name]["functions"]["FAULT"] in names, f"{source.name}: the frames are {names}")
    bench.check(any(frame["inlined"] for frame in frames.get("frames", [])), f"{source.name}: no frame is inlined")


def check_lists(bench, trace):
    """Functions by parts of their names."""
    run = bench.wet("replay", trace, "--batch", "-e", "list describe")
    bench.check(run.status == 2 and "plant::v1::describe(int)" in run.err and
                "plant::describe(plant::Machine const&)" in run.err, "an ambiguous name is not explained", run)
    run = bench.wet("replay", trace, "--batch", "-e", "list Machine::run", "-e", "info functions Machine::run\\(")
    bench.check(run.status == 0 and "int run(int hours)" in run.out and "plant::Machine::run(int)" in run.out,
                "Machine::run is not found", run)


def test_cxx(bench):
    for name in CXX:
        source = Source(name, LANGUAGES["cxx"])
        for optimise in ("O0",) if name == "cxx_static" else ("O0", "O2"):
            program, offset = build(bench, source, optimise)
            if not program:
                continue
            trace = bench.record(f"r_{name}_{optimise}", program)
            rows = check_slices(bench, f"{name}_{optimise}", source, trace, offset)
            if optimise == "O0":
                check_names(bench, name, source, rows)
                check_prints(bench, source, trace)
            if (name, optimise) == ("cxx_templates", "O2"):
                check_frames(bench, source, trace)
            if (name, optimise) == ("cxx_static", "O0"):
                check_lists(bench, trace)


def test_other(bench, name, language):
    source = Source(name, LANGUAGES[language])
    program, offset = build(bench, source, "O0")
    if program:
        trace = bench.record(f"r_{name}", program)
        check_slices(bench, name, source, trace, offset)


def main():
    bench = e2e.Bench(sys.argv[1])
    try:
        if sys.argv[2] == "cxx":
            test_cxx(bench)
        elif sys.argv[2] == "rust":
            test_other(bench, "rust_ledger", "rust")
        else:
            test_other(bench, "go_sums", "go")
    except SystemExit as end:
        if end.code:
            bench.fail(str(end.code))
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
