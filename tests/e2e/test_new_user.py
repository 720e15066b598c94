#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_new_user.py BUILD-DIRECTORY: a program that we did not write, from Debian's archive to the fault.

Fetches the source of bc, builds it as it is and with one operator changed in its subtraction, compares the
outputs, records the faulty one, and slices back from the first wrong byte. The changed line has to be in the
slice. Needs the network (or an apt proxy), a compiler, make and ed."""
import os
import re
import shutil

import e2e

CALCULATION = """scale = 4
355 / 113
2 ^ 64
define f(n) { if (n < 2) return (1); return (n * f(n - 1)); }
f(20)
1000 - 1
70203 - 1999
12.5 - 7.25
sqrt(2)
"""
RIGHT = "val = *n1ptr-- - *n2ptr-- - borrow;"
WRONG = "val = *n1ptr-- - *n2ptr-- + borrow;"
OWN_FILES = ("bc.c", "execute.c", "global.c", "load.c", "main.c", "number.c", "scan.c", "storage.c", "util.c")
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
MAKE_WITHOUT_AUTOTOOLS = ("AUTOMAKE=:", "ACLOCAL=:", "AUTOCONF=:", "AUTOHEADER=:", "MAKEINFO=:")


def need(bench, run, what):
    if run.status != 0:
        bench.fail(f"{what} failed; this test needs it", run)
        raise SystemExit(bench.finish())
    return run


def fetch(bench):
    """The machine's own apt settings (a proxy, say), with lists and cache of our own."""
    apt = bench.path("apt")
    os.makedirs(f"{apt}/lists/partial")
    os.makedirs(f"{apt}/cache/archives/partial")
    with open(f"{apt}/sources.list", "w") as file:
        file.write(f"deb-src [signed-by={DEBIAN_KEYS}] http://deb.debian.org/debian bookworm main\n")
    options = [word for setting in (f"Dir::Etc::sourcelist={apt}/sources.list",
                                    "Dir::Etc::sourceparts=/dev/null", f"Dir::State::lists={apt}/lists",
                                    f"Dir::Cache={apt}/cache", "APT::Sandbox::User=root",
                                    "APT::Update::Error-Mode=any")
               for word in ("-o", setting)]
    need(bench, bench.run("apt-get", *options, "update", patience=300), "apt-get update with deb-src")
    need(bench, bench.run("apt-get", *options, "source", "bc", cwd=apt, patience=300), "apt-get source bc")
    found = [name for name in os.listdir(apt) if re.fullmatch(r"bc-[\d.]+", name)]
    bench.check(len(found) == 1, f"one source directory: {found}")
    return f"{apt}/{found[0]}"


def build(bench, source, name, change=None):
    tree = bench.path(name)
    shutil.copytree(source, tree, symlinks=True)
    line = None
    if change:
        path = f"{tree}/lib/number.c"
        text = open(path).read()
        bench.check(text.count(change[0]) == 1, f"{change[0]} is there {text.count(change[0])} times")
        line = text[:text.index(change[0])].count("\n") + 1
        with open(path, "w") as file:
            file.write(text.replace(*change))
    how = dict(cwd=tree, patience=600)
    need(bench, bench.run("./configure", "CFLAGS=-g -O0 -w", **how), "configure")
    need(bench, bench.run("make", *MAKE_WITHOUT_AUTOTOOLS, "-C", "lib", **how), "make")
    need(bench, bench.run("make", *MAKE_WITHOUT_AUTOTOOLS, "-C", "bc", "bc", **how), "make")
    return f"{tree}/bc/bc", line


def first_difference(right, wrong):
    for at, (one, other) in enumerate(zip(right, wrong)):
        if one != other:
            return at
    return min(len(right), len(wrong))


def executed_lines(bench, trace):
    """Lines of bc's own files that ran: code lines with an instance."""
    words = [word for name in OWN_FILES for word in ("-e", f"info lines {name}")]
    run = bench.wet("replay", trace, "--batch", "--json", *words)
    rows = {(e2e.base_name(row["file"]), row["line"])
            for answer in run.objects() if "lines" in answer for row in answer["lines"]}
    words = [word for name, line in sorted(rows) for word in ("-e", f"instances {name}:{line} --limit 1")]
    run = bench.wet("replay", trace, "--batch", "--json", *words, patience=600)
    counts = [answer["count"] for answer in run.objects() if "count" in answer]
    bench.check(len(counts) == len(rows), f"{len(counts)} counts of {len(rows)} lines")
    return sum(1 for count in counts if count)


def test(bench, _arguments):
    source = fetch(bench)
    good, _ = build(bench, source, "right")
    bad, line = build(bench, source, "wrong", (RIGHT, WRONG))
    script = bench.path("calculation")
    with open(script, "w") as file:
        file.write(CALCULATION)
    right = need(bench, bench.run(good, "-q", stdin=script), "bc as it is").out
    wrong = bench.run(bad, "-q", stdin=script).out
    at = first_difference(right, wrong)
    bench.check(right != wrong, f"the fault does not show: {wrong}")
    print(f"{os.path.basename(source)}: number.c:{line} says {WRONG!r}")
    print(f"first wrong byte {at}: {right[at:at + 20].split(chr(10))[0]!r} became "
          f"{wrong[at:at + 20].split(chr(10))[0]!r}")
    trace = bench.record("bc.trace", bad, "-q", stdin=script)
    executed = executed_lines(bench, trace)
    for kind in ("", "--data ", "--thin "):
        run = bench.wet("replay", trace, "--batch", "--json", "-e", f"slice backward {kind}output:{at}",
                        "-e", f"why number.c:{line}", patience=300)
        if not bench.check(run.status in (0, 1) and len(run.objects()) == 2 and "lines" in run.objects()[0],
                           f"slice backward {kind}output:{at}", run):
            continue
        piece, why = run.objects()
        own = {(e2e.base_name(row["file"]), row["line"]) for row in piece["lines"]
               if e2e.base_name(row["file"]) in OWN_FILES}
        found = ("number.c", line) in own
        print(f"{piece['kinds']:8} {len(own):5} of {executed} executed lines of bc ({100 * len(own) / executed:.0f}%)"
              f" {piece['instances']:9} instances {piece['seconds']:6.2f} s   the fault is "
              f"{'in it' if found else 'not in it'}{', hops: %d' % why['hop_count'] if 'hop_count' in why else ''}")
        if not kind:
            bench.check(found, f"number.c:{line} is not in the full slice", run)
    facts = bench.wet("info", "--json", f"{trace}/wetdbg.wet").objects()[0]
    print(f"{facts['instructions']} instructions, {facts['bits_per_instruction']:.2f} bits each")


if __name__ == "__main__":
    e2e.main(test)
