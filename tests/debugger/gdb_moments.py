# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by gdb: runs the program to each moment of a plan, and writes down what gdb says there.

The plan is a list of {"id", "offset", "count", "globals", "steps"}, offsets being from main; each answer
is a line of JSON."""
import json
import os

import gdb

FRAMES = 6
OUTER = ["rbx", "rbp", "rsp", "r12", "r13", "r14", "r15", "rip"]
GENERAL = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10"] + OUTER


def ask(command):
    try:
        return gdb.execute(command, to_string=True).rstrip("\n")
    except gdb.error as error:
        return f"error: {error}"


def place():
    frame = gdb.newest_frame()
    sal = frame.find_sal()
    return [frame.pc(), frame.name(), sal.line if sal.symtab else None]


def labels():
    """gdb lists labels of C among locals."""
    try:
        block = gdb.selected_frame().block()
    except RuntimeError:
        return set()
    found = set()
    while block and not block.is_global and not block.is_static:
        found |= {symbol.name for symbol in block if symbol.addr_class == gdb.SYMBOL_LOC_LABEL}
        block = None if block.function else block.superblock
    return found


def locals_of_frame():
    left_out = labels()
    return [line for line in ask("info locals").split("\n") if line.split(" = ")[0] not in left_out]


def registers(names):
    return {name: ask(f"p/x ${name}") for name in names}


def kinds():
    names = {gdb.INLINE_FRAME: "inlined", gdb.TAILCALL_FRAME: "tail"}
    found, frame = [], gdb.newest_frame()
    while frame:
        found.append(names.get(frame.type(), "plain"))
        frame = frame.older()
    return found


def describe(moment):
    ask("frame 0")
    answer = {"id": moment["id"], "frames": ask("bt").split("\n"), "levels": [], "kinds": kinds()}
    answer["globals"] = [ask(f"p {name}") for name in moment["globals"]]
    for level in range(FRAMES):
        if ask(f"frame {level}").startswith("error"):
            break
        answer["levels"].append((registers(OUTER if level else GENERAL), locals_of_frame()))
    ask("frame 0")
    return answer


def step(commands):
    """Where steps lead to, and what functions return."""
    steps = []
    for command in commands:
        said = ask(command)
        if not gdb.selected_inferior().pid:
            break
        value = said.split("Value returned is ")[1].split("= ", 1)[1] if "Value returned" in said else None
        steps.append([command] + place() + [value])
    return steps


def go(moment):
    """From the start, with no other breakpoint: gdb counts some hits twice where several are side by
    side. The address of main."""
    ask("starti > /dev/null")
    main_at = int(gdb.parse_and_eval("(long) &main"))
    point = gdb.Breakpoint(f"*{main_at + moment['offset']:#x}")
    point.silent = True
    point.ignore_count = moment["count"] - 1
    ask("continue")
    point.delete()
    return main_at


def main():
    plan = json.load(open(os.environ["MOMENTS_PLAN"]))
    for setting in ("pagination off", "confirm off", "width 0", "height 0", "backtrace past-main on",
                    "max-value-size unlimited"):
        gdb.execute(f"set {setting}")
    gdb.execute("handle all nostop noprint pass", to_string=True)
    with open(os.environ["MOMENTS_ANSWERS"], "w") as out:
        for moment in plan:
            main_at = go(moment)
            if gdb.selected_inferior().pid:
                answer = dict(describe(moment), main=main_at, pid=gdb.selected_inferior().pid)
                answer["steps"] = step(moment["steps"])
                out.write(json.dumps(answer) + "\n")


main()
