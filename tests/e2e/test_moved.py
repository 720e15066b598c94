#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_moved.py BUILD-DIRECTORY: recordings that were packed, moved or copied replay as they do in place.

The same recording where it was made is the oracle: instructions, exit, output, and what is said. What is not in
the recording's directory, and is gone or another, is named, with what to do about it."""
import os
import re
import shutil

import e2e


class Made:
    """A recording in place, and what it answers there."""

    def __init__(self, bench, name, program, directory=None):
        self.bench = bench
        self.program = program
        self.trace = bench.record(directory or name, self.program)
        first = self.answer(self.trace)
        self.instructions, self.output, self.said = first
        bench.check(not self.said, f"{name}: something is said in place: {self.said}")

    def answer(self, trace, *options):
        """(instructions, output and exit, what is said); None if it does not replay."""
        plain = self.bench.wet("replay", trace, "--no-trace", *options)
        found = re.search(r"(\d+) instructions", plain.out)
        if not self.bench.check(plain.status == 0 and found, f"{trace} does not replay", plain):
            return None
        wet = self.bench.path("answer.wet")
        built = self.bench.wet("replay", trace, "--batch", "-o", wet, "-e", "output", *options)
        self.bench.check(built.status == 0 and built.err == plain.err, f"{trace} is not traced", built)
        verified = self.bench.wet("verify", wet)
        self.bench.check(verified.status == 0, f"verify of {trace}", verified)
        return int(found.group(1)), built.out, plain.err

    def same(self, trace, what, says="", *options):
        """It answers as in place; `says`: what its notices, and only they, have to say."""
        found = self.answer(trace, *options)
        if not found:
            return
        self.bench.check(found[:2] == (self.instructions, self.output), f"{what}: other answers: {found}")
        self.bench.check(bool(found[2]) == bool(says) and says in found[2], f"{what}: says {found[2]!r}")

    def refused(self, trace, what, *words, status=3):
        run = self.bench.wet("replay", trace, "--no-trace")
        self.bench.check(run.status == status and run.err.count("\n") == 1 and
                         all(word in run.err for word in words), f"{what}: not refused by {words}", run)


def shell(bench, command):
    run = bench.run("sh", "-c", command)
    bench.check(run.status == 0, command, run)


def strip(trace):
    """As rr alone leaves it."""
    for name in ("wetdbg.sums", "wetdbg.mark"):
        os.unlink(f"{trace}/{name}")


def alter(path):
    """Another byte, another inode, the same size and time."""
    before = os.stat(path)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    content[len(content) // 2] ^= 1
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def moved(bench, made):
    place = made.trace
    there = bench.path("moved")
    os.rename(place, there)
    made.same(there, "moved")
    shell(bench, f"cp -r '{there}' '{bench.path('copied')}'")
    made.same(bench.path("copied"), "copied without times")
    shell(bench, f"tar -C '{bench.work}' -c moved | (mkdir '{bench.path('far')}'; tar -C '{bench.path('far')}' -x)")
    made.same(bench.path("far", "moved"), "through tar")
    os.rename(there, place)


def moved_of_rr(bench, made):
    """Without digests, size and time are all there is; a copy has lost the times of all files."""
    plain = bench.path("plain")
    shell(bench, f"cp -a '{made.trace}' '{plain}'")
    strip(plain)
    made.same(plain, "rr's own", "only size and time")
    shell(bench, f"cp -r '{plain}' '{bench.path('plain-copied')}'")
    made.same(bench.path("plain-copied"), "rr's own, copied without times", "only the size")
    links = sorted(name for name in os.listdir(plain) if name.startswith("mmap_hardlink_"))
    if bench.check(len(links) > 2, f"too few files were linked: {os.listdir(plain)}"):
        os.utime(f"{plain}/{links[-1]}", (1, 1))
        made.refused(plain, "one file with another time", links[-1], "has changed")


def packed(bench, made):
    for name, is_stripped in (("packed", False), ("packed-plain", True)):
        trace = bench.path(name)
        shell(bench, f"cp -a '{made.trace}' '{trace}'")
        if is_stripped:
            strip(trace)
        shell(bench, f"rr pack '{trace}' 2>/dev/null")
        files = [file for file in os.listdir(trace) if file.startswith("mmap_")]
        bench.check(files and not any(file.startswith("mmap_hardlink_") for file in files), f"not packed: {files}")
        made.same(trace, name, "only the size" if is_stripped else "was packed")
        if not is_stripped:
            made.same(trace, f"{name}, trusted", "", "--trust")
        shell(bench, f"cp -r '{trace}' '{trace}-copied'")
        made.same(f"{trace}-copied", f"{name}, copied", "only the size" if is_stripped else "was packed")
    trace = bench.path("packed-copied")
    own = next(name for name in os.listdir(trace) if "mmap_pack_" in name and "libc.so" in name)
    alter(f"{trace}/{own}")
    made.refused(trace, "a packed file was altered", own, "is not as it was recorded")
    trace = bench.path("packed")
    alter(f"{trace}/events")
    made.refused(trace, "events of a packed one were altered", f"{trace}/events")


def outside(bench, made, place):
    """On another file system rr links nothing, and names files by their paths."""
    shell(bench, f"cp -a '{made.trace}' '{place}/packed'; rr pack '{place}/packed' 2>/dev/null")
    shell(bench, f"cp -r '{made.trace}' '{bench.path('back')}'")
    made.same(bench.path("back"), "moved to another file system")
    strip_of = bench.path("back-plain")
    shell(bench, f"cp -a '{bench.path('back')}' '{strip_of}'")
    strip(strip_of)
    made.same(strip_of, "rr's own, with files outside", "only size and time")
    with open(made.program, "rb") as file:
        content = file.read()
    alter(made.program)
    made.refused(bench.path("back"), "a file outside was altered", made.program, "checksum differs", "rr pack")
    os.utime(made.program, (1, 1))
    made.refused(strip_of, "a file outside has another time", made.program, "has changed", "rr pack")
    os.unlink(made.program)
    for trace in (bench.path("back"), strip_of):
        made.refused(trace, "a file outside is gone", made.program, "No such file", "rr pack")
    made.same(f"{place}/packed", "packed before", "was packed")
    with open(made.program, "wb") as file:
        file.write(content)
    os.chmod(made.program, 0o755)
    made.same(bench.path("back"), "the file is back")


def other_file_system(bench):
    for place in ("/dev/shm", "/run", "/var/tmp"):
        if os.access(place, os.W_OK) and os.stat(place).st_dev != os.stat(bench.work).st_dev:
            return place
    return None


def place_of_program(bench, beyond):
    """On another file system than the recording. Of what is in /tmp rr makes a copy, wherever that is."""
    for place in (bench.programs, "/var/tmp"):
        if not os.path.realpath(place).startswith("/tmp/") and os.stat(place).st_dev != os.stat(beyond).st_dev:
            return place
    return None


def test(bench, _arguments):
    made = Made(bench, "made", bench.near(f"{bench.programs}/fault_verify_O0"))
    print(f"{made.instructions} instructions in place")
    moved(bench, made)
    moved_of_rr(bench, made)
    packed(bench, made)
    beyond = other_file_system(bench)
    home = place_of_program(bench, beyond) if beyond else None
    if not home:
        print("SKIPPED: test_moved: there are no two file systems, one for a program and one to record on")
        return
    place = f"{beyond}/wetdbg-moved-{os.getpid()}"
    program = f"{home}/wetdbg-moved-{os.getpid()}"
    os.mkdir(place)
    shutil.copy(f"{bench.programs}/fault_verify_O0", program)
    try:
        outside(bench, Made(bench, "outside", program, f"{place}/made"), place)
    finally:
        shutil.rmtree(place)
        if os.path.exists(program):
            os.unlink(program)


if __name__ == "__main__":
    e2e.main(test)
