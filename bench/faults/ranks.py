# SPDX-License-Identifier: GPL-3.0-or-later
"""How many lines somebody reads until the fault: in what wetdbg shows, and by measures of suspicion."""
import math, os, re

SHOWN = re.compile(r"^(?:[*+~ ] |[01]\.\d\d  )?(\S+):(\d+) ")
SHOWN_END = re.compile(r"^(\(left out|libraries|data that|never set)")

def first_difference(good, bad):
    """The offset of the first wrong byte, or "end" if only something is missing behind."""
    for i, (one, other) in enumerate(zip(good, bad)):
        if one != other:
            return i
    return "end" if len(bad) < len(good) else len(good)

def shown_lines(text):
    """The program's own lines as people see them, (base name, line), of a slice or a pruned one."""
    found = []
    for line in text.splitlines():
        match = SHOWN.match(line)
        if match:
            found.append((match.group(1), int(match.group(2))))
        elif found and SHOWN_END.match(line):
            break
    return found

def rank_of(lines, truth):
    """Where the first line of the truth, (path, line), stands; None if it is not shown."""
    bases = {(os.path.basename(file), line) for file, line in truth}
    return next((i + 1 for i, line in enumerate(lines) if line in bases), None)

def ochiai(ef, nf, ep, np):
    return ef / math.sqrt((ef + nf) * (ef + ep)) if ef else 0

def tarantula(ef, nf, ep, np):
    fail, okay = ef / (ef + nf), ep / (ep + np) if ep + np else 0
    return fail / (fail + okay) if fail + okay else 0

def spectrum_rank(score, lines, failing, passing, truth):
    """How many of `lines` are read until the first of the truth, on average over all orders of those with one score.
    failing, passing: the lines that each run executed. None if `lines` has nothing of the truth."""
    scores = {line: score(sum(line in run for run in failing), sum(line not in run for run in failing),
                          sum(line in run for run in passing), sum(line not in run for run in passing))
              for line in lines}
    best = max((scores[line] for line in truth if line in scores), default=None)
    if best is None:
        return None
    above = sum(value > best for value in scores.values())
    ties = sum(value == best for value in scores.values())
    ours = sum(scores.get(line) == best for line in truth)
    return above + (ties + 1) / (ours + 1)
