# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus of faults: read, checked, and put into a source tree and taken out again.

corpus/PACKAGE.toml has one Debian source package, its tests, and the faults that we planted in it:

  package, version   the source package and its exact Debian version
  needs              Debian packages that its build wants besides a compiler and make
  prepare, rebuild   shell lines: a build of the whole tree with $CFLAGS, and one after a file changed ("make")
  program            what is run, a path in the tree
  [[test]]           a run of it: args, stdin, files (name = text), env, outputs (files to be compared)
  [[fault]]          name (PACKAGE-SOMETHING), class, kind (what people would call it), file, function, old and new
                     (whole lines of the function, indentation aside), fail (a run, as a test), and perhaps
                     tests (further runs), traits ("thread", "far", "real"), guard, truth, why

What a fault's lines are is computed: those of `new` that `old` does not have. Of a deleted statement it is the line
that it should precede, and `guard`, if the fault has one. `truth` (texts of lines) takes the place of both where
these lines have no code. `old` may be found once only in the function, so that a fault changes what it says."""
import difflib, hashlib, os, re, tomllib

here = os.path.dirname(os.path.abspath(__file__))
CLASSES = {"condition": "a wrong condition", "value": "no wrong condition", "omission": "something is missing"}
TRAITS = {"thread": "in threads", "far": "seen far from the cause", "real": "real: Debian mended it"}
PACKAGE_KEYS = {"package": str, "version": str, "prepare": str, "program": str, "test": list, "fault": list}
PACKAGE_MORE = {"rebuild": str, "needs": str, "tree": str}
RUN_KEYS = {"args": list, "stdin": str, "files": dict, "env": dict, "outputs": list, "setup": str}
FAULT_KEYS = {"name": str, "class": str, "kind": str, "file": str, "function": str, "old": str, "new": str, "fail": dict}
FAULT_MORE = {"tests": list, "traits": list, "guard": str, "truth": list, "why": str, "criterion": str}
TESTS_MIN = 5
LIBRARY_KEYS = {"package": str, "version": str, "prepare": str, "fault": list}
LIBRARY_FAULT_KEYS = {"name": str, "class": str, "file": str, "function": str, "old": str, "new": str}

class CorpusError(Exception):
    pass

def lines_of(text):
    """The lines of `old` and `new` without indentation; what is empty does not count."""
    return [line.strip() for line in text.split("\n") if line.strip()]

# ---- the form ----

def wrong_keys(row, must, may, what):
    for key, kind in must.items():
        if key not in row:
            yield f"{what}: there is no {key}"
    for key, value in row.items():
        kind = must.get(key) or may.get(key)
        if kind is None:
            yield f"{what}: nobody reads {key}"
        elif not isinstance(value, kind):
            yield f"{what}: {key} is to be a {kind.__name__}"

def wrong_run(run, what):
    yield from wrong_keys(run, {}, RUN_KEYS, what)
    for value in list(run.get("args", [])) + list(run.get("files", {}).values()) + list(run.get("outputs", [])):
        if not isinstance(value, str):
            yield f"{what}: {value!r} is no text"

def wrong_change(fault, what):
    if not re.fullmatch(r"[a-z0-9.]+(-[a-z0-9]+)+", fault["name"]):
        yield f"{what}: names are small letters, digits and '-'"
    if fault["class"] not in CLASSES:
        yield f"{what}: there is no class {fault['class']} ({', '.join(CLASSES)})"
    old, new = lines_of(fault["old"]), lines_of(fault["new"])
    if not old or old == new:
        yield f"{what}: it changes nothing"
    if fault["class"] == "omission" and len("".join(new)) >= len("".join(old)):
        yield f"{what}: an omission leaves something out"

def wrong_fault(package, fault):
    what = f"{package['package']}: {fault.get('name', 'a fault without name')}"
    yield from wrong_keys(fault, FAULT_KEYS, FAULT_MORE, what)
    if any(key not in fault for key in FAULT_KEYS):
        return
    yield from wrong_change(fault, what)
    for trait in fault.get("traits", []):
        if trait not in TRAITS:
            yield f"{what}: there is no trait {trait} ({', '.join(TRAITS)})"
    if len(package.get("test", [])) + len(fault.get("tests", [])) < TESTS_MIN:
        yield f"{what}: it has fewer than {TESTS_MIN} tests"
    yield from wrong_run(fault["fail"], f"{what}: fail")
    for number, test in enumerate(fault.get("tests", [])):
        yield from wrong_run(test, f"{what}: test {number + 1}")

def wrong_names(packages):
    names = set()
    for package in packages:
        for name in (fault.get("name") for fault in package.get("fault", [])):
            if name in names:
                yield f"{package.get('package', 'a package without name')}: there are two faults {name}"
            names.add(name)

def complaints(packages):
    """All that is wrong with the form of packages, as sentences."""
    yield from wrong_names(packages)
    for package in packages:
        what = package.get("package", "a package without name")
        yield from wrong_keys(package, PACKAGE_KEYS, PACKAGE_MORE, what)
        for number, test in enumerate(package.get("test", [])):
            yield from wrong_run(test, f"{what}: test {number + 1}")
        for fault in package.get("fault", []):
            yield from wrong_fault(package, fault)

def library_complaints(packages):
    """The same of libraries/PACKAGE.toml, whose faults their own tests show: package, version, prepare, and [[fault]] with name,
    class, file, function, old and new."""
    yield from wrong_names(packages)
    for package in packages:
        what = package.get("package", "a package without name")
        yield from wrong_keys(package, LIBRARY_KEYS, {}, what)
        for fault in package.get("fault", []):
            where = f"{what}: {fault.get('name', 'a fault without name')}"
            yield from wrong_keys(fault, LIBRARY_FAULT_KEYS, {}, where)
            if all(key in fault for key in LIBRARY_FAULT_KEYS):
                yield from wrong_change(fault, where)

def read_folder(folder, complaints_of):
    packages = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".toml"):
            with open(os.path.join(folder, name), "rb") as file:
                try:
                    packages.append(tomllib.load(file))
                except tomllib.TOMLDecodeError as error:
                    raise CorpusError(f"{name}: {error}")
    wrong = list(complaints_of(packages))
    if wrong:
        raise CorpusError("\n".join(wrong))
    return packages

def read(folder=os.path.join(here, "corpus")):
    """All packages, by name. CorpusError with all that is wrong."""
    return read_folder(folder, complaints)

def read_libraries(folder=os.path.join(here, "libraries")):
    """The same of libraries."""
    return read_folder(folder, library_complaints)

def is_seen(name):
    """Which half a fault is in. The other one is measured, and read by nobody before the end."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0

# ---- in a source tree ----

def function_range(lines, name):
    """The lines [start, end) of a function's definition, or of several of the name, one after the other."""
    if not name:
        return [(0, len(lines))]
    found = []
    head = re.compile(r"(?:^|[\s*(])" + re.escape(name) + r"\s*\(")
    for start, line in enumerate(lines):
        if not line or line[0] in " \t#/*}" or not head.search(line) or line.rstrip().endswith(";"):
            continue
        brace = next((lines[i] for i in range(start + 1, min(start + 12, len(lines)))
                      if lines[i].strip().startswith("{") or lines[i].startswith("}")), "")
        close = re.match(r" {0,2}", brace).group() + "}" if brace.strip() == "{" else "}"
        if re.search(r"\{.*\}\s*$", brace):
            close = brace
        end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith(close)), None)
        is_declared = any(lines[i].rstrip().endswith(";") and not lines[i].startswith((" ", "\t"))
                          for i in range(start, min(start + 2, len(lines))))
        if end is not None and not is_declared:
            found.append((start, end + 1))
    return found

def place_of(lines, fault):
    """Where `old` lies, as [start, end). CorpusError unless there is exactly one such place."""
    old, places = lines_of(fault["old"]), []
    for start, end in function_range(lines, fault["function"]):
        for i in range(start, end):
            k, left = i, list(old)
            while left and k < end and (lines[k].strip() == left[0] or (k > i and not lines[k].strip())):
                if lines[k].strip():
                    left.pop(0)
                k += 1
            if not left and (i, k) not in places:
                places.append((i, k))
    if len(places) != 1:
        raise CorpusError(f"{fault['name']}: {fault['file']} has what is to be changed in {fault['function']} "
                          f"{len(places)} times")
    return places[0]

def changed(text, fault):
    """The text of a file with the fault in it."""
    lines = text.split("\n")
    start, end = place_of(lines, fault)
    indent = re.match(r"\s*", lines[start]).group()
    new = [indent + line for line in lines_of(fault["new"])]
    return "\n".join(lines[:start] + new + lines[end:])

def without_comments(lines):
    """The lines with comments blanked, and what the preprocessor takes."""
    text = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found.group()), "\n".join(lines), flags=re.S)
    return [re.sub(r"//.*|^\s*#.*", "", line) for line in text.split("\n")]

def line_of_text(lines, text, fault):
    ranges = function_range(lines, fault["function"])
    found = [i + 1 for start, end in ranges for i in range(start, end) if lines[i].strip() == text.strip()]
    if len(found) != 1:
        raise CorpusError(f"{fault['name']}: {fault['function']} has the line '{text}' {len(found)} times")
    return found[0]

def truth(before, fault):
    """The numbers of the fault's lines in the changed file, sorted."""
    lines = changed(before, fault).split("\n")
    if "truth" in fault:
        return sorted(line_of_text(lines, text, fault) for text in fault["truth"])
    start, end = place_of(before.split("\n"), fault)
    old, new = lines_of(fault["old"]), lines_of(fault["new"])
    found = set()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            found |= {start + 1 + i for i in range(c, d)}
        elif tag == "delete":
            behind, code = start + c, without_comments(lines)
            while behind < len(lines) and not re.search(r"[\w}]", code[behind]):
                behind += 1
            found.add(behind + 1)
    if "guard" in fault:
        found.add(line_of_text(lines, fault["guard"], fault))
    return sorted(found)
