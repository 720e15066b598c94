#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_files.py BUILD-DIRECTORY: every file that the product writes is for its owner alone, whatever the umask; and
-o replaces nothing but a regular file."""
import os
import signal
import stat
import time

import e2e

PROGRAM = "prog_printf_O0_pie"
PROMPT = r"\(wetdbg\) (?!.)"
# Who writes what; each name is found at least once, so that a writer that goes by another way is noticed.
WRITTEN = {"wetdbg.sums", "wetdbg.mark", "wetdbg.wet", "wetdbg.wet.part", "wetdbg.wet.part-log", "named.wet", "key",
           "history", "bookmarks", "cached"}


def write_everything(bench):
    """As a user would come to all of them, under the widest umask."""
    trace = bench.record("trace", f"{bench.programs}/{PROGRAM}")
    bench.wet("replay", trace, "--batch", "-e", "info program")
    bench.wet("replay", trace, "--batch", "-o", bench.path("named.wet"), "-e", "bookmark here 5")
    prompt = e2e.Prompt(bench, "open", bench.path("named.wet"))
    prompt.read_until(PROMPT)
    prompt.type("info program\nquit\n")
    prompt.close()

    killed = bench.record("killed", f"{bench.build}/tests/e2e/e2e_long_run", "40000000")
    pid = os.spawnve(os.P_NOWAIT, bench.wetdbg, [bench.wetdbg, "replay", killed, "--batch"], bench.environment)
    end = time.monotonic() + 60
    log = f"{killed}/wetdbg.wet.part-log"
    while not (os.path.exists(log) and os.path.getsize(log) > 20000) and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    bench.check(os.path.exists(log), "no journal of an unfinished file is left")


def check_modes(bench):
    found = set()
    for directory, _, names in os.walk(bench.work):
        if not directory.startswith((bench.path("trace"), bench.path("killed"), bench.path("home"))) \
                and directory != bench.work:
            continue
        for name in names:
            path = f"{directory}/{name}"
            facts = os.lstat(path)
            if not stat.S_ISREG(facts.st_mode) or name.startswith("mmap_"):
                continue  # a hard link has the mode of the file it is of
            found.add(name)
            if "bookmarks" in directory:
                found.add("bookmarks")
            bench.check(not facts.st_mode & 0o077, f"{path} has mode {oct(facts.st_mode)}")
    for directory in (bench.path("trace"), bench.path("home", ".local", "state", "wetdbg")):
        mode = os.stat(directory).st_mode
        bench.check(not mode & 0o022, f"others may write to {directory}: mode {oct(mode)}")
    return found


def check_cache(bench):
    """A recording that cannot be written has its file elsewhere. Root may write anywhere."""
    if os.geteuid() == 0:
        print("SKIPPED: e2e_files: the cache's modes: root can write to every recording")
        return set()
    trace = bench.path("trace")
    os.remove(f"{trace}/wetdbg.wet")
    os.chmod(trace, 0o500)
    bench.wet("replay", trace, "--batch", "-e", "info program")
    cached = [f"{directory}/{name}" for directory, _, names in os.walk(bench.path("cache")) for name in names]
    bench.check(cached, "nothing was cached")
    for path in cached:
        bench.check(not os.stat(path).st_mode & 0o077, f"{path} has mode {oct(os.stat(path).st_mode)}")
    os.chmod(trace, 0o700)
    return {"cached"}


def check_goals(bench):
    """-o names what is there, and leaves it."""
    trace = bench.path("trace")
    os.mkfifo(bench.path("fifo"))
    os.mkdir(bench.path("directory"))
    os.symlink("/dev/null", bench.path("link"))
    for goal, words in (("/dev/full", "a character device"), (bench.path("fifo"), "a FIFO"),
                        (bench.path("directory"), "a directory"),
                        (bench.path("link"), "a link to a character device")):
        before = os.lstat(goal)
        run = bench.wet("replay", trace, "--batch", "-o", goal)
        bench.check(run.status == 2 and words in run.err and goal in run.err and run.err.count("\n") == 1,
                    f"-o {goal}", run)
        bench.check(os.lstat(goal).st_ino == before.st_ino, f"-o {goal} replaced it")
        run = bench.wet("record", "-o", goal, "--", "true")
        bench.check(run.status == 125 and goal in run.err and os.lstat(goal).st_ino == before.st_ino,
                    f"record -o {goal}", run)


def run_test(bench, _):
    mask = os.umask(0)
    write_everything(bench)
    found = check_modes(bench)
    found |= check_cache(bench)
    os.umask(mask)
    missing = WRITTEN - found - ({"cached"} if os.geteuid() == 0 else set())
    bench.check(not missing, f"nobody wrote {sorted(missing)}")
    print(f"written: {', '.join(sorted(found))}")
    check_goals(bench)


e2e.main(run_test)
