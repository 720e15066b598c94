#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_terminal.py BUILD-DIRECTORY: how answers look on terminals: help of any width, and colours."""
import re
import time

import e2e

STYLE = re.compile(r"\x1b\[[0-9]+m")
WORDS = lambda text: text.split()


def on_terminal(bench, columns, *arguments):
    """What a verb says on a terminal, by lines."""
    prompt = e2e.Prompt(bench, *arguments, columns=columns, PAGER="cat")
    text = ""
    while more := prompt.read_some():
        text += more
    bench.check(prompt.close() == 0, f"{arguments} at {columns} columns")
    return text.replace("\r", "").split("\n")


def check_help(bench):
    """Of each width it has the same words; lines end between words, and are no longer than the terminal is wide."""
    for arguments in (("help",), ("help", "locate"), ("help", "record")):
        whole = bench.wet(*arguments)
        bench.check(whole.status == 0 and max(map(len, whole.out.split("\n"))) > 60, f"{arguments}: lines as they are written", whole)
        for columns in (30, 40, 80, 132):
            lines = on_terminal(bench, columns, *arguments)
            bench.check(WORDS(" ".join(lines)) == WORDS(whole.out), f"{arguments}: words at {columns} columns: {lines[:5]}")
            wide = [line for line in lines if len(line) > columns and len(WORDS(line)) > 1]
            bench.check(not wide, f"{arguments}: too wide for {columns} columns: {wide[:3]}")
            bench.check(sum(not line for line in lines) == sum(not line for line in whole.out.split("\n")), f"{arguments}: empty lines at {columns} columns")
            bench.check(not any(line != line.rstrip() for line in lines), f"{arguments}: spaces at the end of a line")


def check_colors(bench):
    """Files, functions, variables and addresses have gdb's colours, and without them the text is the same."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    trace = bench.record("ledger", f"{bench.programs}/fault_ledger_O0", stdin=fault.stdin)
    ask = lambda color: bench.wet("replay", trace, "--batch", f"--color={color}", "-e", "goto refund", "-e", "bt", "-e", "list", "-e", "info args",
                                  "-e", "print cents", "-e", "slice backward cents --limit 5").out
    timeless = lambda text: re.sub(r"[0-9.]+ s\b", "", text)
    styled, plain = ask("always"), ask("never")
    bench.check("\x1b" not in plain and timeless(STYLE.sub("", styled)) == timeless(plain), f"the same text: {styled!r}, {plain!r}")
    for words in (r"\x1b\[33mrefund\x1b\[0m \(", r"\x1b\[36mcents\x1b\[0m=", r" at \x1b\[32mfault_ledger\.c\x1b\[0m:", r"\x1b\[34m0x[0-9a-f]{16}\x1b\[0m in ",
                  r"\x1b\[1m>[0-9]+\x1b\[0m\t", r"\n\x1b\[36mcents\x1b\[0m = ", r"\n\x1b\[32mfault_ledger\.c:[0-9]+\x1b\[0m +\x1b\[33m\w+\x1b\[0m  x"):
        bench.check(re.search(words, styled), f"{words}: {styled!r}")


def check_stop(bench):
    """After Ctrl-Z and `fg` the prompt is there again, with what was typed."""
    shell = e2e.Prompt(bench, "--norc", "--noprofile", "-i", program="/bin/bash", PS1="sh> ")
    shell.read_until("sh> ")
    shell.type(f"{bench.wetdbg} open {bench.path('ledger')}/wetdbg.wet --no-pager\n")
    shell.read_until(r"\(wetdbg\) ")
    for typed in ("", "print 20"):
        shell.type(typed)
        shell.read_until(typed)
        shell.type("\x1a")
        shell.read_until("Stopped(.|\n)*sh> ")
        shell.type("fg\n")
        shell.read_until(r"\(wetdbg\) " + typed)
    shell.type("+1\n")
    shell.read_until("= 21\r?\n")
    shell.read_until(r"\(wetdbg\) ")
    # Of a command that was stopped the prompt comes once, when it is done.
    shell.type("shell sleep 2\n")
    shell.read_until("sleep 2\r?\n")
    time.sleep(0.5)
    shell.type("\x1a")
    shell.read_until("Stopped(.|\n)*sh> ")
    shell.type("fg\n")
    text = shell.read_until(r"\(wetdbg\) ")
    shell.type("print 20+22\n")
    text += shell.read_until("= 42\r?\n") or ""
    bench.check(text.count("(wetdbg) ") == 1, f"one prompt: {text!r}")
    shell.read_until(r"\(wetdbg\) ")
    shell.type("quit\nexit 0\n")
    bench.check(shell.close() == 0, "the shell ends")


def run_test(bench, _):
    check_help(bench)
    check_colors(bench)
    check_stop(bench)


e2e.main(run_test)
