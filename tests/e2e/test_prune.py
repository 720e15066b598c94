#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_prune.py BUILD-DIRECTORY: slices pruned by confidence, at the prompt.

The guest prints two right numbers and a wrong one. What led to right ones only is pruned, the fault is not; marks
narrow it down."""
import e2e

SOURCE = "right_and_wrong.c"
WRONG = "output:7"


def marks():
    found = {}
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{SOURCE}") as file:
        for number, text in enumerate(file, 1):
            words = text.split("/* ")[-1].split()
            if "/* " in text and words[0].strip(":").isupper():
                found[words[0].strip(":")] = number
    return found


def answers_of(bench, directory, *commands, schema="wetdbg.prune/1"):
    arguments = [word for command in commands for word in ("-e", command)]
    run = bench.wet("replay", directory, "--batch", "--json", *arguments)
    return [answer for answer in run.objects() if answer.get("schema") == schema], run


def own(answer, is_kept=True):
    return [row["line"] for row in answer["lines"]
            if row["file"] and e2e.base_name(row["file"]) == SOURCE and (row["confidence"] < 1) == is_kept]


def confidence_of(answer, line):
    return [row["confidence"] for row in answer["lines"]
            if row["file"] and e2e.base_name(row["file"]) == SOURCE and row["line"] == line][0]


def check_default(bench, directory, lines):
    answers, run = answers_of(bench, directory, f"slice backward {WRONG}", "prune", f"prune --wrong {WRONG} --ok output:0+7",
                              f"prune --wrong {WRONG} --ok output:0+3")
    if not bench.check(run.status == 0 and len(answers) == 3, "three prunings", run):
        return
    first, same, less = answers
    bench.check(first["right"] == ["output:1:0+7"], f"what is right: {first['right']}")
    bench.check(own(first) == own(same), "saying what is right anyway changes nothing")
    bench.check(lines["FAULT"] in own(first) and confidence_of(first, lines["FAULT"]) == 0, f"the fault: {own(first)}")
    pruned = own(first, is_kept=False)
    bench.check({lines["SQUARE"], lines["SUM"]} <= set(pruned), f"what only right output needs: {pruned}")
    bench.check(lines["SQUARE"] in own(less) and lines["SUM"] in own(less, is_kept=False) and
                less["known_instances"] < first["known_instances"], f"less that is right tells less: {own(less)}")
    rows = first["lines"]
    bench.check([row["confidence"] for row in rows] == sorted(row["confidence"] for row in rows), "the least first")
    for row in rows + first["without_lines"]:
        bench.check(0 <= row["confidence"] <= 1 and row["kept"] <= row["instances"] and
                    (row["confidence"] < 1 or row["kept"] == 0), f"a row: {row}")
    bench.check(first["kept_instances"] < first["instances"] and first["kept_line_count"] < first["line_count"], "counts")
    text = bench.wet("replay", directory, "--batch", "-e", f"prune --wrong {WRONG} --pruned")
    bench.check(f"1.00  {SOURCE}:{lines['SQUARE']}  square" in text.out, "the pruned ones", text)


def check_rounds(bench, directory, lines):
    answers, run = answers_of(bench, directory, f"slice backward {WRONG}", "prune", f"mark good {SOURCE}:{lines['SECOND']}",
                              f"mark bad {SOURCE}:{lines['FAULT']}", f"mark good {SOURCE}:{lines['SIDE']}#1")
    if not bench.check(run.status == 0 and len(answers) == 4, "four rounds", run):
        return
    before, good, bad, last = answers
    bench.check(lines["SECOND"] in own(before) and lines["SECOND"] not in own(good), "a line that is good goes")
    bench.check(good["marks"] == [{"place": f"{SOURCE}:{lines['SECOND']}", "good": True, "instances": 8}] or
                good["marks"][0]["good"], f"marks: {good['marks']}")
    bench.check(bad["instances"] < good["instances"] and lines["FAULT"] in own(bad), "a bad one is sliced from")
    bench.check(bad["right"] == before["right"], "what was right still is")
    bench.check(lines["SIDE"] not in own(last) and lines["FAULT"] in own(last), f"the last round: {own(last)}")
    both = [answers_of(bench, directory, f"slice backward {WRONG}", f"mark {what} {SOURCE}:{lines['FAULT']}#1")[0][0]["marks"][0]
            for what in ("good", "bad")]
    bench.check(both[0]["instances"] == both[1]["instances"] > 1, f"instructions of one instance: {both}")
    listed, run = answers_of(bench, directory, f"prune --wrong {WRONG}", f"mark good {SOURCE}:{lines['SECOND']}", "mark",
                             "mark clear", "mark", schema="wetdbg.marks/1")
    bench.check([len(answer["marks"]) for answer in listed] == [1, 0, 0], "marks are listed and cleared", run)


def check_coarse(bench, directory, lines):
    answers, run = answers_of(bench, directory, f"prune --wrong {WRONG}", f"prune --from {SOURCE}:{lines['SIDE']}",
                              f"prune --through {SOURCE}:{lines['FAULT']} --from {SOURCE}:{lines['SIDE']}", "prune")
    if not bench.check(run.status == 0 and len(answers) == 4, "four prunings", run):
        return
    all_, late, through, again = answers
    bench.check(0 < through["instances"] <= late["instances"] < all_["instances"] == again["instances"], "fewer instances")
    bench.check(lines["FAULT"] in own(late) and lines["FAULT"] in own(through), f"the fault: {own(late)} {own(through)}")
    bench.check(lines["SECOND"] not in own(late) + own(late, is_kept=False), "what does not depend on it")
    distances = [{row["line"]: row["distance"] for row in answer["lines"] if row["file"] and
                  e2e.base_name(row["file"]) == SOURCE} for answer in (all_, late)]
    bench.check(distances[0][lines["FAULT"]] == distances[1][lines["FAULT"]], "distances are those of the whole slice")
    named, run = answers_of(bench, directory, f"let L = slice forward {SOURCE}:{lines['SIDE']}", f"let F = slice both {SOURCE}:{lines['FAULT']}",
                            f"prune --wrong {WRONG} --within L", "prune --within 'L & F'")
    bench.check([answer["instances"] for answer in named] == [late["instances"], through["instances"]], "within named slices", run)
    bench.check(named[0]["lines"] == late["lines"], "within a named slice", run)
    empty = bench.wet("replay", directory, "--batch", "-e", f"prune --wrong {WRONG} --from output:0 --from output:8")
    bench.check("leave one out" in empty.err, "nothing in common", empty)


def check_each(bench, directory, lines):
    """Two right outputs tell what each of them tells: the way back from the later one leads through the printing of the
    earlier one, whose first call is bound there."""
    (both, first, second), run = answers_of(bench, directory, f"prune --wrong {WRONG}", f"prune --wrong {WRONG} --ok output:0+3",
                                            f"prune --wrong {WRONG} --ok output:3+4")
    bench.check(both["right_bytes"] == first["right_bytes"] + second["right_bytes"], "all is right", run)
    rows = [{(row["file"], row["line"], row["function"], row["module"]): row for row in answer["lines"] + answer["without_lines"]}
            for answer in (both, first, second)]
    for place, row in rows[0].items():
        least = min(rows[1][place]["kept"], rows[2][place]["kept"])
        bench.check(row["kept"] <= least, f"{place}: {row['kept']} of its instances are left, with one output {least}")
    bench.check(lines["SECOND"] not in own(second) + own(both) or
                confidence_of(both, lines["SECOND"]) == confidence_of(second, lines["SECOND"]), "the second printf's own line")
    bench.check(second["known_instances"] > 0 and second["kept_instances"] < second["instances"] > both["kept_instances"],
                "the second alone is evidence, too")


def check_limit(bench, directory):
    """A pass that ends early says how far it came; what it looked at is as in the whole answer."""
    (whole,), _ = answers_of(bench, directory, f"prune --wrong {WRONG}")
    (part,), run = answers_of(bench, directory, f"prune --wrong {WRONG} --judge 400")
    bench.check(whole["looked_to"] is None and whole["looked_instances"] == whole["instances"] and not whole["interrupted"],
                "all is looked at")
    bench.check(0 < part["looked_instances"] < part["instances"] == whole["instances"] and part["looked_to"] > 1 and
                part["kept_instances"] > whole["kept_instances"], f"a part is: {part['looked_instances']}", run)
    of = {(row["file"], row["line"], row["function"]): row for row in whole["lines"] + whole["without_lines"]}
    rows = part["lines"] + part["without_lines"]
    bench.check(sum(row["looked"] for row in rows) == part["looked_instances"], "by lines")
    for row in rows:
        full = of[row["file"], row["line"], row["function"]]
        bench.check((row["confidence"] is None) == (row["looked"] == 0), f"no confidence: {row}")
        if row["looked"] == row["instances"]:
            bench.check(row["confidence"] == full["confidence"], f"all of a line: {row} {full}")
        elif row["looked"]:
            bench.check(min(full["confidence"], 0.999) <= row["confidence"] < 1, f"a part of a line: {row} {full}")
    looked = [row["looked"] > 0 for row in part["lines"]]
    bench.check(looked == sorted(looked, reverse=True) and not all(looked), "what was not looked at comes last")
    text = bench.wet("replay", directory, "--batch", "-e", f"prune --wrong {WRONG} --judge 400 --limit 0 --all")
    bench.check(f"(looked at {part['looked_instances']} of its instances" in text.out and "\n   ?  " in text.out, "text", text)


def check_passed(bench):
    """What went through a pipe and a file is as right as what came back."""
    with open(f"{e2e.SOURCE}/tests/e2e/programs/squares_piped.c") as file:
        square = next(number for number, text in enumerate(file, 1) if "/* SQUARE */" in text)
    directory = bench.record("piped", f"{bench.build}/tests/e2e/e2e_squares_piped")
    answers, run = answers_of(bench, directory, "prune --wrong output:8")
    rows = [row for row in answers[0]["lines"] if row["line"] == square and e2e.base_name(row["file"]) == "squares_piped.c"]
    bench.check(len(rows) == 1 and rows[0]["confidence"] == 1 and rows[0]["instances"] >= 8, f"the squares: {rows}", run)


def check_refusals(bench, directory, lines):
    for commands, sentence in (
            (("prune",), "there is no slice yet"),
            (("slice forward argv:0", "prune"), "the last slice went forward"),
            (("prune --wrong output:0",), "confidence is not applicable"),
            ((f"prune --wrong {WRONG} --ok output:0+99",), "output byte 98 does not exist"),
            ((f"prune --wrong {WRONG} --ok output:0+8",), "reaches to byte 7, but byte 7 is wrong"),
            ((f"prune --wrong {WRONG} --ok output:8",), "only what came before it can be right"),
            ((f"prune --wrong {WRONG} --ok nonsense:x",), ""),
            ((f"prune --wrong {WRONG}", f"mark bad {SOURCE}:{lines['FAULT']}", "prune --ok output:0+8"), "byte 7 is wrong"),
            ((f"prune --wrong {WRONG} --within nothing",), "no slice is called 'nothing'"),
            ((f"slice backward {WRONG}", f"mark good {SOURCE}:1"), "is not in the slice of"),
            ((f"slice backward {WRONG}", "mark good 1"), "is not in the slice of"),
            (("mark good 5",), "there is no slice yet"),
            ((f"slice backward {WRONG}", "mark fine 5"), "usage: mark"),
            ((f"slice backward {WRONG}", "mark good"), "usage: mark")):
        arguments = [word for command in commands for word in ("-e", command)]
        run = bench.wet("replay", directory, "--batch", *arguments)
        bench.check(run.status in (1, 2) and sentence in run.err, f"{commands}: {run.status} {run.err}", run)
    # Nothing right came before, but somebody knows of something.
    answers, run = answers_of(bench, directory, "slice backward output:0", f"mark good {SOURCE}:{lines['SQUARE']}")
    bench.check(len(answers) == 1 and lines["SQUARE"] in own(answers[0], is_kept=False), "a mark is enough", run)


def main_test(bench, _):
    lines = marks()
    bench.check(len(lines) == 6, f"the guest's marks: {lines}")
    directory = bench.record("numbers", f"{bench.build}/tests/e2e/e2e_right_and_wrong")
    check_default(bench, directory, lines)
    check_rounds(bench, directory, lines)
    check_coarse(bench, directory, lines)
    check_refusals(bench, directory, lines)
    check_each(bench, directory, lines)
    check_limit(bench, directory)
    check_passed(bench)


if __name__ == "__main__":
    e2e.main(main_test)
