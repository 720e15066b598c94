#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_signatures.py BUILD-DIRECTORY: system calls that programs make must have a signature.

Records programs of the system, and sample programs, and looks up each call met in slicer/syscalls.c. A
call without a row makes slices approximate: it is listed, and the test fails."""
import json
import re
import shutil

import e2e

COMMANDS = (
    ("ls", "-la", "/usr"), ("sh", "-c", "echo a | sort | uniq -c; printf x > f; cat < f; rm f"),
    ("find", "/etc", "-maxdepth", "1", "-newer", "/etc/passwd"), ("tar", "cf", "t.tar", "/etc/passwd"),
    ("gzip", "-c", "/etc/passwd"), ("python3", "-c", "import threading, subprocess, socket, tempfile, os\n"
     "t = threading.Thread(target=lambda: subprocess.run(['true'])); t.start(); t.join()\n"
     "a, b = socket.socketpair(); a.send(b'x'); b.recv(1); open('g', 'ab').write(b'y'); os.stat('g')"),
    ("perl", "-e", "open(F, '<', '/etc/passwd'); print scalar(<F>); sleep 0; kill 0, $$;"), ("date",), ("id",),
)
SAMPLES = ("prog_mmapfile_O0_static", "prog_signals_O0_static", "prog_timer_O0_static", "thread_queue_O0_static")


def known_calls():
    with open(f"{e2e.SOURCE}/slicer/syscalls.c") as source:
        return set(re.findall(r"^    CALL\((\w+),", source.read(), re.MULTILINE))


def calls_of(bench, directory):
    run = bench.wet("dump", directory, "--json")
    bench.check(run.status == 0, f"dump {directory}", run)
    events = (json.loads(line) for line in run.out.splitlines())
    return {event["name"] for event in events if event.get("event") == "SYSCALL"}


def main_test(bench, _):
    known = known_calls()
    bench.check(len(known) > 200, f"{len(known)} signatures")
    programs = [command for command in COMMANDS if shutil.which(command[0])]
    for command in COMMANDS:
        if command not in programs:
            print(f"SKIPPED: e2e_signatures: {command[0]} is not installed")
    programs += [(f"{bench.programs}/{name}",) for name in SAMPLES]
    met = {}
    for number, command in enumerate(programs):
        directory = bench.record(str(number), shutil.which(command[0]) or command[0], *command[1:])
        for name in calls_of(bench, directory):
            met.setdefault(name, command[0])
    print(f"{len(met)} calls met: {' '.join(sorted(met))}")
    missing = {name: program for name, program in met.items() if name not in known}
    bench.check(not missing, f"calls without a signature, and who made them: {missing}")


if __name__ == "__main__":
    e2e.main(main_test)
