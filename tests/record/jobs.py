# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of a shell on a terminal: each row natively and under `wetdbg record`; what the shell sees
and what the program says must be the same, and the recording must replay.

    jobs.py WETDBG GUEST [ROW...]

The shell is a process of ours that leads the terminal's session, as a shell does: it puts the job
into a process group of its own, in the foreground unless the row begins with `&`, and takes the
terminal back when the job stops.
"""
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECONDS_MAX = 60
KEYS = {"^C": b"\x03", "^Z": b"\x1a", "^\\": b"\x1c", "line": b"hello\n"}

# name, words for the guest, what is done. A step that begins with a lower-case letter waits for
# what the shell sees (`stopped`) or the program says; `KILL` and `GROUP` send a signal to the job's
# process or to its group, `ONE` continues the process alone.
ROWS = [
    ("ctrl-c", "", "ready ^C"),
    ("ctrl-c in a computation", "spin", "ready ^C"),
    ("ctrl-c that is ignored", "ignore", "ready ^C PAUSE ^C PAUSE ^\\"),
    ("ctrl-c that is handled", "handle", "ready ^C got_02 ^C got_02 KILL:SIGKILL"),
    ("ctrl-backslash", "", "ready ^\\"),
    ("ctrl-z, fg, ctrl-c", "", "ready ^Z stopped FG PAUSE ^C"),
    ("ctrl-z twice", "", "ready ^Z stopped FG PAUSE ^Z stopped FG PAUSE ^C"),
    ("ctrl-z in a computation", "spin", "ready ^Z stopped FG PAUSE ^C"),
    ("ctrl-z with threads", "threads", "ready ^Z stopped FG PAUSE ^C"),
    ("ctrl-z, bg, end", "", "ready ^Z stopped BG PAUSE GROUP:SIGTERM"),
    ("ctrl-z that is handled", "handle", "ready ^Z got_20 ^\\ got_03 KILL:SIGKILL"),
    ("stops itself by SIGTSTP", "tstp", "stopped FG"),
    ("stops itself by SIGSTOP", "stop", "stopped FG"),
    ("stops itself, is continued alone", "tstp", "stopped ONE"),
    ("background, reads", "& read", "stopped FG PAUSE line"),
    ("background, writes", "& write", "stopped FG ready ^C"),
    ("no shell to continue it", "! tstp", ""),
    ("SIGTERM", "", "ready KILL:SIGTERM"),
    ("SIGHUP", "", "ready KILL:SIGHUP"),
    ("SIGQUIT", "", "ready KILL:SIGQUIT"),
    ("SIGINT", "", "ready KILL:SIGINT"),
    ("SIGUSR1", "", "ready KILL:SIGUSR1"),
    ("SIGTSTP", "", "ready KILL:SIGTSTP stopped ONE PAUSE KILL:SIGTERM"),
    ("SIGTERM and SIGHUP, handled", "handle",
     "ready KILL:SIGTERM got_15 KILL:SIGHUP got_01 ^C got_02 ^\\ got_03 KILL:SIGKILL"),
    ("SIGTERM to the group, handled once", "handle", "ready GROUP:SIGTERM got_15 PAUSE ^C got_02 "
     "KILL:SIGKILL"),
    ("SIGSTOP to the group", "", "ready " + 4 * "GROUP:SIGSTOP stopped FG PAUSE " + "^C"),
]


def lead(shell_end, argv, background):
    """The shell: tells the row's driver what it sees of the job, and obeys FG and BG."""
    orders, states = shell_end
    of_jobs = (signal.SIGTTOU, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
    for signo in of_jobs:
        signal.signal(signo, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        if not background:
            os.tcsetpgrp(0, os.getpid())
        for signo in of_jobs:
            signal.signal(signo, signal.SIG_DFL)
        os.closerange(3, 64)
        os.execv(argv[0], argv)
    try:
        os.setpgid(job, job)
    except OSError:
        pass  # the job did it
    os.write(states, b"pid %d\n" % job)
    while True:
        pid, status = os.waitpid(job, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            os.tcsetpgrp(0, os.getpgrp())
            os.write(states, b"stopped %d\n" % os.WSTOPSIG(status))
        elif pid:
            text = "signal %d\n" % os.WTERMSIG(status) if os.WIFSIGNALED(status) \
                else "status %d\n" % os.WEXITSTATUS(status)
            os.write(states, text.encode())
            os._exit(0)
        if select.select([orders], [], [], 0.02)[0]:
            order = os.read(orders, 1)
            if order == b"F":
                os.tcsetpgrp(0, job)
            if order in (b"F", b"B"):
                os.killpg(job, signal.SIGCONT)
            if not order:
                os._exit(0)


class Run:
    def __init__(self, argv, background):
        order_out, self.orders = os.pipe()
        self.states_in, states_out = os.pipe()
        self.shell, self.terminal = pty.fork()
        if self.shell == 0:
            os.close(self.orders)
            lead((order_out, states_out), argv, background)
        os.close(order_out)
        os.close(states_out)
        self.output, self.states, self.job = b"", b"", 0
        self.seen = 0  # how much of each was waited for
        self.heard = 0
        self.end = time.monotonic() + SECONDS_MAX
        self.is_over = False

    def look(self):
        if time.monotonic() > self.end:
            raise TimeoutError
        for fd in select.select([self.terminal, self.states_in], [], [], 0.1)[0]:
            try:
                got = os.read(fd, 4096)
            except OSError:
                got = b""
            if fd == self.terminal:
                self.output += got
            else:
                self.states += got
            if not got and fd == self.states_in:
                self.is_over = True
        if not self.job and b"\n" in self.states:
            self.job = int(self.states.split()[1])
            self.seen = self.states.index(b"\n")

    def wait_state(self, word):
        while self.states.find(word, self.seen) < 0 and not self.is_over:
            self.look()
        self.seen = self.states.find(word, self.seen) + len(word)

    def wait_word(self, word):
        while self.output.find(word, self.heard) < 0 and not self.is_over:
            self.look()
        self.heard = self.output.find(word, self.heard) + len(word)

    def step(self, step):
        if step in KEYS:
            os.write(self.terminal, KEYS[step])
        elif step in ("FG", "BG"):
            os.write(self.orders, step[:1].encode())
        elif step == "ONE":
            os.kill(self.job, signal.SIGCONT)
        elif step == "PAUSE":
            until = time.monotonic() + 0.7
            while time.monotonic() < until and not self.is_over:
                self.look()
        elif step.startswith("KILL:"):
            os.kill(self.victim() if step == "KILL:SIGKILL" else self.job,
                    getattr(signal, step[5:]))
        elif step.startswith("GROUP:"):
            os.killpg(self.job, getattr(signal, step[6:]))
        elif step == "stopped":
            self.wait_state(b"stopped")
        else:
            self.wait_word(step.replace("_", " ").encode())

    def victim(self):
        """The guest itself: a SIGKILL to wetdbg can be passed on by nobody."""
        pid = self.job
        while True:
            with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
                below = children.read().split()
            if not below:
                return pid
            pid = int(below[0])

    def places(self):
        """Where each process of the job stands: for who has to find out why a row hangs."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as stat:
                    fields = stat.read().rpartition(")")[2].split()
                if int(fields[2]) != self.job:
                    continue
                for task in os.listdir("/proc/%s/task" % pid):
                    base = "/proc/%s/task/%s/" % (pid, task)
                    facts = [open(base + name).read().strip() for name in
                             ("comm", "wchan", "syscall")]
                    lines = [line for line in open(base + "status")
                             if line.startswith(("State", "SigPnd", "ShdPnd", "SigBlk"))]
                    found.append("  %s: %s\n    %s" % (task, " | ".join(facts),
                                                       " ".join("".join(lines).split())))
            except (OSError, ValueError):
                continue
        return "\n".join(found)

    def finish(self, steps):
        try:
            while not self.job and not self.is_over:
                self.look()
            for step in steps:
                self.step(step)
            while not self.is_over:
                self.look()
            trouble = None
        except (TimeoutError, OSError) as error:
            trouble = "%s after states %r and output %r\n%s" % (
                type(error).__name__, self.states, self.output[-2000:], self.places())
            if self.job:  # 0 would be this script's own group, and who runs it
                try:
                    os.killpg(self.job, signal.SIGKILL)
                except OSError:
                    pass
        os.close(self.orders)
        os.kill(self.shell, signal.SIGKILL)
        os.waitpid(self.shell, 0)
        os.close(self.terminal)
        os.close(self.states_in)
        return trouble

    def said(self):
        words = []
        for line in self.output.decode(errors="replace").replace("\r", "").split("\n"):
            for key in ("^C", "^Z", "^\\"):
                line = line.replace(key, "")
            line = line.partition("wetdbg:")[0]
            if line:
                words.append(line)
        return words

    def saw(self):
        return self.states.decode().split("\n")[1:-1]


def run_alone(argv):
    """In a session of its own: its group is orphaned, and nobody could continue a stopped job."""
    done = subprocess.run(["setsid", "-w"] + argv, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=SECONDS_MAX)
    return None, ["status %d" % done.returncode], done.stdout.decode().split()


def run_row(argv, words, steps):
    if words[:1] == ["!"]:
        return run_alone(argv + words[1:])
    background = words[:1] == ["&"]
    run = Run(argv + (words[1:] if background else words), background)
    return run.finish(steps), run.saw(), run.said()


def check_row(wetdbg, guest, row, scratch):
    """The row's failure as text, or None."""
    name, words, steps = row[0], row[1].split(), row[2].split()
    trace = os.path.join(scratch, name.replace(" ", "-").replace(",", ""))
    record = [wetdbg, "record", "--ticks=software", "-o", trace, "--", guest]
    results = []
    for argv in ([guest], record):
        try:
            results.append(run_row(argv, words, steps))
        except subprocess.TimeoutExpired:
            return "%s: %s does not end" % (name, argv[0])
        if results[-1][0]:
            return "%s: %s: %s" % (name, argv[0], results[-1][0])
    if results[0] != results[1]:
        return "%s: natively %s, recorded %s" % (name, results[0][1:], results[1][1:])
    replay = subprocess.run([wetdbg, "replay", "--no-trace", trace], capture_output=True,
                            timeout=SECONDS_MAX)
    if replay.returncode:
        return "%s: the recording does not replay: %s" % (name, replay.stderr.decode()[-500:])
    return None


def main():
    wetdbg, guest = sys.argv[1:3]
    rows = [row for row in ROWS if not sys.argv[3:] or row[0] in sys.argv[3:]]
    scratch = tempfile.mkdtemp(prefix="wetdbg-jobs-")
    failures = 0
    for row in rows:
        failure = check_row(wetdbg, guest, row, scratch)
        print("%s %s" % ("not ok" if failure else "ok", failure or row[0]), flush=True)
        failures += failure is not None
    shutil.rmtree(scratch)
    sys.exit(1 if failures or not rows else 0)


main()
