#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_mutants.py BUILD: mutants of a failing run.

The oracle is the program itself: a copy of its file gets the mutant's bytes where the instruction lies, and where there is
room for what is longer, is run natively, and
has to be as right as the mutant's run was. objdump is the oracle of what a mutant is: the instructions before and behind
stay where they were, and a comparison, a constant and a variable are the ones that were named; what is longer jumps to code that
has the instruction in it and jumps back. The number of jobs
changes nothing, and a budget leaves a beginning. Mutants that mend are held against a run that passes: natively they change
what it puts out if and only if they are said to break it."""
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e

CHECKED = 150  # mutants of each program that are run natively, all that repair among them
SECONDS = 2    # that such a run has: it may be endless
# Faults that a mutant mends, and how many lines have one that does.
MENDED = {"fault_heapsort": 3, "fault_inventory": 3, "fault_textwrap": 6}


class Failing:
    """A program that fails, recorded and built, and its mutants."""

    def __init__(self, bench, fault):
        self.bench, self.fault = bench, fault
        self.program = f"{bench.programs}/{fault.program}_O0"
        self.right = bench.run(f"{self.program}_fixed", *fault.arguments, stdin=fault.stdin).out
        self.expected = bench.path(f"{fault.program}.right")
        with open(self.expected, "w") as file:
            file.write(self.right)
        trace = bench.record(fault.program, self.program, *fault.arguments, stdin=fault.stdin)
        self.wet = f"{trace}/wetdbg.wet"
        bench.check(bench.wet("replay", trace, "--batch", "-e", "info threads").status == 0, f"{fault.program}: replay")
        self.wrong = common(self.natively(None)[1], self.right)
        self.segments = program_segments(self.program)

    def ask(self, *options):
        run = self.bench.run(f"{self.bench.build}/tests/predicate_switch/mutate_driver", *options, self.wet, self.expected, "0")
        self.bench.check(run.status == 0 and not run.err, f"{self.fault.program}: {options}", run)
        rows = run.objects()
        return rows[:-1], rows[-1]

    def place(self, at):
        """Where an address lies in the file: of the last page of a segment all of it is mapped."""
        return next(at - address + offset for address, offset, size in self.segments if address <= at < -(-(address + size) // 4096) * 4096)

    def patched(self, mutant):
        """The program's file with the mutant's bytes."""
        path = self.bench.path("mutant")
        with open(self.program, "rb") as file:
            code = bytearray(file.read())
        if mutant:
            place = self.place(mutant["pc"])
            self.bench.check(code[place:].startswith(bytes.fromhex(mutant["code"])), f"{mutant}: other code")
            new, cave = bytes.fromhex(mutant["bytes"]), bytes.fromhex(mutant["cave_bytes"])
            code[place + mutant["offset"]:place + mutant["offset"] + len(new)] = new
            if cave:
                place = self.place(mutant["cave"])
                self.bench.check(not any(code[place:place + len(cave)]), f"{mutant}: its cave is used")
                code[place:place + len(cave)] = cave
        with open(path, "wb") as file:
            file.write(code)
        os.chmod(path, 0o755)
        return path

    def natively(self, mutant, stdin=None):
        """(status, output), None for a run that does not end."""
        with open(stdin or self.fault.stdin or os.devnull) as given:
            try:
                run = subprocess.run([self.patched(mutant) if mutant else self.program, *self.fault.arguments], stdin=given,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return None
        return run.returncode, run.stdout.decode(errors="surrogateescape")


def program_segments(path):
    """(address, offset, size) of what is loaded."""
    text = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [(int(address, 16), int(offset, 16), int(size, 16))
            for offset, address, size in re.findall(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)", text)]


def common(one, other):
    return next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))


def verdict_of(failing, run):
    if run is None:
        return "endless"
    status, output = run
    if status == 0 and output == failing.right:
        return "exact"
    return "prefix" if common(output, failing.right) > failing.wrong else "wrong"


def check_natively(bench, failing, mutants):
    """A prefix is said of a run as soon as it is wrong again; natively such a run may also crash, with less of its output
    written. What is unresolved did not end in time."""
    rng = random.Random(failing.fault.program)
    repairing = [mutant for mutant in mutants if mutant["verdict"] in ("exact", "prefix")]
    others = [mutant for mutant in mutants if mutant["verdict"] == "wrong"]
    chosen = repairing[:CHECKED // 2] + rng.sample(others, min(len(others), CHECKED // 2))
    for mutant in chosen:
        natively = verdict_of(failing, failing.natively(mutant))
        if mutant["verdict"] == "wrong" and natively == "prefix":  # what is read may be an address, another one each time
            natively = next((other for other in (verdict_of(failing, failing.natively(mutant)) for _ in range(8)) if other != "prefix"), natively)
        if natively == "endless":
            bench.check(mutant["verdict"] != "exact", f"{failing.fault.program}: {mutant} does not end")
        elif mutant["verdict"] == "exact" or natively == "exact":
            bench.check(natively == mutant["verdict"], f"{failing.fault.program}: {mutant} is natively {natively}")
        elif mutant["verdict"] == "wrong":
            bench.check(natively == "wrong", f"{failing.fault.program}: {mutant} is natively {natively}")


def instruction(code, at):
    """objdump's text of an instruction, and its length."""
    with open(instruction.path, "wb") as file:
        file.write(code)
    text = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", f"--adjust-vma={at:#x}", instruction.path],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = re.findall(r"^\s+[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$", text, re.M)
    return [row[1].strip() for row in rows if row[1].strip()], sum(len(row[0].split()) for row in rows)


def check_texts(bench, failing, mutants):
    instruction.path = bench.path("code")
    same_place = [mutant for mutant in mutants if not mutant["cave"]]
    for mutant in random.Random(1).sample(same_place, min(60, len(same_place))):
        was = bytes.fromhex(mutant["code"])
        new = bytes.fromhex(mutant["bytes"])
        made = was[:mutant["offset"]] + new + was[mutant["offset"] + len(new):]
        before, after = instruction(was, mutant["pc"])[0], instruction(made, mutant["pc"])[0]
        bench.check(len(made) == len(was) and len(before) == 1, f"{mutant}: {before}")
        bench.check(not any("bad" in text for text in after) or mutant["mutation"] == "left-out", f"{mutant}: {after}")
        if mutant["mutation"] == "left-out":  # what it jumps over may be anything
            bench.check(after[0] == f"jmp    {mutant['pc'] + len(was):#x}", f"{mutant}: {after}")
        elif mutant["mutation"] in ("comparison", "constant", "variable", "member", "extension"):
            words = zip(re.split(r"[ ,]+", before[0]), re.split(r"[ ,]+", after[0]))
            bench.check(len(after) == 1 and sum(one != other for one, other in words) == 1, f"{mutant}: {before} {after}")


def check_caves(bench, failing, mutants):
    """Of each kind some."""
    longer = [mutant for mutant in mutants if mutant["cave"]]
    bench.check({mutant["mutation"] for mutant in longer} >= {"value", "swapped", "zero", "count"}, f"{failing.fault.program}: kinds")
    for mutant in random.Random(2).sample(longer, min(40, len(longer))):
        jump = instruction(bytes.fromhex(mutant["bytes"]), mutant["pc"])[0]
        inside = instruction(bytes.fromhex(mutant["cave_bytes"]), mutant["cave"])[0]
        plain = instruction(bytes.fromhex(mutant["code"]), mutant["pc"])[0]
        back = re.fullmatch(r"jmp    (0x[0-9a-f]+)", inside[-1])
        bench.check(jump == [f"jmp    {mutant['cave']:#x}"], f"{mutant}: {jump}")
        bench.check(back and mutant["pc"] + 5 <= int(back[1], 16) < mutant["pc"] + 5 + 15 and not any("bad" in text for text in inside),
                    f"{mutant}: {inside}")
        if "rip" not in plain[0] and not plain[0].startswith(("j", "call")):
            bench.check(plain[0] in inside, f"{mutant}: {plain} is not in {inside}")


def check_lines(bench, failing, mutants):
    """The fault's line is among those that some mutant mends."""
    lines = {mutant["line"] for mutant in mutants if mutant["verdict"] == "exact"}
    bench.check(failing.fault.line in lines and len(lines) <= MENDED[failing.fault.program],
                f"{failing.fault.program}: the fault is in line {failing.fault.line}, mended are {sorted(lines)}")


def check_held(bench, failing):
    """Against a run of the faulty program that puts out what is right."""
    stdin = bench.path("passing.txt")
    with open(stdin, "w") as file:
        file.write("lines\n\nwhich nothing\n\nabcdefghijklmnopqrstuvwx\n\nis longer than\n")
    right = bench.run(f"{failing.program}_fixed", *failing.fault.arguments, stdin=stdin).out
    before = failing.natively(None, stdin)
    bench.check(before == (0, right), f"{failing.fault.program}: the passing run fails: {before}")
    trace = bench.record("passing", failing.program, *failing.fault.arguments, stdin=stdin)
    bench.check(bench.wet("replay", trace, "--batch", "-e", "info threads").status == 0, "passing: replay")
    mutants, _ = failing.ask("--jobs", "2", "--pass", f"{trace}/wetdbg.wet")
    held = [mutant for mutant in mutants if mutant["held"]]
    for mutant in held:
        natively = failing.natively(mutant, stdin)
        bench.check(mutant["held"] == 1 and (natively != before) == bool(mutant["broken"]), f"{mutant}: natively {natively}")
    bench.check(any(mutant["broken"] for mutant in held), f"{failing.fault.program}: none breaks what passes")
    bench.check(any(mutant["line"] == failing.fault.line and not mutant["broken"] for mutant in held),
                f"{failing.fault.program}: the fault's own line breaks what passes")


def check_same(bench, failing, mutants, end):
    again, _ = failing.ask("--jobs", "3")
    bench.check(again == mutants, f"{failing.fault.program}: three jobs")
    bench.check(end["tried"] == end["listed"] == len(mutants) > 300, f"{failing.fault.program}: all are tried: {end}")
    some, early = failing.ask("--budget", "100")
    bench.check(early["tried"] == 100 and all(mutant in mutants for mutant in some), f"{failing.fault.program}: a budget")


def test(bench, _):
    faults = {fault.program: fault for fault in e2e.faults()}
    for name in MENDED:
        failing = Failing(bench, faults[name])
        mutants, end = failing.ask("--jobs", "2")
        check_lines(bench, failing, mutants)
        check_natively(bench, failing, mutants)
        if name == "fault_heapsort":
            check_texts(bench, failing, mutants)
            check_caves(bench, failing, mutants)
            check_same(bench, failing, mutants, end)
        if name == "fault_textwrap":
            check_held(bench, failing)


e2e.main(test)
