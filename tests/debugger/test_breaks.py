#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where breakpoints, watchpoints and catchpoints stop, and what they count, against gdb on the same program: forward
as gdb does, backward as forward."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from e2e import Bench  # noqa: E402

SOURCE = os.path.join(HERE, "walk.c")


def line_of(text):
    return next(n for n, line in enumerate(open(SOURCE), 1) if text in line)


CHOOSE = line_of("result += choose(i)")
FIBONACCI = line_of("result += fibonacci(3)")
RESULT = line_of("int result = start")

# What is set first, then what is asked for; after each of the latter both stand at the same place and have counted the
# same. "continue" N times is "continue*N".
SCENES = [
    (["break add", f"break walk.c:{CHOOSE}", "tbreak choose"], ["continue*14"]),
    (["break add if a == 1 && b == 2", "break fibonacci if n < 2"], ["continue*4"]),
    (["break add", "ignore 1 4"], ["continue", "continue 3", "continue"]),
    (["tbreak exercise", "break fibonacci", "disable 2"], ["continue", "enable 2", "continue", "continue"]),
    (["tbreak exercise", "enable once 1"], ["continue"]),
    (["break exercise"], ["continue", "watch result", "continue*12"]),
    (["break exercise"], ["continue", "watch result if result > 20", "continue*5"]),
    (["break add"], ["continue", "watch sum", "continue*3"]),
    (["break main"], ["continue", "watch hits", "continue"]),
    (["break exercise", f"break walk.c:{FIBONACCI}", "break fibonacci"],
     ["continue*2", "next", "finish", "finish", "delete 3", "finish", "next*6"]),
    (["break exercise"], ["continue", f"advance walk.c:{FIBONACCI}", f"until walk.c:{CHOOSE}", "next*2", "until*4"]),
    (["break exercise"], ["continue", "advance nothing", "advance deep", "advance main"]),
    (["rbreak ^fib"], ["continue*5"]),
    (["break fibonacci", "condition 1 n == 1"], ["continue", "condition 1", "continue"]),
]

# Machines without debug registers cannot watch in hardware; stepping finds the same writes.
GDB = """set can-use-hw-watchpoints 0
set pagination off
set confirm off
set width 0
set debug-file-directory /nonexistent
handle all nostop noprint pass
%s
python
import gdb
def where():
    frame = gdb.newest_frame()
    sal = frame.find_sal()
    return (frame.name(), sal.line if sal.symtab else None)
def counts():
    return [(b.number, b.hit_count, b.enabled) for b in gdb.breakpoints() or ()]
for move in %r:
    gdb.execute(move, to_string=True)
    print("AT", repr((where(), counts())))
end
kill
"""


def moves_of(moves):
    spread = []
    for move in moves:
        name, _, count = move.partition("*")
        spread += [name] * int(count or 1)
    return ["run > /dev/null" if i == 0 and move == "continue" else move for i, move in enumerate(spread)]


def gdb_stops(bench, program, setup, moves):
    script = bench.path("breaks.gdb")
    with open(script, "w") as file:
        file.write(GDB % ("\n".join(setup), moves))
    run = bench.run("gdb", "-nx", "-batch", "-x", script, program)
    rows = [eval(line[3:]) for line in run.out.splitlines() if line.startswith("AT ")]
    if len(rows) != len(moves):
        bench.fail(f"gdb went {len(rows)} of {len(moves)} moves\n{run}")
    return rows


def our_stops(bench, trace, setup, moves):
    words = ["--batch", "--json"]
    for command in ["goto start"] + setup:
        words += ["-e", command]
    for move in moves:
        words += ["-e", "run" if move.startswith("run") else move, "-e", "frame 0", "-e", "info breakpoints"]
    run = bench.run(bench.wetdbg, "replay", trace, *words)
    if run.status != 0:
        bench.fail(f"a command failed\n{run}")
    rows, times = [], []
    place = None
    for row in run.objects()[1 + len(setup):]:
        if row["schema"] == "wetdbg.frame/1":
            place = (row["function"], row["line"])
            times.append(row["time"])
        elif row["schema"] == "wetdbg.breakpoints/1" and place:
            rows.append((place, [(b["number"], b["hits"], b["enabled"]) for b in row["breakpoints"]]))
            place = None
    return rows, times


def check_scene(bench, program, trace, setup, moves):
    moves = moves_of(moves)
    expected = gdb_stops(bench, program, setup, moves)
    found, _ = our_stops(bench, trace, setup, moves)
    for i, row in enumerate(expected):
        if i >= len(found) or row != found[i]:
            bench.fail(f"{setup}: {moves[:i + 1]}\n gdb: {row}\nours: {found[i:i + 1]}")
            return


def times_of(bench, trace, commands):
    words = ["--batch", "--json"]
    for command in commands:
        words += ["-e", command]
    run = bench.run(bench.wetdbg, "replay", trace, *words)
    rows = [row for row in run.objects() if row["schema"] == "wetdbg.position/1"]
    return [row["time"] for row in rows]


def check_backward(bench, trace):
    """The way back stops at the same instructions: of writes, before them."""
    for setup, count, later in ((["break add"], 10, 0), (["break fibonacci if n == 1"], 2, 0), (["watch hits"], 1, 1),
                                (["awatch zeros[7]", "break choose"], 4, 0), (["catch syscall write"], 1, 0)):
        there = times_of(bench, trace, ["goto start"] + setup + ["continue"] * count)[1:]
        back = times_of(bench, trace, [f"goto {there[-1] + 1}"] + setup + ["reverse-continue"] * count)[1:]
        if len(there) != count or back != [time - later for time in reversed(there)]:
            bench.fail(f"{setup}: forward {there}, backward {back}")


SAVED = """break fibonacci if n > 3
commands
silent
print n
end
tbreak walk.c:53
watch hits
ignore $bpnum 4
rwatch small
break add
disable $bpnum
awatch text
condition $bpnum hits == 2
"""


def check_saved(bench, program, trace):
    """`save breakpoints` writes what gdb writes, and `source` makes the same of it again."""
    script, theirs, ours = bench.path("saved"), bench.path("saved.gdb"), bench.path("saved.ours")
    with open(script, "w") as file:
        file.write(SAVED)
    gdb = bench.run("gdb", "-nx", "-batch", "-ex", "break main", "-ex", "run > /dev/null", "-ex", "delete", "-ex",
                    f"source {script}", "-ex", f"save breakpoints {theirs}", program)
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", "-e", f"source {script}", "-e", "info breakpoints",
                    "-e", f"save breakpoints {ours}")
    if not os.path.exists(theirs) or not os.path.exists(ours):
        bench.fail(f"nothing was saved\n{gdb}\n{run}")
        return
    texts = [open(path).read() for path in (theirs, ours)]
    bench.check(texts[0] == texts[1] and len(texts[0]) > 150, f"save breakpoints\n gdb: {texts[0]}\nours: {texts[1]}")
    again = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", "-e", f"source {theirs}", "-e", "info breakpoints")
    lists = [[row for row in r.objects() if row["schema"] == "wetdbg.breakpoints/1"][-1] for r in (run, again)]
    bench.check(lists[0] == lists[1] and len(lists[0]["breakpoints"]) == 6, f"{lists[0]}\nagain: {lists[1]}")
    bench.check(run.objects()[-1]["saved"][0]["file"] == ours, "where it is saved", run)


def check_syscalls(bench, program, trace):
    """A system call stops twice; gdb counts as many."""
    run = bench.run("gdb", "-nx", "-batch", "-ex", "catch syscall write", "-ex", "run > /dev/null", *["-ex", "continue"] * 30,
                    "-ex", "info breakpoints", program)
    expected = run.out.count("(call to syscall write)"), run.out.count("(returned from syscall write)")
    ours = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto start", "-e", "catch syscall write",
                     *["-e", "continue"] * 30)
    found = ours.out.count("(call to syscall write)"), ours.out.count("(returned from syscall write)")
    if not expected[0] or expected != found:
        bench.fail(f"write is called and returns {expected} times in gdb, {found} times here\n{run}\n{ours}")


def check_reads(bench, trace):
    """What reads a variable, by the source: not all machines let gdb watch that."""
    half, make = line_of("(int)half(real)"), line_of("place.x > 3")
    for setup, lines in ((["rwatch real"], [half]), (["awatch real"], [half]), (["break exercise", "run", "rwatch place.x"], [make])):
        words = [word for command in ["goto start"] + setup + ["continue"] for word in ("-e", command)]
        run = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", *words)
        last = run.objects()[-1] if run.status == 0 else {}
        if [last.get("line")] != lines or last["stops"][-1]["old"] is not None:
            bench.fail(f"{setup} should stop at line {lines}\n{run}")


def check_commands(bench, trace):
    """What is run when a breakpoint has stopped, and that it may go on by itself."""
    script = bench.path("script")
    with open(script, "w") as file:
        file.write("break fibonacci\ncommands\nsilent\nprint n\ncontinue\nend\nrun\ninfo breakpoints\n")
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-x", script)
    values = [line for line in run.out.splitlines() if line.startswith("n = ")]
    if values != [f"n = {n}" for n in (3, 2, 1, 0, 1)] or "already hit 5 times" not in run.out:
        bench.fail(f"the commands of a breakpoint\n{run}")


def breakpoint_pcs(bench, program, trace, names):
    """Where gdb and we stop for each function, from the program's start on."""
    breaks = [word for name in names for word in ("-ex", f"break {name}")]
    gdb = bench.run("gdb", "-nx", "-batch", *breaks, "-ex", "info breakpoints", program)
    theirs = [set() for _ in names]
    for number, pc in re.findall(r"^(\d+)[.\d]* .*y +(0x[0-9a-f]+) in ", gdb.out, re.M):
        theirs[int(number) - 1].add(int(pc, 16))
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", "-e", "info modules",
                    *[word.replace("-ex", "-e") for word in breaks])
    modules, *answers = run.objects()
    start = next(int(module["start"], 16) for module in modules["modules"] if module["path"].endswith(program))
    ours = [{int(place["pc"], 16) - start for place in answer.get("breakpoint", {}).get("places", [])} for answer in answers]
    return theirs, ours


def check_inlined(bench):
    """Functions that exist only where they are inlined, wholly or beside a copy of their own; and lines that begin with
    one."""
    program, trace = bench.path("walk_O2"), bench.path("trace_O2")
    built = bench.run("gcc", "-g", "-O2", "-o", program, SOURCE)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return
    names = ["on_signal", "fibonacci", "half", "nothing", "exercise", "leave", "compare", "main"]
    theirs, ours = breakpoint_pcs(bench, program, trace, names)
    for name, left, right in zip(names, theirs, ours):
        if left != right or not left:
            bench.fail(f"break {name} in optimized code: gdb {sorted(map(hex, left))}, we {sorted(map(hex, right))}")
    if max(map(len, theirs)) < 2:
        bench.fail("nothing is inlined twice: the test asks nothing")
    for setup, moves in ((["break fibonacci"], ["continue*3"]), (["tbreak exercise", "break half"], ["continue*2"])):
        check_scene(bench, program, trace, setup, moves)
    check_entered(bench)


CALLS = """static inline __attribute__((always_inline)) int twice(int v)
{
    volatile int kept = v * 2;
    return kept;
}
__attribute__((noinline)) int outer(int n)
{
    return twice(n) + 1;
}
int main(int argc, char **argv)
{
    (void)argv;
    return outer(argc) + outer(argc + 1) - 8;
}
"""


def check_entered(bench):
    """A line that begins with an inlined function is where goto stands, and the function is entered by a step."""
    source, program, trace = bench.path("calls.c"), bench.path("calls"), bench.path("trace_calls")
    with open(source, "w") as file:
        file.write(CALLS)
    built = bench.run("gcc", "-g", "-O2", "-o", program, source)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "--json", "-e", "goto calls.c:8#2", "-e", "frame", "-e", "step",
                    "-e", "goto twice#2", "-e", "goto twice#3")
    places = [(row.get("function"), row.get("line")) for row in run.objects()]
    if places != [("outer", 8), ("outer", 8), ("twice", 3), ("twice", 3), (None, None)]:
        bench.fail(f"a line that begins with an inlined function\n{run}")


def main():
    bench = Bench(sys.argv[1])
    program, trace = bench.path("walk"), bench.path("trace")
    built = bench.run("cc", "-g", "-O0", "-o", program, SOURCE)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return bench.finish()
    for setup, moves in SCENES:
        check_scene(bench, program, trace, setup, moves)
    check_backward(bench, trace)
    check_saved(bench, program, trace)
    check_syscalls(bench, program, trace)
    check_reads(bench, trace)
    check_commands(bench, trace)
    check_inlined(bench)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
