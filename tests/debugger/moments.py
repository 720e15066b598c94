# SPDX-License-Identifier: GPL-3.0-or-later
"""Random moments of a recording, asked of the prompt and of stock gdb on another run of the program.

The program has to do the same in each run; what lies at another address is compared without it. A
moment is an instruction and how often it has been executed; `compare()` gives what differs there in
frames and arguments, locals, registers, globals and steps."""
import json
import os
import random
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("frames", "locals", "registers", "globals", "steps")
MARK = "p 987654321"
MARKED = "987654321 = 987654321\n"
STEPS = ("step", "next", "stepi", "nexti", "finish")
HITS_MAX = 60
ADDRESS_MIN = 1 << 36
PROGRAM_MAX = 1 << 24  # bytes


class Failed(Exception):
    pass


# ---- gdb ----

def ask_gdb(scratch, program, plan):
    plan_file, answers = f"{scratch}/plan.json", f"{scratch}/answers.json"
    with open(plan_file, "w") as out:
        json.dump(plan, out)
    run = subprocess.run(["gdb", "-nx", "-batch", "-x", f"{HERE}/gdb_moments.py", program],
                         env=dict(os.environ, MOMENTS_PLAN=plan_file, MOMENTS_ANSWERS=answers),
                         stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=3600)
    found = [json.loads(line) for line in open(answers)] if os.path.exists(answers) else []
    if not found:
        raise Failed(f"gdb answered nothing\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return {answer["id"]: answer for answer in found}


# ---- the plan ----

def debugged_functions(program):
    text = subprocess.run(["gdb", "-nx", "-batch", "-ex",
                           "info functions -n", program], text=True, capture_output=True).stdout
    return sorted(set(re.findall(r"[ *]([A-Za-z_][\w:]*)\(", text)))


def global_names(program):
    text = subprocess.run(["gdb", "-nx", "-batch", "-ex",
                           "info variables -n", program], text=True, capture_output=True).stdout
    return sorted(set(re.findall(r"[ *]([A-Za-z_]\w*)(?:\[\d*\])*;", text)))


def executed(build, trace, functions):
    """The instructions that ran, and how often: {function: [(pc, count)]}; and the process's id."""
    command = [f"{build}/dbgcli/wetdbg", "replay", trace, "--batch", "--json", "-e", "info threads"]
    for function in functions:
        command += ["-e", f"disassemble {function}"]
    run = subprocess.run(command, text=True, capture_output=True)
    found, pid = {}, None
    for line in run.stdout.splitlines():
        row = json.loads(line)
        pid = row["threads"][0]["tid"] if "threads" in row else pid
        if row.get("schema", "").startswith("wetdbg.disassembly"):
            ran = [(int(i["address"], 16), i["executions"]) for i in row["instructions"] if i["executions"]]
            if ran:
                found[row["function"]] = ran
    return found, pid


def make_plan(build, program, trace, count, chance, is_clang, is_plain):
    ran, pid = executed(build, trace, debugged_functions(program))
    names = global_names(program)
    if "main" not in ran:
        raise Failed("no main with debug information ran")
    start = ran["main"][0][0]
    inlined = "|".join(inlined_functions(program)) or "nothing inlined"
    source = os.path.basename(program).split("_")[0] + ".c"
    moments = []
    for number in range(count):
        pc, executions = chance.choice(ran[chance.choice(sorted(ran))])
        moments.append({"id": number, "pc": pc, "offset": pc - start, "main": start, "pid": pid, "source": source,
                        "inlined": inlined, "is_clang": is_clang, "is_plain": is_plain,
                        "count": chance.randint(1, min(executions, HITS_MAX)),
                        "globals": chance.sample(names, min(3, len(names))),
                        "steps": [chance.choice(STEPS) for _ in range(0 if number % 3 else 3)]})
    return moments


# ---- ours ----

def questions(moment, answer):
    """What is asked at a moment, in the order of gdb's answers."""
    yield f"goto *{moment['pc']:#x}#{moment['count']}"
    yield "frame 0"
    yield "bt"
    for name in moment["globals"]:
        yield f"p {name}"
    for level, (names, _) in enumerate(answer["levels"]):
        yield f"frame {level}"
        yield "info locals"
        for name in names:
            yield f"p/x ${name}"
    yield f"goto *{moment['pc']:#x}#{moment['count']}"
    for step in answer.get("steps", []):
        yield step[0]
        yield "p/x $rip"


def ask_ours(build, trace, plan, theirs):
    wanted = [moment for moment in plan if moment["id"] in theirs]
    lines = []
    for moment in wanted:
        for question in questions(moment, theirs[moment["id"]]):
            lines += [question, MARK]
    run = subprocess.run([f"{build}/dbgcli/wetdbg", "replay", trace], input="\n".join(lines) + "\n", text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3600,
                         env=dict(os.environ, WETDBG_PAGER="", TERM="dumb"))
    parts = run.stdout.split(MARKED)
    answers, at = {}, 0
    for moment in wanted:
        texts = []
        for _ in questions(moment, theirs[moment["id"]]):
            texts.append(parts[at].rstrip("\n") if at < len(parts) else "(no answer)")
            at += 1
        answers[moment["id"]] = texts
    if at != len(parts) - 1:
        raise Failed(f"{at} questions, {len(parts) - 1} answers\n{run.stdout[-1500:]}")
    return answers


# ---- both in the same words ----

# What differs for a reason, and is therefore not compared:
#  - the stack pointer of a function that ended by a jump: ours is what it was at the jump, gdb's what it
#    was behind the call that led there;
#  - x@entry of inlined functions: gdb takes the argument registers of the function around for it;
#  - what was passed to a function of which there are inlined copies, too: gdb does not find out that the
#    call led there, and shows less (without_passed());
#  - registers that calls need not preserve, in outer frames: gdb shows those of the innermost one;
#  - locals at -O0, and arguments of the innermost frame there: they may not have been written yet;
#  - values that clang has in registers that calls need not preserve, of outer frames: gdb shows those of
#    the innermost one, we say that they are gone;
#  - large numbers in clang's locals: it says where an array lies before it has been written, and there
#    are halves of addresses;
#  - the words for memory that cannot be read;
#  - flags, which arithmetic with addresses leaves, too, and r11, where a system call leaves them;
#  - the order of locals; what gdb lists twice; labels and enumerators among them (local_words());
#  - frames of libraries: gdb takes another one of several names of a function, and misses some that
#    ended by a jump;
#  - <name> for the linker's <name.5> of a static variable in a function.

def without_entry(line):
    line = re.sub(r"\b(\w+)=\1@entry=", r"\1=", line)
    return re.sub(r", (\w+)@entry=(?:[^,()\"]|\"(?:[^\"\\\\]|\\\\.)*\"|\([^)]*\))+", "", line)


def inlined_functions(program):
    """Names of those that are inlined somewhere."""
    text = subprocess.run(["readelf", "--debug-dump=info", program], text=True, capture_output=True).stdout
    entries = text.split("Abbrev Number:")
    return [match.group(1) for entry in entries if "DW_TAG_subprogram" in entry and "DW_AT_inline " in entry
            for match in re.finditer(r"DW_AT_name .*: (\w+)$", entry, re.M)]


def without_passed(theirs, ours):
    """Our line of a frame, less what gdb does not know for want of the call."""
    ours = without_entry(ours)
    for name in re.findall(r"\b(\w+)=<optimized out>", theirs):
        ours = re.sub(rf"\b{name}=[^,)]+", f"{name}=<optimized out>", ours)
    return ours


def same_arguments(moment, kind, level, theirs, ours):
    """Lines of a frame as they are compared."""
    if is_uncertain(moment, level):
        return tuple(re.sub(r" \(.*\) at ", " at ", side) for side in (theirs, ours))
    if kind == "plain" and re.search(rf"\b({moment['inlined']}) \(", theirs):
        ours = without_passed(theirs, ours)
    return arguments_without_lost(theirs, ours) if moment["is_clang"] and level else (theirs, ours)


def gdb_frames(answer):
    return [without_entry(line) if kind == "inlined" else line
            for line, kind in zip(answer["frames"], answer["kinds"])]


def frame_words(line):
    """A frame without what only one of the two says: the selection's mark, folders."""
    line = re.sub(r"(<\w+)\.\d+>", r"\1>", line)
    line = re.sub(r"^[ *]*#", "#", line)
    line = re.sub(r"^#(\d+) +", r"#\1 ", line)
    line = re.sub(r" from \S+$", "", line)  # gdb does not say it of the program's own file
    line = re.sub(r" at \S*/", " at ", line)
    line = re.sub(r"<(error reading variable: )?Cannot access memory at [^>]*>|<nothing is mapped at [^>]*>", "<unreadable>", line)
    return re.sub(r"0x0*([0-9a-f]+)", r"0x\1", line)


def value_words(text):
    if not text.startswith(("error: ", "wetdbg: ")):
        text = text.split(" = ", 1)[-1]
    if re.search(r"optimized out|was overwritten|were overwritten", text) and "{" not in text:
        return "no value"
    return "no value" if text.startswith(("wetdbg: ", "error: ")) else text


def local_words(lines):
    """The order is that of gdb's tables. It lists a variable once more as optimized out if the code
    has a copy of it that lies in an inner block, and enumerators that a function declares."""
    lines = {re.sub(r"0x0*([0-9a-f]+)", r"0x\1", re.sub(r"(<\w+)\.\d+>", r"\1>", line)) for line in lines}
    if any(re.search("No symbol table info|no debug information about", line) for line in lines):
        return ["no debug information"]
    lines.discard("No locals.")
    known = {line.split(" = ")[0] for line in lines if not line.endswith(" = <optimized out>")}
    return sorted(line for line in lines if not (line.endswith(" = <optimized out>") and line.split(" = ")[0] in known)
                  and not re.fullmatch(r"(\w+) = \1", line))


def step_words(text):
    """(function, line) of a position as the prompt shows it."""
    found = re.search(r"^time \d+(?: \[[^]]*\])?: (\S.*?) at \S+?:(\d+)$", text, re.M)
    return (found.group(1), int(found.group(2))) if found else (None, None)


def own_frames(lines, source):
    """{level: words} of the frames whose functions stand in the program's source."""
    return {level: re.sub(r"^#\d+ ", "", frame_words(line)) for level, line in enumerate(lines)
            if f"at {source}:" in frame_words(line)}


def is_uncertain(moment, level):
    return level == 0 and moment["is_plain"]


def without_lost(theirs, ours):
    """Lines of values, less those that we call lost: what gdb says of them then, and we."""
    lost = {line.split(" = ")[0] for line in ours if line.endswith(" = <optimized out>")}
    return [[line for line in side if line.split(" = ")[0] not in lost] for side in (theirs, ours)]


def arguments_without_lost(theirs, ours):
    for name in re.findall(r"\b(\w+)=<optimized out>", ours):
        theirs, ours = (re.sub(rf"\b{name}=[^,)]*(, {name}@entry=[^,)]*)?", f"{name}=...", side) for side in (theirs, ours))
    return theirs, ours


def placeless(found, run):
    """Numbers that are addresses are told from main's, or, elsewhere, are all the same; so are pids."""
    def replaced(match):
        number = int(match.group(1), 0)
        distance = number - run["main"]
        if number < ADDRESS_MIN:
            return "PID" if match.group(1) == f"{run['pid']:#x}" else match.group()
        return f"main{distance:+#x}" if abs(distance) < PROGRAM_MAX else "ADDRESS"
    if isinstance(found, list):
        return [placeless(item, run) for item in found]
    return re.sub(r"-?\b(0x[0-9a-f]+|[1-9][0-9]*)\b", replaced, found) if isinstance(found, str) else found


def differences(moment, answer, ours):
    """(part, what, gdb's, ours) of each thing that is not the same."""
    texts = iter(ours)
    found = []

    def compare(part, what, left, right):
        left, right = placeless(left, answer), placeless(right, moment)
        if left != right:
            found.append((part, what, left, right))
        return left == right
    next(texts), next(texts)
    own = own_frames(gdb_frames(answer), moment["source"]), own_frames(next(texts).splitlines(), moment["source"])
    frames = [(level, *same_arguments(moment, answer["kinds"][level], level, theirs, mine))
              for (level, theirs), mine in zip(own[0].items(), own[1].values())]
    if compare("frames", "how many", len(own[0]), len(own[1])):
        for level, theirs, mine in frames:
            compare("frames", f"frame {level}", theirs, mine)
    for name, value in zip(moment["globals"], answer["globals"]):
        compare("globals", name, value_words(value), value_words(next(texts)))
    mine = []
    for names, _ in answer["levels"]:
        next(texts)
        mine.append((next(texts).splitlines(), [value_words(next(texts)) for _ in names]))
    for left, right in zip(*own):
        if max(left, right) >= len(mine):
            break
        registers, local = answer["levels"][left]
        local = local_words(local), local_words(mine[right][0])
        if moment["is_clang"]:
            local = without_lost(*local) if left else local
            local = [[re.sub(r"-?\b\d{5,}\b", "LARGE", line) for line in side] for side in local]
        if not moment["is_plain"]:
            compare("locals", f"frame {left}", *local)
        for (name, value), ours in zip(registers.items(), mine[right][1]):
            if name != "rsp" or answer["kinds"][left] != "tail":
                compare("registers", f"{name} of frame {left}", value_words(value), ours)
    next(texts)
    for command, pc, function, line, value in answer["steps"]:
        said, address = next(texts), value_words(next(texts))
        returned = re.search(r"^value returned: (.*)$", said, re.M)
        if not compare("steps", command, [hex(pc), line], [address, step_words(said)[1]]):
            break
        if value is not None:
            compare("steps", "what finish returns", value, returned.group(1) if returned else None)
    return found


def compare(build, scratch, program, trace, count, seed, is_clang, is_plain):
    """[(moment, differences)] of random moments of a program that clang has built, or that is built
    plainly, with -O0; steps begin at a third of them."""
    plan = make_plan(build, program, trace, count, random.Random(seed), is_clang, is_plain)
    theirs = ask_gdb(scratch, program, plan)
    ours = ask_ours(build, trace, plan, theirs)
    return [(moment, differences(moment, theirs[moment["id"]], ours[moment["id"]]))
            for moment in plan if moment["id"] in theirs]


if __name__ == "__main__":
    import sys
    build, scratch, program, trace, count, seed = sys.argv[1:7]
    rows = compare(build, scratch, program, trace, int(count), int(seed), "clang" in sys.argv[7:], "-O0" in sys.argv[7:])
    for moment, found in rows:
        for part, what, left, right in found:
            print(f"{part}: {what} at {moment['pc']:#x}#{moment['count']}")
            if isinstance(left, list) and part in ("frames", "locals"):
                for a, b in zip(left + [""] * len(right), right + [""] * len(left)):
                    if a != b:
                        print(f"   gdb: {a}\n  ours: {b}")
            else:
                print(f"   gdb: {left}\n  ours: {right}")
    parts = {part: sum(any(row[0] == part for row in found) for _, found in rows) for part in PARTS}
    print(f"{len(rows)} moments, {sum(not found for _, found in rows)} equal;", parts)
