# SPDX-License-Identifier: GPL-3.0-or-later
"""The virtual kernel against recordings of Debian's programs, by recorded_calls: each recorded call is asked of
the model, and from ten times of each run on the recorded calls are made again live. What the model answers
otherwise than Linux did is in EXPECTED, with the reason; nothing else may differ."""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import e2e  # noqa: E402

PERL = """open(F, ">x"); print F "a" x 5000; close F; open(F, "x"); print length(<F>); unlink "x";
print -e "x" ? 1 : 0; mkdir "d"; open(F, ">d/y"); close F; rename "d/y", "z"; symlink "z", "l";
opendir(D, "."); print join ",", sort readdir D; print readlink("l"), (stat "z")[7];"""

PROGRAMS = [
    ["ls", "-lR", "/etc/apt", "/usr/share/doc/bash"],
    ["gzip", "-k", "text"],
    ["bc", "-l"],
    ["sort", "--parallel=1", "-o", "sorted", "text"],
    ["sqlite3", "a.db"],
    ["perl", "-e", PERL],
    ["grep", "-rn", "the", "/usr/share/doc/bash"],
    ["tar", "cf", "a.tar", "text"],
]
INPUTS = {
    "bc": "scale=20\n4*a(1)\n2^100\n",
    "sqlite3": "create table t(a,b); insert into t values(1,2),(3,4); update t set a=a+1;\n"
               "delete from t where b=4; select * from t; vacuum;\n",
}
# (program, call): why the model may differ there
EXPECTED = {}


def lines_of(bench, name, driver, command):
    where = bench.path("in-" + name)
    os.mkdir(where)
    with open(os.path.join(where, "text"), "w", encoding="ascii") as text:
        text.writelines(f"line {i * 7919 % 1000} of the text\n" for i in range(2000))
    given = bench.path("given-" + name)
    with open(given, "w", encoding="ascii") as text:
        text.write(INPUTS.get(name, ""))
    time.sleep(1.1)  # what is older than the recording must be so by the second
    before = int(time.time())
    run = bench.run(bench.wetdbg, "record", "-o", bench.path(name), "--", *command, stdin=given, cwd=where)
    bench.check(run.status == 0, f"{name} recorded", run)
    run = bench.run(bench.wetdbg, "replay", bench.path(name), "-o", bench.path(name + ".wet"), "--batch")
    bench.check(run.status == 0, f"{name} replayed", run)
    run = bench.run(driver, bench.path(name + ".wet"), str(before),
                    env=dict(bench.environment, RECORDED_IN=where))
    bench.check(run.status == 0, f"{name} passed", run)
    return [line.split("\t") for line in run.out.splitlines()]


def check(bench, name, driver, command):
    lines = lines_of(bench, name, driver, command)
    totals = [line for line in lines if line[0] == "calls"]
    bench.check(len(totals) == 1 and int(totals[0][3]) * 2 > int(totals[0][1]), f"{name}: most are the model's own",
                 totals)
    live = [line for line in lines if line[0] == "live"]
    bench.check(len(live) == 10, f"{name}: ten times", live)
    for line in lines:
        if line[0] == "different":
            bench.check((name, line[2]) in EXPECTED, f"{name} at {line[1]}", line)
        if line[0] == "live":
            bench.check(not line[5] or (name, line[5].split(":")[0]) in EXPECTED, f"{name} from {line[1]} on", line)


def run_test(bench, _arguments):
    driver = f"{bench.build}/tests/predicate_switch/recorded_calls"
    for command in PROGRAMS:
        if shutil.which(command[0]):
            check(bench, command[0], driver, command)
        else:
            print(f"SKIPPED: test_recorded_calls: {command[0]} is not installed")


if __name__ == "__main__":
    e2e.main(run_test)
