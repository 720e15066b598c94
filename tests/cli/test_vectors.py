#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_vectors.py CLI_DISASSEMBLE VECTORS: our text of assembled instructions is objdump's. Needs no
processor that has them: they are assembled, and never executed."""
import subprocess
import sys
import tempfile


def objdump_lines(objects):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", objects], check=True, text=True,
                          capture_output=True).stdout
    rows = [line.split("\t", 1) for line in text.splitlines() if "\t" in line]
    return [row[1].rstrip() for row in rows]


def main():
    driver, vectors = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        objects, flat = scratch + "/vectors.o", scratch + "/vectors.bin"
        subprocess.run(["as", vectors, "-o", objects], check=True)
        subprocess.run(["objcopy", "-O", "binary", "-j", ".text", objects, flat], check=True)
        theirs = objdump_lines(objects)
        ours = subprocess.run([driver, flat], check=True, text=True,
                              capture_output=True).stdout.splitlines()
    assert len(theirs) > 120, theirs
    wrong = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]]
    for mine, other in wrong:
        print(f"ours: {mine}\nobjdump: {other}\n")
    if wrong or len(ours) != len(theirs):
        sys.exit(f"{len(wrong)} of {len(theirs)} instructions differ; {len(ours)} lines are ours")
    print(len(ours), "instructions")


main()
