#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_slice_shapes.py BUILD-DIRECTORY: slices as trees, as pictures and in numbers, of a recorded program."""
import os
import re
import shutil
import stat
import xml.dom.minidom

import e2e

SOURCE = "copy_out.c"


def ask(bench, directory, command):
    run = bench.wet("replay", directory, "--batch", "--json", "-e", command)
    answers = run.objects()
    bench.check(run.status == 0 and len(answers) == 1, command, run)
    return answers[0]


def check_numbers(bench, directory):
    answer = ask(bench, directory, "slice backward crash --tree --stats --instances")
    rows = answer["lines"] + answer["without_lines"]
    kinds = answer["stats"]["kinds"]
    edges = [instance["edge"] for row in rows for instance in row["times"]]
    for kind, count in kinds.items():
        bench.check(edges.count(kind) == count, f"{kind}: {edges.count(kind)} instances, {count} in numbers")
    bench.check(sum(kinds.values()) > 0, f"{kinds}")
    for part, key in (("modules", "module"), ("functions", "function")):
        counted = {}
        for row in rows:
            name = (row["module"], row[key])
            counted[name] = counted.get(name, 0) + row["instances"]
        bench.check({(row["module"], row[key]): row["instances"] for row in answer["stats"][part]} == counted, part)
    # Each link is between lines of the slice, and its users and instances are found in the instances.
    line_of = {instance["time"]: row for row in rows for instance in row["times"]}
    expected = {}
    for row in rows:
        for instance in row["times"]:
            user = line_of.get(instance["user"])
            if user and name_of(user) != name_of(row):
                key = (name_of(user), name_of(row), instance["edge"])
                expected[key] = expected.get(key, 0) + 1
    found = {(name_of(link["user"]), name_of(link["line"]), kind): link[kind]
             for link in answer["links"] for kind in kinds if link[kind]}
    bench.check(found == expected, f"links differ: {set(found.items()) ^ set(expected.items())}")
    check_order(bench, answer["links"], rows, line_of)


def check_order(bench, links, rows, line_of):
    """What gave something to a line stands by how near its instances are that did."""
    nearest = {}
    for row in rows:
        for instance in row["times"]:
            user = line_of.get(instance["user"])
            if user:
                key = (name_of(user), name_of(row))
                nearest[key] = min(nearest.get(key, instance["distance"]), instance["distance"])
    for link in links:
        key = (name_of(link["user"]), name_of(link["line"]))
        bench.check(link["distance"] == nearest[key], f"{key}: {link['distance']}, and the nearest is {nearest[key]}")
    for one, other in zip(links, links[1:]):
        bench.check(name_of(one["user"]) != name_of(other["user"]) or one["distance"] <= other["distance"],
                    f"{one} stands before {other}")


def name_of(row):
    if row["file"] and e2e.base_name(row["file"]) == SOURCE:
        return row["line"]
    return row["module"], row["function"]


def check_tree(bench, directory):
    run = bench.wet("replay", directory, "--batch", "-e", "slice backward crash --tree", "-e", "expand 1", "-e",
                    "expand #2")
    rows = re.findall(r"^#(\d+)( +)(\w+) ", run.out, re.M)
    bench.check(run.status == 0 and len(rows) > 5, "a tree", run)
    bench.check(rows[0][0] == "1" and rows[0][2] == "criterion", "the criterion comes first", run)
    depths = [len(blanks) + len(number) for number, blanks, _ in rows]
    bench.check(all(after <= before + 2 for before, after in zip(depths, depths[1:]) if after > depths[0]),
                "each row lies below one above it", run)
    bench.check("/* FREE */" in run.out, "the freed pointer's line", run)


def check_chains(bench, directory):
    """A chain leads to one instance, by its number or by its time."""
    with open(f"{e2e.SOURCE}/tests/e2e/programs/{SOURCE}") as file:
        store = next(number for number, line in enumerate(file, 1) if "/* STORE */" in line)
    run = bench.wet("replay", directory, "--batch", "-e", "slice crash", "-e", f"why {SOURCE}:{store}#1030")
    last = run.out.splitlines()[-1]
    time = re.match(rf"#\d+ +time (\d+) .*{SOURCE}:{store}  ", last)
    bench.check(run.status == 0 and time, "a chain to one instance", run)
    again = bench.wet("replay", directory, "--batch", "-e", "slice crash", "-e", f"why {time[1] if time else 1}")
    bench.check(again.out.splitlines()[-1] == last, f"another chain than {last}", again)
    run = bench.wet("replay", directory, "--batch", "-e", "slice crash", "-e", f"why {SOURCE}:{store}#5")
    bench.check(run.status == 1 and f"{SOURCE}:{store}#5 is not in the full slice of crash" in run.err,
                "an instance that is not there", run)


def check_stripped(bench, text):
    """Without debug information branches, chains and trees have addresses and functions for lines."""
    program = bench.path("bare")
    bench.run("strip", "-o", program, f"{bench.build}/tests/e2e/e2e_copy_out")
    directory = bench.record("bare.rr", program, stdin=text)
    run = bench.wet("replay", directory, "--batch", "-e", "decisions crash", "-e", "slice crash --tree")
    ways = re.findall(r"it went on to 0x(\w+) <bare\+0x\w+(?:\+\d+)?>; otherwise to 0x(\w+) <", run.out)
    bench.check(ways and all(one != other for one, other in ways), "both ways of a branch are told apart", run)
    branch = re.search(r"^time (\d+) +0x(\w+) <bare", run.out, re.M)
    bench.check(branch and len(re.findall(r"^#\d+ +\w+ +bare ", run.out, re.M)) > 1, "a tree of functions", run)
    time, address = branch.groups() if branch else ("1", "0")
    chains = [bench.wet("replay", directory, "--batch", "-e", "slice crash", "-e", f"why {what}").out.splitlines()[-1]
              for what in (time, f"*0x{address}")]
    bench.check(all(f" time {time} " in chain and f" 0x{address} <" in chain for chain in chains),
                f"chains to {time} and {address}: {chains}")
    run = bench.wet("replay", directory, "--batch", "-e", "slice crash", "-e", "why 1")
    bench.check(run.status == 1 and "1 is not in the full slice of crash" in run.err, "why of what is not there", run)


def check_pictures(bench, directory):
    tools = bench.path("tools")
    os.mkdir(tools)
    fake = os.path.join(tools, "dot")
    with open(fake, "w") as file: # stands for Graphviz: an image of as many nodes
        file.write("#!/bin/sh\n[ \"$1\" = -Tsvg ] || exit 1\necho '<svg>'\ngrep -c 'label=.*l\"' | sed 's/.*/<n>&<\\/n>/'\n"
                   "echo '</svg>'\n")
    os.chmod(fake, os.stat(fake).st_mode | stat.S_IXUSR)
    dot, svg = bench.path("slice.dot"), bench.path("slice.svg")
    with_tool = dict(bench.environment, PATH=f"{tools}:{os.environ['PATH']}")
    run = bench.wet("replay", directory, "--batch", "-e", f"slice backward crash --limit 5 --dot {dot} --svg {svg}",
                    env=with_tool)
    bench.check(run.status == 0 and f"drawn in {dot}: the nearest 5 of " in run.out, "drawn", run)
    with open(dot) as file:
        text = file.read()
    nodes = re.findall(r"^  n(\d+) \[label=", text, re.M)
    links = re.findall(r"^  n(\d+) -> n(\d+) \[", text, re.M)
    bench.check(nodes == [str(number) for number in range(5)] and links, f"nodes {nodes}, links {links}")
    bench.check(all(int(end) < 5 for link in links for end in link), f"{links}")
    bench.check(xml.dom.minidom.parse(svg).documentElement.firstChild is not None, "an image")
    bench.check(stat.S_IMODE(os.stat(svg).st_mode) == 0o600, "a file of one's own")
    nothing = bench.path("nothing")
    os.mkdir(nothing)
    other = bench.path("other.svg")
    run = bench.wet("replay", directory, "--batch", "-e", f"slice backward crash --svg {other}",
                    env=dict(bench.environment, PATH=nothing))
    bench.check(run.status == 5 and "Graphviz's 'dot', which is not installed" in run.err, "without Graphviz", run)
    bench.check(not os.path.exists(other) and not os.path.exists(f"{other}.part"), "nothing is left behind")
    with open(fake, "w") as file:
        file.write("#!/bin/sh\nexit 3\n")
    run = bench.wet("replay", directory, "--batch", "-e", f"slice backward crash --svg {other}", env=with_tool)
    bench.check(run.status == 5 and "'dot' failed (status 3)" in run.err and not os.path.exists(other), "dot fails", run)


def check_graphviz(bench, directory):
    """Graphviz itself draws each node and each link of what is written for it: of a slice, and of a chop."""
    if not shutil.which("dot"):
        print("SKIPPED: e2e_slice_shapes: Graphviz's 'dot' is not installed (./setup installs it)")
        return
    for name, command in (("slice", "slice backward crash --limit 12"), ("ahead", "slice forward input:0 --limit 12"),
                          ("chop", "chop input:1024 crash")):
        dot, svg = bench.path(f"{name}.real.dot"), bench.path(f"{name}.real.svg")
        run = bench.wet("replay", directory, "--batch", "-e", f"{command} --dot {dot} --svg {svg}")
        if not bench.check(run.status == 0 and run.err == "" and f"drawn in {svg}" in run.out, f"{name} is drawn", run):
            continue
        with open(dot) as file:
            text = file.read()
        drawn = [(group.getAttribute("class"), group.getElementsByTagName("title")[0].firstChild.data)
                 for group in xml.dom.minidom.parse(svg).getElementsByTagName("g")]
        nodes = re.findall(r"^  (n\d+) \[label=", text, re.M)
        links = ["->".join(ends) for ends in re.findall(r"^  (n\d+) -> (n\d+) \[", text, re.M)]
        bench.check(len(nodes) > 2 and sorted(title for kind, title in drawn if kind == "node") == sorted(nodes), f"{name}: {drawn}")
        bench.check(links and sorted(title for kind, title in drawn if kind == "edge") == sorted(links), f"{name}: {links}")
        labels = [node.firstChild.data for node in xml.dom.minidom.parse(svg).getElementsByTagName("text")]
        bench.check(any("copy_out.c" in label for label in labels), f"{name}: {labels}")


def test(bench, _arguments):
    text = bench.path("text")
    with open(text, "w") as file:
        file.write("b" + 1031 * "a")
    directory = bench.record("wild", f"{bench.build}/tests/e2e/e2e_copy_out", stdin=text)
    ask(bench, directory, "info")
    check_numbers(bench, directory)
    check_tree(bench, directory)
    check_chains(bench, directory)
    check_stripped(bench, text)
    check_pictures(bench, directory)
    check_graphviz(bench, directory)


if __name__ == "__main__":
    e2e.main(test)
