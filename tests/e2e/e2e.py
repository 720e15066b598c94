# SPDX-License-Identifier: GPL-3.0-or-later
"""What the end-to-end tests share: they run the installed command as a user would, and read its answers.

A test makes one Bench: a scratch directory with homes of its own, so that no recording of the user is seen
or touched, and a list of what went wrong. `bench.finish()` ends the test: 1 if anything did."""
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = f"{SOURCE}/tests/programs"
# A test that hangs is told by name here, before ctest ends the whole script.
PATIENCE_SECONDS = int(os.environ.get("WETDBG_PATIENCE", "60"))


class Run:
    """What a command that ended left: status (negative: the signal), out and err as text."""

    def __init__(self, command, status, out, err, seconds):
        self.command = command
        self.status = status
        self.out = out
        self.err = err
        self.seconds = seconds

    def objects(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self):
        shown = " ".join(shlex.quote(word if isinstance(word, str) else repr(word)) for word in self.command)
        return f"$ {shown}\nstatus {self.status}\n{self.out[-2000:]}{self.err[-2000:]}"


class Bench:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.wetdbg = f"{self.build}/dbgcli/wetdbg"
        self.programs = f"{self.build}/tests/programs"
        self.work = tempfile.mkdtemp(prefix="wetdbg-e2e-")
        self.failures = []
        self.environment = dict(os.environ, HOME=self.path("home"), XDG_DATA_HOME=self.path("data"),
                                XDG_CACHE_HOME=self.path("cache"), LC_ALL="C")
        self.environment.pop("_RR_TRACE_DIR", None)
        os.mkdir(self.path("home"))

    def path(self, *names):
        return os.path.join(self.work, *names)

    def near(self, program):
        """A copy on the file system of the recordings: rr links the file into a recording only then."""
        return shutil.copy(program, self.work)

    def run(self, *command, stdin=None, patience=PATIENCE_SECONDS, **how):
        """Never raises for what the command does; a hang is a failure with status None."""
        how.setdefault("env", self.environment)
        how.setdefault("cwd", self.work)
        begin = time.monotonic()
        with open(stdin or os.devnull, "rb") as given:
            child = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, start_new_session=True, **how)
            try:
                out, err = child.communicate(timeout=patience)
                status = child.returncode
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                out, err = child.communicate()
                status = None
        run = Run(command, status, out.decode(errors="replace"), err.decode(errors="replace"),
                  time.monotonic() - begin)
        if status is None:
            self.fail(f"no end after {patience} s", run)
        return run

    def wet(self, *arguments, **how):
        return self.run(self.wetdbg, *arguments, **how)

    def record(self, directory, program, *arguments, stdin=None):
        """Records; the program may end as it likes. The recording's directory."""
        run = self.wet("record", "-o", self.path(directory), "--", program, *arguments, stdin=stdin)
        if run.status == 125 or not os.path.exists(self.path(directory, "version")):
            self.fail(f"{program} was not recorded", run)
            raise SystemExit(self.finish())
        return self.path(directory)

    def check(self, holds, what, run=None):
        if not holds:
            self.fail(what, run)
        return bool(holds)

    def fail(self, what, run=None):
        self.failures.append(what)
        print(f"FAILED: {what}" + (f"\n{run}" if run else ""), flush=True)

    def finish(self):
        # Recordings may hold directories that were made read-only.
        for directory, _, _ in os.walk(self.work):
            os.chmod(directory, 0o700)
        shutil.rmtree(self.work, ignore_errors=True)
        for what in self.failures:
            print(f"failed: {what}")
        print(f"{len(self.failures)} failures" if self.failures else "all as it should be")
        return 1 if self.failures else 0


class Prompt:
    """The command, or another program, at a terminal of 24 lines; a dumb one, unless it is called otherwise."""

    def __init__(self, bench, *arguments, program=None, columns=80, **environment):
        self.bench = bench
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(program or bench.wetdbg, [program or bench.wetdbg, *arguments],
                      dict(bench.environment, **{"TERM": "dumb", **environment}))

    def read_until(self, pattern, patience=60):
        """What came up to and including the pattern; None at the end or after too long."""
        end = time.monotonic() + patience
        while not (found := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.fd, 65536) if ready else b""
            except OSError:
                more = b""
            if not more:
                self.bench.fail(f"no {pattern!r} came; the end is {self.text[-300:]!r}")
                return None
            self.text += more.decode(errors="replace")
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def read_some(self, patience=60):
        """What comes next; empty at the end."""
        try:
            ready, _, _ = select.select([self.fd], [], [], patience)
            return os.read(self.fd, 65536).decode(errors="replace") if ready else ""
        except OSError:
            return ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        """The exit status."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                ready, _, _ = select.select([self.fd], [], [], 0.1)
                if ready and not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def hash_file(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def base_name(path):
    return path.rsplit("/", 1)[-1] if path else None


class Fault:
    """A row of tests/programs/faults.tsv."""

    def __init__(self, row):
        self.program, arguments, stdin, self.kind, status, self.criterion, self.file = row
        self.arguments = [] if arguments == "-" else shlex.split(arguments)
        self.stdin = None if stdin == "-" else f"{PROGRAMS}/data/{stdin}"
        with open(f"{PROGRAMS}/faults/{self.file}") as source:
            marked = [number for number, text in enumerate(source, 1) if "/* FAULT" in text]
        assert len(marked) == 1, f"{self.file}: {len(marked)} lines are marked"
        self.line = marked[0]


def faults():
    with open(f"{PROGRAMS}/faults.tsv") as table:
        rows = [line.rstrip("\n").split("\t") for line in table
                if line.strip() and not line.startswith("#")]
    assert rows, "faults.tsv is empty"
    return [Fault(row) for row in rows]


def weights():
    """The table of locate/weights.h, without passing runs, and the constants below it."""
    with open(os.path.join(SOURCE, "locate", "weights.h")) as file:
        text = file.read()
    rows = re.findall(r'\{"(\w+)", (-?[\d.]+), (-?[\d.]+)\}', text)
    constants = dict(re.findall(r"#define (LOC_\w+) +([\d.]+)", text))
    return {name: float(alone) for name, alone, _ in rows}, {name: float(value) for name, value in constants.items()}


def main(run_test):
    """For scripts whose first argument is the build directory."""
    if len(sys.argv) < 2:
        print(f"usage: {sys.argv[0]} BUILD-DIRECTORY [ARGUMENT]...", file=sys.stderr)
        raise SystemExit(2)
    bench = Bench(sys.argv[1])
    try:
        run_test(bench, sys.argv[2:])
    except BaseException:
        bench.failures.append("the test itself ended early")
        bench.finish()
        raise
    raise SystemExit(bench.finish())
