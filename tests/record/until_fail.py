# SPDX-License-Identifier: GPL-3.0-or-later
"""`wetdbg record --until-fail`: which run is kept, and that nothing else is.

    until_fail.py WETDBG LOST
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

WETDBG, LOST = sys.argv.pop(1), sys.argv.pop(1)

# Counts its runs in the file `runs`, without starting another process.
COUNT = "n=0; test -f runs && read n < runs; n=$((n + 1)); echo $n > runs; "


class UntilFail(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(self.path("traces"))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def command(self, most, *program):
        return [WETDBG, "record", "--ticks=software", f"--until-fail={most}", *program]

    def environment(self):
        return {**os.environ, "_RR_TRACE_DIR": self.path("traces")}

    def record(self, most, *program, **how):
        return subprocess.run(self.command(most, *program), cwd=self.folder.name, text=True,
                              env=self.environment(), capture_output=True, timeout=120, **how)

    def kept(self):
        with os.scandir(self.path("traces")) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def runs(self):
        with open(self.path("runs")) as file:
            return int(file.read())

    def asked(self, trace, command):
        run = subprocess.run([WETDBG, "replay", trace, "--batch", "-e", command], text=True,
                             capture_output=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_the_run_that_fails_is_kept_and_no_other(self):
        run = self.record(9, "--", "sh", "-c", COUNT + "echo run $n; test $n -lt 3 || exit 7")
        self.assertEqual(run.returncode, 7, run.stderr)
        self.assertEqual(self.runs(), 3)
        self.assertIn("run 3 failed with exit status 7\n", run.stderr)
        self.assertEqual(run.stdout, "run 1\nrun 2\nrun 3\n")
        traces = self.kept()
        self.assertEqual(len(traces), 1)
        self.assertIn(f"recorded in {self.path('traces')}/{traces[0]}\n", run.stderr)
        self.assertIn("run 3", self.asked(self.path(f"traces/{traces[0]}"), "output"))

    def test_a_signal_is_a_failure(self):
        crash = COUNT + "test $n -lt 2 || kill -SEGV $$"
        run = self.record(9, "-o", "here", "--", "sh", "-c", crash)
        self.assertEqual(run.returncode, -signal.SIGSEGV, run.stderr)
        self.assertIn("run 2 was ended by SIGSEGV\n", run.stderr)
        self.assertTrue(os.path.exists(self.path("here/version")))

    def test_nothing_is_kept_if_no_run_fails(self):
        run = self.record(3, "--", "sh", "-c", COUNT)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.runs(), 3)
        self.assertIn("none of 3 runs failed", run.stderr)
        self.assertEqual(self.kept(), [])
        run = self.record(2, "-o", "here", "--", "sh", "-c", COUNT)
        self.assertFalse(os.path.exists(self.path("here")))

    def test_each_run_has_the_same_standard_input(self):
        reads = COUNT + "read line; test \"$line\" = first || exit 9; test $n -lt 3"
        run = self.record(5, "--", "sh", "-c", reads, input="first\nsecond\n")  # a pipe
        self.assertEqual((run.returncode, self.runs()), (1, 3), run.stderr)
        os.unlink(self.path("runs"))
        with open(self.path("input"), "w+") as file:
            file.write("before\nfirst\nsecond\n")
            file.flush()
            file.seek(len("before\n"))
            run = self.record(5, "--", "sh", "-c", reads, stdin=file)
        self.assertEqual((run.returncode, self.runs()), (1, 3), run.stderr)

    def test_lots_are_drawn_where_an_order_could_be_another(self):
        run = self.record(2, "--", "sh", "-c", COUNT + "/bin/true; test $n -lt 2")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("run 2 failed with exit status 1, drawing lots (--chaos)\n", run.stderr)
        run = self.record(1, "--chaos", "--", "false")
        self.assertIn("run 1 failed with exit status 1, drawing lots (--chaos)\n", run.stderr)

    def test_lots_find_a_race_between_system_calls(self):
        run = self.record(200, "-o", "here", "--", LOST)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("drawing lots (--chaos)\n", run.stderr)
        said = self.asked(self.path("here"), "output")
        self.assertIn(run.stdout.splitlines()[-1], said)
        self.assertNotIn("400", said)

    def test_somebody_may_end_it(self):
        program = COUNT + "trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done"
        with subprocess.Popen(self.command(9, "--", "sh", "-c", program), cwd=self.folder.name,
                              env=self.environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            run.send_signal(signal.SIGTERM)
            said = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 125, said)
        self.assertIn("interrupted after run 1", said)
        self.assertEqual((self.runs(), self.kept()), (1, []))

    def test_what_cannot_be_repeated_is_refused(self):
        for most in ("0", "many"):
            run = self.record(most, "--", "true")
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("until-fail", run.stderr)
        run = self.record(5, "--", self.path("nothing"))
        self.assertEqual(run.returncode, 125, run.stderr)
        self.assertEqual(run.stderr.count("nothing"), 1)


unittest.main()
