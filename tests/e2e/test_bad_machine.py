#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_bad_machine.py BUILD-DIRECTORY: where the machine or the user gets in the way: no ptrace, no perf events, a
full disk, a directory that cannot be written, a small stack, closed pipes, interrupts, words that mean nothing."""
import os
import re
import shutil
import signal
import subprocess
import time

import e2e

PROGRAM = "fault_verify_O0"
TURNS = "120000000"  # of e2e_long_run: more than a second to build on the fastest machine so far, and longer to slice


def one_line(bench, run, status, what, *words):
    bench.check(run.status == status, f"{what}: status {run.status}, not {status}", run)
    if bench.check(run.err.startswith("wetdbg: ") and run.err.count("\n") == 1, f"{what}: not one line", run):
        for word in words:
            bench.check(word in run.err, f"{what}: '{word}' is not in it", run)
    print(f"{what}: {run.status} {run.err.strip().replace(bench.work, '...')}", flush=True)


def usage(bench, trace):
    one_line(bench, bench.wet("replya"), 2, "unknown verb", "replya", "did you mean 'replay'")
    one_line(bench, bench.wet("--vresion"), 2, "unknown option", "--vresion")
    one_line(bench, bench.wet("replay", trace, "--btach"), 2, "unknown option of a verb", "--btach")
    one_line(bench, bench.wet("replay", trace, "--batch", "-e", "slcie backward exit"), 2,
             "unknown command", "slcie")
    one_line(bench, bench.wet("replay", trace, "--batch", "-e", "slice backward exit --foo"), 2,
             "unknown option of a command", "--foo")
    one_line(bench, bench.wet("replay", trace, "--batch", "-e", "slice backward whence"), 1,
             "a name of nothing", "whence")
    one_line(bench, bench.wet("replay", trace, "--batch", "-e", "slice backward 7x"), 2,
             "unknown criterion", "7x")
    one_line(bench, bench.wet("replay", trace, "another"), 2, "one operand too many", "another")
    one_line(bench, bench.wet("open"), 2, "an operand too few", "open")
    one_line(bench, bench.wet("replay", trace, "--process=nobody"), 1, "no such process", "nobody")
    one_line(bench, bench.wet("record", "--", bench.path("nothing")), 125, "no such program", "nothing")
    run = bench.wet()
    bench.check(run.status == 2 and "usage" in run.err and not run.out, "no verb", run)


def refused(bench):
    helper = [f"{bench.build}/tests/e2e/e2e_deny", "ptrace"]
    run = bench.run(*helper, bench.wetdbg, "record", "-o", bench.path("denied"), "--", "true")
    one_line(bench, run, 125, "ptrace forbidden", "ptrace")
    bench.check(not os.path.exists(bench.path("denied")), "ptrace forbidden: a directory is left")
    run = bench.run(*helper, bench.wetdbg, "record", "--check")
    bench.check(run.status != 0 and "impossible" in run.out, "ptrace forbidden: --check", run)

    helper = f"{bench.build}/tests/record/deny_perf"
    trace = bench.path("no-perf")
    run = bench.run(helper, bench.wetdbg, "record", "-o", trace, "--", f"{bench.programs}/{PROGRAM}")
    one_line(bench, run, 0, "perf events forbidden", "ticks")
    run = bench.wet("replay", trace, "--no-trace")
    bench.check(run.status == 0, "recorded without perf events, replayed", run)

    nowhere = dict(bench.environment, PATH="/nowhere")
    run = bench.wet("record", "-o", bench.path("no-rr"), "--", f"{bench.programs}/{PROGRAM}", env=nowhere)
    one_line(bench, run, 125, "rr is not installed", "rr")


def unconfined(bench, trace):
    """Nothing recorded is run where one of the things is refused that confine it."""
    helper = f"{bench.build}/tests/e2e/e2e_deny"
    for call, word in (("futex", "futex"), ("seccomp", "seccomp"), ("prctl", "death signal"), ("setpgid", "group"),
                       ("close_range", "close_range"), ("pidfd_open", "pidfd"), ("personality", "personality"),
                       ("pidfd_send_signal", "pidfd_send_signal"), ("sigaltstack", "signal handlers"),
                       ("memfd_create", "memory")):
        run = bench.run(helper, call, bench.wetdbg, "replay", trace, "--no-trace")
        one_line(bench, run, 5, f"{call} forbidden", word)


def unwatched(bench, trace):
    """Without a seccomp listener all can be replayed in which no place has to be searched; of the others it is said
    why not, and what to do."""
    helper = f"{bench.build}/tests/e2e/e2e_deny"
    run = bench.run(helper, "listener", bench.wetdbg, "replay", trace, "--no-trace")
    bench.check(run.status == 0, "no listener, and no places", run)
    searched = bench.record("searched", f"{bench.programs}/signal_ticker_O2_pie")
    run = bench.wet("replay", searched, "--no-trace")
    bench.check(run.status == 0, "places are found with a listener", run)
    words = ("seccomp listener", "Operation not permitted", "allow seccomp with SECCOMP_FILTER_FLAG_NEW_LISTENER",
             "outside of it")
    run = bench.run(helper, "listener", bench.wetdbg, "replay", searched, "--no-trace")
    one_line(bench, run, 5, "no listener", *words)
    kept = bench.path("searched.wet")
    run = bench.run(helper, "listener", bench.wetdbg, "replay", searched, "--batch", "-o", kept)
    run.err = "".join(line for line in run.err.splitlines(keepends=True) if "what is built so far" not in line)
    one_line(bench, run, 5, "no listener, building", *words)
    bench.check(not os.path.exists(kept), "no listener: a .wet is left")
    run = bench.wet("replay", searched, "--batch", "-o", kept)
    bench.check(run.status in (0, 1), "a listener again", run)
    run = bench.run(helper, "listener", bench.wetdbg, "open", kept, "--batch", "-e", "slice backward exit")
    bench.check(run.status == 0, "a .wet has its places, and needs no listener", run)


def full_disk(bench, trace):
    """A file system of 64 KiB of our own, in a name space that ends with the command."""
    place = bench.path("small")
    os.mkdir(place)
    script = f'mount -t tmpfs -o size=64k none "$1" || exit 99; shift; "$@"; status=$?; ls -A {place}; exit $status'
    name_space = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    run = bench.run(*name_space, "sh", "-c", script, "sh", place, bench.wetdbg, "replay", trace, "--batch",
                    "-o", f"{place}/out.wet")
    bench.check(run.status != 99, "cannot mount a small file system here", run)
    one_line(bench, run, 5, "disk full", f"{place}/out.wet")
    bench.check(not run.out.strip(), f"disk full: left behind: {run.out}")

    run = bench.run("sh", "-c", 'exec "$@" >/dev/full', "sh", bench.wetdbg, "dump", trace)
    one_line(bench, run, 5, "output to a full disk", "output")
    one_line(bench, bench.wet("replay", trace, "--batch", "-o", "/nowhere/out.wet"), 5,
             "-o in no directory", "/nowhere/out.wet")


def read_only(bench, trace):
    """root is kept from overriding permissions; everybody else need not be."""
    locked = bench.path("locked")
    shutil.copytree(trace, locked)
    for name in os.listdir(locked):
        if name.endswith(".wet"):
            os.unlink(f"{locked}/{name}")
    before = sorted(os.listdir(locked))
    os.chmod(locked, 0o555)
    rights = "-dac_override,-dac_read_search"
    drop = ["setpriv", f"--inh-caps={rights}", f"--bounding-set={rights}"]
    prefix = drop if os.geteuid() == 0 else []
    probe = bench.run(*prefix, "touch", f"{locked}/probe")
    bench.check(probe.status != 0, "the directory can be written all the same", probe)
    for turn in ("first", "second"):
        run = bench.run(*prefix, bench.wetdbg, "replay", locked, "--batch", "-e", "slice backward exit")
        bench.check(run.status == 0 and not run.err and "exit status" in run.out,
                    f"read-only recording, {turn} time", run)
        kept = [os.path.join(place, name) for place, _, names in os.walk(bench.path("cache"))
                for name in names]
        bench.check(len(kept) == 1 and kept[0].endswith(".wet"), f"read-only recording: kept are {kept}")
    bench.check(sorted(os.listdir(locked)) == before, "a read-only recording has changed")
    print(f"read-only recording: kept in {kept[0].replace(bench.work, '...')}")
    shutil.rmtree(bench.path("cache"))
    nowhere = {key: value for key, value in bench.environment.items()
               if key not in ("HOME", "XDG_CACHE_HOME")}
    run = bench.run(*prefix, bench.wetdbg, "replay", locked, "--batch", env=nowhere)
    one_line(bench, run, 5, "read-only recording and no home", "-o")
    os.chmod(locked, 0)
    run = bench.run(*prefix, bench.wetdbg, "replay", locked, "--batch")
    one_line(bench, run, 5, "recording that may not be looked into", f"{locked}: Permission denied")
    os.chmod(locked, 0o755)


def small_stack(bench, trace):
    """With a limit that can be raised all is as ever; with one that cannot be, a line says so."""
    words = [bench.wetdbg, "replay", trace, "--batch", "-e", "slice backward exit", "-e", "reverse-continue main",
             "-e", "info locals", "-e", "list main"]
    usual = bench.run(*words)
    for limit in ("64", "512"):
        run = bench.run("bash", "-c", f'ulimit -S -s {limit}; exec "$@"', "bash", *words)
        said, expected = (re.sub(r"\(\d+\.\d+ s\)", "", each.out) for each in (run, usual))
        bench.check(run.status == usual.status == 0 and said == expected and not run.err,
                    f"a stack of {limit} KiB: another answer", run)
    mortal = ["setpriv", "--inh-caps=-sys_resource", "--bounding-set=-sys_resource"] if os.geteuid() == 0 else []
    limited = [*mortal, "bash", "-c", 'ulimit -s 64; exec "$@"', "bash"]
    one_line(bench, bench.run(*limited, *words), 5, "a stack that cannot grow", "limited to 64 KiB", "ulimit -s")
    run = bench.run(*limited, bench.wetdbg, "record", "-o", bench.path("small-stack"), "--", "true")
    one_line(bench, run, 125, "a program with a small stack", "64 KiB", "ulimit -s")
    bench.check(not os.path.exists(bench.path("small-stack")), "a small stack: a directory is left")
    run = bench.run("bash", "-c", 'ulimit -S -s 1000; exec "$@"', "bash", bench.wetdbg, "record", "-o",
                    bench.path("own-stack"), "--", "bash", "-c", "ulimit -s")
    bench.check(run.status == 0 and run.out == "1000\n", "a recorded program has another stack limit", run)


def closed_pipes(bench, trace):
    """`head` takes a line and leaves: no complaint, and no signal."""
    for words in (["dump", trace], ["dump", "--registers", trace], ["dump", "--json", "--data", trace],
                  ["replay", trace, "--batch", "-e", "slice backward exit --all --instances"],
                  ["replay", trace, "--batch", "--json", "-e", "info functions", "-e", "info functions"],
                  ["replay", trace, "--batch", "-e", "info functions", "-e", "info lines malloc.c"]):
        run = bench.run("bash", "-c", '"$@" | head -1; exit ${PIPESTATUS[0]}', "bash", bench.wetdbg, *words)
        bench.check(run.status == 0 and not run.err and run.out.count("\n") == 1,
                    f"{words[0]} {words[2:]} | head -1", run)
    print("output into `head -1` ends quietly")


def children_of(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                # The name, in parentheses, may hold anything.
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(name))
        except OSError:
            pass  # it ended meanwhile
    return found


def interrupted_build(bench, trace):
    place = bench.path("interrupted")
    os.mkdir(place)
    before = sorted(os.listdir(trace))
    for number, name in ((signal.SIGINT, "-o"), (signal.SIGINT, "in the recording")):
        where = ["-o", f"{place}/out.wet"] if name == "-o" else []
        child = subprocess.Popen([bench.wetdbg, "replay", trace, "--batch", *where], env=bench.environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)
        end = time.monotonic() + 30
        while not (replayees := children_of(child.pid)) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)
        begin = time.monotonic()
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        what = f"SIGINT during a build, {name}"
        bench.check(replayees, f"{what}: was there no replayee?")
        run = e2e.Run(child.args, child.returncode, out, err, 0)
        bench.check(run.status == 130 and all(line.startswith("wetdbg: ") for line in err.splitlines())
                    and err.endswith("wetdbg: interrupted\n"), f"{what}: status {run.status}", run)
        bench.check(time.monotonic() - begin < 10, f"{what}: took {time.monotonic() - begin:.1f} s")
        # What is built so far is kept for the next time, and nothing else; it is gone when all is built.
        base = "out.wet" if name == "-o" else "wetdbg.wet"
        kept = (set(os.listdir(place)) | set(os.listdir(trace))) - set(before)
        bench.check(kept <= {f"{base}.part", f"{base}.part-log"}, f"{what}: left behind: {kept}")
        again = bench.wet("replay", trace, "--batch", *where)
        bench.check(again.status == 0, f"{what}: the same again", again)
        made = (set(os.listdir(place)) | set(os.listdir(trace))) - set(before)
        bench.check(made == {base}, f"{what}: after the same again there are {made}")
        os.unlink(os.path.join(place if where else trace, base))
        alive = [pid for pid in replayees if os.path.exists(f"/proc/{pid}")]
        bench.check(not alive, f"{what}: still alive: {alive}")


def interrupted_query(bench, trace):
    prompt = e2e.Prompt(bench, "replay", trace)
    prompt.read_until(r"\(wetdbg\) ")
    prompt.type("slice backward output:0\n")
    time.sleep(1.5)
    begin = time.monotonic()
    prompt.type("\x03")
    said = prompt.read_until(r"\(wetdbg\) ") or ""
    took = time.monotonic() - begin
    bench.check("interrupted" in said, f"Ctrl-C in a query: {said!r}")
    bench.check(took < 5, f"Ctrl-C in a query took {took:.1f} s")
    prompt.type("info program\n")
    said = prompt.read_until(r"\(wetdbg\) ") or ""
    bench.check("instructions" in said, f"after Ctrl-C the prompt does not answer: {said!r}")
    prompt.type("\x03")
    prompt.read_until(r"\(wetdbg\) ")
    prompt.type("output\n")
    said = prompt.read_until(r"\(wetdbg\) ") or ""
    bench.check("write" in said or "bytes" in said or "output" in said, f"output: {said!r}")
    prompt.type("quit\n")
    status = prompt.close()
    bench.check(status == 0, f"the prompt ended with {status}")
    print(f"Ctrl-C in a query ended it after {took:.2f} s, and the prompt went on")


def test(bench, _arguments):
    trace = bench.record("plain", f"{bench.programs}/{PROGRAM}")
    usage(bench, trace)
    refused(bench)
    unconfined(bench, trace)
    unwatched(bench, trace)
    full_disk(bench, trace)
    read_only(bench, trace)
    small_stack(bench, trace)
    closed_pipes(bench, trace)
    long = bench.record("long", f"{bench.build}/tests/e2e/e2e_long_run", TURNS)
    interrupted_build(bench, long)
    interrupted_query(bench, long)


if __name__ == "__main__":
    e2e.main(test)
