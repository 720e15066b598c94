#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_vectors.py CLI_DISASSEMBLE VECTORS PROGRAM...: our text of instructions is objdump's, in both
flavors: of assembled ones, for which no processor need have them, and of all code of programs."""
import shutil
import subprocess
import sys
import tempfile


def lines_of(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout.splitlines()


def objdump_lines(flat, flavor):
    flavors = ["-M", "intel"] if flavor == "intel" else []
    text = lines_of("objdump", "-D", "-z", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn",
                    *flavors, flat)
    return [line.split("\t", 1)[1].rstrip() for line in text if "\t" in line]


def flat_code(scratch, objects):
    flat = scratch + "/code.bin"
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", objects, flat], check=True)
    return flat


def compare(driver, what, flat, flavor):
    theirs = objdump_lines(flat, flavor)
    ours = lines_of(driver, flat, *(["intel"] if flavor == "intel" else []))
    wrong = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]]
    for mine, other in wrong[:20]:
        print(f"ours: {mine}\nobjdump: {other}\n")
    if wrong or len(ours) != len(theirs) or len(theirs) < 120:
        sys.exit(f"{what}, {flavor}: {len(wrong)} of {len(theirs)} differ; {len(ours)} are ours")
    print(what, flavor, len(ours), "instructions")


def main():
    driver, vectors, *programs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        objects = scratch + "/vectors.o"
        subprocess.run(["as", vectors, "-o", objects], check=True)
        for what, code in [("vectors", objects)] + [(p, shutil.which(p)) for p in programs]:
            if not code:
                print(f"SKIPPED: test_cli_vectors: there is no {what} here")
                continue
            flat = flat_code(scratch, code)
            for flavor in ("att", "intel"):
                compare(driver, what, flat, flavor)


main()
