#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_forward.py BUILD-DIRECTORY: forward slices of what a recorded program was given.

The guest reads 1,025 bytes into a buffer of 1,024: the last one lies over a pointer. Its forward data slice is the
input (the call, in the C library), the store and the free."""
import re

import e2e

SOURCE = "copy_out.c"


def marks():
    found = {}
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{SOURCE}") as file:
        for number, text in enumerate(file, 1):
            if "/* " in text and text.rstrip().endswith("*/") and text.split("/* ")[1].split()[0].isupper():
                found[text.split("/* ")[1].split()[0]] = number
    return found


def answer_of(bench, directory, command):
    run = bench.wet("replay", directory, "--batch", "--json", "-e", command)
    answers = [answer for answer in run.objects() if answer.get("schema", "").startswith("wetdbg.slice")]
    bench.check(run.status == 0 and len(answers) == 1, f"{command}: {len(answers)} slices", run)
    return answers[0]


def lines_in(answer):
    return {row["line"] for row in answer["lines"] if row["file"] and e2e.base_name(row["file"]) == SOURCE}


def pieces(answer):
    return [(piece["fd"], piece["offset"], piece["size"]) for piece in answer["output"] if not piece["control"]]


def check_overrun(bench, lines):
    text = bench.path("text")
    with open(text, "w") as file:
        file.write("b" + 1024 * "a")
    directory = bench.record("overrun", f"{bench.build}/tests/e2e/e2e_copy_out", stdin=text)
    last = answer_of(bench, directory, "slice forward --data input:1024")
    bench.check(lines_in(last) == {lines["STORE"], lines["FREE"]}, f"data slice: {lines_in(last)}")
    calls = {row["function"] for row in last["without_lines"]} | {row["function"] for row in last["lines"]}
    bench.check(any("read" in name for name in calls), f"the call that read it: {calls}")
    bench.check(last["direction"] == "forward", f"direction: {last['direction']}")
    bench.check(pieces(last) == [], f"no output: {last['output']}")
    first = answer_of(bench, directory, "slice forward --data input:0")
    bench.check(pieces(first) == [(1, 18, 1)], f"first byte's output: {first['output']}")
    bench.check(not first["crash"], "the first byte does not reach the crash")
    other = answer_of(bench, directory, "slice forward --data input:500")
    bench.check(lines_in(other) == {lines["STORE"]}, f"byte 500: {lines_in(other)}")
    with open(text, "w") as file:
        file.write("b" + 1031 * "a") # all of the pointer: what it leads to cannot be read
    directory = bench.record("wild", f"{bench.build}/tests/e2e/e2e_copy_out", stdin=text)
    for offset in (1024, 1031):
        wild = answer_of(bench, directory, f"slice forward --data input:{offset}")
        bench.check(wild["crash"], f"byte {offset} reaches the crash")
    early = answer_of(bench, directory, "slice forward --data input:1000")
    bench.check(not early["crash"], "byte 1000 does not reach the crash")
    back = answer_of(bench, directory, "slice backward --data crash")
    bench.check(lines["STORE"] in lines_in(back), f"the crash's slice: {lines_in(back)}")


def check_chop(bench, lines):
    run = bench.wet("replay", bench.path("wild"), "--batch", "--json", "-e", "chop --data input:1024 crash",
                    "-e", "chop input:1024 input:0", "-e", "chop --data argv:0 crash")
    answers = [answer for answer in run.objects() if answer.get("schema") == "wetdbg.chop/1"]
    if not bench.check(run.status == 0 and len(answers) == 3, "three chops", run):
        return
    bench.check(lines_in(answers[0]) == {lines["STORE"], lines["FREE"]}, f"chop: {lines_in(answers[0])}")
    bench.check(answers[0]["instances"] <= min(answers[0]["forward_instances"], answers[0]["backward_instances"]),
                "a chop is in both slices")
    bench.check(answers[0]["empty_because"] is None, "a chop that is not empty has no reason")
    bench.check(answers[2]["instances"] == 0 and "--data" in answers[2]["empty_because"], f"{answers[2]}")


def check_given(bench, lines):
    directory = bench.record("given", f"{bench.build}/tests/e2e/e2e_copy_out", "keep", stdin=bench.path("text"))
    word = answer_of(bench, directory, "slice forward argv:1")
    bench.check(word["instances"] > 0 and lines["FREE"] not in lines_in(word), f"argv:1: {lines_in(word)}")
    for command, sentence in (
            ("slice forward input:99999", "the program did not read byte 99999"),
            ("slice forward input:7:0", "read nothing from descriptor 7"),
            ("slice forward argv:9", "there is no argv[9]: argv has 2 elements"),
            ("slice forward argv:1:4", "argv[1] has 4 bytes"),
            ("slice forward env:NO_SUCH_NAME", "was given no variable NO_SUCH_NAME"),
            ("slice forward exit", ""),
            ("slice forward input:x", "is no place in the input")):
        run = bench.wet("replay", directory, "--batch", "-e", command)
        bench.check(sentence in run.err and (run.status != 0 or not sentence), f"{command}: {run.err}", run)


def check_more_than_read(bench):
    """Of a piece that goes beyond what was read the answer says how much that was."""
    said = "(of the 2000 bytes asked for the program read the first 1031)"
    answer = answer_of(bench, bench.path("given"), "slice forward input:1+2000")
    bench.check(said in answer["description"], f"input:1+2000: {answer['description']}")
    whole = answer_of(bench, bench.path("given"), "slice forward input:1+1031")
    bench.check("(of the" not in whole["description"], f"input:1+1031: {whole['description']}")
    bench.check(answer["instances"] == whole["instances"], "both are slices of the same bytes")


def check_tab(bench):
    """What was given to the program is offered at the prompt."""
    prompt = e2e.Prompt(bench, "replay", bench.path("given"))
    prompt.read_until(r"\(wetdbg\) ")
    for typed, whole in (("env:XDG_CA", "env:XDG_CACHE_HOME"), ("argv:1", "argv:1 "), ("input:0", "input:0:"),
                         ("output:e", "output:end")):
        prompt.type(f"slice forward {typed}\t")
        prompt.read_until("slice forward " + re.escape(whole))
        prompt.type("\x15")
    prompt.type("quit\n")
    bench.check(prompt.close() == 0, "the prompt's end")


def main_test(bench, _):
    lines = marks()
    bench.check(len(lines) == 4, f"the guest's marks: {lines}")
    check_overrun(bench, lines)
    check_chop(bench, lines)
    check_given(bench, lines)
    check_more_than_read(bench)
    check_tab(bench)


if __name__ == "__main__":
    e2e.main(main_test)
