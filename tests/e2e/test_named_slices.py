#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_named_slices.py BUILD-DIRECTORY: slices both ways, slices with names, what they have in common and what not,
and the next session of the same run, which has those that were saved."""
import glob
import os

import e2e

SOURCE = "copy_out.c"


def line_of(mark):
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{SOURCE}") as file:
        return next(number for number, text in enumerate(file, 1) if f"/* {mark} */" in text)


def ask(bench, directory, *commands):
    """The answers of commands that work, one object each."""
    options = [word for command in commands for word in ("-e", command)]
    run = bench.wet("replay", directory, "--batch", "--json", *options)
    answers = run.objects()
    bench.check(run.status == 0 and len(answers) == len(commands), f"{commands}", run)
    return answers


def wet_of(directory):
    return glob.glob(f"{directory}/*.wet")[0]


def check_both(bench, directory, where):
    both, back, ahead, union, common, *_, same, counts = ask(
        bench, directory, f"slice both {where}", f"let B = slice backward {where}", f"let F=slice forward {where}",
        "let U = B | F", "let C = B&F", "let D = slice both " + where, "diff D U", "show (B - C) | C")
    bench.check(both["direction"] == "both" and both["instances"] == union["instances"], f"both: {both['instances']}")
    bench.check(back["instances"] + ahead["instances"] == union["instances"] + common["instances"],
                f"{back}, {ahead}, {union}, {common}")
    bench.check(0 < common["instances"] < min(back["instances"], ahead["instances"]), f"{common}")
    bench.check(same["only_a"]["instances"] == same["only_b"]["instances"] == 0 and
                same["both_instances"] == union["instances"], "slice both is the union")
    bench.check(counts["instances"] == back["instances"] and counts["line_count"] == back["line_count"],
                f"{counts['instances']} and {back}")
    bench.check("output" in both and "crash" in both, "what it came to")
    rows = {(row["file"], row["line"], row["function"]) for row in both["lines"]}
    bench.check(len(rows) == len(both["lines"]) == both["line_count"], "each line once")
    times, = ask(bench, directory, f"slice both --instances {where}")
    row = times["lines"][0]
    bench.check(len(row["times"]) == row["instances"] and row["times"][0]["edge"] is None, f"{row}")
    end, alone = ask(bench, directory, "slice both crash", "slice backward crash")
    bench.check(end["instances"] >= alone["instances"] > 0, "both ways from where the run ends")


def check_text(bench, directory, where):
    run = bench.wet("replay", directory, "--batch", "-e", f"let B = slice backward {where}",
                    "-e", f"let F = slice backward {where[:-1]}9", "-e", "diff B F", "-e", "info slices",
                    "-e", "show B --limit 1", "-e", "diff B B", "-e", f"slice both --thin {where}")
    bench.check(run.status == 0, "text", run)
    for part in (f"F has ", "only in B: ", "(B has others)", "only in F: ", f"slice backward {where}",
                 "more; ", "only in B: nothing", "thin slice both ways: ", " led to it, "):
        bench.check(part in run.out, f"'{part}' is not there", run)


def rows_of(text):
    return [line.split("  |")[0] for line in text.splitlines() if "  | " in line]


def check_order(bench, directory, source, target):
    """A chop and what its two slices have in common are listed alike, and `more` goes on where the list ended."""
    run = bench.wet("replay", directory, "--batch", "-e", f"let F = slice forward {source}", "-e", f"let B = slice backward {target}",
                    "-e", "show F & B --limit 0", "-e", f"chop {source} {target} --limit 3", "-e", "more --limit 0",
                    "-e", "diff B F --limit 2", "-e", "more --limit 0", "-e", f"chop {source} {target} --tree",
                    "-e", f"chop {source} {target} --stats")
    bench.check(run.status == 0, "orders", run)
    both, chop, diff = [run.out.split(mark)[1] for mark in ("\nF & B: ", "full chop: ", "; both have ")]
    wanted = rows_of(both[:both.index("libraries, and")])
    bench.check(len(wanted) > 3 and rows_of(chop[:chop.index("; both have ")])[:len(wanted)] == wanted, f"{wanted[:4]}", run)
    bench.check("only in F: " in diff and "only in B, further:" in diff and "only in F, further:" in diff, "the rest of a diff", run)
    bench.check("\n#1   criterion " in run.out and "by kind of the dependence:" in run.out, "a chop's tree and numbers", run)


def check_saved(bench, directory, where):
    kept = bench.path("kept.set")
    first, _, _, saved, other = ask(bench, directory, f"let B = slice backward {where}", "let one = B", "save one",
                                    "save", f"save B {kept}")
    beside = f"{wet_of(directory)}.B.set"
    bench.check([row["file"] for row in saved["saved"]] == [beside] and os.path.exists(beside), f"{saved}")
    bench.check(other["saved"] == [{"name": "B", "file": kept}], f"{other}")
    listed, shown, _, nothing, again = ask(bench, directory, "info slices", "show B", f"let L = load {kept}",
                                           "show L - B", "info slices")
    bench.check([(row["name"], row["saved"], row["made"]) for row in listed["slices"]] ==
                [("B", True, f"slice backward {where}"), ("one", True, "B")], f"{listed}")
    bench.check(shown["instances"] == first["instances"] and shown["line_count"] == first["line_count"], "saved")
    bench.check(nothing["instances"] == 0 and len(again["slices"]) == 3, f"{again}")
    bench.check(listed["slices"][0]["line_count"] == first["line_count"], f"{listed}")
    ask(bench, directory, "let --delete one", f"let B = slice forward {where}", "let -d B")
    bench.check(not os.path.exists(beside), "a slice that is forgotten leaves no file")
    none, = ask(bench, directory, "info slices")
    bench.check(none["slices"] == [], f"{none}")
    return kept


def check_refused(bench, directory, other, kept, where):
    with open(f"{wet_of(other)}.away.set", "wb") as to, open(kept, "rb") as file:
        whole = file.read()
        to.write(whole)
    cut = bench.path("cut.set")
    with open(cut, "wb") as file:
        file.write(whole[:len(whole) // 2])
    listed, = ask(bench, other, "info slices")
    bench.check("another run's" in listed["slices"][0]["error"], f"{listed}")
    made = ["-e", f"let B = slice backward --data {where}"]
    for trace, command, status, sentence in (
            (other, f"let B = load {kept}", 2, "is a set of another run's instances"),
            (other, "show away", 2, "is a set of another run's instances"),
            (directory, f"let B = load {cut}", 3, "is no set of instances, or was damaged"),
            (directory, f"let B = load {bench.path('none')}", 5, "No such file"),
            (directory, "let B = load", 2, "'load' takes one file"),
            (directory, "show A", 1, "no slice is called 'A'; 'info slices' lists"),
            (directory, "show Another", 1, "no slice is called 'Another'; 'info slices' lists"),
            (directory, "let --delete A", 1, "no slice is called 'A'"),
            (directory, "save A", 1, "no slice is called 'A'"),
            (directory, "save B /no/such/folder/file", 5, "/no/such/folder/file"),
            (directory, "let crash = B", 2, "a slice cannot be called 'crash'"),
            (directory, "let 1st = B", 2, "'1st' cannot be the name of a slice"),
            (directory, f"let {'x' * 64} = B", 2, "cannot be the name of a slice"),
            (directory, "let A B = B", 2, "'A B' cannot be the name of a slice"),
            (directory, "let A", 2, "a '=' is missing"),
            (directory, "let A =", 2, "the name of a slice is missing at the end of ''"),
            (directory, "let A = B &", 2, "the name of a slice is missing at the end of 'B &'"),
            (directory, "let A = (B | B", 2, "')' is missing at the end"),
            (directory, "let A = B B", 2, "'&', '|' or '-' is missing before 'B'"),
            (directory, "let A = " + 101 * "(" + "B" + 101 * ")", 2, "more than 100 parentheses"),
            (directory, "let A = slice sideways crash", 2, "'sideways' is no direction"),
            (directory, "let A = slice backward crash --limit 3", 2, "--limit is for 'show'"),
            (directory, "let A = chop crash", 2, "chop: something is missing"),
            (directory, "show", 2, "show: something is missing"),
            (directory, "diff B", 2, "diff: something is missing"),
            (directory, "diff B 'B -'", 2, "is missing at the end")):
        run = bench.wet("replay", trace, "--batch", *(made if trace == directory else []), "-e", command)
        bench.check(run.status == status and sentence in run.err, f"{command}: {run.status}, {run.err}", run)
    run = bench.wet("replay", directory, "--batch", "-e", "save")
    bench.check(run.status == 1 and "no named slice that is not saved" in run.err, "nothing to save", run)


def test(bench, _arguments):
    text = bench.path("text")
    with open(text, "w") as file:
        file.write("b" + 1031 * "a")
    directory = bench.record("wild", f"{bench.build}/tests/e2e/e2e_copy_out", stdin=text)
    other = bench.record("keep", f"{bench.build}/tests/e2e/e2e_copy_out", "keep", stdin=text)
    where = f"{SOURCE}:{line_of('STORE')}#5"
    ask(bench, other, "info")
    check_both(bench, directory, f"{SOURCE}:{line_of('INPUT')}")
    check_text(bench, directory, where)
    check_order(bench, directory, f"{SOURCE}:{line_of('INPUT')}", "crash")
    kept = check_saved(bench, directory, where)
    check_refused(bench, directory, other, kept, where)


if __name__ == "__main__":
    e2e.main(test)
