#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_homes.py BUILD-DIRECTORY: the prompt where $HOME is somebody else's, as sudo may leave it, or open to everybody.
What that one put there is not followed, not run and not answered from. And traces that others could have written
are built anew, or not kept where others could write them."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

PROMPT = r"\(wetdbg\) (?!.)"
NOBODY = 65534
LINES = "".join(f"line {number}\n" for number in range(3000))  # more than a history keeps


def make_home(bench, name, links):
    """With an init file, and a history that leads to another file, which is returned."""
    home, file = bench.path(name), bench.path(f"{name}-file")
    for directory in ("", ".local/state/wetdbg", ".config/wetdbg"):
        os.makedirs(f"{home}/{directory}", mode=0o755)
    with open(f"{home}/.config/wetdbg/init", "w") as init:
        init.write("info nonsense\n")
    with open(file, "w") as out:
        out.write(LINES)
    if links:
        os.symlink(file, f"{home}/.local/state/wetdbg/history")
    return home, file


def own_all(home, owner):
    for directory, _, files in os.walk(home):
        for path in [directory, *(f"{directory}/{file}" for file in files)]:
            os.chown(path, owner, owner, follow_symlinks=False)


def can_run_as_nobody(bench):
    if subprocess.run(["test", "-x", bench.wetdbg], user=NOBODY, group=NOBODY, extra_groups=[]).returncode == 0:
        return True
    print("SKIPPED: hostile_homes, as nobody: nobody but root can run the command where it is built")
    return False


def session(bench, home, wet):
    """What is said before the first prompt, and about a bookmark."""
    variables = {"HOME": home, "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
    prompt = e2e.Prompt(bench, "open", wet, **variables)
    opening = prompt.read_until(PROMPT) or ""
    prompt.type("bookmark here\n")
    said = prompt.read_until(PROMPT) or ""
    prompt.type("quit\n")
    bench.check(prompt.close() == 0, f"{home}: the prompt ends well")
    return opening, said


def of_our_own(bench, wet):
    home, _ = make_home(bench, "own", False)
    opening, said = session(bench, home, wet)
    bench.check("nothing is called 'nonsense'" in opening, f"the init file is run: {opening!r}")
    bench.check("here is time" in said, f"a bookmark is kept: {said!r}")
    with open(f"{home}/.local/state/wetdbg/history") as history:
        bench.check(history.read() == "bookmark here\nquit\n", "a history is kept")


def of_others(bench, wet, home, file):
    opening, said = session(bench, home, wet)
    bench.check("nonsense" not in opening and "init is not run" in opening, f"the init file is not run: {opening!r}")
    bench.check("is not written" in said, f"no bookmark is kept: {said!r}")
    with open(file) as found:
        bench.check(found.read() == LINES, "a file that the history leads to is as it was")


def of_root(bench, wet):
    """In a container a home may be root's, and what is in it the user's."""
    home, _ = make_home(bench, "root", False)
    own_all(home, NOBODY)
    os.chown(home, 0, 0)
    os.chmod(bench.work, 0o755)
    os.chmod(wet, 0o644)
    run = bench.wet("open", wet, "--batch", "-e", "bookmark here", user=NOBODY, group=NOBODY, extra_groups=[],
                    env=dict(bench.environment, HOME=home, XDG_STATE_HOME="", XDG_CONFIG_HOME=""))
    bench.check(run.status == 0 and "here is time" in run.out, "a bookmark is kept in a home of root's", run)


# ---- traces that are kept


def facts(bench, trace, **how):
    return bench.wet("replay", trace, "--batch", "-e", "info threads", **how)


def kept_trace(bench, trace):
    """What others may write to is built anew."""
    path = f"{trace}/wetdbg.wet"
    facts(bench, trace)
    first = os.stat(path).st_ino
    facts(bench, trace)
    bench.check(os.stat(path).st_ino == first, "a trace is kept")
    os.chmod(path, 0o666)
    run = facts(bench, trace)
    bench.check(run.status == 0 and os.stat(path).st_ino != first, "a trace that others may write to is not", run)
    bench.check(os.stat(path).st_mode & 0o777 == 0o600, "the new one is for its owner alone")
    os.unlink(path)


def foreign_cache(bench, trace):
    """The recording's directory cannot be written; a cache that others made or may write to is not used."""
    how = {"env": dict(bench.environment, XDG_CACHE_HOME=bench.path("shared"))}
    if os.geteuid() == 0:
        how.update(user=NOBODY, group=NOBODY, extra_groups=[])
        os.chmod(bench.work, 0o755)
        if not can_run_as_nobody(bench):
            return
    os.chmod(trace, 0o555)
    for file in os.listdir(trace):
        os.chmod(f"{trace}/{file}", 0o444)
    os.mkdir(bench.path("shared"))
    os.chmod(bench.path("shared"), 0o777)
    run = facts(bench, trace, **how)
    bench.check(run.status == 5 and "shared is somebody else's" in run.err, "a shared cache", run)
    os.chmod(bench.path("shared"), 0o1777)
    run = facts(bench, trace, **how)
    bench.check(run.status == 0, "a directory of our own in one like /tmp", run)
    os.chmod(bench.path("shared", "wetdbg"), 0o777)
    run = facts(bench, trace, **how)
    bench.check(run.status == 5 and "shared/wetdbg is somebody else's" in run.err, "an open directory in it", run)


def run_test(bench, _):
    trace, wet = bench.record("tiny", f"{bench.build}/tests/hostile/hostile_chained"), bench.path("tiny.wet")
    built = bench.wet("replay", trace, "--batch", "-o", wet)
    bench.check(built.status == 0, "a .wet is built", built)
    of_our_own(bench, wet)
    home, file = make_home(bench, "open", True)
    os.chmod(home, 0o777)
    of_others(bench, wet, home, file)
    home, file = make_home(bench, "foreign", True)
    if os.geteuid() == 0:
        own_all(home, NOBODY)
        of_others(bench, wet, home, file)
        if can_run_as_nobody(bench):
            of_root(bench, wet)
    else:
        print("SKIPPED: hostile_homes, another user's home: only root can make one")
    kept_trace(bench, trace)
    foreign_cache(bench, trace)


e2e.main(run_test)
