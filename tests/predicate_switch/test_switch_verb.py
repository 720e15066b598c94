#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_switch_verb.py BUILD: `wetdbg switch` as a user runs it: what it finds is what the real program under ptrace says; what
it refuses, and its exit statuses."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e

NAMES = ("notes.txt", "aaaabbc", "Makefile", "all:::::")
SYMBOLS = ("a=1", "e=5", "b=2", "i=9", "a", "-i", "e", "b")


def save_right(bench, program, arguments):
    path = bench.path("right")
    with open(path, "w") as file:
        file.write(bench.run(f"{program}_fixed", *arguments).out)
    return path


def ask_native(bench, trace, criterion, right):
    run = bench.run(f"{bench.build}/tests/predicate_switch/switch_oracle", "--no-confidence", f"{trace}/wetdbg.wet", criterion,
                    right, "0")
    exact = [row for row in run.objects()[:-1] if row["verdict"] == "exact"]
    first = min(exact, key=lambda row: row["position"])
    return first["switches"][0]["time"], first["switches"][0]["line"], first["position"]


def check_expect(bench):
    """The first finding is that of the real program, run and counted by breakpoints."""
    program = f"{bench.build}/tests/predicate_switch/switch_omission_O0"
    right = save_right(bench, program, NAMES)
    trace = bench.record("omission", program, *NAMES)
    run = bench.wet("switch", "--json", f"--expect={right}", trace)
    if not bench.check(run.status == 0, "an omission is not found", run):
        return
    findings = [row for row in run.objects() if row["schema"] == "wetdbg.switch/1" and row["verdict"] == "exact"]
    end = run.objects()[-1]
    first = min(findings, key=lambda row: row["tried"])
    time, line, position = ask_native(bench, trace, "output:72", right)
    bench.check((first["time"], first["line"], first["tried"]) == (time, line, position),
                f"the engine finds {first}, the real program {time}, {line}, {position}")
    bench.check(end["schema"] == "wetdbg.switch-end/1" and end["tried"] and end["target"] == "output:72",
                f"the end is {end}", run)
    again = bench.wet("switch", "--json", f"--expect={right}", trace)
    bench.check(again.status == 0 and again.objects()[-1]["tried"] == 0 and again.objects()[-1]["known"],
                "the journal is not used", again)
    text = bench.wet("switch", f"--expect={right}", "--restart", trace)
    bench.check(text.status == 0 and f"switch_omission.c:{line} in begin" in text.out and "exact" in text.out,
                "the text", text)
    few = bench.wet("switch", f"--expect={right}", "--restart", "--order=lefs", "--budget=2", trace)
    bench.check(few.status == 1 and "none found: 2 switched runs" in few.out, "a budget of 2", few)
    grep = f'cmp -s "$WETDBG_OUTPUT" {right}'
    oracle = bench.wet("switch", "--json", f"--oracle={grep}", "--target=output:72", trace)
    bench.check(oracle.status == 0 and {row["time"] for row in oracle.objects()[:-1]} >= {time},
                "an oracle that is a command", oracle)
    for options in (("--order=prior", "--pass=argv:2"), ("--order=near", "--ok=output:0+72")):
        told = bench.wet("switch", "--json", "--restart", f"--expect={right}", *options, trace)
        bench.check(told.status == 0 and told.objects()[0]["time"] == time, f"what is known beforehand: {options}", told)
    for words, sentence in (([trace, "--restart"], "'--restart' stands behind"), ([trace, "more"], "unexpected argument 'more'"),
                            ([f"{trace}/wetdbg.wet", "--json"], "options come before TRACE")):
        behind = bench.wet("switch", f"--expect={right}", *words)
        bench.check(behind.status == 2 and sentence in behind.err, f"{words}", behind)
    for verb in ("switch", "dd"):
        said = bench.wet("help", verb)
        bench.check("all rights that you have" in said.out, f"what an oracle's command may do: {verb}", said)
    refused = bench.wet("switch", "--oracle=true", trace)
    bench.check(refused.status == 2 and "does not fail" in refused.err, "an oracle that likes all", refused)
    flaky = bench.wet("switch", f"--oracle=test -e {bench.path('once')} && exit 0; touch {bench.path('once')}; exit 1",
                      trace)
    bench.check(flaky.status == 2 and "two answers" in flaky.err, "a flaky oracle", flaky)


TABLE = """#include <stdio.h>
static int pick(int c) { switch (c) { case 1: return 5; case 2: return 9; case 3: return 11; case 4: return 17; case 5: return 23; default: return 0; } }
int main(void) { int sum = 0; for (volatile int i = 0; i < 3; i++) sum += pick(1); printf("%d\\n", sum); return 0; }
"""


def check_nothing(bench):
    """The null device is how people say that nothing is right to be put out."""
    with open(bench.path("talks.c"), "w") as file:
        file.write('#include <stdio.h>\nint main(int count, char **words)\n{\n    (void)words;\n    if (count > 1)\n'
                   '        puts("wrong");\n    return 0;\n}\n')
    bench.run("cc", "-g", "-O0", "-o", bench.path("talks"), bench.path("talks.c"))
    bench.check((bench.run(bench.path("talks"), "x").out, bench.run(bench.path("talks")).out) == ("wrong\n", ""), "natively")
    run = bench.wet("switch", "--json", "--expect=/dev/null", "--", bench.path("talks"), "x")
    bench.check(run.status == 0 and [(row["verdict"], row["line"]) for row in run.objects()[:-1]] == [("exact", 5)], "no output", run)


def check_table(bench):
    """Ways of a table's jump that lead to one line are told apart, and which of the jump's times it is."""
    source, program, right = bench.path("table.c"), bench.path("table"), bench.path("nineteen")
    for path, text in ((source, TABLE), (right, "19\n")):
        with open(path, "w") as file:
            file.write(text)
    if bench.run("cc", "-g", "-O0", "-o", program, source).status != 0:
        print("SKIPPED: test_switch_verb: no compiler")
        return
    run = bench.wet("switch", f"--expect={right}", "--all", "--extents", "--", program)
    rows = [line.split(" (switch")[0] for line in run.out.splitlines() if line.startswith("exact ") and "the switch to line 2" in line]
    bench.check(run.status == 0 and len(rows) >= 3 and len(set(rows)) == len(rows), f"rows that look alike: {rows}", run)
    ways = {re.search(r"to line 2, (0x[0-9a-f]+ <pick\+[0-9]+>)", row)[1] for row in rows if "line 2, 0x" in row}
    bench.check(len(ways) == 1, f"one way is right: {rows}")
    for time in (", the last of its 3 times", ", the 2nd of its 3 times", ", the 1st of its 3 times"):
        bench.check(any(row.endswith(time) for row in rows), f"{time}: {rows}")


def check_crash(bench):
    program = f"{bench.build}/tests/programs/fault_symtab_O0"
    run = bench.wet("switch", "--no-crash", "--json", "--", program, *SYMBOLS)
    findings = run.objects()[:-1]
    bench.check(run.status == 0 and findings and all(row["verdict"] == "no-crash" for row in findings), "a crash", run)


def without_times(run):
    """What was said, but for how long it took."""
    return re.sub(r"\(?[0-9.]+ s\)?|\"seconds\":[0-9.e-]+", "", run.out)


def check_jobs(bench):
    """Any number of jobs gives the same answer, byte for byte; so does the prompt."""
    trace = bench.path("omission")
    right = bench.path("right")
    options = ("--extents", "--depth=2", "--all", "--restart", f"--expect={right}")
    for how in ((), ("--json",)):
        answers = [bench.wet("switch", *how, *options, f"--jobs={jobs}", trace) for jobs in (1, 3)]
        bench.check(answers[0].status == 0 and without_times(answers[0]) == without_times(answers[1]),
                    f"--jobs changes the answer {how}", answers[1])
    prompt = bench.wet("replay", trace, "--batch", "-e", f"switch {' '.join(options)}")
    text = bench.wet("switch", *options, trace)
    bench.check(without_times(prompt).endswith(without_times(text)), "the prompt's answer is another one", prompt)
    bench.check("values: name = " in text.out and "then: it exits with status 0" in text.out and
                "full slice both ways: " in text.out, "what is said of a finding", text)


def check_interrupt(bench):
    """Ctrl-C leaves what was found, and no process."""
    trace = bench.path("omission")
    command = [bench.wetdbg, "switch", "--oracle=sleep 0.1; exit 1", "--jobs=2", "--restart", "--target=output:72", trace]
    if os.path.exists(f"{trace}/wetdbg.wet.switch-journal"):
        os.unlink(f"{trace}/wetdbg.wet.switch-journal")
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bench.environment,
                           start_new_session=True)
    journal = f"{trace}/wetdbg.wet.switch-journal"
    while run.poll() is None and not (os.path.exists(journal) and os.path.getsize(journal) > 200):
        time.sleep(0.02)
    children = offspring(run.pid)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    bench.check(run.returncode == 130 and b"none found: " in out, f"an interruption: {run.returncode} {out} {err}")
    deadline = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    bench.check(not any(map(is_alive, children)), f"of {children} some are left")


def sleepers(seconds):
    """The processes that sleep for so long: the number is nobody else's."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if file.read() == b"sleep\0%d\0" % seconds and is_alive(int(name)):
                    found.add(int(name))
        except OSError:
            pass
    return found


def check_slow_oracle(bench):
    """An oracle that does not end is ended with its offspring: by the budget, and by Ctrl-C."""
    trace, seconds = bench.path("omission"), 100000 + os.getpid()
    slow = f"sleep {seconds} & sleep {seconds}"
    wait = f'if test -e {bench.path("asked")}2; then {slow}; fi; ' \
           f'test -e {bench.path("asked")}1 && touch {bench.path("asked")}2; touch {bench.path("asked")}1; exit 1'
    for jobs in (1, 2):
        run = bench.wet("switch", "--restart", "--budget=2s", f"--jobs={jobs}", f"--oracle={slow}", trace)
        bench.check(run.status == 2 and "did not answer within the budget of 2 s" in run.err, "the recorded run's judge is slow", run)
        for number in "12":
            if os.path.exists(bench.path("asked") + number):
                os.unlink(bench.path("asked") + number)
        run = bench.wet("switch", "--restart", "--json", "--budget=3s", f"--jobs={jobs}", f"--oracle={wait}", trace)
        end = run.objects()[-1]
        bench.check(run.status == 1 and end["tried"] == 0 and not end["complete"] and end["seconds"] < 30,
                    "that of a switched run is slow", run)
        bench.check(not sleepers(seconds), f"with {jobs} jobs an oracle is left: {sleepers(seconds)}")
    again = bench.wet("switch", "--json", "--budget=8", f"--oracle={wait.replace(slow, 'exit 1')}", trace)
    bench.check(again.objects()[-1]["tried"] == 8, "what was not answered is remembered as if it was", again)
    run = subprocess.Popen([bench.wetdbg, "switch", "--restart", f"--oracle={slow}", trace], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=bench.environment, start_new_session=True)
    while run.poll() is None and not sleepers(seconds):
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)
    bench.check(run.returncode == 130 and not sleepers(seconds), f"Ctrl-C while the oracle works: {run.returncode} {out} {err}")


def offspring(pid):
    """All processes below one."""
    found, parents = set(), {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as stat:
                parents.setdefault(int(stat.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except (OSError, ValueError):
            pass
    left = [pid]
    while left:
        for child in parents.get(left.pop(), []):
            found.add(child)
            left.append(child)
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def check_files(bench):
    """An oracle sees the files that the switched run wrote, which are nowhere else."""
    program = f"{bench.build}/tests/predicate_switch/switch_several_O0"
    trace = bench.record("files", program, "file", "written")
    on_disk = bench.path("written")
    before = e2e.hash_file(on_disk)
    run = bench.wet("switch", "--json", "--oracle=grep -q right written", "--target=exit", trace)
    bench.check(run.status == 0 and run.objects()[0]["verdict"] == "exact", "an oracle that looks at a file", run)
    bench.check(e2e.hash_file(on_disk) == before, "a switched run wrote to the disk")


def check_refusals(bench):
    for arguments, said in ((["x"], "says what is right"), (["--no-crash", "--expect=/dev/null", "x"], "only one"),
                            (["--expect=/nowhere", f"{bench.path('omission')}"], "/nowhere"),
                            (["--no-crash", f"{bench.path('omission')}"], "did not crash"),
                            (["--no-crash", "--order=best", f"{bench.path('omission')}"], ""),
                            (["--no-crash", "--pass=argv:1", f"{bench.path('omission')}"], "--order=prior"),
                            (["--no-crash", "--depth=3", f"{bench.path('omission')}"], "--depth is 1 to 2"),
                            (["--no-crash", "--jobs=65", f"{bench.path('omission')}"], "--jobs is 1 to 64")):
        run = bench.wet("switch", *arguments)
        bench.check(run.status == 2 or (run.status == 5 and "/nowhere" in run.err), f"{arguments} is not refused", run)
        bench.check(said in run.err and run.err.count("\n") == 1, f"{arguments}: what is said", run)


def check_absent(bench):
    """What is not there is not taken for the answer that no decision is right."""
    trace, right = bench.path("omission"), bench.path("right")
    for arguments, said in (([f"--expect={right}", "nonexistent"], "no such program"), (["--no-crash", "--", "./nowhere"], "no such program"),
                            ([f"--expect={right}", "--target=nobody", trace], "no variable 'nobody'")):
        run = bench.wet("switch", *arguments)
        bench.check(run.status == 125 and said in run.err, f"{arguments}: {run.status}", run)
        run = bench.wet("switch", "--json", *arguments)
        bench.check(run.status == 125 and run.objects()[-1]["status"] == 125, f"{arguments}, as an object", run)
    run = bench.wet("locate", "nonexistent")
    bench.check(run.status == 1, "locate has no such answer", run)


def test(bench, _):
    check_expect(bench)
    check_nothing(bench)
    check_crash(bench)
    check_table(bench)
    check_jobs(bench)
    check_interrupt(bench)
    check_slow_oracle(bench)
    check_files(bench)
    check_refusals(bench)
    check_absent(bench)


e2e.main(test)
