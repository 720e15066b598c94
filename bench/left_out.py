# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of omission that are made: what an `if` guards is left out."""
import re

NEVER = "!({ static volatile int left_out = 1; left_out; })"


def without_if(line):
    """A line of C of which the `if` never holds; None if it has none, or one that goes on. The compiler does not know."""
    start = re.search(r"\bif ?\(", line)
    if not start or line.lstrip().startswith(("#", "*", "/*", "//")):
        return None
    depth = 0
    for at in range(start.end() - 1, len(line)):
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        if depth == 0:
            return f"{line[:start.end() - 1]}({line[start.end() - 1:at + 1]} && {NEVER}){line[at + 1:]}"
    return None
