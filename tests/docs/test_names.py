#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each file, folder and symbol of ours that a page names in backquotes exists, and no two files of the product
have one name.

A word in backquotes is held against the sources if its form says that it is ours: a path that begins
with one of our folders, a file name that ends like our sources do, a call `name()`, a `struct` or
`enum`, or an identifier that begins with a prefix of ours. Other words (commands, options, values) are not looked
at. A path of ours to a source file is held against the tree wherever it stands, in comments too.
"""
import os
import re
import subprocess
import sys

ROOT = sys.argv[1]
FOLDERS = ("recorder", "wet", "slicer", "delta", "dbgcli", "predicate_switch", "locate", "tests", "common", "include",
           "bench", "packaging", "docs", "cmake")
PRODUCT = ("recorder", "wet", "slicer", "delta", "dbgcli", "locate", "common", "include", "library")
PREFIXES = ("agt", "cli", "dbi", "dep", "dlt", "evq", "feed", "ins", "loc", "mdl", "rec", "rep", "rrt", "slc", "tck",
            "wd", "wet", "wetdbg")
FILE = re.compile(r"^[\w./{},*-]+\.(c|h|S|py|cmake|ld|1\.in|md)$")
ANYWHERE = re.compile(r"(?<![\w./{-])(?:%s)/[\w./-]*\w\.(?:c|h|S|py|md)\b" % "|".join(FOLDERS))
IDENTIFIER = re.compile(r"^(?:%s)_\w+$|^(?:%s)_[A-Z0-9_]+$" % ("|".join(PREFIXES), "|".join(p.upper() for p in PREFIXES)))


def sources():
    """Paths that git knows (a checkout), or all below ROOT (an unpacked archive)."""
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True,
                                capture_output=True, text=True).stdout.split("\n")
        return [path for path in listed if path]
    except (OSError, subprocess.CalledProcessError):
        return [os.path.relpath(os.path.join(folder, name), ROOT)
                for folder, _, names in os.walk(ROOT) for name in names if "/build" not in folder]


def expanded(path):
    """`a/{b,c}.h` is two paths."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return [more for part in match.group(1).split(",")
            for more in expanded(path[:match.start()] + part + path[match.end():])]


class Tree:
    def __init__(self):
        self.paths = set(sources())
        self.folders = {os.path.dirname(path) for path in self.paths}
        self.folders |= {os.path.dirname(folder) for folder in self.folders}
        self.names = {os.path.basename(path) for path in self.paths}
        self.words = set()
        for path in self.paths:
            if path.endswith((".c", ".h", ".S", ".py", ".txt", ".cmake", ".in")) and not path.startswith("docs/"):
                with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
                    self.words |= set(re.findall(r"\w+", file.read()))

    def has_path(self, path):
        path = path.rstrip("/")
        if "*" in path:
            form = re.compile("^" + re.escape(path).replace(r"\*", "[^/]*") + "$")
            return any(form.match(one) for one in self.paths | self.folders | self.names)
        if "/" not in path:
            return path in self.names or path in self.folders
        # A part without its ending is its files: `wet/build/part`.
        return (path in self.paths or path in self.folders or path + ".c" in self.paths or path + ".h" in self.paths
                or any(one.endswith("/" + path) for one in self.paths | self.folders))


def complaint(tree, word):
    """What is wrong with a word in backquotes, or None."""
    call = re.match(r"^(\w+)\(\)$", word)
    kind = re.match(r"^(?:struct|enum|union) (\w+)$", word)
    if call and IDENTIFIER.match(call.group(1)) and call.group(1) not in tree.words:
        return "no such function"
    if kind and kind.group(1) not in tree.words:
        return "no such type"
    if IDENTIFIER.match(word) and word not in tree.words:
        return "no such name"
    if FILE.match(word) or (word.split("/")[0] in FOLDERS and re.match(r"^[\w./{},*-]+$", word)):
        missing = [path for path in expanded(word) if not tree.has_path(path)]
        if missing:
            return "no such file: " + ", ".join(missing)
    return None


def words_of(page, line):
    words = set(ANYWHERE.findall(line)) if not line.startswith("#include") else set()
    return words | set(re.findall(r"`([^`]+)`", line)) if page.endswith(".md") else words


def same_names(tree):
    """A file of the product is known by its name alone: two in different folders must not share one."""
    folders = {}
    for path in sorted(tree.paths):
        if path.endswith((".c", ".h", ".S")) and path.split("/")[0] in PRODUCT:
            folders.setdefault(os.path.basename(path), []).append(path)
    return [f"{', '.join(paths)}: files of one name" for paths in folders.values() if len(paths) > 1]


def main():
    tree = Tree()
    pages = sorted(path for path in tree.paths if path.endswith((".md", ".c", ".h", ".S")))
    wrong, looked_at = same_names(tree), 0
    for page in pages:
        with open(os.path.join(ROOT, page), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                for word in sorted(words_of(page, line)):
                    looked_at += 1
                    why = complaint(tree, word)
                    if why:
                        wrong.append(f"{page}:{number}: `{word}`: {why}")
    print("\n".join(wrong))
    print(f"{looked_at} words of {len(pages)} pages, {len(wrong)} that name nothing")
    # Pages that name nothing of ours would pass: then the test looks at the wrong folder.
    return 1 if wrong or looked_at < 500 else 0


sys.exit(main())
