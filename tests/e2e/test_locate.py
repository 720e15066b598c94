#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_locate.py BUILD-DIRECTORY: `wetdbg locate` finds what is wrong by itself, and ranks the faulty lines near the top."""
import json
import math
import os
import shutil
import signal
import subprocess

import e2e

# The most lines that somebody reads until the fault, without passing runs and by the slice alone. The fault of
# fault_calendar is a table's entry: no line that ran.
RANKS = {"fault_tokenizer": 25, "fault_inventory": 8, "fault_histogram": 20, "fault_formatter": 12, "fault_heapsort": 20,
         "fault_verify": 10, "fault_bitset": 5, "fault_textwrap": 30, "fault_matrix": 15}


def save_right(bench, fault):
    run = bench.run(f"{bench.programs}/{fault.program}_O0_fixed", *fault.arguments, stdin=fault.stdin)
    path = bench.path(f"{fault.program}.right")
    with open(path, "w") as file:
        file.write(run.out)
    return path


def rank_of(answer, fault):
    return next((row["rank"] for row in answer["suspects"]
                 if row["line"] == fault.line and e2e.base_name(row["file"]) == fault.file), None)


def check_shape(bench, answers, run):
    """Each is whole; the last one is the last."""
    for answer in answers:
        bench.check(answer["schema"] == "wetdbg.locate/1" and answer["suspects"] and answer["executed_lines"] > 0, "an answer", run)
    rows = answers[-1]["suspects"]
    bench.check([answer["final"] for answer in answers] == [False] * (len(answers) - 1) + [True], "only the last is final", run)
    bench.check([row["rank"] for row in rows] == list(range(1, len(rows) + 1)), "ranks", run)
    bench.check(all(a["score"] >= b["score"] for a, b in zip(rows, rows[1:])), "the order is that of the scores", run)
    bench.check(len(rows) == answers[-1]["executed_lines"] and os.path.isabs(rows[0]["file"]), "all lines that ran", run)
    bench.check(rows[0]["reasons"] and all(row["reasons"] for row in rows[:5]), "reasons", run)


def check_faults(bench):
    """What is wrong is the criterion that the table has, and the fault is not far down."""
    for fault in (fault for fault in e2e.faults() if fault.program in RANKS):
        trace = bench.record(fault.program, f"{bench.programs}/{fault.program}_O0", *fault.arguments, stdin=fault.stdin)
        is_found = fault.criterion.startswith(("output", "crash", "exit"))
        how = [f"--expect={save_right(bench, fault)}", "--status=7" if fault.program == "fault_verify" else "--status=0"]
        target = [] if is_found else [f"--target={fault.criterion}"]
        run = bench.wet("locate", "--json", "--budget=1", *how, *target, trace)
        answers = run.objects()
        if not bench.check(run.status == 0 and answers, f"{fault.program}: an answer", run):
            continue
        check_shape(bench, answers, run)
        bench.check(answers[-1]["criterion"]["text"] == fault.criterion, f"{fault.program}: what is wrong", run)
        rank = rank_of(answers[0], fault)
        bench.check(rank and rank <= RANKS[fault.program], f"{fault.program}: its line is {rank}.")


def check_scores(bench):
    """Scores are what their features say, and what is said of lines beside them: all pairs of lines of a function, by hand."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_heapsort")
    run = bench.wet("locate", "--json", "--features", "--budget=5", f"--expect={save_right(bench, fault)}", "--",
                    f"{bench.programs}/fault_heapsort_O0", *fault.arguments)
    answers = run.objects()
    if not bench.check(run.status == 0 and answers, "an answer with features", run):
        return
    weight, constant = e2e.weights()
    rows, names = answers[-1]["suspects"], list(weight)
    bench.check(all(list(row["features"]) == names for row in rows), "the features are those of the table", run)
    own = lambda row, some: sum(row["features"][name] * weight[name] for name in some)
    runs = [own(row, names[names.index("exact"):]) for row in rows]
    lifted = 0
    for i, row in enumerate(rows):
        around = [(runs[k] * math.exp(-abs(other["line"] - row["line"]) / constant["LOC_BESIDE_DECAY"]), -other["line"])
                  for k, other in enumerate(rows) if k != i and other["function"] == row["function"] and other["file"] == row["file"]
                  and abs(other["line"] - row["line"]) <= constant["LOC_BESIDE_LINES"]]
        most, line = max(around, default=(0, 0))  # of two alike the first one
        more = max(0, most - runs[i])
        bench.check(abs(row["score"] - own(row, names) - constant["LOC_BESIDE"] * more) < 1e-9, f"the score of {row}, beside {-line}")
        texts = [reason["text"] for reason in row["reasons"] if reason["kind"] == "beside"]
        bench.check(len(texts) == (more > 0) and (not texts or f"line {-line}," in texts[0]), f"{row['line']}: {texts}, and by hand {-line}")
        lifted += more > 0
    bench.check(lifted >= 5, f"only {lifted} lines are lifted")


def check_passing(bench):
    """With an input that passes, as standard input, as a recording and as a file, the fault is first."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    program, right = f"{bench.programs}/fault_ledger_O0", save_right(bench, fault)
    sales = bench.path("sales.txt")
    with open(fault.stdin) as given, open(sales, "w") as kept:
        kept.writelines(line for line in given if "sale" in line)
    trace = bench.record("sales", program, stdin=sales)
    for name in (sales, trace, f"{trace}/wetdbg.wet"):
        run = bench.wet("locate", "--json", "--budget=1", f"--expect={right}", f"--pass={name}", "--", program, stdin=fault.stdin)
        answers = run.objects()
        bench.check(run.status == 0 and rank_of(answers[-1], fault) == 1, f"--pass={name}", run)
        first = answers[-1]["suspects"][0]
        reason = next((reason for reason in first["reasons"] if reason["kind"] == "only-here"), None)
        bench.check(reason and "--against" in reason["command"], f"{first}")
    text = bench.wet("locate", "--limit=2", "--budget=1", f"--expect={right}", f"--pass={sales}", "--", program, stdin=fault.stdin)
    bench.check("  1. fault_ledger.c:66  in refund" in text.out and "  3. " not in text.out and
                "the passing run did not execute it" in text.out, "the list as text", text)
    bench.check(text.out.count("what is wrong:") == 1, "only the last answer is text", text)


def check_input_words(bench):
    """@@, and the word that is --fail's, stand for the input."""
    shutil.copy("/usr/bin/head", bench.path("head"))
    for name, text in (("bad", "wrong\n"), ("good", "right\n"), ("both", "right\n")):
        with open(bench.path(name), "w") as file:
            file.write(text)
    for words in (("--fail=bad", "--", bench.path("head"), "bad"), ("--fail=bad", "--", bench.path("head"), "./@@")):
        run = bench.wet("locate", "--budget=1", "--expect=both", "--pass=good", *words)
        bench.check(run.status == 3 and "has no source lines" in run.err + run.out, "the program ran with both, and has no lines", run)


def check_switch(bench):
    """A decision that repairs the run is a reason, and what-if shows it."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_symtab")
    run = bench.wet("locate", "--json", "--crash", "--jobs=1", "--", f"{bench.programs}/fault_symtab_O0", *fault.arguments)
    answers = run.objects()
    if not bench.check(run.status == 0 and answers, "a crash", run):
        return
    rows = [(row, reason) for row in answers[-1]["suspects"] for reason in row["reasons"] if reason["kind"] == "switch"]
    if not bench.check(answers[-1]["criterion"]["kind"] == "crash" and rows, "some switch keeps it from crashing", run):
        return
    shown = bench.wet("open", answers[-1]["run"], "--batch", "--json", "-e", rows[0][1]["command"]).objects()
    bench.check(rows[0][0]["evidence"]["switch"] == "no-crash" and shown[0]["end"] == "exit", f"{rows[0]}: {shown}")


def check_ends(bench):
    """A sanitizer's report says where to begin; and of what somebody ended, since it did not end, the loop that went on, not
    the one of what it called."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "ends_badly.c")) as source:
        lines = [text for text in source]
    line_of = lambda mark: next(n for n, text in enumerate(lines, 1) if mark in text)
    for words, kind, mark in (((), "report", "__LINE__"), (("1",), "hang", "/* LOOP */"), (("1", "2"), "hang", "/* ASKED */")):
        run = bench.wet("locate", "--json", "--budget=1", "--", f"{bench.build}/tests/e2e/e2e_ends_badly", *words)
        answers = run.objects()
        if not bench.check(run.status == 0 and answers, kind, run):
            continue
        criterion, rows = answers[-1]["criterion"], answers[-1]["suspects"]
        bench.check(criterion["kind"] == kind and (kind == "hang" or criterion["text"].endswith(f"ends_badly.c:{line_of(mark)}")), f"{criterion}", run)
        reason = next((reason["text"] for reason in rows[0]["reasons"] if reason["kind"] == "criterion"), "")
        bench.check(kind != "hang" or (reason.startswith("here it was decided each time that the loop goes on") and rows[0]["line"] == line_of(mark)),
                    f"the loop is first: {rows[0]}")
        # Lines of the loop around what is suspected come before it: it was among the first six without them.
        bench.check("next" in [row["function"] for row in rows[:9]], f"what kept it going: {[row['line'] for row in rows]}")


def check_repair(bench):
    """The line whose other values repair the output most often is the fault's; the command shows such a run."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_matrix")
    trace = bench.record("matrix", f"{bench.programs}/{fault.program}_O0", *fault.arguments)
    right = save_right(bench, fault)
    run = bench.wet("locate", "--json", "--budget=60", f"--expect={right}", trace)
    answers = run.objects()
    if not bench.check(run.status == 0 and rank_of(answers[-1], fault) == 1, "its line is first", run):
        return
    reason = next((reason for reason in answers[-1]["suspects"][0]["reasons"] if reason["kind"] == "repair"), None)
    if not bench.check(reason, f"values repair: {answers[-1]['suspects'][0]}"):
        return
    shown = bench.wet("open", f"{trace}/wetdbg.wet", "--batch", "-e", reason["command"])
    wrong = int(fault.criterion.split(":")[1])
    with open(right) as file:
        text = file.read()
    output = next((json.loads(line) for line in shown.out.splitlines() if line.startswith('"')), "")
    bench.check(shown.status == 0 and output[:wrong + 1] == text[:wrong + 1], f"{reason}", shown)


def check_mutant(bench):
    """The instruction that makes the run right in the place of another one puts the fault's line first; the command shows
    that run, with the output that is right."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_heapsort")
    right = save_right(bench, fault)
    run = bench.wet("locate", "--json", "--budget=60", f"--expect={right}", "--", f"{bench.programs}/fault_heapsort_O0", *fault.arguments)
    answers = run.objects()
    first = answers[-1]["suspects"][0] if run.status == 0 and answers else {"line": 0}
    if not bench.check(first["line"] == fault.line and first["reasons"][0]["kind"] == "mutant", f"its line is first: {first}", run):
        return
    reason = first["reasons"][0]
    bench.check("with the constant 1 in place of 2 the run is right" in reason["text"], f"{reason}")
    shown = bench.wet("open", answers[-1]["run"], "--batch", "-e", reason["command"])
    with open(right) as file:
        text = file.read()
    bench.check(shown.status == 0 and text in "".join(json.loads(line) for line in shown.out.splitlines() if line.startswith('"')),
                f"{reason}", shown)


def check_pieces(bench):
    """In how many pieces of right output a line ran is counted once more, by the times of its instances."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_textwrap")
    trace = bench.record("wrap", f"{bench.programs}/fault_textwrap_O0", *fault.arguments, stdin=fault.stdin)
    right = save_right(bench, fault)
    answers = bench.wet("locate", "--json", "--budget=15", f"--expect={right}", trace).objects()
    wrong = int(fault.criterion.split(":")[1])
    with open(right) as file:
        text = file.read()[:wrong]
    ends = [at for at in range(wrong) if at + 1 == wrong or text[at] == "\n"]
    ask = lambda *commands: bench.wet("open", f"{trace}/wetdbg.wet", "--batch", "--json",
                                      *(word for command in commands for word in ("-e", command))).objects()
    times = [answer["birth"]["time"] if answer.get("birth") else answer["time"]
             for answer in ask(*(f"slice backward --thin --limit=1 output:{at}" for at in ends + [wrong]))]
    times, until = sorted(set(times[:-1])), times[-1]
    rows, equal = answers[-1]["suspects"][:12], 0
    bench.check(len(times) >= 2, f"several pieces: {times}")
    for row, answer in zip(rows, ask(*(f"instances {e2e.base_name(row['file'])}:{row['line']} --limit=0" for row in rows))):
        ran = [item["time"] for item in answer["instances"] if item["time"] <= until]
        pieces = {next((i for i, end in enumerate(times) if time <= end), len(times)) for time in ran}
        evidence = row["evidence"]
        counted = (len(pieces - {len(times)}), len(times) in pieces)
        equal += (evidence["pieces"], evidence["in_failing_piece"]) == counted
        # A loop that goes on is no new instance of its line.
        bench.check(evidence["pieces"] >= counted[0] and evidence["in_failing_piece"] >= counted[1],
                    f"line {row['line']}: {evidence['pieces']} {evidence['in_failing_piece']}, by its instances {pieces}")
    bench.check(equal >= 9, f"only {equal} of 12 lines have the pieces of their instances")


def check_interrupt(bench):
    """Ctrl-C leaves the best list so far."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_lru")
    trace = bench.record("lru", f"{bench.programs}/fault_lru_O0")
    child = subprocess.Popen([bench.wetdbg, "locate", "--json", "--budget=10m", f"--expect={save_right(bench, fault)}", trace],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment, cwd=bench.work)
    first = child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    last = (first + out).splitlines()[-1]
    # It may have come to its end before the signal did.
    bench.check(child.returncode in (0, 130), f"its status is {child.returncode}: {err}")
    bench.check('"final": true' in last or '"schema": "wetdbg.error/1"' in last or child.returncode == 130, f"{last[-300:]}")


def check_bad(bench):
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    program = f"{bench.programs}/fault_ledger_O0"
    trace = bench.record("again", program, stdin=fault.stdin)
    with open(bench.path("same"), "w") as file:
        file.write(bench.run(program, stdin=fault.stdin).out)
    for words, what in ((("--expect=nowhere", trace), "nowhere"), (("--expect=same", trace), "does not fail"), ((trace,), "nothing says"),
                        (("--crash", trace), "did not crash"), (("--crash", "--expect=same", trace), "only one"),
                        (("--budget=soon", trace), "--budget"), (("--budget=0", trace), "--budget"), (("--jobs=0", trace), "--jobs"),
                        (("--status=300", trace), "--status"), (("--features", trace), "--json"), ((), "which TRACE or PROGRAM"),
                        (("--expect=same", "--pass=nowhere", trace), "nowhere"), (("--expect=same", "--pass=same", trace), "no PROGRAM"),
                        (("--fail=same", trace), "--fail"), (("--target=nonsense", trace), "nonsense"),
                        (("--target=output:99999999", trace), "output")):
        run = bench.wet("locate", *words)
        bench.check(run.status in (1, 2, 5) and what in run.err and not run.out, f"{words}", run)


def run_test(bench, _):
    check_faults(bench)
    check_scores(bench)
    check_passing(bench)
    check_repair(bench)
    check_mutant(bench)
    check_pieces(bench)
    check_input_words(bench)
    check_switch(bench)
    check_ends(bench)
    check_interrupt(bench)
    check_bad(bench)


e2e.main(run_test)
