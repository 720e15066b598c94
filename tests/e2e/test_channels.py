#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_channels.py BUILD-DIRECTORY: slices through files, pipes, sockets and mappings, of recorded runs.

The guest of slicer_channels says of each byte that it puts out which line computed it: that is its backward slice, and
what of the output is in the forward slice of the line. A second program shares its pipe
and its file with a child: what that wrote is outside, even where it wrote the same."""
import re
import shutil

import e2e

DIGITS = "0123456789ABCDEF"


def read_guest():
    """Lines of the input's bytes, and which of them each byte of the output is, by criterion."""
    lines, expected, cases, sent = {}, {}, 0, 0
    with open(f"{e2e.SOURCE}/tests/slicer/guests/channels.c") as file:
        for number, text in enumerate(file, 1):
            for mark, bytes_of in re.findall(r"/\* (BYTE|MOVES|SENT) (\S+) \*/", text):
                if mark == "BYTE":
                    lines[bytes_of] = number
                elif mark == "MOVES":
                    expected.update({f"output:{16 * cases + i}": byte for i, byte in enumerate(bytes_of)})
                    cases += 1
                else:
                    expected.update({f"output:50:{sent + i}": byte for i, byte in enumerate(bytes_of)})
                    sent += len(bytes_of)
    for without_tee in range(13 * 16 + 10, 13 * 16 + 15):
        expected[f"output:{without_tee}"] = "."
    return lines, expected


def slices(bench, directory, criteria):
    words = [word for criterion in criteria for word in ("-e", f"slice backward --thin {criterion}")]
    run = bench.wet("replay", directory, "--batch", "--json", *words)
    answers = [answer for answer in run.objects() if answer.get("schema", "").startswith("wetdbg.slice")]
    bench.check(run.status == 0 and len(answers) == len(criteria), f"{directory}: {len(answers)} slices", run)
    return answers


def lines_in(answer, source):
    return {row["line"] for row in answer["lines"] if row["file"] and e2e.base_name(row["file"]) == source}


def reached(answer):
    """Bytes of output that a forward slice came to, by more than control."""
    return {f"output:{piece['fd']}:{piece['offset'] + i}".replace("output:1:", "output:")
            for piece in answer["output"] if piece["fd"] in (1, 50) and not piece["control"]
            for i in range(piece["size"])}


def check_forward(bench, directory, lines, expected):
    for digit, line in lines.items():
        run = bench.wet("replay", directory, "--batch", "--json", "-e", f"slice forward --thin channels.c:{line}")
        answers = [answer for answer in run.objects() if answer.get("schema", "").startswith("wetdbg.slice")]
        own = {name for name, byte in expected.items() if byte == digit}
        bench.check(len(answers) == 1 and own and reached(answers[0]) == own,
                    f"byte {digit} goes to {sorted(own)}: {sorted(reached(answers[0])) if answers else run.err}", run)


def check_output(bench, directory, expected):
    """What sendmsg, splice and sendfile put out is listed with the rest, one piece behind the other."""
    run = bench.wet("replay", directory, "--batch", "--json", "-e", "output 50")
    rows = [row for answer in run.objects() if answer.get("schema") == "wetdbg.output/1" for row in answer["writes"]]
    places = sorted((row["offset"], row["size"]) for row in rows)
    size = sum(name.startswith("output:50:") for name in expected)
    ends = [0] + [offset + size for offset, size in places]
    bench.check(ends[:-1] == [offset for offset, _ in places] and ends[-1] == size, f"{size} bytes: {places}", run)
    bench.check({row["text"] is None for row in rows} == {True, False}, "some pieces were in no memory", run)


def check_chops(bench, directory, lines, expected):
    """A byte of the input leads to those of the output that it is, and to no other one, though the same calls carried
    both. Of the cases that only calls pass on; what an instruction moves at once has one instance."""
    asked = [(name, digit) for i, (name, byte) in enumerate(sorted(expected.items())) if byte in DIGITS and i % 5 == 0
             and name.count(":") == 1 and int(name[7:]) < 10 * 16
             for digit in (byte, DIGITS[DIGITS.index(byte) ^ 1], DIGITS[(DIGITS.index(byte) + 5) % 16])]
    words = [word for name, digit in asked
             for word in ("-e", f"chop channels.c:{lines[digit]} {name} --thin")]
    run = bench.wet("replay", directory, "--batch", "--json", *words)
    answers = [answer for answer in run.objects() if answer.get("schema", "").startswith("wetdbg.chop")]
    if not bench.check(run.status == 0 and len(asked) > 60 and len(answers) == len(asked), f"{len(answers)} chops", run):
        return
    for (name, digit), answer in zip(asked, answers):
        bench.check((answer["instances"] > 0) == (expected[name] == digit),
                    f"from byte {digit} to {name}, which is {expected[name]}: {answer['instances']} instances")


def check_guest(bench):
    directory = bench.record("guest", f"{bench.build}/tests/slicer/slicer_channels_O2", "without")
    lines, expected = read_guest()
    bench.check(len(lines) == 16 and len(expected) > 300, f"the guest's marks: {len(lines)}, {len(expected)}")
    for (criterion, byte), answer in zip(expected.items(), slices(bench, directory, list(expected))):
        found = lines_in(answer, "channels.c")
        computed = {digit for digit in DIGITS if lines[digit] in found}
        bench.check(computed == {byte} - {"."}, f"{criterion} is byte {byte}: {computed}")
    check_forward(bench, directory, lines, expected)
    check_output(bench, directory, expected)
    check_chops(bench, directory, lines, expected)


def check_child(bench):
    with open(f"{e2e.SOURCE}/tests/e2e/programs/shared_pipe.c") as file:
        own = next(number for number, line in enumerate(file, 1) if "/* OWN */" in line)
    directory = bench.record("child", f"{bench.build}/tests/e2e/e2e_shared_pipe", bench.path("shared"))
    answers = slices(bench, directory, [f"output:{i}" for i in range(12)])
    for i, answer in enumerate(answers):
        is_own = i < 4 or i >= 10
        bench.check((own in lines_in(answer, "shared_pipe.c")) == is_own, f"byte {i}: {lines_in(answer, 'shared_pipe.c')}")


def check_path(bench):
    """What goes into a file that the program opened has its path and its place there: Debian's tee, which adds to it."""
    for name, text in (("in", "b\na\nc\n"), ("kept", "12345")):
        with open(bench.path(name), "w") as file:
            file.write(text)
    directory = bench.record("tee", shutil.which("tee"), "kept", stdin=bench.path("in"))
    run = bench.wet("replay", directory, "--batch", "--json", "-e", "slice forward --data input:2")
    answer = run.objects()[-1]
    places = [(piece["path"], piece["path_offset"], piece["offset"], piece["size"]) for piece in answer["output"]]
    bench.check(places == [(None, None, 2, 1), ("kept", 2, 2, 1)], f"where the third byte went: {places}", run)
    run = bench.wet("replay", directory, "--batch", "-e", "slice forward --data input:2+2")
    bench.check("it reached: output:1:2-3, output:kept:2-3\n" in run.out, "as criteria", run)
    run = bench.wet("replay", directory, "--batch", "-e", "slice backward --data output:kept:2")
    bench.check(run.status == 0 and "kept" in run.out.split("data slice")[0], "the criterion that it names", run)


def main_test(bench, _):
    check_guest(bench)
    check_path(bench)
    check_child(bench)


if __name__ == "__main__":
    e2e.main(main_test)
