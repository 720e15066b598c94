#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_shown_names.py BUILD-DIRECTORY: a program without symbols. What is shown of its places can be typed back, wherever a
place is asked for, and means the instruction that was shown."""
import re
import subprocess

import e2e

SYMBOLS = ("a=1", "e=5", "b=2", "i=9", "a", "-i", "e", "b")


def ask(bench, trace, *commands):
    run = bench.wet("replay", trace, "--batch", "--json", *(word for command in commands for word in ("-e", command)))
    return run.objects()[-1]


def check_place(bench, trace, place, address):
    """Each command takes a place that was shown, and finds that address."""
    instances = ask(bench, trace, f"instances {place}")
    count = instances.get("count", 0)
    bench.check(count > 0 and {row["pc"] for row in instances["instances"]} == {address}, f"{place}: {instances}")
    for k in (1, count):
        at = ask(bench, trace, f"goto {place}#{k}")
        bench.check(at.get("pc") == address and at["time"] == instances["instances"][k - 1]["time"], f"{place}#{k}: {at}")
    for form in (place, f"*{place}", f"*{address}", f"{place}#-1"):
        at = ask(bench, trace, f"goto {form}")
        bench.check(at.get("pc") == address, f"goto {form}: {at}")
    listing = ask(bench, trace, f"disassemble {place}")
    bench.check(address in [row["address"] for row in listing["instructions"]], f"disassemble {place}: {listing}")
    sliced = ask(bench, trace, f"slice {place}#1")
    bench.check(sliced.get("time") == instances["instances"][0]["time"], f"slice {place}#1: {sliced}")
    why = ask(bench, trace, "slice crash", f"why {place}")
    bench.check(why.get("hops") and why["hops"][-1]["pc"] == address, f"why {place}: {why}")
    reached = ask(bench, trace, "goto start", f"continue {place}")
    bench.check(reached.get("pc") == address, f"continue {place}: {reached}")
    if_not = ask(bench, trace, f"what-if {place}#1 switch")
    bench.check(if_not.get("time") == instances["instances"][0]["time"], f"what-if {place}: {if_not}")
    code = ask(bench, trace, f"x/1i {place}")
    bench.check(address in str(code), f"x/1i {place}: {code}")


def check_functions(bench, trace, text):
    """A function without a name is a function: its calls, its code in a slice."""
    names = re.findall(r"symtab  (symtab\+0x[0-9a-f]+)  x", text)
    bench.check(names, f"no function: {text}")
    for name in names[:2]:
        call = ask(bench, trace, f"slice {name}#1")
        bench.check(call.get("description", "").startswith(f"the call of {name} at time "), f"slice {name}: {call}")
        why = ask(bench, trace, "slice crash", f"why {name}")
        bench.check(why.get("hops") and why["hops"][-1]["function"] == name, f"why {name}: {why}")
    listed = bench.wet("replay", trace, "--batch", "-e", f"list {names[0]}")
    bench.check(listed.status == 1 and "has no line information: symtab has no debug information" in listed.err, "list", listed)


def check_refusals(bench, trace):
    for command, status, sentence in (("goto symtab+0xffffffff", 2, "is no time"), ("goto nosuch+0x10", 2, "is no time"),
                                      ("slice symtab+0xffffffff", 1, "is visible here"),
                                      ("goto symtab+0x1#1", 1, "symtab+0x1 ran 0 times"),
                                      ("slice symtab+0x1", 1, "no instruction at symtab+0x1 ran"),
                                      ("continue nosuch+0x10", 1, "no function is called 'nosuch+0x10'"),
                                      ("disassemble *nosuch+0x10", 1, "no variable 'nosuch'")):
        run = bench.wet("replay", trace, "--batch", "-e", command)
        bench.check(run.status == status and sentence in run.err, command, run)


def test(bench, _):
    program = bench.path("symtab")
    subprocess.run(["strip", "-s", "-o", program, f"{bench.programs}/fault_symtab_O0"], check=True)
    trace = bench.record("stripped", program, *SYMBOLS)
    run = bench.wet("replay", trace, "--batch", "-e", "slice crash", "-e", "decisions")
    shown = re.findall(r"^time [0-9]+ +(0x[0-9a-f]+) <([^>]*)>", run.out, re.M)
    bench.check(shown, "no decision is shown", run)
    bench.check("+0x" in shown[0][1] and not re.search(r"<[^>]*\+0x[0-9a-f]+\+", run.out), "two offsets for one place", run)
    for address, place in shown[:2]:
        check_place(bench, trace, place, address)
    check_functions(bench, trace, run.out)
    check_refusals(bench, trace)


if __name__ == "__main__":
    e2e.main(test)
