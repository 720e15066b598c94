#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_dd.py BUILD [PART|TEST]...: `wetdbg dd` as a user runs it: what it finds, what it refuses, that programs that
behave badly leave nothing behind, neither when it ends nor when it is killed, and the chop that it ends with.

Without a name all tests run. ctest runs the parts, which take some seconds each."""
import base64
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e

MARK = f"WETDBG_TEST_MARK={os.getpid()}"


class Dd:
    """A bench whose runs are marked in their environment, with a place of their own for temporary files."""

    def __init__(self, bench):
        self.bench = bench
        self.programs = f"{bench.build}/tests/delta"
        name, value = MARK.split("=")
        os.mkdir(bench.path("tmp"))
        bench.environment.update({name: value, "TMPDIR": bench.path("tmp")})

    def file(self, name, content, mode=0o600):
        path = self.bench.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def script(self, name, text):
        return self.file(name, f"#!/bin/sh\n{text}\n", 0o700)

    def run(self, *words, status=0, chop=False, **how):
        run = self.bench.wet("dd", *([] if chop else ["--no-chop"]), *words, **how)
        self.bench.check(run.status == status, f"status {run.status} in place of {status}", run)
        self.check_nothing_left(run)
        return run

    def json(self, *words, **how):
        """The object, with the inputs as bytes."""
        run = self.run("--json", *words, **how)
        try:
            found = json.loads(run.out)
        except ValueError:
            self.bench.fail("no JSON", run)
            raise SystemExit(self.bench.finish()) from None
        for name in ("pass", "fail"):
            if name in found:
                found[name] = base64.b64decode(found[name])
        return found

    def says(self, text, *words, status=2, **how):
        run = self.run(*words, status=status, **how)
        self.bench.check(text in run.err and run.err.count("\n") == 1, f"it does not say {text!r}", run)

    def recordings(self):
        place = self.bench.path("data", "rr")
        return {name for name in os.listdir(place) if os.path.isdir(f"{place}/{name}")} if os.path.exists(place) else set()

    def processes(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if MARK.encode() in file.read().split(b"\0") and int(pid) != os.getpid():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def check_nothing_left(self, run=None):
        """Processes that were killed a moment ago may still be there."""
        end = time.monotonic() + 20
        while (self.processes() or os.listdir(self.bench.path("tmp"))) and time.monotonic() < end:
            time.sleep(0.02)
        self.bench.check(not self.processes(), f"processes are left: {self.processes()}", run)
        self.bench.check(not os.listdir(self.bench.path("tmp")), "files are left", run)
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def equal(self, found, wanted, what):
        self.bench.check(found == wanted, f"{what}: {found!r} in place of {wanted!r}")


# ---- what it finds ----


def test_figure(dd):
    """The 1,025th character overflows into a pointer that is freed: one byte, in at most 40 runs."""
    fail, good = dd.file("fail", "a" * 2048), dd.file("pass", "a" * 1024)
    for jobs in ("1", "3"):
        found = dd.json("--fail", fail, "--pass", good, "--crash", "--jobs", jobs, "--", f"{dd.programs}/overflow")
        dd.equal([(p["offset"], p["length"], p["fail_offset"]) for p in found["difference"]], [(1024, 1, 1024)],
                 "the difference")
        dd.equal((found["pass"], found["fail"]), (b"a" * 1024, b"a" * 1025), "the inputs")
        dd.bench.check(found["tests"] <= 40, f"{found['tests']} tests")
        dd.bench.check(found["failure"].startswith("SIGABRT in main (overflow"), found["failure"])


def test_minimize(dd):
    text = "".join(f"line {i} of the input\n" for i in range(60)) + "needs (this and [that])\n"
    fail = dd.file("text", text)
    oracle = 'grep -q "n 4.*" "$WETDBG_INPUT"; ! { grep -q th.s "$WETDBG_INPUT" && grep -q "e 33" "$WETDBG_INPUT"; }'
    found = dd.json("--fail", fail, "--oracle", oracle)
    dd.equal(len(found["fail"]), len("e 33this"), "a minimal input's length")
    dd.equal(found["pass"], b"", "what passes")
    for origin in found["origins"]:
        at, offset, length = origin["fail_offset"], origin["offset"], origin["length"]
        dd.equal(found["fail"][at:at + length], text[offset:offset + length].encode(), "bytes and their origin")
    lines = dd.json("--fail", fail, "--oracle", oracle, "--unit", "line")
    dd.equal(lines["fail"], b"line 33 of the input\nneeds (this and [that])\n", "by lines")
    tokens = dd.json("--fail", fail, "--oracle", oracle, "--unit", "token")
    dd.equal(tokens["fail"], b"line 33this", "by tokens")


def test_tree(dd):
    """What is left of JSON is JSON; of XML, XML."""
    document = {"list": [{"id": i, "name": f"n{i}", "deep": [[i, {"x": i}], None]} for i in range(9)], "end": True}
    fail = dd.file("doc.json", json.dumps(document, indent=1))
    strict = f'{dd.programs}/strict n7 "$WETDBG_INPUT"'
    found = dd.json("--fail", fail, "--oracle", strict, "--unit", "tree")
    dd.equal(json.loads(found["fail"]), {"list": [{"name": "n7"}]}, "the minimal document")
    fail = dd.file("doc.xml", "<r>" + "".join(f"<a i='{i}'><b>text {i}</b><c/></a>" for i in range(9)) + "</r>\n")
    oracle = dd.file("xml-oracle", "#!/usr/bin/env python3\nimport sys\nfrom xml.parsers import expat\n"
                     "text = open(sys.argv[1], 'rb').read()\ntry:\n    expat.ParserCreate().Parse(text, True)\n"
                     "except expat.ExpatError:\n    sys.exit(125)\nsys.exit(b'text 5' in text)\n", 0o700)
    found = dd.json("--fail", fail, "--oracle", oracle, "--unit", "tree")
    dd.equal(found["fail"].strip(), b"<r><a><b>text 5</b></a></r>", "the minimal document")


def test_replacements(dd):
    """Differences that are a replacement, and an absence."""
    good, bad = dd.file("good", "alpha=1\nbeta=22\ngamma=3\n"), dd.file("bad", "alpha=1\nbeta=29\ngamma=4\ndelta=5\n")
    found = dd.json("--fail", bad, "--pass", good, "--oracle", '! grep -q =29 "$WETDBG_INPUT"')
    piece = found["difference"][0]
    dd.equal((len(found["difference"]), piece["offset"], piece["length"], base64.b64decode(piece["missing"])),
             (1, 14, 1, b"2"), "what was replaced")
    good, bad = dd.file("good", "begin\nlock\nwork\nunlock\nend\n"), dd.file("bad", "begin\nlock\nwork\nend\n")
    found = dd.json("--fail", bad, "--pass", good, "--unit", "line", "--oracle", 'grep -q unlock "$WETDBG_INPUT"')
    piece = found["difference"][0]
    dd.equal((piece["offset"], piece["length"], base64.b64decode(piece["missing"])), (16, 0, b"unlock\n"), "what is missing")
    run = dd.run("--fail", bad, "--pass", good, "--unit", "line", "--oracle", 'grep -q unlock "$WETDBG_INPUT"')
    dd.bench.check("7 bytes that are missing make the difference" in run.out, "the absence is not said", run)
    dd.bench.check("[]" not in run.out and ' there passes' in run.out, "where it is missing", run)


def test_expect(dd):
    """The first wrong byte of the output: 'bad' in place of 'sum' if a line has a 7 in it."""
    program = dd.script("sum", 'n=0; while read -r line; do case $line in *7*) echo "n=$n bad"; exit;; esac; '
                        'n=0; done; echo "n=0 sum"')
    fail, expected = dd.file("numbers", "1\n2\n375\n4\n"), dd.file("expected", "n=0 sum\n")
    found = dd.json("--fail", fail, "--expect", expected, "--", program)
    dd.equal((found["fail"], found["output_offset"]), (b"7\n", 4), "the input and the byte")
    dd.equal(found["failure"], "byte 4 of the output is 'b' in place of 's'", "the failure")
    for wrong, right, sentence in (("ab", "abc", "the output ends before byte 2, which should be 'c'"),
                                   ("abc", "ab", "byte 2 of the output is 'c', where it should have ended")):
        found = dd.json("--fail", dd.file("short", wrong), "--expect", dd.file("right", right), "--", "cat")
        dd.equal(found["failure"], sentence, "the failure")
    dd.says("its output is all that was expected", "--fail", dd.file("right", "1\n"), "--expect", expected, "--", program)


def test_other_units(dd):
    program = dd.script("words", 'case " $* " in *" -b "*"y "*) kill -SEGV $$;; esac')
    found = dd.json("--unit", "argv", "--any-crash", "--", program, "-a", "x", "-b", "", "a b", "y", "z")
    dd.equal(found["fail"], b"-b\0y\0", "the words")
    run = dd.run("--unit", "argv", "--any-crash", "--", program, "-a", "x", "-b", "", "a b", "y", "z")
    dd.bench.check("2 arguments are enough to fail" in run.out and "\n  + -b\n  + y\n" in run.out, "the words", run)
    program = dd.script("variables", '[ "$DD_TWO" = 2 ] && kill -SEGV $$; exit 0')
    found = dd.json("--unit", "env", "--any-crash", "--", program, env=dict(dd.bench.environment, DD_ONE="1", DD_TWO="2"))
    dd.equal(found["fail"], b"DD_TWO=2\0", "the variables")
    for place, files in (("ok", {"a": "1", "sub/b": "2", "c": "3"}), ("ko", {"a": "1", "sub/b": "X", "c": "4", "d": "X"})):
        for name, text in files.items():
            os.makedirs(os.path.dirname(dd.bench.path(place, name)), exist_ok=True)
            dd.file(f"{place}/{name}", text)
    program = dd.script("folder", '[ "$(cat "$1"/a "$1"/sub/b 2>/dev/null)" = 1X ] && kill -SEGV $$; exit 0')
    found = dd.json("--unit", "files", "--fail", "ko/", "--any-crash", "--", program, "@@")
    dd.equal(found["fail"], b"ko//a\0ko//sub/b\0", "the files")
    run = dd.run("--unit", "files", "--fail", "ko/", "--any-crash", "--", program, "@@")
    dd.bench.check("\n  + ko/a\n  + ko/sub/b\n" in run.out, "the files' names", run)
    found = dd.json("--unit", "files", "--fail", "ko", "--pass", "ok", "--any-crash", "--", program, "ko")
    piece = found["difference"][0]
    dd.equal((len(found["difference"]), found["fail"][piece["fail_offset"]:][:piece["length"]],
              base64.b64decode(piece["missing"])), (1, b"ko//sub/b\0", b"ok//sub/b\0"), "the file that differs")


def test_where_the_input_is(dd):
    """As a part of a word, as FILE's own name, as standard input; -o keeps the result, with the name in reach."""
    for name, words in (("word", ["--in=@@"]), ("named", [dd.bench.path("data.txt")]), ("stdin", [])):
        fail = dd.file("data.txt", "12345X6789")
        program = dd.script(name, 'f=${1#--in=}; case ${f:-/data.txt} in */data.txt) ;; *) exit 9;; esac\n'
                            'grep -q X ${f:+"$f"} && kill -ILL $$; exit 0')
        run = dd.run("--fail", fail, "--any-crash", "-o", dd.bench.path("kept"), "--", program, *words)
        with open(dd.bench.path("kept"), "rb") as file:
            dd.equal(file.read(), b"X", "what was kept")
        dd.equal(stat.S_IMODE(os.stat(dd.bench.path("kept")).st_mode), 0o600, "its mode")
        place = {"word": f" --in={dd.bench.path('kept')}\n", "named": f" {dd.bench.path('kept')}\n",
                 "stdin": f" < {dd.bench.path('kept')}\n"}[name]
        dd.bench.check(f"wetdbg record -o minimal -- {program}{place}" in run.out, "the next command", run)
        dd.equal(open(fail, "rb").read(), b"12345X6789", "the failing input afterwards")


def test_function(dd):
    """The same signal in another function is another failure."""
    fail = dd.file("places", "....one....two....")
    found = dd.json("--fail", fail, "--crash", "--", f"{dd.programs}/places")
    dd.equal(found["fail"], b"one", "what fails as the whole does")
    dd.equal(found["failure"].split(" (")[0], "SIGSEGV in first", "the failure")
    any_crash = dd.json("--fail", fail, "--any-crash", "--", f"{dd.programs}/places")
    dd.bench.check(any_crash["fail"] in (b"one", b"two"), f"any crash: {any_crash['fail']}")
    for text, failure in (("abort", "SIGABRT in checks"), ("handler", "SIGSEGV in second"), ("deep", "SIGSEGV in deep"),
                          ("wild", "SIGSEGV in jumps"), ("thread", "SIGSEGV in first"), ("child", "SIGSEGV in second")):
        found = dd.json("--fail", dd.file("place", f"..{text}.."), "--crash", "--", f"{dd.programs}/places")
        dd.equal((found["fail"], found["failure"].split(" (")[0]), (text.encode(), failure), "a place")


# ---- bad programs ----


def test_unruly(dd):
    """Nothing is left of them, and the outcomes are right."""
    program = f"{dd.programs}/unruly"
    fail = dd.file("bad", "abcXdef")
    for deed in ("daemon", "files", "deaf", "overwrite", "mute", "tty"):
        found = dd.json("--fail", fail, "--any-crash", "--timeout", "10", "--", program, "@@", deed)
        dd.equal(found["fail"], b"X", f"with {deed}")
    dd.equal(open(fail, "rb").read(), b"abcXdef", "the failing input afterwards")
    dd.says("ended by SIGKILL", "--fail", fail, "--any-crash", "--", program, "@@", "group")
    for letter, options in (("L", ["--timeout", "0.4"]), ("F", ["--disk", "8M"]), ("M", ["--memory", "64M"]),
                            ("B", ["--timeout", "5"])):
        found = dd.json("--fail", dd.file("bad", f"{letter}X"), "--any-crash", *options, "--", program, "@@")
        dd.equal(found["fail"], b"X", f"with {letter}")
        alone = dd.file("alone", letter)
        dd.says("the program ", "--fail", alone, "--any-crash", *options, "--", program, "@@")


def test_deep_folders(dd):
    """Folders that no path can name are removed with all that is in them, whatever their modes, and count for the disk."""
    nest = ('import os, sys; text = sys.stdin.read(); os.chdir(os.environ["TMPDIR"])\n'
            'for i in range(60): os.mkdir("d" * 200); os.symlink("/etc", "link"); open("file", "w").close(); os.chdir("d" * 200)\n'
            'if "L" in text: open("large", "w").write("x" * (20 << 20))\n'
            'os.chmod(".", 0)\nif "X" in text: os.abort()')
    words = ["--any-crash", "--runs", "real", "--jobs", "1", "--disk", "16M", "--", sys.executable, "-c", nest]
    found = dd.json("--restart", "--fail", dd.file("f", "aXb"), *words)
    dd.equal(found["fail"], b"X", "what makes a program with deep folders fail")
    dd.says("wrote more than 16 MiB", "--restart", "--fail", dd.file("f", "aXL"), *words)


def test_busy_machine(dd):
    """The default limit grows if the failing input takes longer than at first: a run that passes it is repeated. What does
    not end is unresolved all the same."""
    slower = "case $(wc -c < runs) in 4|5|6) sleep 4;; esac\nprintf x >> runs\n"  # the first four are both ends, twice
    for text, shell, wanted in (("aX", slower + "grep -q X && kill -SEGV $$", b"X"),
                                ("HaX", 'read text; case $text in *H*X*) kill -SEGV $$;; *H*) sleep 1000;; esac', b"HX")):
        dd.file("runs", "")
        found = dd.json("--restart", "--fail", dd.file("f", text), "--any-crash", "--runs", "real", "--jobs", "1", "--",
                        dd.script("program", shell))
        dd.equal(found["fail"], wanted, f"what fails of {text}")


def test_bad_oracles(dd):
    fail, good = dd.file("f", "some text"), dd.file("p", "text")
    both = ["--fail", fail, "--pass", good, "--oracle"]
    dd.says("an oracle that always passes finds nothing", *both, "true")
    dd.says("an oracle that always fails finds nothing", *both, "false")
    dd.says("an oracle that always fails finds nothing", "--fail", fail, "--oracle", "false")
    dd.says("the oracle exited with status 127", *both, "no-such-oracle")
    dd.says("the oracle wrote more than 8 MiB", *both, "cat /dev/zero", "--disk", "8M")
    dd.says("the oracle did not end within 0.5 s", *both, "sleep 1000 & wait", "--timeout", "0.5")
    count = dd.bench.path("count")
    flaky = f'echo >> {count}; [ $(($(wc -l < {count}) % 2)) = 0 ]'
    dd.says("the oracle is flaky: ", *both, flaky, status=1)
    late = f'echo >> {count}; [ $(wc -l < {count}) -gt %d ] || ! grep -q some "$WETDBG_INPUT"'
    os.unlink(count)
    dd.says("is flaky: ", *both, late % 6, status=1)
    os.unlink(count)
    shared = dd.script("shared", f'echo >> {count}; [ $(($(wc -l < {count}) % 2)) = 0 ] || kill -ILL $$')
    crash = ["--fail", fail, "--any-crash"]
    for options, hint in (([], "--scratch or --jobs=1 helps"), (["--jobs=1"], "of an earlier test, --scratch helps"),
                          (["--scratch"], "if tests disturb each other, --jobs=1 helps"),
                          (["--scratch", "--jobs=1"], "when it was tried again\n")):
        dd.file("count", "")
        dd.says(hint, *crash, *options, "--", shared, status=1)
    dd.bench.check(not os.path.exists(f"{fail}.dd-journal"), "a journal of flaky tests is left")


def test_refusals(dd):
    fail, good = dd.file("f", "abc"), dd.file("p", "ab")
    true = "/bin/true"
    dd.says("which is no crash; try --expect or --oracle", "--fail", fail, "--crash", "--", true)
    dd.says("one of --crash, --any-crash, --expect and --oracle says what failing is", "--fail", fail, "--", true)
    dd.says("only one of --crash", "--fail", fail, "--crash", "--oracle", "true", "--", true)
    dd.says("no failing input is given", "--crash", "--", true)
    dd.says("no program is given", "--fail", fail, "--crash")
    dd.says("/no/such: no such program", "--fail", fail, "--crash", "--", "/no/such", status=1)
    dd.says("are equal", "--fail", fail, "--pass", fail, "--oracle", "false")
    dd.says("is empty: nothing could be taken away", "--fail", dd.file("e", ""), "--oracle", "false")
    dd.says("--unit is byte, line,", "--fail", fail, "--crash", "--unit", "word", "--", true)
    dd.says("--jobs is 1 to 64, not '0'", "--fail", fail, "--crash", "--jobs", "0", "--", true)
    dd.says("--timeout is a number of seconds, not 'x'", "--fail", fail, "--crash", "--timeout", "x", "--", true)
    dd.says("is no input: what fails are the program's arguments", "--fail", fail, "--unit", "argv", "--crash", "--", true)
    dd.says("a directory", "--fail", dd.bench.path("tmp"), "--oracle", "false")
    dd.says("f: no directory", "--fail", fail, "--unit", "files", "--oracle", "false")
    dd.says("does not pass: the oracle exited with status 3", "--fail", fail, "--pass", good, "--oracle",
            'grep -q c "$WETDBG_INPUT" && exit 1; exit 3')
    dd.says("an empty input fails in the same way", "--fail", fail, "--any-crash", "--", dd.script("dies", "kill -SEGV $$"))
    dd.says("only a regular file is replaced", "--fail", fail, "--crash", "-o", "/dev/null", "--", true)
    run = dd.run("--json", "--fail", fail, "--crash", "--", true, status=2)
    dd.equal(json.loads(run.out)["schema"], "wetdbg.error/1", "an error as JSON")


# ---- ends that come early ----


def start_slow(dd, name):
    """A search of some seconds, whose program leaves a child each time."""
    fail = dd.file(name, "".join(f"{i}\n" for i in range(60)) + "X\n")
    program = dd.script("slow", 'sleep 1000 & sleep 0.06; grep -q X && grep -q 1 "$0" && kill -SEGV $$; exit 0')
    words = ["--json", "--no-chop", "--jobs", "2", "--fail", fail, "--any-crash", "--unit", "line", "--", program]
    child = subprocess.Popen([dd.bench.wetdbg, "dd", *words], env=dd.bench.environment, cwd=dd.bench.work, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    return words, fail, child


def test_early_end(dd):
    """Nothing is left after Ctrl-C, SIGTERM, or SIGKILL, but the journal; and the same command goes on."""
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)):
        words, fail, child = start_slow(dd, f"slow-{number}")
        journal, end = f"{fail}.dd-journal", time.monotonic() + 30
        while time.monotonic() < end and not (os.path.exists(journal) and os.path.getsize(journal) >= 45 + 3 * 35):
            time.sleep(0.02)
        child.send_signal(number)
        said, _ = child.communicate(timeout=60)
        dd.equal(child.returncode, status, f"the status after {number.name}")
        if number == signal.SIGINT:
            dd.bench.check(b"the same command goes on from here" in said, f"it says {said}")
        dd.check_nothing_left()
        with open(journal, "ab") as file:
            file.write(b"0123456789abcdef torn")
        found = dd.json(*words)
        dd.bench.check(found["resumed"] >= 3, f"{found['resumed']} tests were known")
        dd.equal(found["fail"], b"X\n", "what it found in the end")
        dd.bench.check(not os.path.exists(journal), "the journal is left")


def test_terminal(dd):
    """Progress is drawn on a terminal, and Ctrl-C there ends all runs."""
    fail = dd.file("f", "".join(f"{i}\n" for i in range(300)) + "X\n")
    program = dd.script("slow", 'sleep 0.1; grep -q X && kill -SEGV $$; exit 0')
    prompt = e2e.Prompt(dd.bench, "dd", "--no-chop", "--fail", fail, "--any-crash", "--", program)
    prompt.read_until(r"\r\d+ tests, \d+ of \d+ left\x1b\[K")
    prompt.type("\x03")
    prompt.read_until("interrupted; the same command goes on from here")
    dd.equal(prompt.close(), 130, "the status after Ctrl-C")
    dd.check_nothing_left()
    os.unlink(f"{fail}.dd-journal")
    run = dd.run("--fail", fail, "--any-crash", "--", program)
    dd.bench.check(run.err == "", "something is said without a terminal", run)


def test_journal_of_another_search(dd):
    fail = dd.file("f", "abcX")
    oracle = '! grep -q X "$WETDBG_INPUT"'
    for journal in (b"wetdbg-dd 1 00000000000000000000000000000000\n", b"nonsense", b""):
        dd.file("f.dd-journal", journal)
        found = dd.json("--fail", fail, "--oracle", oracle)
        dd.equal((found["resumed"], found["fail"]), (0, b"X"), "with a journal of something else")


# ---- the chop ----


def source_lines(found, name):
    """Of the program's own file, which the chop has lines of."""
    return {row["line"] for row in found["chop"] or [] if e2e.base_name(row["file"]) == name}


def marked(path, text):
    with open(path) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_chop_figure(dd):
    """The character too much, where it is stored, and where what it was stored over is freed."""
    source = f"{e2e.SOURCE}/tests/delta/programs/overflow.c"
    fail, good = dd.file("fail", "a" * 2048), dd.file("pass", "a" * 1024)
    words = ["--fail", fail, "--pass", good, "--crash", "--", f"{dd.programs}/overflow"]
    found = dd.json(*words, chop=True)
    lines = source_lines(found, "overflow.c")
    dd.equal(lines, {marked(source, text) for text in ("getchar", "line.text[i] =", "free(line.title)")}, "the chop's lines")
    dd.equal((found["chop_info"]["sources"], found["chop_info"]["target"], found["chop_info"]["kinds"]),
             (["input:1024"], "crash", "data"), "from where to where")
    dd.equal(found["no_chop_because"], None, "why there is none")
    dd.bench.check("read" in "".join(row["function"] for row in found["chop_info"]["without_lines"] + found["chop"]),
                   "the call that read it is missing")
    dd.equal(os.path.basename(found["recording"]), "overflow-dd-0", "the recording")
    chop = dd.bench.wet("replay", "overflow-dd-0", "--batch", "--json", "-e", "chop --data input:1024 crash").objects()[-1]
    dd.equal([(row["file"], row["line"], row["instances"]) for row in chop["lines"]],
             [(row["file"], row["line"], row["instances"]) for row in found["chop"]], "what the prompt says")
    run = dd.run(*words, chop=True)
    for text in ("failure-inducing chop:", "| free(line.title);", "wetdbg replay overflow-dd-1 -e 'chop input:1024 crash'"):
        dd.bench.check(text in run.out, f"no {text!r}", run)
    dd.says("overflow-dd-0 is there already", "--recording", found["recording"], *words, chop=True, status=5)


def test_chop_of_other_units(dd):
    """Bytes that moved, of a file with a name; an argument; a variable. What is wrong is the output, or the status."""
    program, source = f"{dd.programs}/given", f"{e2e.SOURCE}/tests/delta/programs/given.c"
    before = dd.recordings()
    expected, fail = dd.file("expected", "text small\n"), dd.file("data.txt", "\n\n\n#\n....X..\n")
    words = ["--no-keep", "--expect", expected, "--", program, "text", "@@"]
    found = dd.json("--fail", fail, *words, chop=True)
    dd.equal((found["fail"], found["chop_info"]["sources"], found["chop_info"]["target"]), (b"X", ["input:data.txt:0"], "output:5"),
             "source and target")
    dd.bench.check(source_lines(found, "given.c") >= {marked(source, "/* COUNT */"), marked(source, "/* CHOOSE */")},
                   f"the chop's lines: {source_lines(found, 'given.c')}")
    dd.equal(found["recording"], None, "a recording that was not to be kept")
    run = dd.run("--fail", fail, *words, chop=True)
    dd.bench.check(f"input:0 here is input:9 of {fail}" in run.out, "the original's offset", run)
    oracle = '! [ "$WETDBG_STATUS" = 3 ]'
    found = dd.json("--no-keep", "--unit", "argv", "--oracle", oracle, "--", program, "a", "b", "status3", "c", chop=True)
    dd.equal((found["fail"], found["chop_info"]["sources"], found["chop_info"]["target"]), (b"status3\0", ["argv:1"], "exit"),
             "source and target")
    dd.bench.check(marked(source, "/* STATUS */") in source_lines(found, "given.c"), "where the status is read")
    found = dd.json("--no-keep", "--unit", "env", "--any-crash", "--", program, "variable", chop=True,
                    env=dict(dd.bench.environment, DD_ONE="1", DD_CRASH="9"))
    dd.equal((found["fail"], found["chop_info"]["sources"]), (b"DD_CRASH=9\0", ["env:DD_CRASH"]), "source")
    dd.bench.check(marked(source, "/* WILD */") in source_lines(found, "given.c"), "where it crashes")
    dd.equal(dd.recordings(), before, "recordings")


def test_chop_to_the_difference(dd):
    """Only the oracle says that it failed: then it is where the output is not what the passing run wrote."""
    program, source = f"{dd.programs}/given", f"{e2e.SOURCE}/tests/delta/programs/given.c"
    good, bad = dd.file("good", "abc"), dd.file("bad", "abcX")
    oracle = '! grep -q X "$WETDBG_INPUT"'
    words = ["--no-keep", "--pass", good, "--fail", bad, "--oracle", oracle, "--", program, "text", "@@"]
    found = dd.json(*words, chop=True)
    info = found["chop_info"]
    dd.equal((info["target"], info["target_because"]), ("output:1:5", "the first byte that the passing run wrote otherwise"),
             "what is wrong")
    dd.bench.check(source_lines(found, "given.c") >= {marked(source, "/* COUNT */"), marked(source, "/* CHOOSE */")},
                   f"the chop's lines: {source_lines(found, 'given.c')}")
    run = dd.run(*words, chop=True)
    dd.bench.check("byte 5" in run.out and "\n(the first byte that the passing run wrote otherwise)\n" in run.out, "what is wrong", run)
    run = dd.run(*words[:-2], "slow-like", "@@", chop=True)
    dd.bench.check("since both runs put out the same" in run.out, "outputs that are alike", run)


def test_pipes_that_close(dd):
    """Programs die of SIGPIPE there, too: whoever watches over them ignores it, they do not."""
    found = dd.json("--fail", dd.file("f", "abcX"), "--oracle",
                    'grep -q "^SigIgn:[[:space:]]*0*$" "$WETDBG_OUTPUT" && ! grep -q X "$WETDBG_INPUT"',
                    "--", "/bin/cat", "/proc/self/status")
    dd.equal(found["fail"], b"X", "what is enough to fail")


def test_chop_of_an_absence(dd):
    """A comment's mark is missing, so that more ran than should have; an unlock is, so that less did."""
    program, source = f"{dd.programs}/absent", f"{e2e.SOURCE}/tests/delta/programs/absent.c"
    good, bad = dd.file("good", "work\n#die\nwork\n"), dd.file("bad", "work\ndie\nwork\n")
    words = ["--no-keep", "--pass", good, "--fail", bad, "--crash", "--", program]
    found = dd.json(*words, chop=True)
    absence = found["chop_info"]["absence"]
    dd.equal((absence["missing"], absence["parting"]["line"], absence["parting"]["is_cause"], absence["chop_of"]),
             (["input:5"], marked(source, "/* COMMENT */"), True, "fail"), "the absence")
    lines = source_lines(found, "absent.c")
    dd.bench.check(lines >= {marked(source, f"/* {mark} */") for mark in ("COMMENT", "OBEY", "DIE")} and
                   marked(source, "/* WORK */") not in lines, f"the chop's lines: {lines}")
    good, bad = dd.file("good", "work\nlock\nwork\nunlock\nwork\n"), dd.file("bad", "work\nlock\nwork\nwork\n")
    words = ["--no-keep", "--unit", "line", "--pass", good, "--fail", bad, "--crash", "--", program]
    found = dd.json(*words, chop=True)
    absence = found["chop_info"]["absence"]
    dd.equal((absence["missing"], absence["chop_of"]), (["input:15+7"], "pass"), "the absence")
    lines = source_lines(found, "absent.c")
    dd.bench.check(lines >= {marked(source, f"/* {mark} */") for mark in ("UNLOCK", "LEFT")} and
                   marked(source, "/* ABORT */") not in lines, f"the chop's lines: {lines}")
    run = dd.run(*words, chop=True)
    for text in ("missing: input:15+7 of the minimal passing input", "the runs part at absent.c:", "In the passing run:",
                 "7 bytes that are missing make"):
        dd.bench.check(text in run.out, f"no {text!r}", run)


def test_chop_that_is_none(dd):
    """The difference is there all the same."""
    program = f"{dd.programs}/given"
    fail = dd.file("f", "abcX")
    says = 'grep -q X "$WETDBG_INPUT" && exit 1; exit 0'
    for words, sentence in (
            (["--oracle", says, "--", program, "text", "@@"], "name it, as for 'slice' (--target=output:10)"),
            (["--oracle", says, "--", "/bin/true"], "name it, as for 'slice' (--target=FILE:LINE:VARIABLE)"),
            (["--oracle", says, "--target", "exit", "--", "/bin/true"], "read nothing from descriptor 0"),
            (["--oracle", says, "--target", "nonsense#", "--", "/bin/true"], "nonsense")):
        run = dd.run("--no-keep", "--fail", fail, *words, chop=True)
        dd.bench.check("\nnone: " in run.out and sentence in run.out, f"it does not say {sentence!r}", run)
        dd.bench.check('the minimal failing input has 1 of 4 bytes: "X"' in run.out, "the difference", run)
    run = dd.run("--no-keep", "--fail", fail, "--oracle", says, "--target", "exit", "--", program, "text", "@@", chop=True)
    dd.bench.check("empty: " in run.out and "'decisions'" in run.out, "an empty chop says why", run)
    found = dd.json("--fail", fail, "--oracle", says, "--", program, "text", "@@", chop=True,
                    env=dict(dd.bench.environment, WETDBG_RR="/no/such/rr"))
    dd.bench.check(found["chop"] is None and "/no/such/rr" in found["no_chop_because"], f"{found['no_chop_because']}")
    dd.says("--no-chop there is no --target", "--target", "exit", "--fail", fail, "--oracle", says)
    dd.says("--no-keep leaves nothing for --recording", "--no-keep", "--recording", "x", "--fail", fail, "--oracle", says, chop=True)


def test_chop_killed(dd):
    """Nothing is left of a recording that is being made, or looked at, when wetdbg goes."""
    fail, before = dd.file("f", "X"), dd.recordings()
    for number, status, mode in ((signal.SIGKILL, -9, "slow"), (signal.SIGTERM, -15, "slow"), (signal.SIGINT, 130, "slow"),
                                 (signal.SIGKILL, -9, "long")):
        words = ["dd", "--fail", fail, "--crash", "--timeout", "30", "--", f"{dd.programs}/given", mode, "@@"]
        child = subprocess.Popen([dd.bench.wetdbg, *words], env=dd.bench.environment, cwd=dd.bench.work, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        end, wanted = time.monotonic() + 40, "incomplete" if mode == "slow" else "version"
        while time.monotonic() < end and child.poll() is None and not any(
                os.path.exists(dd.bench.path("data", "rr", name, wanted)) for name in dd.recordings() - before):
            time.sleep(0.01)
        dd.bench.check(child.poll() is None, f"it ended before {number.name}")
        child.send_signal(number)
        child.wait(timeout=60)
        dd.equal(child.returncode, status, f"the status after {number.name}")
        dd.check_nothing_left()
        end = time.monotonic() + 20
        while dd.recordings() != before and time.monotonic() < end:
            time.sleep(0.02)
        dd.equal(dd.recordings(), before, f"recordings after {number.name}")


COUNTS = ("live", "not_live", "unresolved_live", "unresolved_because", "seconds", "tests", "recalled", "confirmed",
          "unconfirmed")


def both_ways(dd, *words, **where):
    """The same search by real runs and by live ones: what they found has to be the same, but for counts and times."""
    found = [dd.json("--restart", "--timeout", "20", "--runs", how, *words, **where) for how in ("real", "live")]
    real, live = [{name: one.pop(name) for name in COUNTS} for one in found]
    dd.equal(found[1], found[0], f"what live runs of {words[-3:]} found")
    dd.equal((real["live"], real["unresolved_live"]), (0, 0), "live runs among real ones")
    dd.equal(live["unresolved_because"] is None, live["unresolved_live"] == 0, "why live runs could not tell")
    if "1" in words:  # with one job the questions are the same, and what is confirmed is asked twice
        dd.equal(live["tests"] - live["confirmed"], real["tests"], f"how many tests {words[-3:]} took")
        dd.equal(live["recalled"], real["recalled"], f"how many outcomes {words[-3:]} knew")
    return live["tests"] - live["confirmed"], live["live"], live["not_live"] or ""


def test_live(dd):
    """A crash's function, outputs, candidates that live runs cannot tell, and with a passing input."""
    onward = f"{dd.programs}/onward"
    fail = dd.file("f", "some letters, an X, and then quite a few other letters before the Y at last\n")
    for words in (["--crash", "--jobs", "1"], ["--any-crash", "--jobs", "1"], ["--crash", "--jobs", "2"]):
        tests, live, reason = both_ways(dd, "--fail", fail, *words, "--", onward)
        least = tests / 2 if "1" in words else 0  # a job whose live run is not needed any more makes real ones meanwhile
        dd.bench.check(live > least and not reason, f"{words}: {live} of {tests} are live: {reason}")
    passing = dd.file("p", "some letters, an X\n")
    tests, live, reason = both_ways(dd, "--fail", fail, "--pass", passing, "--crash", "--", onward)
    dd.bench.check(live > 0 and not reason, f"{live} of {tests} are live: {reason}")
    forks = dd.file("forks", "XY and a lot of letters of which one has it fork: C; that is of no use\n")
    tests, live, reason = both_ways(dd, "--fail", forks, "--crash", "--", onward)
    dd.bench.check(reason == "the program starts others" and not live, f"{live} of {tests} are live: {reason}")
    some = dd.file("some", "F and then an X and a Y, and a lot of letters of which one has it fork\n")
    tests, live, reason = both_ways(dd, "--fail", some, "--crash", "--jobs", "1", "--", onward)
    ours = 4 + 4 + 1  # both ends twice, candidates that are tested in both ways, the confirmation
    dd.bench.check(live and tests - live > ours and not reason, f"{live} of {tests} are live, none was unresolved: {reason}")
    run = dd.run("--restart", "--runs", "live", "--fail", some, "--crash", "--jobs", "1", "--", onward)
    dd.bench.check("since a live one could not tell, the first: clone: " in run.out, "why a real run was made", run)
    run = dd.run("--restart", "--runs", "live", "--unit", "argv", "--any-crash", "--", "/bin/sh", "-c", "kill -SEGV $$", "x")
    dd.bench.check("no live runs: words and variables lie on the first stack" in run.out, "why there are none", run)
    overflow = dd.file("o", "a" * 1100)
    tests, live, reason = both_ways(dd, "--fail", overflow, "--crash", "--", f"{dd.programs}/overflow")
    dd.bench.check(not reason, f"{live} of {tests} are live: {reason}")


def test_live_programs(dd):
    """Debian's programs, whose output is wrong from some byte on."""
    script = "a=1\nb=2\na+b\nsqrt(16)\nprint \"done\\n\"\na*b\n"
    for words, text in ((["bc", "-q"], script), (["gawk", "{ print NF, $2 }"], "a b\nc d e\nf\ng done i j\nk\n")):
        if not shutil.which(words[0]):
            print(f"SKIPPED: test_dd_live: there is no {words[0]}")
            continue
        right = subprocess.run(words, input=text.encode(), capture_output=True, check=True).stdout
        expect = dd.file("expect", right.replace(b"done", b"fine"))
        tests, live, reason = both_ways(dd, "--fail", dd.file("f", text), "--expect", expect, "--jobs", "1", "--", *words)
        dd.bench.check(live > tests / 2 and not reason, f"{words}: {live} of {tests} are live: {reason}")


def test_live_places(dd):
    """Where a program crashes is the same place in a live run: of handlers, full stacks, calls to nowhere."""
    for text in ("....one....two....", "..abort..", "..handler..", "..deep..", "..wild..", "..thread.."):
        tests, live, reason = both_ways(dd, "--fail", dd.file("place", text), "--crash", "--jobs", "1", "--", f"{dd.programs}/places")
        dd.bench.check(live and not reason, f"{text}: {live} of {tests} are live: {reason}")


def test_live_files(dd):
    """The input is a file: a script, of one language and another."""
    for words, text in ((["gawk", "-f", "@@"], 'BEGIN { a = 1; b = 2\n printf "%d\\n", a + b\n print "done" }\n'),
                        (["bc", "-q", "@@"], 'a = 1\na + 1\n"done"\nquit\n')):
        if not shutil.which(words[0]):
            print(f"SKIPPED: test_dd_live: there is no {words[0]}")
            continue
        script = dd.file("script", text)
        right = subprocess.run([*words[:-1], script], stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
        expect = dd.file("expect", right.replace(b"done", b"fine"))
        tests, live, reason = both_ways(dd, "--fail", script, "--expect", expect, "--jobs", "1", "--", *words)
        dd.bench.check(live > tests / 2 and not reason, f"{words}: {live} of {tests} are live: {reason}")


def test_live_gives_up(dd):
    """A program that does something else where it is recorded: a real run does not confirm the result, and the search
    goes through again; what cannot be asked live at all is asked by real runs."""
    onward = f"{dd.programs}/onward"
    fail = dd.file("f", "RXY" + "a" * 64)
    tests, live, reason = both_ways(dd, "--fail", fail, "--crash", "--", onward)
    dd.bench.check(live and "confirm" in reason, f"{live} of {tests} are live: {reason}")
    fail = dd.file("f", "qxy" + "a" * 64)  # live runs find all three, of which a real one needs no y
    tests, live, reason = both_ways(dd, "--fail", fail, "--crash", "--", onward)
    dd.bench.check(live and "confirm" in reason, f"{live} of {tests} are live: {reason}")
    for words, why in ((["--fail", fail, "--any-crash", "--memory", "100M", "--", onward], "limits"),
                       (["--unit", "argv", "--oracle", "grep -q b && exit 1; exit 0", "--", "echo", "a", "b"], "stack")):
        tests, live, reason = both_ways(dd, *words)
        dd.bench.check(not live and why in reason, f"{words}: {live} are live: {reason}")
    dd.says("--runs is quickest, live or real, not 'some'", "--runs", "some", "--fail", fail, "--crash", "--", onward)


def test_live_oracle(dd):
    """A command about a live run finds what a real run's would: the output, errors, status, the input, and files that the
    program left in the directory where it works, or in one of its own; those are not made here."""
    leaves, work = f"{dd.programs}/leaves", dd.bench.path("here")
    fail = dd.file("f", "some letters with X, and Y, and then Z, and a good many others behind them\n")
    os.makedirs(f"{work}/kept")
    for name, text in (("right", "XYZ"), ("kept/old", "old"), ("gone", "there")):
        with open(f"{work}/{name}", "w", encoding="ascii") as file:
            file.write(text)
    all_of = "cmp -s kept/new right && test -e kept/old && test ! -e gone && exit 1; exit 0"
    cases = ([["--oracle", "grep -q XYZ && exit 1; exit 0", "--", leaves, "-"], 0],
             [["--oracle", "grep -q XYZ $WETDBG_ERRORS && test $WETDBG_STATUS = 3 && grep -q Z $1 && exit 1; exit 0",
               "--", leaves, "-"], 0],
             [["--oracle", "cmp -s $TMPDIR/left right && exit 1; exit 0", "--", leaves, "temporary"], 0],
             [["--oracle", "cmp -s ${WETDBG_OUTPUT%/*}/work/left right && exit 1; exit 0", "--scratch", "--", leaves, "left"], 0],
             [["--oracle", all_of, "--", leaves, "kept/new", "gone"], 1])
    for words, is_here in cases:
        for name in ("kept/new", "gone"):
            if os.path.exists(f"{work}/{name}"):
                os.unlink(f"{work}/{name}")
        tests, live, reason = both_ways(dd, "--fail", fail, "--jobs", "1", *words, cwd=work)
        dd.bench.check(live > 0 and not reason, f"{words}: {live} of {tests} are live: {reason}")
        dd.equal(os.path.exists(f"{work}/kept/new"), bool(is_here), "a file that real runs leave here")
    elsewhere = dd.bench.path("elsewhere")
    tests, live, reason = both_ways(dd, "--fail", fail, "--jobs", "1", "--oracle", f"grep -q XYZ {elsewhere} && exit 1; exit 0", "--",
                                    leaves, elsewhere, cwd=work)
    dd.bench.check(not live and f"would not find what it leaves in {elsewhere}" in reason, f"{live} of {tests} are live: {reason}")
    with open(f"{work}/right", encoding="ascii") as file:
        dd.equal(file.read(), "XYZ", "a file to which the command's directory had a link")


def test_live_touches_nothing(dd):
    """What a live run removes is there."""
    victim = dd.file("victim", "precious")
    fail = dd.file("f", "XY" + "a" * 64)
    found = dd.json("--runs", "live", "--fail", fail, "--crash", "--", f"{dd.programs}/onward", victim)
    dd.equal(found["fail"], b"XY", "the minimal input")
    dd.bench.check(found["live"] > 0 and not found["not_live"], f"{found['live']} are live: {found['not_live']}")
    with open(victim, encoding="ascii") as file:
        dd.equal(file.read(), "precious", "the file that live runs removed")


def test_live_resumed(dd):
    """Outcomes of live runs are kept as such."""
    fail = dd.file("f", "some letters, an X, and then quite a few other letters before the Y at last\n")
    words = ["dd", "--no-chop", "--runs", "live", "--jobs", "1", "--fail", fail, "--crash", "--", f"{dd.programs}/onward"]
    child = subprocess.Popen([dd.bench.wetdbg, *words], env=dd.bench.environment, cwd=dd.bench.work, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    letters, end = "", time.monotonic() + 60
    while time.monotonic() < end and child.poll() is None and "u" not in letters.lower():
        time.sleep(0.001)
        if os.path.exists(f"{fail}.dd-journal"):
            with open(f"{fail}.dd-journal", encoding="ascii") as file:
                letters = "".join(line.split()[-1] for line in file.readlines()[1:])
        if any(letter.islower() for letter in letters):
            break
    child.kill()
    child.wait(timeout=60)
    dd.check_nothing_left()
    dd.bench.check(any(letter in "upf" for letter in letters), f"no live run is in the journal: {letters!r}")
    found = dd.json("--runs", "real", "--fail", fail, "--crash", "--", f"{dd.programs}/onward")
    dd.equal(found["fail"], b"XY", "the minimal input")
    dd.equal(found["live"], 0, "live runs")
    dd.bench.check(found["resumed"] > 0, "nothing was known")


PARTS = {
    "finds": ("test_figure", "test_minimize", "test_tree", "test_replacements", "test_expect", "test_other_units",
              "test_where_the_input_is", "test_function"),
    "unruly": ("test_unruly", "test_deep_folders", "test_busy_machine", "test_pipes_that_close"),
    "refuses": ("test_bad_oracles", "test_refusals", "test_journal_of_another_search"),
    "ends": ("test_early_end", "test_terminal"),
    "chops": ("test_chop_figure", "test_chop_of_other_units", "test_chop_to_the_difference"),
    "reasons": ("test_chop_of_an_absence", "test_chop_that_is_none"),
    "killed": ("test_chop_killed",),
    "live": ("test_live", "test_live_gives_up", "test_live_touches_nothing", "test_live_resumed"),
    "live_oracle": ("test_live_oracle",),
    "live_programs": ("test_live_places", "test_live_programs", "test_live_files"),
}


def run_test(bench, chosen):
    dd = Dd(bench)
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    assert set(tests) == {name for part in PARTS.values() for name in part}, "a test is in no part"
    for name in [name for word in chosen or PARTS for name in PARTS.get(word, (word,))]:
        begin = time.monotonic()
        tests[name](dd)
        print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


e2e.main(run_test)
