#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_bad_files.py BUILD-DIRECTORY [FLIPS [SEED]]: .wet files that are damaged or of another version, programs
without debug information, sources that are newer, or gone."""
import os
import random
import re
import shutil
import struct

import e2e

PROGRAM = "fault_symtab_O0"
ARGUMENTS = ("a=1", "e=5", "b=2", "i=9", "a", "-i", "e", "b")
# Several questions, so that most sections of the file are read.
QUESTIONS = ("slice backward crash", "backtrace", "output", "info modules", "info lines fault_symtab.c",
             "goto start", "print argc")


def ask(bench, wet, **how):
    words = [word for question in QUESTIONS for word in ("-e", question)]
    return bench.wet("open", wet, "--batch", *words, **how)


def without_time(text):
    return re.sub(r"\d+\.\d+ s\)", "", text)


def damaged_wets(bench, count, seed):
    trace = bench.record("wet", f"{bench.programs}/{PROGRAM}", *ARGUMENTS)
    kept = bench.path("good.wet")
    good = bench.wet("replay", trace, "--batch", "-o", kept)
    bench.check(good.status == 0, "the .wet is built", good)
    good = ask(bench, kept)
    bench.check(good.status in (0, 1) and "FAULT" not in good.err, "the good .wet answers", good)
    whole = open(kept, "rb").read()
    bad, seen = bench.path("bad.wet"), {}

    def attempt(content, what):
        with open(bad, "wb") as file:
            file.write(content)
        run = ask(bench, bad)
        if run.status == good.status and run.err == good.err:
            # The bit was in nothing that was asked for.
            bench.check(without_time(run.out) == without_time(good.out), f"{what}: other answers", run)
            message = "(as without damage)"
        else:
            lines = [line for line in run.err.splitlines() if line not in good.err.splitlines()]
            message = lines[0] if lines else ""
            bench.check(run.status == 3, f"{what}: status {run.status}", run)
            bench.check(lines and all(line.startswith("wetdbg: ") and bad in line for line in lines),
                        f"{what}: does not name the file", run)
        key = (run.status, re.sub(r"0x[0-9a-f]+|\d+", "N", message.replace(bad, "FILE")))
        seen.setdefault(key, []).append(what)

    for size in (0, 1, 8, 55, 56, 57, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        attempt(whole[:size], f"cut off at {size}")
    attempt(whole + b"\0", "with a byte more")
    attempt(b"\0" * len(whole), "all zero")
    attempt(b"\x7fELF" + whole[4:], "another magic")
    for version in (0, 2, 99):
        # The version is told before the header's checksum: a later format may have another header.
        attempt(whole[:8] + struct.pack("<I", version) + whole[12:], f"version {version}")
    # What came from outside lies first: without it nobody can tell what was put out.
    for at in (80, 2000, 20000):
        attempt(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:], f"a bit of byte {at}")
    print(f"{count} flipped bits, seed {seed}")
    chance = random.Random(seed)
    for _ in range(count):
        content = bytearray(whole)
        # Half of them near the beginning and the end, where the header and the table are.
        at = chance.choice((chance.randrange(len(whole)), chance.randrange(64),
                            len(whole) - 1 - chance.randrange(2048)))
        content[at] ^= 1 << chance.randrange(8)
        attempt(bytes(content), f"flip in byte {at}")
    for (status, message), whats in sorted(seen.items(), key=str):
        print(f"{len(whats):4}x status {status}  {message}   e.g. {whats[0]}")
    told = [message for (status, message) in seen if "version" in message]
    bench.check(told, "no message speaks of versions")
    for name, what in (("/", "a directory"), ("/dev/null", "a device")):
        run = bench.wet("open", name, "--batch")
        bench.check(run.status in (3, 5) and run.err.count("\n") == 1 and name in run.err,
                    f"open of {what}", run)


def rebuilt_when_damaged(bench):
    """A damaged .wet in the recording is not the user's to mend: it is built anew."""
    trace = bench.record("again", f"{bench.programs}/{PROGRAM}", *ARGUMENTS)
    first = bench.wet("replay", trace, "--batch", "-e", "slice backward crash")
    kept = f"{trace}/wetdbg.wet"
    content = bytearray(open(kept, "rb").read())
    for what, damage in (("cut off", content[:len(content) // 2]), ("empty", b""),
                         ("version 99", content[:8] + struct.pack("<I", 99) + content[12:])):
        with open(kept, "wb") as file:
            file.write(damage)
        run = bench.wet("replay", trace, "--batch", "-e", "slice backward crash")
        bench.check(run.status == 0 and without_time(run.out) == without_time(first.out),
                    f"kept .wet {what}: the answer differs", run)
        bench.check(os.listdir(trace).count("wetdbg.wet") == 1, f"kept .wet {what}: is not there again")
    print("a damaged .wet in a recording is built anew")


def without_debug_information(bench):
    program = bench.path("stripped")
    stripped = bench.run("strip", "-s", "-o", program, f"{bench.programs}/{PROGRAM}")
    bench.check(stripped.status == 0, "strip", stripped)
    trace = bench.record("stripped.trace", program, *ARGUMENTS)
    run = bench.wet("replay", trace, "--batch", "-e", "slice backward crash", "-e", "backtrace")
    bench.check(run.status == 0 and not run.err, "a stripped program", run)
    bench.check(re.search(r"^ +stripped +\S+.* x\d+$", run.out, re.M),
                "the slice does not show the program's own code by function", run)
    run = bench.wet("replay", trace, "--batch", "--json", "-e", "slice backward crash")
    piece = run.objects()[0]
    rows = [row for row in piece["without_lines"] if row["module"] == "stripped"]
    bench.check(rows and piece["instances"] > 0, "JSON: the stripped program's rows", run)
    print(f"stripped: {len(rows)} rows of the program, named {sorted({str(row['function']) for row in rows})[:4]}")
    run = bench.wet("replay", trace, "--batch", "-e", "instances fault_symtab.c:77")
    bench.check(run.status == 1 and run.err.count("\n") == 1 and "fault_symtab.c" in run.err,
                "a line of a program without lines", run)


def sources(bench):
    source, program = bench.path("mine.c"), bench.path("mine")
    shutil.copy(f"{e2e.PROGRAMS}/faults/fault_symtab.c", source)
    built = bench.run(os.environ.get("CC", "cc"), "-g", "-O0", "-w", "-o", program, source)
    bench.check(built.status == 0, "the compiler", built)
    trace = bench.record("mine.trace", program, *ARGUMENTS)
    question = ("--batch", "-e", "slice backward crash", "-e", "backtrace", "-e", "goto start")
    plain = bench.wet("replay", trace, *question)
    bench.check(plain.status == 0 and not plain.err and "mine.c:" in plain.out, "a program of ours", plain)
    when = os.stat(program).st_mtime + 100
    os.utime(source, (when, when))
    newer = bench.wet("replay", trace, *question)
    bench.check(newer.status == 0 and without_time(newer.out) == without_time(plain.out),
                "a newer source changes the answer", newer)
    bench.check(newer.err.count("\n") == 1 and source in newer.err and "newer" in newer.err,
                "a newer source: not one warning", newer)
    print(newer.err.strip().replace(bench.work, "..."))
    os.unlink(source)
    gone = bench.wet("replay", trace, *question, "-e", "list", "-e", "why mine.c:77")
    lines = set(re.findall(r"mine\.c:\d+", plain.out))
    found = set(re.findall(r"mine\.c:\d+", gone.out))
    bench.check(lines <= found, f"without the source lines are lost: {sorted(lines - found)}", gone)
    bench.check("warning" not in gone.err and gone.status == 1, "a missing source", gone)
    print(gone.err.strip().replace(bench.work, "..."))


def test(bench, arguments):
    damaged_wets(bench, int(arguments[0]) if arguments else 40,
                 int(arguments[1]) if len(arguments) > 1 else random.SystemRandom().randrange(1 << 32))
    rebuilt_when_damaged(bench)
    without_debug_information(bench)
    sources(bench)


if __name__ == "__main__":
    e2e.main(test)
