#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_unfinished.py BUILD-DIRECTORY: recordings that did not end replay as far as they go, and say so.

The same recording as it was is the oracle: what is left of it has the same events, the same tasks, and the same
output up to where it ends. A recorder that really was killed is held against what its program had written."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import e2e

STREAMS = ("events", "data", "mmaps", "tasks")
BLOCK = 4096
NOTICE = re.compile(r"^wetdbg: the recording did not end: .* up to event (\d+);", re.M)
SCRIPT = "echo one; /bin/true; for i in 2 3 4 5 6 7 8 9; do echo $i; done; (exit 3); /bin/true; echo last; kill -SEGV $$"


def dump(bench, trace, *what):
    run = bench.wet("dump", *what, trace)
    bench.check(run.status == 0, f"dump {what} of {trace}", run)
    return run.out.splitlines()


def tasks_of(bench, trace):
    """Where a program's interpreter was lost, it is named as it was mapped; so is no core seen."""
    return [re.sub(r" interp=.*", "", line) for line in dump(bench, trace, "--tasks")]


def time_of(line):
    return int(line.split()[0])


class Whole:
    """A recording that ended, in small blocks, and what it says."""

    def __init__(self, bench, name, program, *arguments):
        self.bench = bench
        self.name = name
        self.trace = bench.record(name, program, *arguments)
        for file in ("wetdbg.sums", "wetdbg.mark"):
            os.unlink(f"{self.trace}/{file}")
        reblock = bench.run(f"{bench.build}/tests/rr_trace/reblock", self.trace, str(BLOCK))
        bench.check(reblock.status == 0, "reblock", reblock)
        self.items = dump(bench, self.trace, "--events", "--registers", "--mmaps", "--data")
        self.tasks = tasks_of(bench, self.trace)
        self.last = time_of(self.items[-1])
        self.copies = 0

    def read(self, name):
        with open(f"{self.trace}/{name}", "rb") as file:
            return file.read()

    def blocks(self, name):
        """Where its blocks begin, and the end."""
        content, at, found = self.read(name), 0, [0]
        while at < len(content):
            at += 8 + struct.unpack_from("<I", content, at)[0]
            found.append(at)
        return found

    def cut(self, header=False, **contents):
        """A copy that was never finished, with streams of other contents; None: is missing."""
        self.copies += 1
        copy = self.bench.path(f"{self.name}.{self.copies}")
        os.mkdir(copy)
        for name in os.listdir(self.trace):
            if name not in contents and name != "version" and not name.endswith(".wet"):
                os.link(f"{self.trace}/{name}", f"{copy}/{name}")
        contents["incomplete"] = self.read("version") if header else b"85\n"
        for name, content in contents.items():
            if content is not None:
                with open(f"{copy}/{name}", "wb") as file:
                    file.write(content)
        return copy

    def told(self, run, what):
        """The last event that a notice names."""
        found = NOTICE.findall(run.err)
        self.bench.check(len(found) == 1, f"{what}: told {len(found)} times that it did not end", run)
        return int(found[0]) if found else 0

    def check_prefix(self, copy, what):
        """Returns the last event."""
        bench, items = self.bench, dump(self.bench, copy, "--events", "--registers", "--mmaps", "--data")
        last = self.told(bench.wet("dump", copy), what)
        expected = [item for item in self.items if time_of(item) <= last]
        bench.check(items == expected, f"{what}: events up to {last} are not as recorded")
        expected = [task for task in self.tasks if time_of(task) <= last]
        found = tasks_of(bench, copy)
        bench.check(found == expected, f"{what}: tasks\n" + "\n".join(found + ["instead of"] + expected))
        return last

    def check_ps(self, copy, last, what):
        run = self.bench.wet("ps", "--json", copy)
        listed = json.loads(run.out)
        self.told(run, what)
        self.bench.check(listed["unfinished"] is True and listed["last_event"] == last, f"{what}: ps", run)

    def replays(self, copy, what):
        """Returns the instructions; the first process's, that ran all the time."""
        first = self.bench.wet("ps", "--json", copy).objects()[0]["processes"][0]
        name = first["replaced"][0]["select"] if first["replaced"] else first["select"]
        run = self.bench.wet("replay", copy, "--no-trace", "--json", f"--process={name}")
        if not self.bench.check(run.status == 0, f"{what}: does not replay", run):
            return 0
        self.told(run, what)
        self.bench.check(run.objects()[0]["unfinished"] is True, f"{what}: JSON", run)
        return run.objects()[0]["instructions"]


def replay_whole(whole):
    run = whole.bench.wet("replay", whole.trace, "--no-trace", "--json",
                          "--process=" + whole.tasks[0].split("tid=")[1].split()[0])
    whole.bench.check(run.status == 0 and run.objects()[0]["unfinished"] is False, "the whole", run)
    return run.objects()[0]["instructions"]


def cut_points(whole, name):
    """(what, content): in a block, in its header, between two, with room that was never written, and with a
    last block whose bytes are not what they should be."""
    content, blocks = whole.read(name), whole.blocks(name)
    some = blocks[len(blocks) * 2 // 3] if len(blocks) > 3 else blocks[-1]
    after = next((at for at in blocks if at > some), len(content))
    yield "between blocks", content[:some]
    yield "in a block", content[:(some + after) // 2]
    yield "in a block's header", content[:min(some + 5, len(content))]
    yield "zeros at its end", content[:some] + bytes(3000)
    if after > some:
        yield "half a block written", content[:after - 30] + bytes(30)


def cuts(bench):
    whole = Whole(bench, "whole", "bash", "-c", SCRIPT)
    everything = replay_whole(whole)
    print(f"{whole.last} events, {everything} instructions of the shell")
    bench.check(all(len(whole.blocks(name)) > 6 for name in ("events", "data")), "too few blocks for cuts")
    for name in ("events", "data"):
        seen = set()
        for what, content in cut_points(whole, name):
            what = f"{name} cut: {what}"
            copy = whole.cut(**{name: content, "tasks": b""})
            last = whole.check_prefix(copy, what)
            seen.add(last)
            whole.check_ps(copy, last, what)
            some = whole.replays(copy, what)
            bench.check(0 < some < everything, f"{what}: {some} instructions of {everything}")
            bench.check(0 < last < whole.last, f"{what}: goes up to {last} of {whole.last}")
            print(f"{what}: up to event {last}, {some} instructions")
            shutil.rmtree(copy)
        bench.check(len(seen) > 0 and max(seen) > whole.last // 3, f"{name}: cut too early: {seen}")
    return whole, everything


def lost_records(whole, everything):
    """Records of tasks are made again from the events; mappings cannot be."""
    bench = whole.bench
    copy = whole.cut(tasks=b"")
    last = whole.check_prefix(copy, "no tasks at all")
    maps = [time_of(item) for item in whole.items if " mmap " in item]
    bench.check(last == maps[-1] - 1, f"no tasks: goes up to {last}, the last mapping is of {maps[-1]}")
    content, blocks = whole.read("mmaps"), whole.blocks("mmaps")
    copy = whole.cut(mmaps=content[:blocks[-2]])
    shorter = whole.check_prefix(copy, "mmaps cut")
    bench.check(0 < shorter < last, f"mmaps cut: goes up to {shorter}")
    whole.replays(copy, "mmaps cut")
    # rr gave up by itself: it wrote all that it had, and the header.
    copy = whole.cut(header=True)
    bench.check(whole.check_prefix(copy, "closed by rr") == whole.last, "closed by rr: goes not to the end")
    bench.check(whole.replays(copy, "closed by rr") == everything, "closed by rr: other instructions")


def traced(whole):
    """The trace of what is left answers like that of the whole."""
    bench = whole.bench
    content, blocks = whole.read("events"), whole.blocks("events")
    copy = whole.cut(events=content[:blocks[-3] + 100], tasks=b"")
    right = bench.wet("replay", whole.trace, "--batch", "-e", "output", "--process=bash#1")
    run = bench.wet("replay", copy, "--batch", "-e", "output", "--process=bash#1")
    shown = [line for line in run.out.splitlines() if line.startswith("time ")]
    bench.check(run.status == 0 and shown and right.out.find("\n".join(shown)) >= 0, "output of a cut one",
                run)
    bench.check(len(shown) > 2, "output of a cut one: too little", run)
    whole.told(run, "replay")
    bench.check("does not tell how it ended" in run.out, "its end is not said to be unknown", run)
    kept = [name for name in os.listdir(copy) if name.endswith(".wet")]
    verified = bench.wet("verify", f"{copy}/{kept[0]}")
    bench.check(verified.status == 0, "verify", verified)
    opened = bench.wet("open", f"{copy}/{kept[0]}", "--batch", "--json", "-e", "info")
    bench.check('"end":"unknown"' in opened.out, "open", opened)


def damage(whole):
    """What no cut explains is damage, and named."""
    bench = whole.bench
    for name in ("events", "data"):
        content, blocks = bytearray(whole.read(name)), whole.blocks(name)
        content[blocks[1] + 20] ^= 0x55
        content[blocks[1] + 40] ^= 0x55
        run = bench.wet("replay", whole.cut(**{name: bytes(content)}), "--no-trace")
        bench.check(run.status == 3 and f"/{name}: " in run.err and "offset" in run.err, f"{name} damaged", run)
    for name in STREAMS:
        run = bench.wet("replay", whole.cut(**{name: None}), "--no-trace")
        bench.check(run.status == 3 and "missing" in run.err and name in run.err and run.err.count("\n") == 1,
                    f"{name} missing", run)
    for name in ("events", "mmaps"):
        run = bench.wet("replay", whole.cut(**{name: b""}), "--no-trace")
        bench.check(run.status == 3 and "does not reach to a program's start" in run.err and
                    f"`{name}`" in run.err, f"nothing in {name}", run)


def all_kinds_of_tasks(bench):
    """Forks, vfork, threads, signals, and a thread that runs a program: all of that is in the events alone,
    but for the last."""
    whole = Whole(bench, "kinds", f"{bench.build}/tests/rr_trace/rr_trace_tasks")
    last = whole.check_prefix(whole.cut(tasks=b""), "all kinds of tasks")
    kinds = {task.split("what=")[1].split()[0] for task in whole.tasks if time_of(task) <= last}
    bench.check(kinds == {"clone", "exec", "exit"}, f"only {kinds} before event {last} of {whole.last}")
    content = whole.read("tasks")
    for cut in whole.blocks("tasks")[1:-1] or [0]:
        whole.check_prefix(whole.cut(tasks=content[:cut]), f"tasks cut at {cut}")


def killed(bench):
    """rr really is killed, while a shell writes lines and starts programs."""
    trace, written = bench.path("killed"), bench.path("written")
    script = "i=0; while :; do i=$((i+1)); echo line $i; case $i in *0) /bin/true;; esac; done"
    with open(written, "wb") as file:
        recorder = subprocess.Popen([bench.wetdbg, "record", "-o", trace, "--", "bash", "-c", script],
                                    env=bench.environment, stdout=file, stderr=subprocess.PIPE)
        patience = time.monotonic() + 120
        while time.monotonic() < patience and recorder.poll() is None:
            sizes = [os.path.getsize(f"{trace}/{name}") if os.path.exists(f"{trace}/{name}") else 0
                     for name in ("events", "mmaps", "data")]
            if all(sizes):
                break
            time.sleep(0.05)
        children = open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
        os.kill(int(children[0]), signal.SIGKILL)
        said = recorder.communicate(timeout=60)[1].decode()
    bench.check(recorder.returncode == 125 and "replays as far as it goes" in said, f"record said {said}")
    run = bench.wet("replay", trace, "--batch", "--process=bash#1", "-e", "output --limit 0")
    with open(written) as file:
        lines = file.read().splitlines()
    shown = re.findall(r'"(line \d+)\\n"$', run.out, re.M)
    bench.check(run.status == 0 and len(shown) > 20 and shown == lines[:len(shown)],
                "a recorder that was killed: its output is not what was written", run)
    print(f"killed: {len(shown)} of {len(lines)} lines are in the recording")


def test(bench, _arguments):
    whole, everything = cuts(bench)
    lost_records(whole, everything)
    traced(whole)
    damage(whole)
    all_kinds_of_tasks(bench)
    killed(bench)


if __name__ == "__main__":
    e2e.main(test)
