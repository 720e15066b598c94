#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_implicit.py BUILD: implicit dependences at the prompt. Of each decision that a guest may force, the program
that was built with it forced says whether a value depends on it: its output then differs there, and only then the
slice of that value may have an edge to that decision. Through memory in one guest, through registers in another, and
from one thread to another."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

class Guest:
    """A guest, its decisions by number, and where they are marked in its source."""

    def __init__(self, name, decisions, others=()):
        self.name, self.source, self.decisions, self.lines = f"switch_{name}", f"{name}.c", decisions, {}
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "guests", self.source)) as source:
            for number, text in enumerate(source, 1):
                for mark in (*decisions.values(), *others):
                    if f"/* {mark} */" in text:
                        self.lines[mark] = number

    def program(self, bench, forced=None):
        return f"{bench.build}/tests/predicate_switch/{self.name}" + (f"_{forced}" if forced else "")


MEMORY = Guest("omits", {1: "RATE", 2: "LEVEL", 3: "TOTAL", 4: "DONE", 5: "SAME", 6: "EARLY", 7: "AGAIN"}, ["END"])
REGISTERS = Guest("omits_registers",
                  {1: "RATE", 2: "RETURNED", 3: "SCALE", 4: "SUM", 5: "SAME", 6: "PASSED", 7: "ENDED"})

THREADS = Guest("omits_threads", {1: "RATE", 2: "LEVEL"})
CRASH = Guest("omits_crash", {1: "FOUND"}, ["OTHER", "CRASH"])


def ask(bench, trace, *commands):
    run = bench.wet("replay", trace, "--batch", "--json", *(part for command in commands for part in ("-e", command)))
    bench.check(run.out, "no answer", run)
    return run.objects()[-len(commands):]


def lines_of(guest, answer):
    return {row["line"] for row in answer["lines"] if os.path.basename(row["file"] or "") == guest.source}


def check_digit(bench, guest, at, depends, without, answer):
    """Edges lead to those decisions that natively change the digit, and to no others."""
    edges = answer["implicit"]["edges"]
    for number, name in guest.decisions.items():
        mine = [edge for edge in edges if edge["switched"]["line"] == guest.lines[name]]
        bench.check(bool(mine) == depends[number], f"digit {at} and {name}: natively {depends[number]}, edges {mine}")
        if depends[number]:
            bench.check(guest.lines[name] not in lines_of(guest, without) and guest.lines[name] in lines_of(guest, answer),
                        f"digit {at}: the line of {name} is gained")
            row, = (row for row in answer["lines"] if row["line"] == guest.lines[name] and
                    os.path.basename(row["file"] or "") == guest.source)
            bench.check(row["implicit"], f"digit {at}: {row}")
    bench.check(len(edges) >= sum(depends.values()), f"digit {at}: {edges}")


def check_edges(bench, trace, guest):
    plain = bench.run(guest.program(bench), "0").out
    forced = {number: bench.run(guest.program(bench, number), "0").out for number in guest.decisions}
    answers = ask(bench, trace, *(f"slice {how} output:{at}" for at in range(len(plain)) for how in ("", "--implicit")))
    for at, (without, answer) in enumerate(zip(answers[::2], answers[1::2])):
        check_digit(bench, guest, at, {number: out[at] != plain[at] for number, out in forced.items()}, without, answer)
    return answers[1::2]


def check_values(bench, found):
    """What the uses read, without and with the switch; a use that does not happen; what is refuted."""
    bench.check(all(answer["implicit"]["unresolved"] == 0 for answer in found), "all are resolved")
    early, = (edge for edge in found[5]["implicit"]["edges"] if edge["switched"]["line"] == MEMORY.lines["EARLY"])
    bench.check(early["switched"]["instance"] == 1, f"the first of 10 turns: {early}")
    values = {at: (edge["was"], edge["is"], edge["effect"]) for at in (0, 1) for edge in found[at]["implicit"]["edges"]}
    bench.check(values[0][2] == "value" and values[1][2] == "value", f"values: {values}")
    missing = [edge for edge in found[3]["implicit"]["edges"] if edge["effect"] == "missing"]
    bench.check([edge["use"]["line"] for edge in missing] == [MEMORY.lines["END"]], f"a use that does not happen: {missing}")
    effects = [edge["effect"] for edge in found[3]["implicit"]["edges"]]
    bench.check(effects == ["value", "missing"], f"other values come first: {effects}")
    for at, name in ((2, "TOTAL"), (4, "SAME")):
        answer = found[at]["implicit"]
        bench.check(answer["tried"] and answer["refuted"] and not answer["edges"], f"{name} is refuted: {answer}")


def check_named(bench, trace):
    """What `let` slices is the last slice, and its implicit lines are marked where it is shown."""
    where = f"omits.c:{MEMORY.lines['LEVEL']}"
    made, shown, common, both, rest, why, pruned = ask(
        bench, trace, "let A = slice --implicit --budget 8 output:1", "show A", "let B = slice output:1", "show A | B", "show A - B",
        f"why {where}", "prune")
    level = lambda answer: [row.get("implicit") for row in answer["lines"]
                            if row["line"] == MEMORY.lines["LEVEL"] and row["file"].endswith("omits.c")]
    bench.check(made["instances"] == shown["instances"] and level(shown) == [True], f"the mark: {level(shown)}")
    bench.check(level(both) == [True] and level(rest) == [True] and common["line_count"] < made["line_count"], "put together")
    bench.check("not in the full slice" in why.get("message", ""), f"the last slice is B: {why}")
    if bench.check(pruned["schema"] == "wetdbg.prune/1" and pruned["instances"] == common["instances"], f"{pruned}"):
        counted = {(row["file"], row["line"]) for row in pruned["lines"]}
        bench.check(pruned["line_count"] == common["line_count"] == len(counted) and
                    pruned["kept_line_count"] == sum(row["confidence"] != 1 for row in pruned["lines"]), f"lines: {pruned}")
    _, why, decisions, pruned = ask(bench, trace, "let A = slice --implicit --budget 8 output:1", f"why {where}", "decisions", "prune")
    hops = [hop for hop in why["hops"] if hop["kind"] == "implicit"]
    bench.check(hops and all(hop["implicit"]["switched"]["time"] == hop["time"] for hop in hops) and
                hops[-1]["implicit"]["switched"]["line"] == MEMORY.lines["LEVEL"], f"the switch of a hop: {why}")
    bench.check(sum("implicit" in hop for hop in why["hops"]) == len(hops), f"only of such hops: {why}")
    bench.check(decisions["criterion"] == "output:1" and pruned["instances"] == made["instances"], f"{decisions}, {pruned}")
    run = bench.wet("replay", trace, "--batch", "-e", "let A = slice --implicit --budget 8 output:1", "-e", "let C = A & A", "-e", "show C")
    bench.check("  implicit  | " in run.out, "the mark in text", run)


def check_counted(bench, trace):
    """Where a use does not happen, that is only counted, as long as there are others; all can be seen."""
    value, missing = "gets another value: 1, not 0", f"the use at omits.c:{MEMORY.lines['END']}#1 does not happen"
    run = bench.wet("replay", trace, "--batch", "-e", "info implicit", "-e", "slice --implicit --budget 8 output:3", "-e", "info implicit")
    first, last = run.out.split("implicit dependences: 2, ")[1:]
    bench.check("no implicit dependences; " in run.out and value in first and missing not in first, "what is counted", run)
    bench.check("\n(1 more implicit dependence: the use does not happen; 'info implicit' shows all)\n" in first, "how many", run)
    bench.check(last.find(value) < last.find(missing) and value in last, "all of them, in order", run)
    answer, shown = ask(bench, trace, "slice --implicit --budget 8 output:3", "info implicit")
    bench.check(shown["schema"] == "wetdbg.implicit/1" and shown["implicit"] == answer["implicit"], f"{shown}")


def check_prompt(bench, trace):
    """Text, `why`, budgets, and options that do not go together."""
    run = bench.wet("replay", trace, "--batch", "-e", "slice --implicit --budget 8 output:0", "-e", f"why omits.c:{MEMORY.lines['RATE']}")
    bench.check(f"implicit: omits.c:{MEMORY.lines['RATE']}#1 switched, the use at omits.c:" in run.out, "the proof", run)
    bench.check("gets another value: 7, not 3" in run.out, "the values", run)
    bench.check(run.out.rstrip().count("implicit: ") == 2, "why says it, too", run)
    check_counted(bench, trace)
    check_named(bench, trace)
    chop, = ask(bench, trace, f"chop omits.c:{MEMORY.lines['RATE']}#1 output:0")
    bench.check(chop["instances"] == 0 and "--implicit" in chop["empty_because"], f"an empty chop: {chop['empty_because']}")
    expected = bench.path("right")
    with open(expected, "w") as file:
        file.write(bench.run(MEMORY.program(bench, 1), "0").out)
    answer, = ask(bench, trace, f"slice --implicit --budget 8 --expect {expected} output:0")
    bench.check([edge["strong"] for edge in answer["implicit"]["edges"]] == [True], f"strong: {answer['implicit']}")
    cut, = ask(bench, trace, "slice --implicit --budget 0.00001s output:3")
    bench.check(cut["implicit"]["tried"] == 0 and cut["implicit"]["left"] is None and not cut["implicit"]["interrupted"], f"no time at all: {cut['implicit']}")
    told = bench.wet("replay", trace, "--batch", "-e", "slice --implicit --budget 0.00001s output:3")
    bench.check("; the time was over before all were known, --budget allows more (" in told.out, "no time at all, told", told)
    answer, = ask(bench, trace, "slice --implicit --budget 1 output:3")
    bench.check(answer["implicit"]["tried"] == 1, f"one run: {answer['implicit']}")
    for wrong, why in (("slice forward --implicit output:0", "backward"), ("slice --implicit --data output:0", "all"),
                       ("slice --budget 3 output:0", "--implicit"), ("slice --implicit --budget 0 output:0", "30s"),
                       ("slice --implicit --expect /no/such output:0", "/no/such")):
        answer, = ask(bench, trace, wrong)
        bench.check(answer["schema"] == "wetdbg.error/1" and why in answer["message"], f"{wrong}: {answer}")


KEEPS = r"""#include <stdio.h>
int main(int count, char **words)
{
    int price = 5;
    FILE *to = fopen("kept.txt", "w");
    (void)words;
    if (count > 1)
        price = 4;
    return to && fprintf(to, "price %d\n", price) == 8 && fclose(to) == 0 ? 0 : 1;
}
"""


def check_file(bench):
    """Of a file's output what is expected is the file's: natively it is so if the decision goes the other way."""
    with open(bench.path("keeps.c"), "w") as file:
        file.write(KEEPS)
    bench.run("cc", "-g", "-O0", "-o", bench.path("keeps"), bench.path("keeps.c"))
    bench.run(bench.path("keeps"), "less")
    os.rename(bench.path("kept.txt"), bench.path("kept.right"))
    trace = bench.record("keeps.trace", bench.path("keeps"))
    answers = ask(bench, trace, *(f"slice --implicit --budget 4 --expect {right} output:kept.txt:6" for right in ("kept.right", "keeps.c")))
    edges = [[(edge["switched"]["line"], edge["strong"]) for edge in answer["implicit"]["edges"]] for answer in answers]
    bench.check(edges == [[(7, True)], [(7, False)]], f"a file's output: {edges}")


def check_registers(bench, found):
    """Which registers the uses read; in a loop each turn is one of its own, and what makes it endless is left open."""
    for at in (0, 1, 2, 3, 5, 6):
        bench.check(all("register" in edge["use"] and "address" not in edge["use"] and edge["effect"] == "value"
                        for edge in found[at]["implicit"]["edges"]), f"digit {at}: {found[at]['implicit']}")
    values = {at: (found[at]["implicit"]["edges"][0]["was"], found[at]["implicit"]["edges"][0]["is"]) for at in (0, 1, 5)}
    bench.check(values == {0: ("3", "7"), 1: ("2", "6"), 5: ("1", "4")}, f"values: {values}")
    bench.check(len(found[3]["implicit"]["edges"]) >= 6, f"turns: {found[3]['implicit']}")
    bench.check(found[4]["implicit"]["refuted"] and not found[4]["implicit"]["edges"], f"SAME: {found[4]['implicit']}")


def check_threads(bench, trace):
    """A thread that is there at the switch has the same slot in both runs; of one that begins later nothing is said."""
    without, answer = ask(bench, trace, "slice output:0", "slice --implicit output:0")
    check_digit(bench, THREADS, 0, {1: True, 2: False}, without, answer)
    answer, = ask(bench, trace, "slice --implicit output:1")
    found = answer["implicit"]
    reason = "a use is in a thread that begins after the switch"
    bench.check(not found["edges"] and reason in (row["reason"] for row in found["reasons"]), f"a later thread: {found}")
    bench.check(found["proving"] + found["refuted"] <= found["tried"], f"what was no run is not counted as one: {found}")


def check_crash(bench, trace):
    """The instruction that faulted is a use, though it did not complete."""
    bench.check(bench.run(CRASH.program(bench, 1), "0").out == "3", "natively it is found")
    without, answer = ask(bench, trace, "slice crash", "slice --implicit crash")
    edge, = answer["implicit"]["edges"]
    bench.check((edge["switched"]["line"], edge["use"]["line"], edge["was"], edge["effect"]) ==
                (CRASH.lines["FOUND"], CRASH.lines["CRASH"], "0", "value"), f"the pointer: {edge}")
    bench.check(CRASH.lines["FOUND"] in lines_of(CRASH, answer) - lines_of(CRASH, without), "its line is gained")


def test(bench, _):
    trace = bench.record("omits", MEMORY.program(bench), "0")
    check_values(bench, check_edges(bench, trace, MEMORY))
    check_prompt(bench, trace)
    check_file(bench)
    trace = bench.record("omits_registers", REGISTERS.program(bench), "0")
    check_registers(bench, check_edges(bench, trace, REGISTERS))
    for number, right in ((None, "32"), (1, "72"), (2, "34")):
        bench.check(bench.run(THREADS.program(bench, number), "0").out == right, f"{number} natively: {right}")
    check_threads(bench, bench.record("omits_threads", THREADS.program(bench), "0"))
    check_crash(bench, bench.record("omits_crash", CRASH.program(bench), "0"))


if __name__ == "__main__":
    e2e.main(test)
