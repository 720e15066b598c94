# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that go on unchanged, at some times of their run, without their recording: each run ends as the
recording did, in status, output and instructions. And one that goes on otherwise, and so reads further than it
did when it was recorded: what it gets is what standard input still held. And one that asks about its descriptors only
where it goes on otherwise: they are what they were."""
import fcntl
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import e2e  # noqa: E402

# Words, and at how many times of the run.
PROGRAMS = {
    "true": (["/bin/true"], 8),
    "ls": (["ls", "-l", "."], 8),
    "gzip": (["gzip", "-kc", "text"], 8),
    "sort": (["sort", "text"], 8),
    "awk": (["awk", "{ n += length($0) } END { print n }", "text"], 8),
    "signals": (["BUILD/tests/programs/prog_signals_O2_pie"], 24),
    "proc": (["sh", "-c", "echo 0x33 >/proc/self/coredump_filter; echo done"], 8),
    "turns": (["BUILD/tests/predicate_switch/switch_turns"], 16),
    "memory": (["BUILD/tests/predicate_switch/switch_memory"], 20),
    "shown": (["BUILD/tests/predicate_switch/switch_given"], 12),
}
# Standard input, how it is given, SIZE, and how a run ends that wants 12 bytes instead of 4.
INPUT = b"abcdefghij"
RESTS = [
    ("file", None, {"end": "exit", "exit": 0, "output": "abcdefghij"}),
    ("pipe", None, {"end": "exit", "exit": 0, "output": "abcdefghij"}),
    ("shared", None, {"end": "exit", "exit": 0, "output": "abcdefghij"}),
    ("file", "3", {"end": "unresolved"}),
    ("pipe", "0", {"end": "unresolved"}),
]


def fields(line):
    return dict(re.findall(r"(\w+)=(\S*)", line))


def check_program(bench, name, words, times):
    trace = bench.record(name, *[word.replace("BUILD", bench.build) for word in words])
    made = bench.wet("replay", "-o", bench.path(name + ".wet"), trace)
    if not bench.check(made.status == 0, f"{name}: no .wet", made):
        return
    run = bench.run(f"{bench.build}/tests/predicate_switch/switch_driver", bench.path(name + ".wet"), "unchanged",
                    str(times), "7")
    lines = [fields(line) for line in run.out.splitlines()]
    recorded = next((line for line in lines if line.keys() == {"status", "instructions"}), None)
    runs = [line for line in lines if "end" in line]
    if not bench.check(run.status == 0 and recorded and len(runs) == times, f"{name}: no runs", run):
        return
    for line in runs:
        same = line["end"] == "exit" and line["differs"] == "0" and all(
            line[key] == recorded[key] for key in recorded)
        bench.check(same, f"{name}: went on at {line['time']} and did not end as recorded", run)
    print(f"{name}: {len(runs)} runs")


# ---- what standard input still held ----

def record_taker(bench, how, size, trace):
    """Records the program with INPUT given in that way; what was left of it for others."""
    command = [bench.wetdbg, "record", "-o", trace] + ([f"--keep-input={size}"] if size else [])
    command += ["--", f"{bench.build}/tests/predicate_switch/switch_taker"]
    options = {"cwd": bench.work, "env": bench.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    if how == "file":
        with open(bench.path("input"), "wb") as file:
            file.write(INPUT)
        with open(bench.path("input"), "rb") as file:
            run = subprocess.run(command, stdin=file, timeout=60, **options)
            return run, file.read()
    readable, writable = os.pipe()
    os.write(writable, INPUT)
    os.close(writable)
    if how == "shared":
        run = subprocess.run(command, stdin=readable, timeout=60, **options)
        rest = os.read(readable, 100)
        os.close(readable)
        return run, rest
    child = subprocess.Popen(command, stdin=readable, **options)
    os.close(readable)
    err = child.communicate(timeout=60)[1]
    return subprocess.CompletedProcess(command, child.returncode, "", err), b""


def check_rests(bench):
    with open(os.path.join(HERE, "guests", "taker.c")) as source:
        line = next(number for number, text in enumerate(source, 1) if "WANTED" in text)
    for number, (how, size, expected) in enumerate(RESTS):
        trace = bench.path(f"rest{number}")
        run, left = record_taker(bench, how, size, trace)
        bench.check(run.returncode == 0, f"{how}, {size}: {run}")
        bench.check(left == (b"" if how == "pipe" else INPUT[4:]), f"{how}, {size}: others find {left}")
        run = bench.wet("replay", trace, "--batch", "--json", "-e", f"what-if wanted=12@taker.c:{line} --output 1")
        answer = run.objects()[-1] if run.out else {}
        bench.check(all(answer.get(key) == value for key, value in expected.items()),
                    f"{how}, {size}: {expected} was expected", run)
        run = bench.wet("verify", os.path.join(trace, "wetdbg.wet"))
        bench.check(run.status == 0, f"{how}, {size}: not sound", run)


def check_searched(bench):
    """A program that `wetdbg switch` records itself."""
    given, data = bench.path("input"), bench.path("data")
    with open(given, "wb") as file:
        file.write(INPUT)
    run = bench.wet("switch", f"--expect={given}", "--budget=3", "--", f"{bench.build}/tests/predicate_switch/switch_taker",
                    stdin=given)
    rests = [os.path.join(folder, name) for folder, _, names in os.walk(data) for name in names if name == "wetdbg.input"]
    if bench.check(run.status == 1 and len(rests) == 1, f"what a program that is searched did not read: {rests}", run):
        with open(rests[0], "rb") as rest:
            bench.check(INPUT[4:] in rest.read(), "what a program that is searched did not read is not kept", run)


def describe(fd, name):
    """What the guest `early` has to print of a descriptor."""
    st = os.fstat(fd)
    return f"{name} {st.st_mode:o} {st.st_ino} {st.st_rdev} {st.st_size} {fcntl.fcntl(fd, fcntl.F_GETFL):x} {os.isatty(fd):d}\n"


def check_descriptors(bench):
    with open(os.path.join(HERE, "guests", "early.c")) as source:
        line = next(number for number, text in enumerate(source, 1) if "ASKS" in text)
    with open(bench.path("given"), "wb") as file:
        file.write(INPUT)
    readable, writable = os.pipe()
    trace = bench.path("descriptors")
    with open(bench.path("given"), "rb") as given, open(os.devnull, "wb") as null:
        wanted = describe(given.fileno(), 0) + describe(writable, 1) + describe(null.fileno(), 2)
        subprocess.run([bench.wetdbg, "record", "-o", trace, "--", f"{bench.build}/tests/predicate_switch/switch_early"],
                       stdin=given, stdout=writable, stderr=null, env=bench.environment, cwd=bench.work, timeout=60)
    os.close(readable)
    os.close(writable)
    run = bench.wet("replay", trace, "--batch", "--json", "-e", f"what-if asks=1@early.c:{line} --output 1")
    answer = run.objects()[-1] if run.out else {}
    bench.check(answer.get("exit") == 0 and answer.get("output") == wanted, f"descriptors are not {wanted}", run)
    run = bench.wet("verify", os.path.join(trace, "wetdbg.wet"))
    bench.check(run.status == 0, "descriptors: not sound", run)


def make_file(bench, content):
    """The guest's file as it was before it runs: with this content, or not there."""
    path = bench.path("changed.file")
    if os.path.exists(path):
        os.remove(path)
    if content:
        with open(path, "wb") as file:
            file.write(content)


# What the guest `changed` does with a file, and whether there was one, where nothing tells any more what it was.
OPEN = {("read", True), ("mode", True), ("links", False), ("links", True)}


def check_own_files(bench):
    """What the recording says of a file that the program changes is not taken for a run that does not change it."""
    program = f"{bench.build}/tests/predicate_switch/switch_changed"
    with open(os.path.join(HERE, "guests", "changed.c")) as source:
        line = next(number for number, text in enumerate(source, 1) if "CHANGES" in text)
    resolved = 0
    for how in ("write", "append", "read", "mode", "links", "make"):
        for old in (None, b"old bytes that were there before"):
            make_file(bench, old)
            native = bench.run(program, how, "no")
            make_file(bench, old)
            trace = bench.record(f"own-{how}-{bool(old)}", program, how)
            run = bench.wet("replay", trace, "--batch", "--json", "-e", f"what-if changed.c:{line} switch --output 1")
            answer = run.objects()[-1] if run.out else {}
            is_right = answer.get("end") == "exit" and answer.get("output") == native.out
            bench.check(is_right or answer.get("end") == "unresolved", f"{how}, {old}: not {native.out!r}", run)
            resolved += is_right
            bench.check(is_right or (how, bool(old)) in OPEN, f"{how}, {old}: not resolved", run)
    print(f"files of its own: {resolved} of 12 resolved")


def check_endless(bench):
    """A writer that never ends: the recording does."""
    readable, writable = os.pipe()
    os.write(writable, INPUT)
    child = subprocess.Popen([bench.wetdbg, "record", "-o", bench.path("endless"), "--",
                              f"{bench.build}/tests/predicate_switch/switch_taker"], stdin=readable, cwd=bench.work,
                             env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(readable)
    err = child.communicate(timeout=60)[1]
    os.close(writable)
    bench.check(child.returncode == 0 and b"has not ended" in err, f"a writer that never ends: {err}")


def test(bench, _):
    with open(bench.path("text"), "w") as text:
        text.writelines(f"{number * 7919 % 1009} line {number}\n" for number in range(400))
    for name, (words, times) in PROGRAMS.items():
        check_program(bench, name, words, times)
    check_rests(bench)
    check_searched(bench)
    check_descriptors(bench)
    check_own_files(bench)
    check_endless(bench)


if __name__ == "__main__":
    e2e.main(test)
