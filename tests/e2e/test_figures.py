#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_figures.py BUILD-DIRECTORY: figures that are known from the literature, with programs of ours: the labels of a
small program's trace (timestamps, values, dependences), worked out here a second time; and a heap buffer that is
allocated too small. (The character too much, which a pointer behind the buffer is overwritten with, is test_dd's.)"""
import e2e


def lines_of(name):
    """The number of each statement: the first line that begins with a text."""
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{name}") as file:
        texts = [line.strip() for line in file]
    return lambda start: next(number for number, text in enumerate(texts, 1) if start in text)


class Sums:
    """main() of sums.c, executed line by line; remembers who defined each variable, and who let each line run."""

    def __init__(self, n):
        at = lines_of("sums.c")
        self.lines, self.edges, self.defined = {}, set(), {}
        self.time = 0
        test = None
        self.run(at("{"), argc=2)
        self.run(at("int n ="), n=n, uses=["argc"])
        for name, value in (("odd", 0), ("even", 0), ("i", 1)):
            self.run(at(f"int {name} ="), **{name: value})
        i, odd, even = 1, 0, 0
        while True:
            test = self.run(at("while"), uses=["i", "n"], parent=test)
            if i > n:
                break
            turn = self.run(at("if (i % 2)"), uses=["i"], parent=test)
            if i % 2:
                odd += i
                self.run(at("odd = odd + i"), odd=odd, uses=["odd", "i"], parent=turn)
            else:
                even += i
                self.run(at("even = even + i"), even=even, uses=["even", "i"], parent=turn)
            i += 1
            self.run(at("i = i + 1"), i=i, uses=["i"], parent=test)
        self.run(at("printf"), uses=["odd", "even"])
        self.run(at("return 0"))
        self.end = self.time + 1

    def run(self, line, uses=(), parent=None, **defines):
        self.time += 1
        here = (line, self.time)
        for source, kind in [(self.defined[name], "value") for name in uses] + ([(parent, "control")] if parent else []):
            self.edges.add((line, source[0], kind, source[1], self.time))
        self.lines.setdefault(line, []).append((self.time, next(iter(defines.values()), None)))
        for name in defines:
            self.defined[name] = here
        return here


def check_labels(bench, n):
    wanted = Sums(n)
    trace = bench.record(f"sums{n}", f"{bench.build}/tests/e2e/e2e_sums", str(n))
    found = bench.wet("replay", trace, "--batch", "--json", "-e", "labels main").objects()[-1]
    lines = {row["line"]: list(zip(row["timestamps"], row["values"])) for row in found["lines"]}
    last = max(lines)
    bench.check(lines.pop(last) == [(wanted.end, None)], "the closing brace is the last")
    bench.check(lines == wanted.lines, f"{n}: {lines} in place of {wanted.lines}")
    edges = {(row["use"], row["definition"], row["kind"], *pair) for row in found["dependences"] for pair in row["pairs"]}
    # The frame pointer that the last line restores was saved by the first one.
    edges = {edge for edge in edges if edge[0] != last}
    bench.check(edges == wanted.edges, f"{n}: too many {sorted(edges - wanted.edges)}, missing {sorted(wanted.edges - edges)}")
    text = bench.wet("replay", trace, "--batch", "-e", "labels main")
    bench.check(f"main: {wanted.end} executions of lines\n" in text.out and "  8 <- 7  value  <(1, 2)>\n" in text.out, "as text", text)
    return trace


def check_refusals(bench, trace):
    for command, sentence in (("labels none", "labels: there is no function none"),
                              ("labels _dl_relocate_object", "this is for small functions")):
        run = bench.wet("replay", trace, "--batch", "-e", command)
        bench.check(run.status != 0 and sentence in run.err, f"{command}: {sentence!r}", run)


def check_too_small(bench):
    """The crash reads a pointer that the loop stored over; where that lies was decided by how much was allocated."""
    at = lines_of("too_small.c")
    program = f"{bench.build}/tests/e2e/e2e_too_small"
    trace = bench.record("small", program, "10")
    run = bench.wet("replay", trace, "--batch", "--json", "-e", "slice backward --data crash", "-e", "origin list->first")
    slices, origins = [[answer for answer in run.objects() if answer["schema"].startswith(f"wetdbg.{name}")]
                       for name in ("slice", "origin")]
    if not bench.check(run.status == 0 and len(slices) == 1 and len(origins) == 1, "a slice and an origin", run):
        return
    found = {row["line"] for row in slices[0]["lines"] if e2e.base_name(row["file"]) == "too_small.c"}
    wanted = {at(f"/* {mark} */") for mark in ("CRASH", "STORE", "ALLOCATE", "COUNT", "NEXT")}
    bench.check(wanted <= found, f"the slice lacks {wanted - found}")
    bench.check(not found & {at("/* UNRELATED */"), at("/* RIGHT */")}, f"what has nothing to do with it: {found}")
    bench.check("imul" in run.out, "the pointer was computed as a square", run)
    right = bench.wet("replay", bench.record("enough", program, "6"), "--batch", "-e", "slice backward crash")
    bench.check("did not crash" in right.err, "with room there is no crash", right)


def main_test(bench, _):
    for n in (3, 4):
        trace = check_labels(bench, n)
    check_labels(bench, 0)
    check_refusals(bench, trace)
    check_too_small(bench)


if __name__ == "__main__":
    e2e.main(main_test)
