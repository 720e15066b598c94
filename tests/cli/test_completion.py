#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_completion.py WETDBG FOLDER: bash, zsh and fish, with the files of FOLDER, offer each verb of
`wetdbg --help` and each option of `wetdbg VERB --help`, and nothing else. A shell that is not installed is
said to be skipped."""
import os
import re
import shutil
import subprocess
import sys

MARK = "@@@@@"


def run(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True, timeout=60).stdout


def quoted(words):
    return " ".join("'" + word + "'" for word in words)


def bash_script(file, questions):
    yield f". '{file}'"
    for words in questions:
        yield f"COMP_WORDS=({quoted(words)}); COMP_CWORD={len(words) - 1}; _wetdbg"
        yield "printf '%s\\n' \"${COMPREPLY[@]}\" " + MARK


def zsh_script(file, questions):
    """Its own functions are replaced that only work while a line is edited."""
    yield "compadd() { shift; print -rl -- $@ }"
    yield "compset() { : }"
    yield "_files() { print -r -- \"files $*\" }"
    yield f"_wetdbg() {{ source '{file}' }}"
    for words in questions:
        yield f"words=({quoted(words)}); CURRENT={len(words)}; _wetdbg; print {MARK}"


def fish_script(file, questions):
    yield f"source '{file}'"
    for words in questions:
        line = " ".join(words).replace(words[0], "wetdbg", 1)
        yield f"complete -C '{line}'; echo {MARK}"


SHELLS = {
    "bash": (bash_script, ["bash", "--norc", "-c"], "wetdbg.bash"),
    "zsh": (zsh_script, ["zsh", "-f", "-c"], "wetdbg.zsh"),
    "fish": (fish_script, ["fish", "--no-config", "-c"], "wetdbg.fish"),
}


def answers(shell, folder, questions):
    script, command, file = SHELLS[shell]
    text = run(*command, "\n".join(script(os.path.join(folder, file), questions)))
    parts = text.split(MARK + "\n")[:-1]
    return [sorted(line.split("\t")[0] for line in part.splitlines() if line) for part in parts]


def verbs_of_help(program):
    return re.findall(r"^  (\w+)  +", run(program, "--help").split("Options by verb:")[0], re.M)


def options_of_help(program, verb):
    """Long ones by their long name: that is what is offered."""
    lines = re.findall(r"^  (?:(-\w)(?:, )?|    )(--[\w-]+)?", run(program, verb, "--help"), re.M)
    return sorted({long or short for short, long in lines if long or short} | {"--help"})


def check(shell, program, folder):
    verbs = verbs_of_help(program)
    assert len(verbs) > 8, verbs
    questions = [[program, ""]] + [[program, verb, "-"] for verb in verbs]
    questions += [[program, "record", "--ticks", "h"], [program, "open", "--color=ne"]]
    want = [sorted(verbs + ["--help", "--version"])] + [options_of_help(program, v) for v in verbs]
    want += [["hardware"], ["never"]]
    got = answers(shell, folder, questions)
    if shell == "fish":  # it completes the word, not what is behind =
        want[-1] = ["--color=never"]
    elif shell == "bash":  # for which --color=ne is three words
        want[-1] = []
    for question, offered, expected in zip(questions, got, want):
        if offered != expected:
            sys.exit(f"{shell}: {question[1:]} offers {offered}, and help has {expected}")
    assert len(got) == len(want), got
    print(shell, "offers all of", len(verbs), "verbs")


def main():
    program, folder = sys.argv[1:]
    os.environ["PATH"] = os.path.dirname(program) + ":" + os.environ["PATH"]
    ran = 0
    for shell in SHELLS:
        if not shutil.which(shell):
            print(f"SKIPPED: test_cli_completion: {shell} is not installed")
            continue
        check(shell, program, folder)
        ran += 1
    sys.exit(0 if ran else 77)


main()
