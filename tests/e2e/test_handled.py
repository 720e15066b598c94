#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_handled.py BUILD-DIRECTORY: variables of functions that signals interrupt, and handlers as places of the run.

What a recording has of a signal's frame is more than the kernel wrote, and what the dynamic linker may have saved is
more than it did: neither ends the life of a variable, nor is the origin of what lies there."""
import e2e


def line_of(text):
    with open(f"{e2e.SOURCE}/tests/e2e/programs/handled.c") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def ask(bench, directory, *questions):
    words = [word for question in questions for word in ("-e", question)]
    run = bench.wet("replay", directory, "--batch", "--json", *words)
    answers = run.objects()
    bench.check(run.status == 0 and len(answers) == len(questions), f"{questions}", run)
    return answers


def check_history(bench, directory):
    """Every write to it since main() began, whatever came in between."""
    for place in ("/* HOLD */", "/* PROBED */"):
        answers = ask(bench, directory, f"goto handled.c:{line_of(place)}", "history kept")
        found = [(row["line"], row["after"]) for row in answers[1]["writes"]]
        bench.check(found == [(line_of("/* BOUND LATE */"), "24"), (line_of("/* PROBED */"), "19"),
                              (line_of("/* KEPT */"), "7")], f"the history of kept: {found}")
    # A handler's own variable lives from the delivery on, whichever stack it is on.
    for number in (1, 2):
        answers = ask(bench, directory, f"goto handled.c:{line_of('sent += doubled')}#{number}", "history doubled",
                      "history number")
        found = [row["line"] for row in answers[1]["writes"]]
        bench.check(found == [line_of("int doubled")], f"the history of doubled: {found}")


def check_places(bench, directory):
    """The time of a signal is that of its handler's first instruction: the handler is shown, with what it was given."""
    answers = ask(bench, directory, "info signals")
    for signal, function, given in (("SIGSEGV", "on_fault", 11), ("SIGUSR1", "on_sent", 10)):
        time = next(row["time"] for row in answers[0]["signals"] if row["signal"] == signal)
        moves = ask(bench, directory, f"goto {time}", "stepi", "reverse-stepi", "reverse-stepi", "stepi")
        places = [(move["time"] - time, move["function"] == function) for move in moves]
        bench.check(places == [(0, True), (1, True), (0, True), (-1, False), (0, True)], f"around {function}: {places}")
        moves = ask(bench, directory, f"goto {time + 2}", "reverse-finish")
        bench.check(moves[1]["time"] == time - 1, f"reverse-finish of {function}: {moves[1]['time'] - time}")
        for there in ([f"goto {time}"], [f"goto {time - 1}", "stepi"]):
            run = bench.wet("replay", directory, "--batch", *(word for move in there for word in ("-e", move)), "-e", "print $rdi",
                            "-e", "backtrace", "-e", "origin $rdi")
            bench.check(run.status == 0 and f"$rdi = {given}\n" in run.out and f"#0  {function} (" in run.out
                        and "#1  <signal handler called>\n #2" in run.out and "given by the kernel with a signal" in run.out, f"{there} of {function}", run)
            bench.check(function != "on_fault" or "in probe (at=0x18" in run.out, "the frame that faulted", run)


def check_modules(bench, directory):
    """Which files have debug information, and which build of them they are."""
    rows = {e2e.base_name(row["path"]): row for row in ask(bench, directory, "info modules")[0]["modules"]}
    program = rows["e2e_handled"]
    bench.check(program["has_debug_information"] is True, f"{program}")
    notes = bench.run("readelf", "-n", rows["libc.so.6"]["path"]).out
    bench.check(f"Build ID: {rows['libc.so.6']['build_id']}\n" in notes, f"the build of {rows['libc.so.6']}")


def check_origins(bench, directory):
    answers = ask(bench, directory, f"goto handled.c:{line_of('/* HOLD */')}", "origin kept", "origin beside[0]")
    for answer, text in zip(answers[1:], ("/* BOUND LATE */", "/* KEPT */")):
        last = answer["hops"][-1]
        bench.check(last["line"] == line_of(text) and last["kind"] in ("computed", "constant"), f"{answer['of']}: {last}")


def main_test(bench, _):
    directory = bench.record("handled", f"{bench.build}/tests/e2e/e2e_handled")
    check_history(bench, directory)
    check_places(bench, directory)
    check_modules(bench, directory)
    check_origins(bench, directory)


if __name__ == "__main__":
    e2e.main(main_test)
