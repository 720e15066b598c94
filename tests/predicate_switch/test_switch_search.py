#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_switch_search.py BUILD: the search for critical predicates, with the real program under ptrace as the runner.

Of programs whose critical predicate is known each order finds it; all orders have the same candidates, each once;
what is found first depends neither on the size of batches nor on what a journal already knew."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e

ORDERS = ("lefs", "prior", "near")
EVERYTHING = "1000000"


class Sample:
    """A program that fails, recorded, and what it should have done."""

    def __init__(self, bench, name, directory, arguments, criterion, label=None):
        self.bench = bench
        self.name = label or name
        self.criterion = criterion
        program = f"{bench.build}/tests/{directory}/{name}"
        right = bench.run(f"{program}_fixed", *arguments)
        self.expected = bench.path(f"{self.name}.expected")
        with open(self.expected, "w") as file:
            file.write(right.out)
        self.status = str(right.status)
        trace = bench.record(self.name, program, *arguments)
        bench.check(bench.wet("replay", trace, "--batch", "-e", "info threads").status == 0, f"{name}: replay")
        self.wet = f"{trace}/wetdbg.wet"

    def ask(self, order, *options):
        """(objects, run)"""
        run = self.bench.run(f"{self.bench.build}/tests/predicate_switch/switch_oracle", "--order", order, *options, self.wet,
                             self.criterion, self.expected, self.status)
        self.bench.check(run.status in (0, 1) and not run.err, f"{self.name}: {order} {' '.join(options)}", run)
        return run.objects(), run


def key_of(candidate):
    return candidate["pc"], candidate["instance"], candidate["to"], candidate["extent"]


def first_exact(objects):
    exact = [row for row in objects[:-1] if row["verdict"] == "exact"]
    return min(exact, key=lambda row: row["position"]) if exact else None


def check_found(bench, sample, orders, lines):
    """Orders come to a predicate that makes the run right, and one of all those is on a line that is known."""
    for order in orders:
        objects, run = sample.ask(order)
        first = first_exact(objects)
        if bench.check(first, f"{sample.name}: {order} finds nothing", run):
            where = first["switches"][0]
            print(f"{sample.name:24} {order:6} {first['position']:4} {where['file']}:{where['line']}#{where['instance']}")
    if not lines:
        return
    objects, run = sample.ask("near", "--all", "--jobs", "2")
    found = {row["switches"][0]["line"] for row in objects[:-1] if row["verdict"] == "exact"}
    bench.check(found & set(lines), f"{sample.name}: none of {lines} is among {found}", run)
    bench.check(objects[-1]["complete"], f"{sample.name}: the order did not come to its end", run)


def check_candidates(bench, sample):
    """LEFS goes back in time; the others have the same candidates in another order; each comes once."""
    lists = {order: sample.ask(order, "--list", EVERYTHING)[0] for order in ORDERS}
    times = [row["time"] for row in lists["lefs"]]
    bench.check(times == sorted(times, reverse=True) and times, f"{sample.name}: LEFS does not go back in time")
    for order, rows in lists.items():
        keys = [key_of(row) for row in rows]
        bench.check(len(keys) == len(set(keys)), f"{sample.name}: {order} has a candidate twice")
        bench.check(set(keys) == {key_of(row) for row in lists["lefs"]}, f"{sample.name}: {order} has other candidates")
        bench.check(all(row["went"] != row["to"] for row in rows), f"{sample.name}: {order} switches to the same way")
    by_pc = {}
    for row in sorted(lists["lefs"], key=lambda row: row["time"]):
        by_pc.setdefault(row["pc"], []).append(row["instance"])
    for pc, instances in by_pc.items():
        bench.check(sorted(set(instances)) == list(range(1, max(instances) + 1)),
                    f"{sample.name}: instances at {pc:#x} are {instances}")


def check_batches(bench, sample):
    """The first finding is the same whatever the batches, and whoever goes on with a journal runs nothing twice."""
    journal = bench.path(f"{sample.name}.answers")
    small, _ = sample.ask("lefs", "--batch", "1", "--journal", journal)
    large, _ = sample.ask("lefs", "--batch", "64")
    first = first_exact(small)
    bench.check(first == first_exact(large), f"{sample.name}: batches change what is found first")
    again, run = sample.ask("lefs", "--batch", "1", "--journal", journal)
    bench.check(again[-1]["tried"] == 0 and again[-1]["known"] == first["position"] and first_exact(again) == first,
                f"{sample.name}: the journal is not used", run)
    cut, run = sample.ask("lefs", "--budget", "3")
    bench.check(cut[-1]["tried"] == 3 and not cut[-1]["complete"], f"{sample.name}: a budget of 3", run)
    with open(journal) as file:
        lines = file.readlines()
    with open(journal, "w") as file:
        file.write("".join(lines[:20]) + lines[20][:-3])
    torn, run = sample.ask("lefs", "--batch", "1", "--journal", journal)
    bench.check(torn[-1]["tried"] and 0 < torn[-1]["known"] < 20 and first_exact(torn) == first,
                f"{sample.name}: a torn journal", run)


def findings(objects):
    """What was found, by its switches: the verdicts."""
    return {tuple(map(key_of, row["switches"])): row["verdict"] for row in objects[:-1]}


def check_live(bench, sample, *options):
    """Live runs have the verdicts that native ones have; unresolved are those of limits only."""
    native, _ = sample.ask("lefs", "--all", "--jobs", "2", *options)
    live, run = sample.ask("lefs", "--all", "--live", *options)
    verdicts = native[-1]["verdicts"], live[-1]["verdicts"]
    bench.check(findings(native) == findings(live), f"{sample.name}: live runs are judged otherwise: {verdicts}", run)
    print(f"{sample.name:24} native {native[-1]['seconds']:.2f} s {verdicts[0]}, live {live[-1]['seconds']:.2f} s {verdicts[1]}")
    return live


def check_jobs(bench, sample, live, *options):
    """Several runs at once find the same, in the same order."""
    several, run = sample.ask("lefs", "--all", "--live", "--jobs", "3", *options)
    for end in (live[-1], several[-1]):
        del end["seconds"]
    bench.check(live == several, f"{sample.name}: several runs at once find other things", run)


def check_several(bench):
    """What takes more than one branch the other way: all instances, those from one on, two branches, another case of a
    switch statement, an expression as a whole."""
    def found(mode, build, criterion, *options):
        sample = Sample(bench, f"switch_several_{build}", "predicate_switch", [mode], criterion, f"{mode}_{build}")
        live = check_live(bench, sample, *options)
        check_jobs(bench, sample, live, *options)
        return [row["switches"] for row in live[:-1] if row["verdict"] == "exact"]

    for mode, build, criterion in (("all", "O0", "exit"), ("all", "O2", "exit"), ("onward", "O0", "output:35")):
        extents = [switches[0]["extent"] for switches in found(mode, build, criterion, "--extents")]
        bench.check(extents and 0 not in extents, f"{mode} {build}: {extents}")
    counts = [len(switches) for switches in found("pair", "O0", "output:10", "--depth", "2")]
    bench.check(counts == [2], f"a pair: {counts}")
    kinds = [switches[0]["kind"] for switches in found("table", "O0", "output:13")]
    bench.check("switch" in kinds, f"another case: {kinds}")
    whole = [switches[0]["expression"] for switches in found("expression", "O0", "output:12")]
    bench.check(whole == [True], f"an expression as a whole: {whole}")


def check_extents(bench, sample):
    """All instances at once, and from one on, are tried once for each way of a predicate."""
    objects, run = sample.ask("near", "--all", "--extents", "--jobs", "2")
    plain, _ = sample.ask("near", "--all", "--jobs", "2")
    more = objects[-1]["tried"] - plain[-1]["tried"]
    statics = {(row["pc"], row["to"]) for row in sample.ask("lefs", "--list", EVERYTHING)[0] if row["instances"] > 1}
    bench.check(more == 2 * len(statics), f"{sample.name}: {more} extents of {len(statics)} ways", run)


def check_setccs(bench, name, wet):
    """What setccs made is the same by their flags and by their results, of which all of an interval are looked up at once."""
    run = bench.run(f"{bench.build}/tests/predicate_switch/switch_driver", wet, "setccs", "40")
    counts = re.search(r"setccs=(\d+) looked_up=(\d+)", run.out)
    bench.check(run.status == 0 and "flags=" not in run.out and counts and int(counts[2]) > 20, f"{name}: setccs", run)


def check_equal(bench, sample, proven):
    """What is proven equal is equal; and of each proof that is there, how many instances have it."""
    rows, run = sample.ask("lefs", "--equal")
    bench.check(all(row["verdict"] == "equal" for row in rows), f"{sample.name}: a proof is wrong", run)
    bench.check(len(rows) == proven, f"{sample.name}: {len(rows)} proofs, not {proven}", run)


def check_spectrum(bench, sample, passing):
    """What a passing run never did comes first; the candidates are the same."""
    rows, run = sample.ask("spectrum", "--passing", passing.wet, "--list", EVERYTHING)
    lefs, _ = sample.ask("lefs", "--list", EVERYTHING)
    bench.check({key_of(row) for row in rows} == {key_of(row) for row in lefs},
                f"{sample.name}: the spectrum has other candidates")
    bench.check([row["time"] for row in rows] != [row["time"] for row in lefs],
                f"{sample.name}: a passing run changes nothing")
    taken = {(row["line"], row["went"] - row["pc"]) for row in passing.ask("lefs", "--list", EVERYTHING)[0]
             if row["kind"] == "branch"}
    branches = [(row["line"], row["went"] - row["pc"]) in taken for row in rows if row["kind"] == "branch"]
    bench.check(branches == sorted(branches) and not branches[0], f"{sample.name}: the spectrum's order is {branches}")
    found, run = sample.ask("near", "--passing", passing.wet)
    bench.check(first_exact(found), f"{sample.name}: with a passing run nothing is found", run)


def test(bench, _):
    dates = ("1999-03-01", "1996-02-29", "1997-07-04", "2000-03-01", "1998-12-24")
    names = ("notes.txt", "aaaabbc", "Makefile", "all:::::")
    condition = Sample(bench, "switch_condition_O2", "predicate_switch", dates, "output:60")
    omission = Sample(bench, "switch_omission_O0", "predicate_switch", names, "output:72")
    crash = Sample(bench, "fault_symtab_O2", "programs", ["a=1", "e=5", "b=2", "i=9", "a", "-i", "e", "b"], "crash")
    check_found(bench, omission, ORDERS, [43])
    check_found(bench, crash, ORDERS, [68, 70])
    check_found(bench, condition, ["near"], [])
    check_candidates(bench, condition)
    check_candidates(bench, omission)
    check_batches(bench, omission)
    check_extents(bench, crash)
    for sample in (condition, omission, crash):
        check_live(bench, sample)
    check_setccs(bench, omission.name, omission.wet)
    check_several(bench)
    check_equal(bench, Sample(bench, "switch_joins_O0", "predicate_switch", (), "output:0"), 4)
    check_equal(bench, omission, 0)
    check_spectrum(bench, omission, Sample(bench, "switch_omission_O0", "predicate_switch", ("a.b", "zzzz", "c.d", "e"), "exit",
                                           "passing"))


e2e.main(test)
