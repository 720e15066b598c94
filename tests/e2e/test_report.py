#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_report.py BUILD-DIRECTORY: the page of `wetdbg locate --html` is whole, says what the list says, and has nothing
in it that a program could make markup of."""
import os
import subprocess

import e2e
from report_page import Page, faults_of

BYTES_MAX = 2 << 20
# In the place of QQQQ: no UTF-8, NUL's neighbour, escape, DEL, a C1 control, and what turns the direction of writing.
HOSTILE = b"\xff\xfe\x01\x1b\x7f\xc2\x9b\xe2\x80\xae"


def read_page(bench, path):
    with open(path, "rb") as file:
        raw = file.read()
    bench.check(len(raw) < BYTES_MAX, f"{path}: {len(raw)} bytes")
    page = Page(raw.decode("utf-8"))
    for wrong in faults_of(page):
        bench.fail(f"{os.path.basename(path)}: {wrong}")
    return page


def locate(bench, name, *words, stdin=None, patience=e2e.PATIENCE_SECONDS):
    """The last answer, and the page."""
    run = bench.wet("locate", "--json", f"--html={bench.path(name)}", *words, stdin=stdin, patience=patience)
    if not bench.check(run.status == 0 and os.path.exists(bench.path(name)), f"{name}: a page", run):
        raise SystemExit(bench.finish())
    return run.objects()[-1], read_page(bench, bench.path(name))


def check_sample(bench):
    """Story, suspects, ways and source of a run with wrong output, held against JSON and the source itself."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    program = f"{bench.programs}/fault_ledger_O0"
    with open(bench.path("right"), "w") as file:
        file.write(bench.run(f"{program}_fixed", stdin=fault.stdin).out)
    answer, page = locate(bench, "ledger.html", "--budget=4", f"--expect={bench.path('right')}", "--", program, stdin=fault.stdin)
    first = answer["suspects"][0]
    place = f"{e2e.base_name(first['file'])}:{first['line']}"
    bench.check(page.texts["title"] == "fault_ledger_O0: wrong output", f"{page.texts['title']}")
    story = page.texts["story"]
    for part in (answer["criterion"]["description"], answer["criterion"]["got"], answer["criterion"]["wanted"],
                 f"the most suspicious is {place} in {first['function']}: {first['reasons'][0]['text']}",
                 f"wetdbg open {answer['run']}", f"slice backward {answer['criterion']['text']}"):
        bench.check(part in story, f"the story lacks {part!r}")
    for row in answer["suspects"][:10]:
        shown = page.texts.get(f"suspect{row['rank']}", "")
        bench.check(all(part in shown for part in [f"{e2e.base_name(row['file'])}:{row['line']}", row["function"], row["text"] or ""]
                        + [reason["text"] for reason in row["reasons"]] + [reason["command"] or "" for reason in row["reasons"]]),
                    f"suspect {row['rank']}: {shown!r}")
    check_source(bench, page, answer, f"{e2e.PROGRAMS}/faults/fault_ledger.c")
    check_way(bench, page, answer)


def check_source(bench, page, answer, path):
    """Each line as it is in the file, with its number of executions, and whether the slice has it."""
    by_line = {row["line"]: row for row in answer["suspects"]}
    with open(path) as source:
        for number, text in enumerate(source, 1):
            row, shown = by_line.get(number), page.texts.get(f"f0L{number}", "")
            bench.check(shown.startswith(str(number)) and shown.rstrip("\n").endswith(text.rstrip("\n")), f"line {number}: {shown!r}")
            known = shown.rstrip("\n")[:len(shown.rstrip("\n")) - len(text.rstrip("\n"))]
            bench.check(("\u25c6" in known) == bool(row and row["evidence"]["in_slice"]), f"line {number} in the slice: {known!r}")
            if row:
                bench.check(str(row["evidence"]["executions"]) in known, f"line {number} ran: {known!r}")


def check_way(bench, page, answer):
    """The way is one that the run had: `why` to the same moment has its lines, and `goto` its values."""
    steps = [attributes for attributes, above in page.named("li") if attributes.get("class") == "step"]
    bench.check(len(steps) >= 3, f"{len(steps)} steps")
    bench.check(sum(1 for attributes, above in page.named("ol") if attributes.get("class") == "stack") == len(steps), "each step has a stack")
    ways = page.texts["ways"]
    time = ways[ways.index("goto ") + 5:].split()[0]
    shown = bench.wet("open", answer["run"], "--batch", "-e", f"goto {time}", "-e", "backtrace")
    place = next((line for line in shown.out.splitlines() if line.startswith("time ")), " at nothing").rsplit(" at ", 1)[-1]
    bench.check(shown.status == 0 and place in ways, f"{place!r} is in no step", shown)


def check_hostile(bench):
    """What a program's source, names, arguments, input and output hold is text, whatever it looks like."""
    folder = bench.path("<b onclick=x>&'\"")
    os.mkdir(folder)
    with open(f"{e2e.SOURCE}/tests/e2e/programs/hostile_text.c", "rb") as file:
        source = file.read().replace(b"QQQQ", HOSTILE)
    with open(f"{folder}/<u>.c", "wb") as file:
        file.write(source)
    program = f"{folder}/<script>alert(1)"
    subprocess.run(["cc", "-g", "-O0", "-w", "-o", program, "<u>.c"], cwd=folder, check=True)
    with open(bench.path("input"), "wb") as file:
        file.write(b"</script><!--" + HOSTILE + b"\n")
    run = subprocess.run([program, "\"><script>"], stdin=open(bench.path("input"), "rb"), stdout=subprocess.PIPE, check=True)
    with open(bench.path("hostile.right"), "wb") as file:
        file.write(run.stdout.replace(b" 25\n", b" 24\n"))
    with open(bench.path("hostile.right"), "rb") as file:
        bench.check(file.read() != run.stdout, f"{run.stdout}")
    _, page = locate(bench, "hostile.html", "--budget=3", f"--expect={bench.path('hostile.right')}", "--", program, "\"><script>",
                     stdin=bench.path("input"))
    for part in ("\"><script>", "<script>alert(1)"):
        bench.check(part in page.texts["story"], f"the story lacks {part!r}: {page.texts['story']!r}")
    for part in ("document.title = \"owned\"</script>", "<svg onload=", "{{story}}", "<u>.c", "\ufffd\ufffd\u2401\u241b\u2421\ufffd"):
        bench.check(part in page.texts["source"], f"the source lacks {part!r}")
    bench.check("\u202e" not in page.text and "\x1b" not in page.text and "\x7f" not in page.text, "a control is in the page")


def crashing(bench):
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_symtab")
    return [f"{bench.programs}/fault_symtab_O0", *fault.arguments]


def check_files(bench):
    """A page is whole or not there, is its user's alone, and what is in its way is said before anything is recorded."""
    program = crashing(bench)
    os.mkdir(bench.path("folder"))
    os.symlink("nowhere/at/all", bench.path("dangling"))
    for path, what in (("folder", "folder"), ("nowhere/page.html", "nowhere"), ("/dev/full", "/dev/full"), ("page/", "page/"), ("", "''")):
        run = bench.wet("locate", "--crash", f"--html={path}", "--", *program)
        bench.check(run.status in (2, 5) and what in run.err and "wetdbg:" in run.err and not run.out, f"--html={path}", run)
    bench.check(os.listdir(bench.path("folder")) == [] and not os.path.exists(bench.path("page.html.part")), "nothing is left behind")
    with open(bench.path("old.html"), "w") as file:
        file.write("an older page")
    _, page = locate(bench, "old.html", "--crash", "--budget=2", "--", *program)
    bench.check("SIGSEGV" in page.texts["story"] and os.stat(bench.path("old.html")).st_mode & 0o777 == 0o600, "replaced, and the user's alone")
    if os.geteuid() == 0:
        # A disk that is full.
        os.mkdir(bench.path("small"))
        script = 'mount -t tmpfs -o size=16k none small && exec "$@"'
        run = bench.run("unshare", "-m", "sh", "-c", script, "sh", bench.wetdbg, "locate", "--crash", "--budget=1", "--html=small/page.html",
                        "--", *program)
        if "unshare" in run.err or "mount:" in run.err:
            print("SKIPPED: e2e_report: a full disk: no file system can be mounted here")
        else:
            bench.check(run.status == 5 and "small/page.html" in run.err and "space" in run.err, "a full disk", run)


def check_pictures(bench):
    """--dot and --svg write the slice's graph."""
    program = crashing(bench)
    run = bench.wet("locate", "--crash", "--budget=1", "--dot=graph.dot", "--svg=graph.svg", "--", *program)
    with open(bench.path("graph.dot")) as dot, open(bench.path("graph.svg")) as svg:
        dot, svg = dot.read(), svg.read()
    bench.check(run.status == 0 and dot.startswith("digraph") and "fault_symtab.c" in dot and "<svg" in svg and "fault_symtab.c" in svg, "pictures", run)
    bench.check("drawn in graph.dot" in run.out and "drawn in graph.svg" in run.out, "where they are is said", run)


def run_test(bench, _):
    check_sample(bench)
    check_hostile(bench)
    check_files(bench)
    check_pictures(bench)


e2e.main(run_test)
