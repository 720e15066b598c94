# SPDX-License-Identifier: GPL-3.0-or-later
"""Where two versions of a source differ."""
import difflib


def fault_lines(right, wrong):
    """Lines of the file `wrong` that differ from those of `right`, or stand beside what is missing."""
    with open(right, errors="replace") as a, open(wrong, errors="replace") as b:
        texts = [[line.strip() for line in file] for file in (a, b)]
    lines = set()
    for kind, _, _, start, end in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind != "equal":
            lines |= set(range(start, end + 2)) if start == end else set(range(start + 1, end + 1))
    return lines
