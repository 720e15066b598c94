#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_implicit.py BUILD: implicit dependences at the prompt. Of each decision that the guest may force, the program
that was built with it forced says whether a value depends on it: its output then differs there, and only then the
slice of that value may have an edge to that decision."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

NAMES = {1: "RATE", 2: "LEVEL", 3: "TOTAL", 4: "DONE", 5: "SAME"}
LINES = {}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "guests", "omits.c")) as source:
    for number, text in enumerate(source, 1):
        for mark in (*NAMES.values(), "END"):
            if f"/* {mark} */" in text:
                LINES[mark] = number


def ask(bench, trace, *commands):
    run = bench.wet("replay", trace, "--batch", "--json", *(part for command in commands for part in ("-e", command)))
    bench.check(run.out, "no answer", run)
    return run.objects()[-len(commands):]


def check_edges(bench, trace, program):
    """Edges of each digit's slice lead to those decisions that natively change the digit, and no others."""
    plain = bench.run(program, "0").out
    forced = {k: bench.run(f"{program}_{k}", "0").out for k in NAMES}
    found = {}
    for at in range(len(plain)):
        without, answer = ask(bench, trace, f"slice output:{at}", f"slice --implicit output:{at}")
        edges = answer["implicit"]["edges"]
        found[at] = answer
        bench.check(answer["implicit"]["unresolved"] == 0, f"digit {at}: {answer['implicit']}")
        for number, name in NAMES.items():
            depends = forced[number][at] != plain[at]
            mine = [edge for edge in edges if edge["switched"]["line"] == LINES[name]]
            bench.check(bool(mine) == depends, f"digit {at} and {name}: natively {depends}, edges {mine}")
            inside = lambda slice: {row["line"] for row in slice["lines"] if row["file"].endswith("omits.c")}
            if depends:
                bench.check(LINES[name] not in inside(without) and LINES[name] in inside(answer),
                            f"digit {at}: the line of {name} is gained")
                row, = (row for row in answer["lines"] if row["line"] == LINES[name] and row["file"].endswith("omits.c"))
                bench.check(row["implicit"], f"digit {at}: {row}")
        bench.check(len(edges) >= sum(forced[k][at] != plain[at] for k in NAMES), f"digit {at}: {edges}")
    return found


def check_values(bench, found):
    """What the uses read, without and with the switch; a use that does not happen; what is refuted."""
    values = {at: (edge["was"], edge["is"], edge["effect"]) for at in (0, 1) for edge in found[at]["implicit"]["edges"]}
    bench.check(values[0][2] == "value" and values[1][2] == "value", f"values: {values}")
    missing = [edge for edge in found[3]["implicit"]["edges"] if edge["effect"] == "missing"]
    bench.check([edge["use"]["line"] for edge in missing] == [LINES["END"]], f"a use that does not happen: {missing}")
    for at, name in ((2, "TOTAL"), (4, "SAME")):
        answer = found[at]["implicit"]
        bench.check(answer["tried"] and answer["refuted"] and not answer["edges"], f"{name} is refuted: {answer}")


def check_prompt(bench, trace):
    """Text, `why`, budgets, and options that do not go together."""
    run = bench.wet("replay", trace, "--batch", "-e", "slice --implicit output:0", "-e", f"why omits.c:{LINES['RATE']}")
    bench.check(f"implicit: omits.c:{LINES['RATE']}#1 switched, the use at omits.c:" in run.out, "the proof", run)
    bench.check("gets another value: 7, not 3" in run.out, "the values", run)
    bench.check(run.out.rstrip().count("implicit: ") == 2, "why says it, too", run)
    expected = bench.path("right")
    with open(expected, "w") as file:
        file.write(bench.run(f"{bench.build}/tests/predicate_switch/switch_omits_1", "0").out)
    answer, = ask(bench, trace, f"slice --implicit --expect {expected} output:0")
    bench.check([edge["strong"] for edge in answer["implicit"]["edges"]] == [True], f"strong: {answer['implicit']}")
    answer, = ask(bench, trace, "slice --implicit --budget 1 output:3")
    bench.check(answer["implicit"]["tried"] == 1, f"one run: {answer['implicit']}")
    for wrong, why in (("slice forward --implicit output:0", "backward"), ("slice --implicit --data output:0", "all"),
                       ("slice --budget 3 output:0", "--implicit"), ("slice --implicit --budget 0 output:0", "30s"),
                       ("slice --implicit --expect /no/such output:0", "/no/such")):
        answer, = ask(bench, trace, wrong)
        bench.check(answer["schema"] == "wetdbg.error/1" and why in answer["message"], f"{wrong}: {answer}")


def test(bench, _):
    program = f"{bench.build}/tests/predicate_switch/switch_omits"
    trace = bench.record("omits", program, "0")
    check_values(bench, check_edges(bench, trace, program))
    check_prompt(bench, trace)


if __name__ == "__main__":
    e2e.main(test)
