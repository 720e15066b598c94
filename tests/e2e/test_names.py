#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_names.py BUILD-DIRECTORY: a recording in which every name, every source line and all output hold escape
sequences. No answer, error or notice passes one of them on to the terminal."""
import os
import subprocess

import e2e

MARK, ESCAPE = b"QQQQ", b"\x1b[7m"
NAME = ESCAPE.decode()
FILE = f"names_{NAME}.c"
with open(f"{e2e.SOURCE}/tests/e2e/programs/names.c") as source:
    PLACE = FILE + ":" + str([n for n, text in enumerate(source, 1) if "return local" in text][0])

COMMANDS = """
info program|info threads|info signals|info modules|info functions|info functions work|info locals|info args|
info lines FILE|info registers|output|list work|goto PLACE#1|backtrace|list|frame|info locals|info args|
print global_|ptype global_|whatis global_|print *argument_|print local_|up|info locals|
finish|print *plain|print plain|ptype plain|ptype *plain|whatis plain|x/4s plain|x/2xg plain|
history plain|origin plain|x/3i $rip|print $rip|disassemble work_|x/4s global_|history global_|search 12|origin global_|goto end|slice backward exit|
slice backward exit --data|slice backward output:0+3|why PLACE|instances PLACE|bookmark here|bookmark|
goto nothing_|print nothing_|list nothing_|step|next|reverse-step|stepi|info nothing_|slice forward nothing_
"""


def commands():
    for command in COMMANDS.replace("\n", "").split("|"):
        yield command.replace("_", f"_{NAME}").replace("PLACE", PLACE).replace("FILE", FILE)


def make_program(bench):
    """Compiled as names_QQQQ.c, then patched: source, program, and the directory have the escape in their names."""
    place = bench.path("place")
    os.mkdir(place)
    with open(f"{e2e.SOURCE}/tests/e2e/programs/names.c", "rb") as file:
        text = file.read()
    with open(f"{place}/names_QQQQ.c", "wb") as file:
        file.write(text)
    with open(f"{place}/{FILE}", "wb") as file:
        file.write(text.replace(MARK, ESCAPE))
    plain, program = f"{place}/plain", f"{place}/program_{NAME}"
    subprocess.run(["cc", "-g", "-O0", "-no-pie", "-o", plain, "names_QQQQ.c"], cwd=place, check=True)
    with open(plain, "rb") as file:
        code = file.read()
    bench.check(code.count(MARK) > 20, "the names are not in the program")
    with open(program, "wb") as file:
        file.write(code.replace(MARK, ESCAPE))
    os.chmod(program, 0o755)
    return program


def check(bench, run, what):
    bench.check("\x1b" not in run.out + run.err, f"{what!r} passes an escape sequence on", run)
    return run


def run_test(bench, _):
    program = make_program(bench)
    trace = bench.path(f"trace_{NAME}")
    run = bench.wet("record", "-o", trace, "--", program, NAME, f"--{NAME}")
    bench.check(NAME in run.out, "the program does not say its name", run)
    check(bench, bench.wet("replay", trace, "--batch", "-e", "info program"), "replay")
    answered = 0
    for number, command in enumerate(commands()):
        run = check(bench, bench.wet("replay", trace, "--batch", "-e", f"goto {PLACE}#1", "-e", command), command)
        answered += run.status == 0
        if number % 4 == 0:
            run = bench.wet("replay", trace, "--batch", "--json", "-e", f"goto {PLACE}#1", "-e", command)
            check(bench, run, f"{command} --json")
    bench.check(answered > 25, f"only {answered} of the commands have an answer")
    print(f"{answered} commands answered")
    # what comes before a session, and goes wrong
    check(bench, bench.wet("ps", trace), "ps")
    check(bench, bench.wet("dump", trace), "dump")
    check(bench, bench.wet("replay", trace, "--no-trace"), "replay --no-trace")
    check(bench, bench.wet("ls", env=dict(bench.environment, _RR_TRACE_DIR=bench.work)), "ls")
    check(bench, bench.wet("replay", trace, f"--process={NAME}"), "no such process")
    os.remove(f"{trace}/wetdbg.sums")
    check(bench, bench.wet("replay", trace, "--batch", "-o", bench.path(f"x{NAME}.wet")), "the notice of contents")
    check(bench, bench.wet("verify", bench.path(f"x{NAME}.wet")), "verify")
    with open(bench.path(f"x{NAME}.wet"), "r+b") as file:
        file.write(b"x")
    check(bench, bench.wet("verify", bench.path(f"x{NAME}.wet")), "verify of a damaged file")
    check(bench, bench.wet("open", bench.path(f"x{NAME}.wet"), "--batch"), "open of a damaged file")
    with open(program, "ab") as file:
        file.write(b"x")
    check(bench, bench.wet("replay", trace, "--no-trace"), "a program that changed")
    check(bench, bench.wet(f"replay{NAME}"), "an unknown verb")
    check(bench, bench.wet("record", "--", f"/nothing{NAME}"), "a program that is not there")


e2e.main(run_test)
