# SPDX-License-Identifier: GPL-3.0-or-later
"""Records the shortest programs many times while other processes keep the processors busy, and
watches: a recording that does not end is looked at, and it is said where each of its threads stands.

    short_runs.py WETDBG COUNT PROGRAM...

rr binds itself and the program to one processor, so on a busy machine a recording can take very
long without anything being wrong. The kernel tells the two apart: a thread that wants to run and
may not is in state R, and the second number of its schedstat says for how long it waited; threads
that hang sleep. Only the latter fails here. Every twentieth recording is replayed.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 10     # after which a recording is looked at,
LOOK_S = 5          # for so long
LOOKS = 50          # so many times,
LOOKS_MIN = 5
SECONDS_MAX = 300   # and after which it has failed whatever the kernel says
REPLAYED_EACH = 20


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError as error:
        return "(%s)" % error.strerror


def family(pid):
    """A process and all below it. A tracee is below rr, which is below wetdbg."""
    found = [pid]
    try:
        tasks = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return []
    for task in tasks:
        for child in read("/proc/%d/task/%s/children" % (pid, task)).split():
            if child.isdigit():
                found += family(int(child))
    return found


def tasks_of(pid):
    try:
        return ["/proc/%d/task/%s/" % (pid, task) for task in os.listdir("/proc/%d/task" % pid)]
    except OSError:
        return []


def wants_to_run(pid):
    """Does a thread of the recording run or wait for a processor, at this moment?"""
    for member in family(pid):
        for task in tasks_of(member):
            if read(task + "stat").rpartition(")")[2][1:2] in ("R", "D"):
                return True
    return False


def activity(record):
    """How often, of 50 looks, something wanted to run; None if the recording ended meanwhile."""
    found = 0
    for _ in range(LOOKS):
        found += wants_to_run(record.pid)
        try:
            record.wait(LOOK_S / LOOKS)
            return None
        except subprocess.TimeoutExpired:
            continue
    return found


def describe(pid):
    """Where everything stands."""
    lines = []
    for member in family(pid):
        lines.append("process %d: %s" % (member, read("/proc/%d/cmdline" % member).replace("\0", " ")))
        for task in tasks_of(member):
            state = [line for line in read(task + "status").split("\n")
                     if line.startswith(("State", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "Tracer"))]
            lines.append("  %s %s: wchan %s, syscall %s, schedstat %s" % (
                task.split("/")[4], read(task + "comm"), read(task + "wchan"), read(task + "syscall"),
                read(task + "schedstat")))
            lines.append("    " + " ".join(" ".join(state).split()))
            lines += ["    " + line for line in read(task + "stack").split("\n")]
        if shutil.which("gdb") and read("/proc/%d/comm" % member) == "rr":
            gdb = subprocess.run(["gdb", "-p", str(member), "-batch", "-ex", "thread apply all bt 12"],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=60)
            lines.append(gdb.stdout[-6000:])
    return "\n".join(lines)


def finish(record, what):
    """Waits for a recording. What went wrong, or None; and whether it was kept waiting."""
    starved = False
    end = time.monotonic() + SECONDS_MAX
    patience = PATIENCE_S
    while True:
        try:
            record.wait(patience)
            return None, starved
        except subprocess.TimeoutExpired:
            active = activity(record)
        if active is None:
            return None, True
        if active < LOOKS_MIN or time.monotonic() > end:
            where = "%s hangs: in %d of %d looks a thread of it ran or waited for a processor\n%s" % (
                what, active, LOOKS, describe(record.pid))
            for member in reversed(family(record.pid)):
                os.kill(member, signal.SIGKILL)
            record.wait()
            return where, starved
        if not starved:
            print("# %s waits for a processor\n%s" % (what, describe(record.pid)), flush=True)
        starved = True
        patience = PATIENCE_S


def run(wetdbg, count, programs, scratch):
    failures, slow, replayed, seconds = 0, 0, 0, []
    for number in range(count):
        program = programs[number % len(programs)]
        what = "recording %d of %s" % (number, program)
        trace = os.path.join(scratch, "trace")
        began = time.monotonic()
        with open(os.path.join(scratch, "said"), "w+") as said:
            record = subprocess.Popen([wetdbg, "record", "--ticks=software", "-o", trace, "--"] +
                                      program.split(), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=said)
            trouble, starved = finish(record, what)
            said.seek(0)
            if not trouble and record.returncode:
                trouble = "%s: status %d: %s" % (what, record.returncode, said.read()[-2000:])
        seconds.append(time.monotonic() - began)
        slow += starved
        if not trouble and number % REPLAYED_EACH == 0:
            replayed += 1
            replay = subprocess.run([wetdbg, "replay", "--no-trace", trace], capture_output=True,
                                    text=True, timeout=SECONDS_MAX)
            if replay.returncode:
                trouble = "%s does not replay: %s" % (what, replay.stderr[-2000:])
        shutil.rmtree(trace, ignore_errors=True)
        if trouble:
            failures += 1
            print("not ok " + trouble, flush=True)
    seconds.sort()
    print("%d recordings, %d replayed, %d failures; median %.2f s, longest %.2f s; "
          "%d were kept waiting" % (count, replayed, failures, seconds[count // 2], seconds[-1],
                                    slow))
    return failures


def main():
    wetdbg, count, programs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    scratch = tempfile.mkdtemp(prefix="wetdbg-short-")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        failures = run(wetdbg, count, programs, scratch)
    finally:
        for process in busy:
            process.kill()
            process.wait()
        shutil.rmtree(scratch)
    sys.exit(1 if failures or not count else 0)


main()
