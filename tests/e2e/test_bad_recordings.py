#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_bad_recordings.py BUILD-DIRECTORY [FLIPS [SEED]]: recordings that are damaged, unfinished or absent.

A replay of each ends with status 3 or 4 and one line on stderr that names what and where; or with 0 if the
damage changes nothing, which the number of instructions must confirm. Nothing that existed is changed, nothing
new is left behind, and no signal ends anything."""
import os
import random
import re
import shutil
import subprocess
import time

import e2e

PROGRAM = "fault_verify_O0"
STREAMS = ("events", "tasks", "mmaps", "data")
WHERE = re.compile(r"event \d|frame \d|offset \d|0x[0-9a-f]+|instruction \d")


class Damage:
    """One recording, and copies of it with one file changed."""

    def __init__(self, bench):
        self.bench = bench
        self.whole = bench.record("whole", bench.near(f"{bench.programs}/{PROGRAM}"))
        self.instructions = self.count(bench.wet("replay", self.whole, "--no-trace"))
        self.kept = bench.path("kept", "old.wet")
        os.mkdir(os.path.dirname(self.kept))
        self.copies = 0
        self.seen = {}
        if bench.wet("replay", self.whole, "--batch", "-o", self.kept).status != 0:
            bench.fail("the undamaged recording does not replay")
        self.kept_hash = e2e.hash_file(self.kept)

    @staticmethod
    def count(run):
        found = re.search(r"(\d+) instructions", run.out)
        return int(found.group(1)) if found else None

    def copy(self):
        """Hard links: files are to be replaced in it, never written to (some are the system's own)."""
        self.copies += 1
        copy = self.bench.path(f"copy{self.copies}")
        os.mkdir(copy)
        for name in os.listdir(self.whole):
            if not name.endswith(".wet"):
                os.link(f"{self.whole}/{name}", f"{copy}/{name}")
        return copy

    def read(self, name):
        with open(f"{self.whole}/{name}", "rb") as file:
            return file.read()

    def try_bytes(self, name, content, what, keep=False):
        """A copy in which the file holds `content`; None: is missing."""
        copy = self.copy()
        os.unlink(f"{copy}/{name}")
        if content is not None:
            with open(f"{copy}/{name}", "wb") as file:
                file.write(content)
        self.try_copy(copy, f"{name} {what}", keep)
        shutil.rmtree(copy)

    def try_copy(self, copy, what, keep=False):
        command = ["replay", copy, "--no-trace"]
        if keep:
            command = ["replay", copy, "--batch", "-o", self.kept]
        run = self.bench.wet(*command)
        self.judge(run, copy, what)
        if run.status:
            self.bench.check(e2e.hash_file(self.kept) == self.kept_hash, f"{what}: {self.kept} changed",
                             run)
        self.kept_hash = e2e.hash_file(self.kept)
        self.bench.check(os.listdir(os.path.dirname(self.kept)) == ["old.wet"],
                         f"{what}: something is left behind", run)
        self.bench.check(not any(name.endswith(".wet") for name in os.listdir(copy)),
                         f"{what}: something is left in the recording", run)

    def judge(self, run, copy, what, instructions=None):
        bench, lines = self.bench, run.err.splitlines()
        message = lines[0].replace(copy, "TRACE") if lines else ""
        self.seen.setdefault((run.status, re.sub(r"0x[0-9a-f]+|\d+", "N", message)), []).append(what)
        if run.status == 0:
            bench.check(self.count(run) == (instructions or self.instructions),
                        f"{what}: another number of instructions", run)
            bench.check(not lines, f"{what}: complains although all is well", run)
            return
        bench.check(run.status in (3, 4), f"{what}: status {run.status}", run)
        if bench.check(len(lines) == 1 and lines[0].startswith("wetdbg: "), f"{what}: not one line", run):
            bench.check("TRACE" in message or WHERE.search(message), f"{what}: does not say where", run)
            bench.check(bench.work not in message.replace(copy, ""), f"{what}: names another file", run)

    def show(self):
        for (status, message), whats in sorted(self.seen.items(), key=lambda item: str(item[0])):
            print(f"{len(whats):4}x status {status}  {message or '(as recorded)'}   e.g. {whats[0]}")


def absent(damage):
    bench = damage.bench
    for what in ("nowhere", bench.path("nowhere")):
        run = bench.wet("replay", what)
        bench.check(run.status in (1, 3) and run.err.count("\n") == 1 and what in run.err,
                    f"no recording {what}", run)
    place = bench.path("empty")
    os.mkdir(place)
    run = bench.wet("replay", place)
    bench.check(run.status == 2 and run.err == f"wetdbg: {place} is not a trace directory\n",
                "a directory that is no recording", run)
    for name in ("version", "incomplete", "events"):
        place = bench.path(f"only-{name}")
        os.mkdir(place)
        open(f"{place}/{name}", "w").close()
        damage.try_copy(place, f"directory with {name} only")
        damage.try_copy(f"{place}/", f"directory with {name} only, as DIRECTORY/")
    copy = damage.copy()
    os.rename(f"{copy}/version", f"{copy}/incomplete")
    damage.try_copy(copy, "version is still called incomplete")
    nothing = dict(bench.environment, XDG_DATA_HOME=bench.path("void"), HOME=bench.path("void"))
    for environment in (nothing, dict(nothing, _RR_TRACE_DIR=bench.path("void"))):
        run = bench.wet("replay", env=environment)
        bench.check(run.status == 1 and "no recording" in run.err and run.err.count("\n") == 1,
                    "replay without any recording", run)


def versions(damage):
    version = damage.read("version")
    other = re.sub(rb"^\d+", lambda number: b"%d" % (int(number.group()) - 1), version)
    assert other != version
    damage.try_bytes("version", other, "of an older rr", keep=True)
    damage.try_bytes("version", b"99999" + version[version.index(b"\n"):], "of a newer rr")
    damage.try_bytes("version", b"", "empty")
    damage.try_bytes("version", None, "missing")
    damage.try_bytes("version", b"eighty-five\n", "is text")
    for part in (1, 3, len(version) // 2, len(version) - 1):
        damage.try_bytes("version", version[:part], f"cut off at {part}")


def streams(damage):
    for name in STREAMS:
        whole = damage.read(name)
        damage.try_bytes(name, None, "missing", keep=True)
        damage.try_bytes(name, b"", "empty")
        for part in (1, 7, 8, 9, len(whole) // 3, len(whole) // 2, len(whole) - 1):
            damage.try_bytes(name, whole[:part], f"cut off at {part} of {len(whole)}")
        damage.try_bytes(name, whole[:len(whole) // 2], "cut in half, with -o", keep=True)
        damage.try_bytes(name, whole + b"\0", "with a byte more")
        damage.try_bytes(name, whole + whole, "twice")
        damage.try_bytes(name, bytes(len(whole)), "all zero")
    for name in STREAMS:
        other = STREAMS[(STREAMS.index(name) + 1) % len(STREAMS)]
        damage.try_bytes(name, damage.read(other), f"is {other}")


def flips(damage, count, seed):
    print(f"{count} flipped bits, seed {seed}")
    chance = random.Random(seed)
    for number in range(count):
        name = (*STREAMS, "version")[number % 5]
        content = bytearray(damage.read(name))
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        content[at] ^= 1 << bit
        damage.try_bytes(name, bytes(content), f"bit {bit} of byte {at}", keep=number % 8 == 0)


def backing_files(damage):
    """The files that the program mapped, of which the recording has copies or links."""
    backing = sorted(name for name in os.listdir(damage.whole) if name.startswith("mmap_"))
    damage.bench.check(any(PROGRAM in name for name in backing), f"which file is the program? {backing}")
    for name in backing:
        damage.try_bytes(name, None, "missing")
        damage.try_bytes(name, b"", "empty")
        damage.try_bytes(name, damage.read(name)[:4096], "cut off")


def changed_program(damage):
    """The program itself, after it was recorded: rewritten in place, replaced, deleted."""
    bench = damage.bench
    for how in ("rewritten", "replaced", "deleted"):
        program = bench.path(f"program.{how}")
        shutil.copy(f"{bench.programs}/{PROGRAM}", program)
        trace = bench.record(f"trace.{how}", program)
        before = damage.count(bench.wet("replay", trace, "--no-trace"))
        if how != "rewritten":
            os.unlink(program)
        if how != "deleted":
            shutil.copy(f"{bench.programs}/fault_symtab_O0", program)
        run = bench.wet("replay", trace, "--no-trace")
        damage.judge(run, trace, f"program {how} after it was recorded", before)


def running(damage):
    bench = damage.bench
    trace = bench.path("running")
    recorder = subprocess.Popen([bench.wetdbg, "record", "-o", trace, "--", "sleep", "5"],
                                env=bench.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while recorder.poll() is None and not os.path.exists(f"{trace}/incomplete"):
        time.sleep(0.05)
    early = bench.wet("replay", trace)
    still = recorder.poll() is None
    recorder.wait(timeout=60)
    bench.check(still, "the recording ended too soon for the test")
    damage.judge(early, trace, "recording that is still running")
    bench.check("record" in early.err, "it is not said that the recording is still running", early)
    bench.check(early.status == 3, "a running recording: status", early)
    late = bench.wet("replay", trace, "--no-trace")
    bench.check(late.status == 0, "after its end it replays", late)


def test(bench, arguments):
    damage = Damage(bench)
    print(f"{PROGRAM}: {damage.instructions} instructions")
    absent(damage)
    versions(damage)
    streams(damage)
    backing_files(damage)
    changed_program(damage)
    running(damage)
    flips(damage, int(arguments[0]) if arguments else 40,
          int(arguments[1]) if len(arguments) > 1 else random.SystemRandom().randrange(1 << 32))
    damage.show()


if __name__ == "__main__":
    e2e.main(test)
