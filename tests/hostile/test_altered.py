#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_altered.py BUILD-DIRECTORY: recordings and .wet files whose program somebody has changed, with all digests and
checksums right again. Whatever such a program tries, every command ends in time, with one clear sentence or with
an answer, and nobody comes to harm: a process nearby lives, a file nearby stays as it was, no child is left, and
the command takes no absurd amount of memory.

Without the wall (--trust) the program really takes over its replay: native code of the attacker's choice runs there,
which finds out what a system call gets it."""
import ctypes
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e  # noqa: E402

AREA = 0x200000000000  # the agent's, without a wall and with it (recorder/replay/host.c)
WALLED_AREA = AREA + (64 << 20) + (2 << 30)
PLACE = 0x30000000
PATIENCE = 20
MEMORY_KIB = 1 << 20
STATUSES = (3, 4, 5, 130)
NOTICE = "was not made here, or was altered since: what was recorded runs behind a wall"
PR_SET_CHILD_SUBREAPER = 36

# The program's parts (chained.S).
CONSTANTS = [b"\x48\xb8WAcons%d0" % n for n in range(1, 6)]
ADDRESS = b"\x48\xba" + struct.pack("<Q", PLACE)
VALUE = b"\x48\xb9WreValue"
CALL = b"\xb8\x27\0\0\0\x66\x90\xbfWDiD\xbeWEiE\xbaWFiF"
LOOP = b"\xeb\xfe"


def call(number, first=0x44694457, second=0x45694557, third=0x46694657, nop=b"\x66\x90"):
    """getpid() becomes another call."""
    return CALL, (b"\xb8" + struct.pack("<I", number) + nop + b"\xbf" + struct.pack("<I", first) + b"\xbe"
                  + struct.pack("<I", second) + b"\xba" + struct.pack("<I", third))


def store(address, value):
    return [(ADDRESS, b"\x48\xba" + struct.pack("<Q", address)), (VALUE, b"\x48\xb9" + struct.pack("<Q", value))]


def native(number, first, second, third):
    """Constants that are code, each of which jumps over the instruction that the next one is in."""
    moves = [(b"\xb8", number), (b"\xbf", first), (b"\xbe", second), (b"\xba", third)]
    code = [byte + struct.pack("<I", value & 0xffffffff) + b"\xeb\x03\x90" for byte, value in moves]
    code.append(b"\x0f\x05" + LOOP + b"\x90" * 4)
    return [(CONSTANTS[n], b"\x48\xb8" + bytes_) for n, bytes_ in enumerate(code)]


class Attack:
    def __init__(self, bench):
        self.bench = bench
        self.alter = f"{bench.build}/tests/hostile/hostile_alter"
        self.canary = subprocess.Popen(["sleep", "1000"])
        self.file = bench.path("canary")
        with open(self.file, "w") as file:
            file.write("untouched\n")
        self.file_as_it_was = self.look_at_file()
        self.exit_off, self.turn_off, self.args_off = map(
            int, subprocess.run([self.alter, "offsets"], check=True, stdout=subprocess.PIPE).stdout.split())
        self.seen = {}
        self.copies = 0

    def look_at_file(self):
        status = os.stat(self.file)
        with open(self.file) as file:
            return file.read(), status.st_mode, status.st_mtime_ns, status.st_ino

    # ---- altered files

    def make(self, name, *program):
        trace = self.bench.record(name, self.bench.near(program[0]), *program[1:])
        wet = self.bench.path(f"{name}.wet")
        run = self.bench.wet("replay", trace, "--batch", "-o", wet)
        self.bench.check(run.status == 0, f"{name} is good", run)
        return trace, wet

    def changed(self, kind, path, changes):
        self.copies += 1
        copy = self.bench.path(f"{self.copies}.{kind}")
        subprocess.run(["cp", "-a", path, copy], check=True)
        words = [f"{old.hex()}={new.hex()}" for old, new in changes]
        subprocess.run([self.alter, kind, copy, *words], check=True)
        return copy

    # ---- one command, and what must not have come of it

    def start(self, *arguments):
        with open(self.bench.path("out"), "wb") as out, open(self.bench.path("err"), "wb") as err:
            return subprocess.Popen([self.bench.wetdbg, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                    env=self.bench.environment, cwd=self.bench.work, start_new_session=True)

    def written(self, name):
        with open(self.bench.path(name), errors="replace") as file:
            return file.read()

    def end(self, child, what, interrupt_after=None):
        """(status, stderr): the process is waited for with what it used."""
        begin, usage, is_interrupted = time.monotonic(), None, False
        while usage is None and time.monotonic() - begin < PATIENCE:
            pid, status, usage_now = os.wait4(child.pid, os.WNOHANG)
            usage = usage_now if pid else None
            if interrupt_after and not is_interrupted and time.monotonic() - begin > interrupt_after:
                is_interrupted = True
                os.kill(child.pid, signal.SIGINT)
            time.sleep(0.005)
        if usage is None:
            self.bench.fail(f"{what}: no end after {PATIENCE} s")
            os.kill(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.check_harm(what, usage)
        self.bench.check("\x1b" not in self.written("out") + self.written("err"), f"{what}: speaks to the terminal")
        return e2e.Run(child.args, child.returncode, self.written("out"), self.written("err"),
                       time.monotonic() - begin)

    def children(self):
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(word) for word in file.read().split() if int(word) != self.canary.pid]

    def check_harm(self, what, usage):
        bench = self.bench
        end = time.monotonic() + 2
        while self.children() and time.monotonic() < end:
            for pid in self.children():
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
            time.sleep(0.005)
        bench.check(not self.children(), f"{what}: children are left")
        bench.check(self.canary.poll() is None, f"{what}: another process was ended")
        bench.check(self.look_at_file() == self.file_as_it_was, f"{what}: a file was changed")
        bench.check(usage.ru_maxrss < MEMORY_KIB, f"{what}: {usage.ru_maxrss} KiB of memory")

    def judge(self, what, run, words=None, may_succeed=False):
        """A sentence, with the words in it if given; an answer if that may be."""
        lines = [line for line in run.err.splitlines() if NOTICE not in line]
        self.seen.setdefault(lines[0] if lines else "(an answer)", []).append(what)
        if may_succeed and run.status in (0, 1):
            return
        self.bench.check(run.status in STATUSES, f"{what}: status {run.status}", run)
        self.bench.check(len(lines) == 1 and lines[0].startswith("wetdbg: "), f"{what}: not one line", run)
        if words:
            self.bench.check(re.search(words, run.err), f"{what}: does not say {words!r}", run)

    def command(self, what, *arguments, words=None, may_succeed=False, interrupt_after=None):
        run = self.end(self.start(*arguments), what, interrupt_after)
        self.judge(what, run, words, may_succeed)

    # ---- the whole of it

    QUESTIONS = ("slice backward exit --instances", "search 1")

    def recording(self, what, trace, changes, words=None):
        copy = self.changed("recording", trace, changes)
        self.command(f"{what}: replay", "replay", copy, "--no-trace", words=words)
        wet = self.bench.path("built.wet")
        self.command(f"{what}: build", "replay", copy, "--batch", "-o", wet, words=words)
        self.bench.check(not os.path.exists(wet), f"{what}: a .wet of it is there")
        return copy

    def wet(self, what, wet, changes, is_sound=False):
        copy = self.changed("wet", wet, changes)
        for question in self.QUESTIONS:
            self.command(f"{what}: {question}", "open", copy, "--batch", "-e", question, may_succeed=True)
        run = self.end(self.start("verify", "--deep", copy), f"{what}: verify")
        self.bench.check(run.status == (3 if changes and not is_sound else 0) and not run.err, f"{what}: verify", run)


def from_data(attack):
    """The program stores what it read where it read; what it read is another."""
    pairs = attack.bench.path("pairs")
    before = [(PLACE + 8 * n, 0x57415061697200 + n) for n in range(4)]
    with open(pairs, "wb") as file:
        file.write(b"".join(struct.pack("<QQ", *pair) for pair in before))
    trace, wet = attack.make("stores", f"{attack.bench.build}/tests/replay/replay_stores", pairs)
    rows = [("context", WALLED_AREA + attack.exit_off, 0x400000), ("mailbox", WALLED_AREA + attack.args_off,
                                                                  attack.canary.pid),
            ("wall", WALLED_AREA - 4096, 0), ("agent", WALLED_AREA + 0x4c400000, 0xfeeb)]
    for name, address, value in rows:
        changes = [(struct.pack("<QQ", *before[1]), struct.pack("<QQ", address, value))]
        attack.recording(f"data, {name}", trace, changes, "a fault|signal")
        attack.wet(f"data, {name}", wet, changes)


def from_code(attack, trace, wet):
    """The program's code is another."""
    jump = open(f"{attack.bench.build}/tests/hostile/hostile_chained", "rb").read()
    at = jump.index(b"\xff\xe6") - 8
    target = jump[at - 2:at + 10]
    to = [("context", store(WALLED_AREA + attack.exit_off, 0x400000)),
          ("turn", store(WALLED_AREA + attack.turn_off, 1)),
          ("kernel", store(0xffff800000000000, 1))]
    to += [(f"jump to {goal:#x}", [(target, b"\x48\xbe" + struct.pack("<Q", goal) + b"\xff\xe6")])
           for goal in (WALLED_AREA + 0x4c400000, AREA + 0x4c400000, 0x10000000, 0x14000000, 0x18000010, PLACE,
                        1 << 63)]
    to += [("kill", [call(62, attack.canary.pid, 9)]), ("clone", [call(56, 0x11, 0)]),
           ("mmap of the code file", [call(9, 0, 4096, 7)]), ("a call too many", [call(39, nop=b"\x0f\x05")]),
           ("exit", [call(231, 3)])]
    attack.wet("names", wet, [(b"hostile_chained", b"a\\u001b[31mxyzw")], is_sound=True)
    for name, changes in to:
        attack.recording(name, trace, changes)
        attack.wet(name, wet, changes)


def looping(attack, trace, wet):
    """The program never ends: who asks can interrupt."""
    changes = [call(39, nop=LOOP)]
    copy = attack.changed("recording", trace, changes)
    attack.command("loop: replay", "replay", copy, "--no-trace", words="interrupted", interrupt_after=0.5,
                   may_succeed=False)
    copy = attack.changed("wet", wet, changes)
    attack.command("loop: slice", "open", copy, "--batch", "-e", "slice backward exit", interrupt_after=0.5,
                   may_succeed=True)
    return changes


# ---- without the wall


def where_constants_are(attack, trace):
    """The address of the first constant in translated code, which is the same every time."""
    copy = attack.changed("recording", trace, [call(39, nop=LOOP)])
    child = attack.start("replay", copy, "--no-trace", "--trust")
    found, end = None, time.monotonic() + 5
    while not found and time.monotonic() < end:
        time.sleep(0.05)
        with open(f"/proc/{child.pid}/task/{child.pid}/children") as file:
            pids = file.read().split()
        found = next((at for at in map(constant_in, pids) if at), None)
    os.kill(child.pid, signal.SIGKILL)
    attack.end(child, "looking for constants")
    return found


def constant_in(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
            for line in maps:
                bounds, protection = line.split()[:2]
                if "x" not in protection or "wetdbg-code" not in line:
                    continue
                start, stop = (int(word, 16) for word in bounds.split("-"))
                memory.seek(start)
                at = memory.read(stop - start).find(CONSTANTS[0])
                if at >= 0:
                    return start + at + 2
    except OSError:
        pass
    return None


def native_code(attack, trace):
    at = where_constants_are(attack, trace)
    if not at:
        print("SKIPPED: hostile_altered, native code: translated code cannot be looked at here")
        return
    canary = attack.canary.pid
    calls = [("kill", 62, canary, 9, 0), ("tkill", 200, canary, 9, 0), ("clone", 56, 0x11, 0, 0),
             ("clone of a sibling", 56, 0x8011, 0, 0), ("fork", 57, 0, 0, 0), ("clone3", 435, at, 88, 0),
             ("mmap to run", 9, 0, 4096, 7), ("mprotect to run", 10, 0x401000, 4096, 7), ("ptrace", 101, 16, canary, 0),
             ("process_vm_writev", 311, canary, at, 1), ("pidfd_open", 434, canary, 0, 0),
             ("open", 2, at, 1, 0), ("socket", 41, 1, 1, 0), ("io_uring_setup", 425, 1, at, 0),
             ("userfaultfd", 323, 0, 0, 0), ("memfd_create", 319, at, 0, 0), ("prlimit", 302, canary, 7, at),
             ("setpgid", 109, 0, 0, 0), ("execve", 59, at, 0, 0), ("seccomp", 317, 1, 0, at)]
    for name, number, *arguments in calls:
        changes = native(number, *arguments) + store(AREA + attack.exit_off, at)
        copy = attack.changed("recording", trace, changes)
        attack.command(f"native {name}: replay --trust", "replay", copy, "--no-trace", "--trust",
                       words=r"killed by signal 31|unasked")
        attack.command(f"native {name}: replay", "replay", copy, "--no-trace")
    # What does run: it makes an end of it, or of nothing.
    for name, number, *arguments in (("exit_group", 231, 0, 0, 0), ("munmap of all", 11, 0, 0x7fffffff, 0),
                                     ("a futex nobody wakes", 202, AREA, 0, 0)):
        changes = native(number, *arguments) + store(AREA + attack.exit_off, at)
        copy = attack.changed("recording", trace, changes)
        attack.command(f"native {name}: replay --trust", "replay", copy, "--no-trace", "--trust", interrupt_after=1)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    bench = e2e.Bench(sys.argv[1])
    attack = Attack(bench)
    begin = time.monotonic()
    try:
        trace, wet = attack.make("chained", f"{bench.build}/tests/hostile/hostile_chained")
        attack.wet("nothing", wet, [])
        from_data(attack)
        from_code(attack, trace, wet)
        looping(attack, trace, wet)
        native_code(attack, trace)
    finally:
        attack.canary.kill()
        attack.canary.wait()
    for message, whats in sorted(attack.seen.items()):
        print(f"{len(whats):4}x {message.replace(bench.work, 'WORK')}   e.g. {whats[0]}")
    print(f"{time.monotonic() - begin:.1f} s")
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
