#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_origins.py BUILD-DIRECTORY: where values came from, and criteria by file, function, memory and register.

A program copies part of a file around and writes another file out of order. Each byte's origin is known:
the byte of the input, an instruction, a table, an argument."""
import e2e

TEXT = "hello world, this is the input of a test of origins"


def ask(bench, directory, questions):
    words = [word for question in questions for word in ("-e", question)]
    run = bench.wet("replay", directory, "--batch", "--json", *words)
    answers = run.objects()
    bench.check(run.status == 0 and len(answers) == len(questions), f"{directory}: {questions}", run)
    return answers


def ends(answer):
    return [hop for hop in answer.get("hops", []) if hop["is_end"]]


def check_input(bench, answer, offset):
    """Came in by the read from offset 2 of the input."""
    last = ends(answer)
    if not bench.check(len(last) == 1 and last[0]["kind"] == "system call", f"ends of {answer['of']}: {last}"):
        return
    call = last[0].get("call", {})
    bench.check(call["name"] == "read" and call["file"].endswith("input.txt") and call["file_offset"] == offset
                and call["offset"] == offset - 2, f"{answer['of']} came from offset {offset}: {call}")
    bench.check(f"({ord(TEXT[offset])})" in answer["value"], f"{answer['of']} is {TEXT[offset]}: {answer['value']}")


def line_of(text):
    with open(f"{e2e.SOURCE}/tests/e2e/programs/origins.c") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def check_values(bench, directory, optimise):
    # Optimised code has constants where the source computes.
    computed = ("computed",) if optimise == "O0" else ("computed", "constant", "initial")
    answers = ask(bench, directory, [f"goto origins.c:{line_of('/* HOLD */')}", "origin second.name[5]",
                                     "origin second.tail[9]", "origin second.kind", "origin output:0",
                                     "origin output:7", "origin second.count"])
    check_input(bench, answers[1], 2 + 3 + 5)
    bench.check(ends(answers[2])[0]["kind"] in computed, f"memset: {ends(answers[2])}")
    bench.check(ends(answers[3])[0]["kind"] in ("initial", "constant"), f"the table: {ends(answers[3])}")
    check_input(bench, answers[4], 2 + 3)
    check_input(bench, answers[5], 2 + 3 + 7)
    bench.check(ends(answers[6])[0]["kind"] in computed, f"argc * 17: {ends(answers[6])}")
    run = bench.wet("replay", directory, "--batch", "-e", "origin crash")
    bench.check(run.status == 1 and "did not crash" in run.err, "no crash, no origin of it", run)


def check_frames(bench, directory):
    """Registers and stack slots of callers; what the program was started with."""
    answers = ask(bench, directory, [f"goto origins.c:{line_of('/* HOLD */')}", "origin kept", "up", "origin *argv[1]", "origin argc"])
    kinds = [hop["kind"] for hop in answers[1]["hops"]]
    bench.check("sign-extended" in kinds and kinds[-1] == "computed", f"widen(-number): {kinds}")
    bench.check(answers[3]["hops"][-1]["meaning"].startswith("argv[1]"), f"argv[1]: {answers[3]}")
    bench.check("argc" in answers[4]["hops"][-1]["meaning"], f"argc: {answers[4]}")


def check_file(bench, directory):
    """Bytes of the file as the run left it are those of the buffers that they were written from."""
    where = {0: "fill", 2: "fill+2", 3: "late", 6: "late+3", 7: "fill+7", 8: "piece", 10: "other", 12: "other+2",
             13: "end", 15: "end+2"}
    answers = ask(bench, directory, [f"origin output:out.bin:{offset}" for offset in where])
    for answer, (offset, symbol) in zip(answers, where.items()):
        hop = answer["hops"][0]
        bench.check(hop["kind"] == "initial" and f"<{symbol}>" in hop["to"], f"byte {offset}: {hop}")
    for criterion, complaint in (("output:out.bin:16", "no more output to out.bin after byte 15"), ("output:none:0", "no file 'none'")):
        run = bench.wet("replay", directory, "--batch", "-e", f"slice backward {criterion}")
        bench.check(run.status == 1 and complaint in run.err, criterion, run)


def check_back(bench, directory):
    """Bytes that were written to a file and read back: the chain goes through it, to the buffer they were written from."""
    for offset, symbol in ((3, "late"), (8, "piece"), (11, "other+1"), (15, "end+2")):
        hops = ask(bench, directory, [f"goto origins.c:{line_of('/* HOLD */')}", f"origin again[{offset}]"])[1]["hops"]
        back = [hop for hop in hops if hop["kind"] == "read back"]
        sent = [hop for hop in hops if hop["kind"] == "written"]
        if not bench.check(len(back) == 1 and len(sent) == 1, f"again[{offset}]: {hops}"):
            continue
        call = back[0]["call"]
        bench.check(call["name"] == "read" and call["file_offset"] == offset and not back[0]["is_end"], f"again[{offset}]: {call}")
        bench.check(call["written_time"] == sent[0]["time"] and sent[0]["call"]["name"].startswith(("write", "pwrite")),
                    f"again[{offset}]: {sent}")
        bench.check(f"<{symbol}>" in hops[-1]["to"], f"again[{offset}] was {symbol}: {hops[-1]}")


def lines(answer):
    return {row["line"] for row in answer["lines"] if e2e.base_name(row["file"]) == "origins.c"}


def check_criteria(bench, directory):
    call, stack, piece = ask(bench, directory, ["slice backward --data widen", "slice backward --thin $rsp@end",
                                                "slice backward --thin output:out.bin:3+8"])
    bench.check(line_of("argc * 17") in lines(call), f"the argument of widen: {lines(call)}")
    bench.check(stack["instances"] <= 1, f"rsp is in no slice: {stack['instances']}")
    bench.check(piece["instances"] >= 2, f"two calls wrote bytes 3 to 10: {piece['instances']}")


def main_test(bench, _):
    with open(bench.path("input.txt"), "w") as file:
        file.write(TEXT)
    for optimise in ("O0", "O2"):
        directory = bench.record(optimise, f"{bench.build}/tests/e2e/e2e_origins_{optimise}", bench.path("input.txt"))
        check_values(bench, directory, optimise)
        check_file(bench, directory)
        check_back(bench, directory)
        if optimise == "O0":
            check_frames(bench, directory)
            check_criteria(bench, directory)


if __name__ == "__main__":
    e2e.main(main_test)
