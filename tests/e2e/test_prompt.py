#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_prompt.py BUILD-DIRECTORY: on a long run each command of the prompt answers, or says that it is at
work and ends on Ctrl-C; and long answers go through a pager.

Whoever adds a command adds a row here. A command that takes long has a session of its own, in which nothing is
known yet."""
import os
import re

import e2e

SOURCE_FILE = "busy.c"
TURNS = 30000000  # some 1,200 million instructions
PROMPT = r"\(wetdbg\) (?!.)"
AT_WORK = r"\(Ctrl-C ends it\)"

PLACES = {"file": SOURCE_FILE}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", SOURCE_FILE)) as source:
    for number, text in enumerate(source, 1):
        if mark := re.search(r"/\* (WRITE|TURN) \*/", text):
            PLACES[mark.group(1).lower()] = number

# Commands that do not end before somebody wants them to: what is typed before, and the command.
LONG = {
    "slice": ([], "slice backward output:0+3 --from-write"),
    "chop": ([], "chop {file}:{turn}#1 output:0+3"),
    "let": ([], "let A = slice backward output:0+3 --from-write"),
    "prune": ([], "prune --judge 0 --wrong output:0+3 --ok {file}:{turn}#1"),
    "why": (["slice backward exit --data"], "why {file}:{write} --control"),
    "decisions": ([], "decisions exit"),
    "origin": (["goto {file}:{turn}"], "origin $rbp"),
    "labels": ([], "labels main"),
    "history": ([], "history tally.turns --limit 0"),
    "search": ([], "search 77777777777"),
    "instances": ([], "instances {file}:{turn} --limit 0"),
    "step": (["goto {file}:{turn}#100"], "step 1000000000"),
    "next": (["goto {file}:{turn}#100"], "next 1000000000"),
    "reverse-step": (["goto {file}:{turn}"], "reverse-step 1000000000"),
    "reverse-next": (["goto {file}:{turn}"], "reverse-next 1000000000"),
    "x": ([], "x/1000000xb table"),
}
# The others, with what they say at the end of the run unless another command comes before; quit is the last one.
SHORT = {
    "goto": ([], "goto {file}:{turn}#6000000", r"time \d+: work at "),
    "bookmark": ([], "bookmark middle {file}:{turn}#6000000", r"middle is time \d+"),
    "show": (["let A = slice backward --data tally.turns@{file}:{turn}#9"], "show A", r"A: \d+ instances"),
    "diff": (["let B = slice backward --thin tally.turns@{file}:{turn}#9"], "diff A B", r"only in A: "),
    "what-if": ([], "what-if tally.turns=7@{file}:{turn}#-1", r"changed at time \d+"),
    "switch": ([], "switch --oracle=false --budget=1 --restart", r"none found: 1 switched runs in "),
    "more": (["show A --limit 1 --all"], "more", r"  x\d+"),
    "expand": (["slice backward --data tally.turns@{file}:{turn}#9 --tree"], "expand 1", r"#1 +criterion "),
    "save": ([], "save A", r"A is saved in .*\.A\.set"),
    "finish": (["goto {file}:{turn}#6000000"], "finish", r"CALL \*/\nvalue returned: "),
    "continue": (["goto start"], "continue never", r"never is not reached"),
    "stepi": (["goto {file}:{turn}#6000000"], "stepi 1000", r"\n=> 0x"),
    "nexti": (["goto {file}:{turn}#6000000"], "nexti 1000", r"\n=> 0x"),
    "reverse-finish": (["goto {file}:{turn}#6000000"], "reverse-finish", r"/\* CALL \*/"),
    "reverse-continue": ([], "reverse-continue main", r"main at "),
    "reverse-stepi": (["goto {file}:{turn}#6000000"], "reverse-stepi 1000", r"\n=> 0x"),
    "reverse-nexti": (["goto {file}:{turn}#6000000"], "reverse-nexti 1000", r"\n=> 0x"),
    "backtrace": (["goto {file}:{turn}#6000000"], "backtrace", r"#1 .* main "),
    "thread": ([], "thread", r"time \d+: (0x[0-9a-f]+ in )?_exit at "),
    "frame": ([], "frame", r"#0 "),
    "taas": ([], "taas print 6*7", r"\$\d+ = 42\n"),
    "faas": ([], "faas print 6*7", r"\$\d+ = 42\n"),
    "source": ([], "source /nonexistent", r"cannot read '/nonexistent'"),
    "shell": ([], "shell echo six$((3+4))", r"six7\n"),
    "echo": ([], "echo six\\tseven\\n", r"six\tseven\n|six +seven"),
    "printf": ([], 'printf "%d\\n", 6*7', r"42\n"),
    "apropos": ([], "apropos confidence", r"prune "),
    "up": (["goto {file}:{turn}#6000000"], "up", r"#1 .* main "),
    "down": (["goto {file}:{turn}#6000000", "up"], "down", r"#0 .*work "),
    "print": ([], "print tally.turns@{file}:{turn}#6000000", r"= 5999999\n"),
    "whatis": ([], "whatis tally", r"struct tally"),
    "ptype": ([], "ptype tally", r"unsigned long turns"),
    "disassemble": ([], "disassemble mix", rf"function mix:\n +{TURNS} "),
    "list": ([], "list mix", r"static unsigned mix"),
    "output": ([], "output", r"turns\\n"),
    "info": ([], "info threads", r"busy"),
    "set": ([], "set", r"pager +on"),
    "mark": ([], "mark", r"nothing is marked"),
    "help": ([], "help slice", r"usage: slice"),
    "quit": ([], "quit", None),
}
# Stops, which tests/debugger/test_breaks.py asks gdb about.
STOPS = {"advance", "awatch", "break", "catch", "clear", "commands", "condition", "delete", "disable", "display", "enable", "ignore",
         "rbreak", "run", "rwatch", "start", "tbreak", "undisplay", "until", "watch"}
# What makes commands of others, and decides which run: tests/cli/test_cli_breaks.c and tests/debugger/test_gdb.py.
MAKERS = {"define", "document", "if", "while", "loop_break", "loop_continue"}


def placed(text):
    return text.format(**PLACES)


def clean(text):
    """Without what steers the terminal."""
    return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|\r", "", text)


class Terminal(e2e.Prompt):
    """A session in which all that comes is read at once."""

    def __init__(self, bench, trace, *arguments, **environment):
        environment = {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "sed s/^/paged:/", **environment}
        super().__init__(bench, "replay", trace, "--no-init", *arguments, **environment)
        self.opening = self.answer(None)

    def until(self, pattern):
        return clean(self.read_until(pattern) or "")

    def answer(self, line):
        if line is not None:
            self.type(line + "\n")
            self.until(r"\n")
        return self.until(PROMPT)

    def leave(self):
        self.type("\x15quit\n")
        return self.close()


def long_command(bench, trace, name, before, line):
    session = Terminal(bench, trace, "--no-pager")
    for text in before:
        session.answer(placed(text))
    session.type(placed(line) + "\n")
    session.until(r"\n")
    said = session.until(AT_WORK + r"|\n.*\n.*\n")
    session.type("\x03")
    said += session.until(PROMPT)
    bench.check("interrupted" in said, f"{name}: Ctrl-C does not end '{line}': {said[-500:]!r}")
    answer = session.answer("print 6*7")
    bench.check(re.search(r"\$\d+ = 42", answer), f"{name}: the prompt is not there after Ctrl-C: {answer!r}")
    bench.check(session.leave() == 0, f"{name}: the session does not end well")


def short_commands(bench, trace):
    session = Terminal(bench, trace)
    bench.check("(you stand at the end: 'start' goes to main" in session.opening, f"the opening: {session.opening!r}")
    for name, (before, line, pattern) in SHORT.items():
        for text in ["goto end"] + before:
            session.answer(placed(text))
        if pattern is None:
            session.type(line + "\n")
            bench.check(session.close() == 0, f"{name}: the session does not end well")
            return
        said = session.answer(placed(line))
        bench.check(re.search(pattern, said), f"{name}: '{line}' does not say {pattern!r}: {said!r}")
        session.type("print 6*7\x03")
        said = session.until(PROMPT)
        bench.check("= 42" not in said, f"{name}: Ctrl-C does not give the line up: {said!r}")


def check_pager(bench, trace):
    session = Terminal(bench, trace)
    said = session.answer("help")
    bench.check("paged:slice" in said and "paged:quit" in said, f"a long answer is not paged: {said!r}")
    said = session.answer("info program")
    bench.check("paged" not in said, f"a short answer is paged: {said!r}")
    session.answer("set pager off")
    said = session.answer("help")
    bench.check("paged" not in said and "reverse-step" in said, f"paged though it is off: {said!r}")
    session.answer("set pager on")
    said = session.answer("help")
    bench.check("paged:slice" in said, f"not paged though it is on: {said!r}")
    session.leave()

    session = Terminal(bench, trace, PAGER="head -n2")
    said = session.answer(placed("instances {file}:{turn} --limit 0"))
    bench.check("#1 " in said and "#2 " not in said, f"a pager that is left does not end the answer: {said!r}")
    said = session.answer("print 6*7")
    bench.check(re.search(r"\$\d+ = 42", said), f"the session ended with the pager: {said!r}")
    session.leave()

    for options in (["--no-pager"], ["--json"]):
        session = Terminal(bench, trace, *options)
        said = session.answer("info functions")
        bench.check("paged" not in said and "never" in said, f"paged in spite of {options}: {said[:300]!r}")
        session.leave()
    for options in (["--batch"], []):
        run = bench.run("script", "-qec", f"{bench.wetdbg} replay {trace} {' '.join(options)} -e help </dev/null",
                        "/dev/null", env=dict(bench.environment, TERM="xterm", PAGER="sed s/^/paged:/"))
        bench.check("paged" not in run.out and "reverse-step" in run.out, f"paged where nobody types: {options}", run)


def test(bench, _arguments):
    trace = bench.record("busy", f"{bench.build}/tests/e2e/e2e_busy", str(TURNS))
    run = bench.wet("replay", trace, "--json", "--batch", "-e", "help")
    names = [command["name"] for command in run.objects()[-1]["commands"]]
    bench.check(set(names) == set(LONG) | set(SHORT) | STOPS | MAKERS, f"rows are missing, or too many: "
                f"{sorted(set(names) ^ (set(LONG) | set(SHORT) | STOPS | MAKERS))}")
    for name, row in LONG.items():
        long_command(bench, trace, name, *row)
    short_commands(bench, trace)
    check_pager(bench, trace)


if __name__ == "__main__":
    e2e.main(test)
