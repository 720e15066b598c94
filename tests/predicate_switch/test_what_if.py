# SPDX-License-Identifier: GPL-3.0-or-later
"""what-if at the prompt: conditions that go the other way, values that are others; and what a program does
that was told to do harm: none of it happens."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

MARKS = {}
for name in ("turncoat.c", "turns.c", "reaches.c", "strange.c"):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "guests", name)) as source:
        for number, text in enumerate(source, 1):
            for mark in ("ORDER", "TURN", "SUM", "BEGIN", "STRANGE"):
                if f"/* {mark} */" in text:
                    MARKS[mark] = f"{name}:{number}"


def ask(bench, trace, command):
    """The answer to one command, as an object."""
    run = bench.wet("replay", trace, "--batch", "--json", "-e", command)
    objects = run.objects() if run.out else []
    return objects[-1] if objects else {"run": str(run)}


def check(bench, trace, command, **expected):
    answer = ask(bench, trace, command)
    same = all(answer.get(key) == value for key, value in expected.items())
    bench.check(same, f"{command}: {expected} was expected, and came {answer}")
    return answer


def check_switches(bench, trace):
    turn = MARKS["TURN"]
    # Of 7, 8 and 9 one is missed; of 0 to 6 one is taken.
    check(bench, trace, f"what-if {turn}#9 switch", end="exit", exit=0,
          output_differs_at={"fd": 1, "offset": 0})
    answer = check(bench, trace, f"what-if {turn}#3 switch --output 1", end="exit", exit=1)
    bench.check(answer.get("output") == "4 big\n", f"one more is big: {answer}")
    check(bench, trace, f"what-if big=40@{turn}#10", end="exit", exit=1)
    check(bench, trace, f"what-if i=1000@{turn}#2", end="exit", exit=0)
    for value, text in (("5", "8 big\n"), ("'5'", "56 big\n"), ("\"'5'\"", "56 big\n")):
        answer = check(bench, trace, f"what-if big={value}@{turn}#7 --output 1", end="exit", exit=1)
        bench.check(answer.get("output") == text, f"big is {value}: {answer}")
    check(bench, trace, f"what-if {turn}#11 switch", schema="wetdbg.error/1",
          message=f"{turn} has no decision #11: it decided 10 times")
    check(bench, trace, f"what-if nothing=1@{turn}#2", schema="wetdbg.error/1")
    answer = check(bench, trace, "what-if order=1", schema="wetdbg.error/1")
    bench.check("nothing can be changed there: the last instruction is at" in answer.get("message", ""), "at the end")
    run = bench.wet("replay", trace, "--batch", "-e", f"what-if {turn}#3 switch --output 7")
    bench.check(run.status == 0 and run.out.endswith("\nnothing is put out to descriptor 7\n"), "no output", run)
    check(bench, trace, f"what-if {turn}", schema="wetdbg.error/1")


def check_code(bench, trace):
    """Other code is other memory, at one place or two."""
    turn = MARKS["TURN"]
    run = bench.wet("replay", trace, "--batch", "--json", "-e", f"goto {turn}#1", "-e", "print $pc")
    pc = int(re.search(r"0x[0-9a-f]+", run.objects()[-1]["value"])[0], 16)
    memory = ask(bench, trace, f"what-if *{pc:#x}+2=0xfeeb@{turn}#1")
    for command in (f"code:{pc:#x}=ebfe@{turn}#1", f"code:{pc:#x}=eb,{pc + 1:#x}=FE@{turn}#1", f"code:{pc:#x}=ebfe @{turn}#1"):
        answer = ask(bench, trace, f"what-if {command}")
        bench.check({**answer, "change": ""} == {**memory, "change": ""}, f"{command}: {answer}, and as memory {memory}")
    bench.check(memory.get("end") == "limit", f"a jump to itself: {memory}")
    for wrong, why in (("code:x=90", "'x=90' is no ADDRESS=BYTES"), ("code:0x1=9", "'9' is not 1 to 4096 bytes of two hexadecimal digits"),
                       ("code:0x1=90,0x2=90,0x3=90", "code is changed at two places at most"), ("code:0x1=", "'' is not 1 to 4096 bytes of two hexadecimal digits")):
        check(bench, trace, f"what-if {wrong}", schema="wetdbg.error/1", message=f"what-if: {why}")


# What is ordered, and how the run may end: exit statuses of the guest, where the model has an answer.
HARM = {1: {3}, 2: {4}, 3: set(), 4: {5}, 5: {7}, 6: set(), 7: set(), 8: set(), 9: {9}, 10: set()}


def check_harm(bench, trace, kept):
    before = e2e.hash_file(kept)
    for order, exits in HARM.items():
        answer = ask(bench, trace, f"what-if order={order}@{MARKS['ORDER']}")
        fits = answer.get("end") in ("unresolved", "limit") or answer.get("signal") or answer.get("exit") in exits
        bench.check(fits, f"order {order}: {answer}")
        bench.check(os.path.exists(kept) and e2e.hash_file(kept) == before, f"order {order} reached the file")
    bench.check(not os.path.exists(bench.path("touched")), "another program ran")
    check(bench, trace, f"what-if order=10@{MARKS['ORDER']}", end="unresolved", unresolved="limit of faults")


def check_kept(bench, trace):
    """The run that went on differently, as a file of its own."""
    turn, order = MARKS["TURN"], MARKS["ORDER"]
    kept, again, none = bench.path("kept.wet"), bench.path("again.wet"), bench.path("none.wet")
    check(bench, trace, f"what-if {turn}#3 switch --keep {kept}", end="exit", exit=1, kept=kept)
    run = bench.wet("verify", "--deep", kept)
    bench.check(run.status == 0, "the kept run does not reproduce itself", run)
    run = bench.wet("open", kept, "--batch", "--json", "-e", "output 1", "-e", "slice output:1:0", "-e", "info")
    output, made, info = (3 * [{}] + run.objects())[-3:]
    bench.check([piece.get("text") for piece in output.get("writes", [])] == ["4 big\n"], "its output", run)
    line = int(turn.split(":")[1])
    bench.check(any(row.get("line") == line for row in made.get("lines", [])), "its slice", run)
    bench.check(info.get("what_if", {}).get("change") == f"{turn}#3 switch", "what it is", run)
    # A run of a run: back to what was recorded.
    run = bench.wet("open", kept, "--batch", "--json", "-e", f"what-if {turn}#3 switch --output 1 --keep {again}")
    answer = ([{}] + run.objects())[-1]
    bench.check(answer.get("output") == "3 big\n" and answer.get("exit") == 0, "back again", run)
    bench.check(bench.wet("verify", "--deep", again).status == 0, "a kept run of a kept run")
    before = e2e.hash_file(kept)
    run = bench.wet("open", kept, "--batch", "-e", f"what-if {turn}#3 switch --keep {kept}")
    bench.check("is the file that is open" in run.err and e2e.hash_file(kept) == before, "its own place", run)
    # What does not come to its end is not kept.
    check(bench, trace, f"what-if order=3@{order} --keep {none}", schema="wetdbg.error/1")
    bench.check(not os.path.exists(none), "a run without an end was kept")
    check(bench, trace, f"what-if {turn}#3 switch --keep {bench.path('no', 'such')}", schema="wetdbg.error/1")


def check_kept_threads(bench):
    """A run of threads."""
    trace, kept = bench.record("turns", f"{bench.build}/tests/predicate_switch/switch_turns"), bench.path("turns.wet")
    check(bench, trace, f"what-if sum=7@{MARKS['SUM']}#5 --keep {kept}", end="exit", exit=0,
          output_differs_at={"fd": 1, "offset": 12})
    run = bench.wet("verify", "--deep", kept)
    bench.check(run.status == 0, "threads: the kept run does not reproduce itself", run)


def check_changed(bench, trace, kept):
    """What is no longer as it was when the run was recorded is said to be so."""
    with open(kept, "a") as file:
        file.write("another line\n")
    answer = ask(bench, trace, f"what-if order=9@{MARKS['ORDER']}")
    bench.check(answer.get("unresolved") == 'openat: whether there was a file "kept" is not known: it or its directory '
                "has changed since the recording began", f"a file that has changed: {answer}")


def check_absent(bench):
    """That a name was absent is known, too, where the recording lies in the program's own directory: rr made it before."""
    here = bench.path("here")
    os.mkdir(here)
    subprocess.run([bench.wetdbg, "record", "-o", "trace", "--", f"{bench.build}/tests/predicate_switch/switch_turncoat", "absent"],
                   env=bench.environment, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
    answer = ask(bench, f"{here}/trace", f"what-if order=9@{MARKS['ORDER']}")
    bench.check(answer.get("end") == "exit" and answer.get("exit") == 9, f"in its own directory: {answer}")
    bench.check(os.listdir(here) == ["trace"], f"a switched run made a file: {os.listdir(here)}")


def check_killed(bench):
    """Nothing is left of a kept run whose making is ended by a signal."""
    trace, kept = bench.record("long", f"{bench.build}/tests/e2e/e2e_long_run", "6000000"), bench.path("long.wet")
    bench.wet("replay", trace, "--batch")
    with open(f"{e2e.SOURCE}/tests/e2e/programs/long_run.c") as file:
        printed = next(number for number, text in enumerate(file, 1) if "printf(" in text)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        child = subprocess.Popen([bench.wetdbg, "replay", trace, "--batch", "-e", f"what-if state=5@long_run.c:{printed} --keep {kept}"],
                                 env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while not os.path.exists(f"{kept}.part") and child.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        child.send_signal(number)
        said = child.communicate(timeout=60)[1]
        left = [name for name in os.listdir(bench.work) if name.startswith("long.wet")]
        bench.check(not left, f"{number!r} leaves {left}: {child.returncode} {said}")
        bench.check(child.returncode == (130 if number == signal.SIGINT else -number), f"{number!r}: {child.returncode} {said}")


def check_wall(bench):
    """What replays the run is not there for a live one, though the recording is the user's own: a store, or a gather,
    to its agent, its log, and its code finds nothing, at the address that it names."""
    for how in ("store", "gather"):
        trace = bench.record(how, f"{bench.build}/tests/predicate_switch/switch_reaches", how)
        for base in (0x200000000000, 0x2000000000a8, 0x200001000000, 0x200007000000, 0x2000d0400000):
            run = bench.wet("replay", trace, "--batch", "--json", "-e", f"goto {MARKS['BEGIN']}", "-e", "next", "-e",
                            f"what-if base={base} --output 1")
            answer = run.objects()[-1]
            bench.check(answer.get("exit") == 7 and answer.get("output") == f"nothing at {base + 0x1230:#x}\n",
                        f"{how} at {base:#x}: {answer}", run)


# What is not modelled, and how that is said.
REFUSED = {4: "trap flag"}


def check_strange(bench):
    """What programs seldom do ends as it does natively, or is said to be unknown."""
    program = f"{bench.build}/tests/predicate_switch/switch_strange"
    trace = bench.record("strange", program)
    for order in range(1, 8):
        native = bench.run(program, str(order))
        answer = ask(bench, trace, f"what-if order={order}@{MARKS['STRANGE']} --output 1")
        if order in REFUSED:
            fits = answer.get("end") == "unresolved" and REFUSED[order] in answer.get("unresolved", "")
        else:
            fits = answer.get("exit") == native.status and answer.get("output") == native.out
        bench.check(fits, f"strange order {order}: natively {native.status} {native.out!r}, and came {answer}")


def test(bench, _):
    kept = bench.path("kept")
    with open(kept, "w") as file:
        file.write("as it was\n")
    trace = bench.record("turncoat", f"{bench.build}/tests/predicate_switch/switch_turncoat", "kept")
    check_switches(bench, trace)
    check_code(bench, trace)
    check_kept(bench, trace)
    check_kept_threads(bench)
    check_killed(bench)
    check_harm(bench, trace, kept)
    check_changed(bench, trace, kept)
    check_absent(bench)
    check_wall(bench)
    check_strange(bench)


if __name__ == "__main__":
    e2e.main(test)
