#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps, values, memory and types as the prompt shows them, against gdb on the same program."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from e2e import Bench  # noqa: E402

SOURCE = os.path.join(HERE, "walk.c")
LAST = next(n for n, line in enumerate(open(SOURCE), 1) if "/* LAST */" in line)
SIGNALS = "handle all nostop noprint pass"
MARK, MARKED = "print 987654321", "987654321 = 987654321\n"

STEPS = """set pagination off
set confirm off
set debug-file-directory /nonexistent
%s
break %s
run > /dev/null
python
import gdb
for i in range(%d):
    frame = gdb.newest_frame()
    line = frame.find_sal().line if frame.find_sal().symtab else None
    print("AT", frame.name(), line)
    gdb.execute("%s", to_string=True)
end
"""


def gdb_steps(bench, program, place, command, count):
    script = bench.path("steps.gdb")
    with open(script, "w") as file:
        file.write(STEPS % (SIGNALS, place, count, command))
    run = bench.run("gdb", "-nx", "-batch", "-x", script, program)
    rows = [line.split()[1:] for line in run.out.splitlines() if line.startswith("AT ")]
    if len(rows) != count:
        bench.fail(f"gdb made {len(rows)} of {count} steps\n{run}")
    return [(name, None if line == "None" else int(line)) for name, line in rows]


def ask(bench, trace, commands):
    """The positions that a list of commands went to: (time, function, line)."""
    words = ["--batch", "--json"]
    for command in commands:
        words += ["-e", command]
    run = bench.run(bench.wetdbg, "replay", trace, *words)
    if run.status != 0:
        bench.fail(f"a command failed\n{run}")
        return []
    return [(row["time"], row["function"], row["line"]) for row in run.objects()]


def check_steps(bench, program, trace, place, command, count, is_both_ways=True):
    expected = gdb_steps(bench, program, place, command, count)
    found = ask(bench, trace, ["goto start", f"continue {place}"] + [command] * (count - 1))[1:]
    for i, row in enumerate(expected):
        if i >= len(found) or row != found[i][1:]:
            bench.fail(f"{command} {i} from {place}: gdb is at {row}, we are at {found[i:i + 1]}\n"
                       f"before: {expected[max(0, i - 3):i]}")
            return
    if is_both_ways:
        check_backward(bench, trace, command, found)


def check_backward(bench, trace, command, forward):
    """The way back leads to the same places."""
    if not forward:
        return
    back = ask(bench, trace, [f"goto {forward[-1][0]}"] + [f"reverse-{command}"] * (len(forward) - 1))
    for there, here in zip(forward, reversed(back)):
        if there != here:
            bench.fail(f"reverse-{command}: forward came to {there}, backward to {here}")
            return


def masked(text):
    """Without what differs between two runs: addresses."""
    return re.sub(r"0x[0-9a-f]{9,}", "ADDRESS", text).strip()


def check_answers(bench, program, trace):
    with open(os.path.join(HERE, "expressions.txt")) as file:
        lines = [line.rstrip("\n") for line in file if line.strip()]
    place = f"walk.c:{LAST}"
    words = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", SIGNALS, "-ex", f"break {place}",
             "-ex", "run > /dev/null"]
    ours = ["--batch", "-e", f"goto {place}"]
    for line in lines:
        words += ["-ex", "echo @@\\n", "-ex", line]
        ours += ["-e", "info threads", "-e", line]
    gdb = bench.run(*words, program)
    run = bench.run(bench.wetdbg, "replay", trace, *ours)
    theirs = [part if line.startswith("show") else re.sub(r"^\$\d+ = ", "", part)
              for line, part in zip(lines, gdb.out.split("@@\n")[1:])]
    answers = re.split(r"  N   TID .*\n.*\n", run.out)[1:]
    if len(theirs) != len(lines) or len(answers) != len(lines):
        bench.fail(f"{len(lines)} questions, gdb gave {len(theirs)} answers, we {len(answers)}\n{gdb}\n{run}")
        return
    for line, expected, found in zip(lines, theirs, answers):
        operand = re.sub(r"^/\w+ ", "", line.split(" ", 1)[1]) if " " in line else "$"
        if line.startswith("p") and found.startswith(operand + " = "):
            found = found[len(operand) + 3:]
        elif line.startswith("p $") and "=" in line:  # an assignment goes by its variable
            found = re.sub(r"^\$\w+ = ", "", found)
        if masked(expected) != masked(found):
            bench.fail(f"{line}\n gdb: {masked(expected)}\nours: {masked(found)}")


def check_finish(bench, trace):
    """Results, and where a call returns to and came from."""
    rows = [("make", "{x = 7, y = -7}"), ("half", "1.625"), ("add", "3"), ("fibonacci", "2")]
    for function, value in rows:
        run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto start", "-e",
                        f"continue {function}", "-e", "finish")
        if run.status != 0 or f"value returned: {value}\n" not in run.out:
            bench.fail(f"finish of {function} should give {value}\n{run}")
    there = ask(bench, trace, ["goto start", "continue deep", "reverse-finish", "step"])
    if len(there) != 4 or there[1] != there[3] or there[2][1] != "exercise":
        bench.fail(f"reverse-finish and step should lead back: {there}")


def check_landing(bench, trace):
    """next over what longjmp leaves stops where it lands, and comes back; a handler is passed over."""
    forward = ask(bench, trace, ["goto start", "continue main"] + ["next"] * 17)[1:]
    lines = [row[2] for row in forward]
    leave = next(n for n, line in enumerate(open(SOURCE), 1) if "leave(2)" in line)
    if any(row[1] != "main" for row in forward) or leave not in lines:
        bench.fail(f"next went elsewhere: {forward}")
    elif lines[lines.index(leave) + 1] != leave - 1:
        bench.fail(f"after longjmp next should stop at line {leave - 1}: {lines}")
    check_backward(bench, trace, "next", forward)


def check_place(bench, trace):
    """Names in front of @FILE:LINE#K are those of the code there, else the selected function's."""
    line = next(n for n, text in enumerate(open(SOURCE), 1) if "return sum;" in text)
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto start", "-e", "continue fibonacci", "-e", "up",
                    "-e", f"print sum@walk.c:{line}#1", "-e", f"print place.x@walk.c:{line}#1")
    if not run.out.endswith("sum = 3\nplace.x = 7\n"):
        bench.fail(f"the first call of add() is add(1, 2), behind make(7)\n{run}")


def check_list(bench, program, trace):
    """The lines that list shows, one list after the other."""
    words = ["-", "20,23", "-", "-", "40,42", "", "-", "fibonacci", "-", "walk.c:60,62", "exercise,130", ""]
    theirs = ["gdb", "-nx", "-batch", "-ex", SIGNALS, "-ex", f"break {LAST}", "-ex", "run > /dev/null", "-ex", "echo @@\\n"]
    ours = ["--batch", "-e", f"goto walk.c:{LAST}", "-e", MARK]
    for word in words:
        theirs += ["-ex", f"list {word}".strip()]
        ours += ["-e", f"list {word}".strip()]
    gdb, run = bench.run(*theirs, program), bench.run(bench.wetdbg, "replay", trace, *ours)
    expected, found = (re.findall(r"^[ >]?(\d+)\t", text, re.M) for text in
                       (gdb.out.split("@@\n")[-1], run.out.split(MARKED)[-1]))
    if expected != found or len(found) < 80:
        bench.fail(f"list\n gdb: {expected}\nours: {found}\n{run.err}")


def check_optimized(bench):
    """Functions that are inlined: gdb stops at their calls before it enters them."""
    program, trace = bench.path("walk_O2"), bench.path("trace_O2")
    built = bench.run("cc", "-g", "-O2", "-o", program, SOURCE)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return
    check_steps(bench, program, trace, "main", "next", 7, is_both_ways=False)


def check_gone(bench):
    """What is optimized out has no value, but a type; of a whole the rest is shown, as gdb does."""
    source, program, trace = bench.path("gone.c"), bench.path("gone"), bench.path("trace_gone")
    with open(source, "w") as file:
        file.write("int main(int argc, char **argv)\n{\n    struct cell { int a; short b; } gone[3], *at = gone;\n"
                   "    at[1].b = (short)argc;\n    return argc + (argv == 0);\n}\n")
    built = bench.run("cc", "-g", "-O2", "-w", "-o", program, source)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 1:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", "goto gone.c:5", "-e", "whatis gone[1].b", "-e",
                    "print sizeof(gone)", "-e", "print sizeof at[1]", "-e", "print gone", "-e", "print at[1].b")
    none = "{a = <optimized out>, b = <optimized out>}"
    gone = f"{{{none}, {{a = <optimized out>, b = 1}}, {none}}}"
    if not run.out.endswith(f"type = short\nsizeof(gone) = 24\nsizeof at[1] = 8\ngone = {gone}\nat[1].b = 1\n"):
        bench.fail(f"types of what is optimized out\n{run}")


def frame_words(text):
    """Frames up to main's, and locals, without what differs: addresses, folders, how numbers of frames
    are padded."""
    lines = [re.sub(r" at \S*/", " at ", re.sub(r"^[ *]*#(\d+) +", r"#\1 ", line)) for line in masked(text).splitlines()]
    past = next((i for i, line in enumerate(lines) if " in main (" in line), len(lines)) + 1
    return [line for line in lines[:past] if line and line != "No locals." and "more frames)" not in line and
            not line.startswith("(More stack frames")]


def check_frames(bench, level):
    """Outer frames of optimized code: rbx, pieces, x@entry, a function that ended by a jump."""
    name = f"frames{level}"
    source, program, trace = os.path.join(HERE, "frames.c"), bench.path(name), bench.path(f"{name}.trace")
    built = bench.run("gcc", "-g", level, "-o", program, source)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return
    check_steps(bench, program, trace, "main", "next", 4, is_both_ways=False)
    questions = ["bt", "bt 2", "bt full 3"] + [f"info locals of {number}" for number in range(1, 5)]
    # past main, so that gdb looks for what main was called with
    theirs = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", "set backtrace past-main on", "-ex", SIGNALS,
              "-ex", "break stop_here", "-ex", "run > /dev/null"]
    ours = ["--batch", "-e", "goto start", "-e", "continue stop_here"]
    for question in questions:
        ask, _, number = question.partition(" of ")
        select = f"frame {number or 0}"
        theirs += ["-ex", select, "-ex", "echo @@\\n", "-ex", ask, "-ex", "echo @@\\n"]
        ours += ["-e", select, "-e", MARK, "-e", ask, "-e", MARK]
    gdb = bench.run(*theirs, program)
    run = bench.run(bench.wetdbg, "replay", trace, *ours)
    expected = [frame_words(part) for part in gdb.out.split("@@\n")[1::2]]
    found = [frame_words(part) for part in run.out.split(MARKED)[1::2]]
    if len(expected) != len(questions) or len(found) != len(questions):
        bench.fail(f"{name}: not all was answered\n{gdb}\n{run}")
    for question, left, right in zip(questions, expected, found):
        if sorted(left) != sorted(right):
            bench.fail(f"{name}: {question}\n gdb: {left}\nours: {right}")


INFO = ["info line", "info symbol main", "info symbol &matrix[1]", "info symbol add", "info line add", "info line 44", "info line fibonacci",
        "info line walk.c:58", "info line 46", "info source", "info frame", "info variables ^matrix$",
        "info variables ^hits", "info variables ^zeros"]


def info_words(question, text):
    """An answer without what only one of both tells, or what differs between runs."""
    lines = []
    for line in masked(re.sub(r"0x[0-9a-f]{9,}", "ADDRESS", text)).splitlines():
        line = re.sub(r"( in section \S+ of | in )\S*/", " in ", line) if question.startswith("info symbol") else line
        line = re.sub(r'(^File |file is | of "|\()/\S*/', r"\1", line)
        if line and not re.match(r"Compilation dir|Producer|Compiled with|Does not incl|Non-debugging|ADDRESS  ", line):
            lines.append(line)
    return lines


def check_info(bench, program, trace):
    """What is where: symbols, lines, the frame, variables of files."""
    line = next(n for n, text in enumerate(open(SOURCE), 1) if "return sum;" in text)
    theirs = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", SIGNALS, "-ex", f"break {line}", "-ex", "run > /dev/null"]
    ours = ["--batch", "-e", f"goto walk.c:{line}#1"]
    for question in INFO:
        theirs += ["-ex", "echo @@\\n", "-ex", question]
        ours += ["-e", MARK, "-e", question]
    gdb, run = bench.run(*theirs, program), bench.run(bench.wetdbg, "replay", trace, *ours)
    expected, found = gdb.out.split("@@\n")[1:], run.out.split(MARKED)[1:]
    if len(expected) != len(INFO) or len(found) != len(INFO):
        bench.fail(f"not all was answered\n{gdb}\n{run}")
        return
    for question, left, right in zip(INFO, expected, found):
        left, right = info_words(question, left), info_words(question, right)
        if left != right or not left:
            bench.fail(f"{question}\n gdb: {left}\nours: {right}")


WORDS = """set $count = 0
define twice
print $arg0 * 2
set $count += $argc
end
document twice
Twice a number.
end
twice 21
twice hits there
print $count
frame function exercise
print start
print result
frame level 0
frame function main
print first
frame apply 1 -q print 6 * 7
frame apply all -s -q print start
thread apply all -q print hits
thread apply 1 -s -q print nobody
thread 1
print $count + $
printf "all = %d %5u|%-4i|%#x %lo %c %s %s %.2f %g %%\\n", 1 + 1, hits, -3, 255, 8, 'x', text, &text[1], real, small
printf "none = \\"%llx\\"\\n", (long)-1
printf "text = %s|%6s|%s\\n", "a, \\"b\\"", "c", text
set $turn = 0
while $turn < 5
set $turn = $turn + 1
if $turn == 2
loop_continue
end
# a remark, and an empty line

if $turn == 4
loop_break
else
set $inner = 0
while($inner < 2)
printf "turn = %d.%d\\n", $turn, $inner++
end
end
end
printf "left = %d\\n", $turn
if $turn != 4
print $turn * 100
else
if(0)
print $turn * 10
else
print $turn * 1000
end
end
define sum_to
set $sum = 0
set $each = 0
while $each < $arg0
set $each++
if $each % 2
loop_continue
end
set $sum += $each
end
print $sum
end
sum_to 10
sum_to 2000
document sum_to
if a word of blocks begins a line of text, it is text
while this is, too
end
x/2xw &matrix
print $_
print $__
print *$_ + 1
x/s text
print $_
print $__
x/3dh zeros
print $_
x/2i main
print $_
info line add
print $_
print $__
x
print/x $__
print $_exitcode
echo no\\tvalue = here\\n
shell echo a value = of the shell
"""


def check_words(bench, program, trace):
    """What files of commands have beside questions, by the values that they print: the same file for both."""
    script = bench.path("words")
    with open(script, "w") as file:
        file.write(WORDS)
    line = next(n for n, text in enumerate(open(SOURCE), 1) if "return sum;" in text)
    gdb = bench.run("gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", SIGNALS, "-ex", f"break {line}",
                    "-ex", "run > /dev/null", "-ex", f"source {script}", program)
    run = bench.run(bench.wetdbg, "replay", trace, "--batch", "-e", f"goto walk.c:{line}#1", "-e", f"source {script}")
    values = [[text.split(" = ", 1)[1] for text in output.splitlines() if " = " in text and not re.match(r"\d+\t", text)]
              for output in (gdb.out, run.out)]
    values[0] = [masked(text) for text in values[0]]
    values[1] = [masked(text) for text in values[1]]
    if values[0] != values[1] or len(values[0]) < 12 or run.status != 0:
        bench.fail(f"a file of commands\n gdb: {values[0]}\nours: {values[1]}\n{gdb.err}\n{run}")


def main():
    bench = Bench(sys.argv[1])
    program, trace = bench.path("walk"), bench.path("trace")
    built = bench.run("cc", "-g", "-O0", "-o", program, SOURCE)
    recorded = bench.run(bench.wetdbg, "record", "-o", trace, program)
    if built.status != 0 or recorded.status != 0:
        bench.fail(f"no recording\n{built}\n{recorded}")
        return bench.finish()
    check_steps(bench, program, trace, "exercise", "step", 135)
    check_steps(bench, program, trace, "exercise", "next", 18)
    check_steps(bench, program, trace, "apply", "step", 14)
    check_steps(bench, program, trace, "exercise", "stepi", 60)
    check_steps(bench, program, trace, "exercise", "nexti", 60)
    check_answers(bench, program, trace)
    check_finish(bench, trace)
    check_landing(bench, trace)
    check_place(bench, trace)
    check_list(bench, program, trace)
    check_words(bench, program, trace)
    check_info(bench, program, trace)
    check_optimized(bench)
    check_gone(bench)
    check_frames(bench, "-O2")
    check_frames(bench, "-Og")
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
