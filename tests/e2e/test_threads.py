#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_threads.py BUILD-DIRECTORY: what the prompt says about the threads of a run, and about uncertain events.

Records two of the sample programs with threads. Who runs at a time, where the others stand, whose stack is
shown and which threads executed a line of a slice have to agree with each other and with the program."""
import os

import e2e

QUEUE = "thread_queue.c"


def ask(bench, directory, *questions):
    words = [word for question in questions for word in ("-e", question)]
    run = bench.wet("replay", directory, "--batch", "--json", *words)
    answers = [answer for answer in run.objects()]
    bench.check(run.status == 0 and len(answers) == len(questions), f"{directory}: {questions}", run)
    return answers


def record(bench, program, status):
    directory = bench.path(program)
    run = bench.wet("record", "-o", directory, "--", f"{bench.programs}/{program}")
    bench.check(run.status == status, f"{program} was recorded", run)
    return directory


def check_crash(bench):
    """The second thread of three reads a pointer that the third one spoiled; the first one waits."""
    directory = record(bench, "thread_crash_O0_static", -11)
    opening, threads, everyone, piece = ask(bench, directory, "goto crash", "info threads", "backtrace --all",
                                            "slice backward crash")
    rows = threads["threads"]
    if not bench.check(len(rows) == 4, f"{len(rows)} threads"):
        return
    states = [row["state"] for row in rows]
    bench.check(states[0] == "in-call" and rows[0]["syscall"] == "futex" and rows[0]["line_function"] == "main",
                f"the first thread joins: {rows[0]}")
    bench.check(states.count("running") == 1, f"one thread runs: {states}")
    struck = rows[states.index("running")]
    bench.check(struck["selected"] and struck["line_function"] == "use", f"the one that crashed: {struck}")
    bench.check(opening["thread"] == struck["thread"] == piece["thread"], f"one thread everywhere: {opening}")
    bench.check({stack["thread"] for stack in everyone["threads"]}
                == {row["thread"] for row in rows if row["state"] != "ended"}, "a stack for each live thread")
    applied = bench.wet("replay", directory, "--batch", "--json", "-e", "goto crash", "-e", "thread apply all print $_thread",
                        "-e", "thread").objects()
    numbers = [answer["number"] for answer in applied if answer["schema"] == "wetdbg.print/1"]
    bench.check(numbers == [row["thread"] for row in rows if row["state"] != "ended"] == [answer["thread"] for answer in
                applied[1:-1:2]] and applied[-1]["thread"] == struck["thread"], f"a command in each live thread: {applied}")
    spoilt = [row for row in piece["lines"] if row["text"] and "NULL" in row["text"] and row["function"] == "spoil"]
    used = [row for row in piece["lines"] if row["function"] == "use"]
    bench.check(len(spoilt) == 1 and spoilt[0]["threads"] != used[0]["threads"] == [struck["thread"]],
                f"the spoiler is another thread: {spoilt} {used}")


def check_stacks(bench, directory, rows):
    """Each thread's stack begins with what `info threads` says and ends where threads begin."""
    live = [row for row in rows["threads"] if row["state"] not in ("ended", "not-begun")]
    questions = [f"goto {rows['time']}"]
    for row in live:
        questions += [f"thread {row['thread']}", "backtrace", "info registers"]
    answers = ask(bench, directory, *questions)[1:]
    for index, row in enumerate(live):
        place, stack, registers = answers[3 * index:3 * index + 3]
        functions = [frame["function"] for frame in stack["frames"]]
        bench.check(place["thread"] == stack["thread"] == registers["thread"] == row["thread"], f"{row} selected")
        bench.check(stack["frames"][0]["pc"] == row["pc"], f"{row} stands where its stack begins")
        begins = "main" if row["thread"] == 1 else "produce" if "produce" in functions else "consume"
        bench.check(begins in functions and not stack["broken"], f"{row}: {functions}")


def check_times(bench, directory):
    """The thread that an instance names is the one that stands there at its time."""
    instances = ask(bench, directory, f"instances {QUEUE}:58 --limit 12")[0]["instances"]
    places = ask(bench, directory, *[f"goto {one['time']}" for one in instances])
    for one, place in zip(instances, places):
        bench.check(place["thread"] == one["thread"] and place["pc"] == one["pc"], f"{one} and {place}")
    counted = ask(bench, directory, "info program")[0]
    bench.check(sum(row["instructions"] for row in counted["thread_list"]) == counted["instructions"],
                "each instruction is some thread's")
    return instances[len(instances) // 2]["time"]


def check_queue(bench):
    directory = record(bench, "thread_queue_O0_static", 0)
    time = check_times(bench, directory)
    rows = ask(bench, directory, f"goto {time}", "info threads")[1]
    bench.check(len(rows["threads"]) == 6, f"{len(rows['threads'])} threads")
    check_stacks(bench, directory, rows)
    piece = ask(bench, directory, "slice backward output:0 --from-write")[0]
    by_function = {}
    for row in piece["lines"]:
        if e2e.base_name(row["file"]) == QUEUE:
            by_function.setdefault(row["function"], set()).update(row["threads"])
    bench.check(by_function.get("main") == {1}, f"main is the first thread: {by_function}")
    makers = by_function.get("produce", set())
    bench.check(makers and makers.isdisjoint(by_function.get("consume", set()) | {1}),
                f"producers are no consumers: {by_function}")


def check_uncertain_places(bench):
    """A loop that does nothing but wait looks the same in each turn. The digests tell the turn by the counter
    in memory; without them a signal fits many places, and answers say so."""
    directory = record(bench, "signal_waitloop_O0_static", 0)
    for name in ("wetdbg.digests", "wetdbg.lines", "wetdbg.sums"):
        if os.path.exists(f"{directory}/{name}"):
            os.remove(f"{directory}/{name}")
    facts, listed, start, end, piece = ask(bench, directory, "info program", "info ambiguous", "goto start",
                                           "goto end", "slice backward exit")
    bench.check(facts["async_events"] == facts["ambiguous_events"] == len(listed["events"]) == 3,
                f"three signals, none of them certain: {facts}")
    bench.check({event["signal"] for event in listed["events"]} == {"SIGALRM"}, f"events: {listed}")
    bench.check(start["ambiguous_events"] == 0 and end["ambiguous_events"] == piece["ambiguous_events"] == 3,
                f"how many come before: {start} {end}")
    first = listed["events"][0]["time"]
    before, after = ask(bench, directory, f"goto {first - 1}", f"goto {first}")
    bench.check((before["ambiguous_events"], after["ambiguous_events"]) == (0, 1), f"{before} {after}")
    run = bench.wet("replay", directory, "--batch", "-e", "goto start", "-e", "goto end", "-e", "slice backward exit")
    bench.check(run.out.count("(uncertain: 3 events before this") == 2, "one line each", run)


def main_test(bench, _):
    check_crash(bench)
    check_queue(bench)
    check_uncertain_places(bench)


if __name__ == "__main__":
    e2e.main(main_test)
