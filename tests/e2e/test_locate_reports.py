#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_locate_reports.py BUILD-DIRECTORY: what `wetdbg locate` writes for other tools is what their formats say, and says what
the answer itself says."""
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

import e2e
from schemas import SCHEMAS, errors_of, validator


def skip(why):
    print(f"SKIPPED: e2e_locate_reports: {why}", flush=True)


def path_of(location):
    uri = urllib.parse.urlsplit(location["artifactLocation"]["uri"])
    return urllib.parse.unquote(uri.path) if uri.scheme == "file" and not uri.netloc else None


def place_of(location):
    """(path, line) of a SARIF location, whose text is that of the file."""
    physical = location["physicalLocation"]
    path, line = path_of(physical), physical["region"]["startLine"]
    with open(path, errors="replace") as file:
        text = file.read().splitlines()[line - 1]
    return (path, line) if physical["region"]["snippet"]["text"] == text else None


def steps_of(result):
    return result["codeFlows"][0]["threadFlows"][0]["locations"] if "codeFlows" in result else []


def check_flow(bench, run, result, wet):
    """From the suspect's line to what is wrong, forward in time; the run was there at these times."""
    steps = steps_of(result)
    if not bench.check(steps, "a path", run):
        return
    times = [step["properties"]["time"] for step in steps]
    edges = [step["properties"]["edge"] for step in steps]
    bench.check(place_of(steps[0]["location"]) == place_of(result["locations"][0]), f"it begins elsewhere: {steps[0]}", run)
    bench.check(times == sorted(times), f"times: {times}", run)
    bench.check("none" not in edges[:-1] and steps[-1]["kinds"] == ["danger"] and "wrong" in steps[-1]["location"]["message"]["text"],
                f"edges: {edges}", run)
    bench.check([step["executionOrder"] for step in steps] == list(range(1, len(steps) + 1)), "their order", run)
    words = [word for time in times for word in ("-e", f"goto {time}")]
    shown = bench.wet("open", wet, "--batch", "--json", *words).objects()
    there = [(at["file"], at["line"]) for at in shown]
    bench.check(there == [place_of(step["location"]) for step in steps], f"the run was at {there}")


def check_sarif(bench, python, run, path):
    """Holds the file against its schema, and against the answer of the same run; the log."""
    with open(path) as file:
        log = json.load(file)
    schema = f"{bench.build}/tests/sarif.schema.json"
    if python and os.path.exists(schema):
        errors = errors_of(bench, python, schema, path)
        bench.check(not errors, f"SARIF's schema: {errors}", run)
    answer, told = run.objects()[-1], log["runs"][0]
    results, rules = told["results"], told["tool"]["driver"]["rules"]
    rows = answer["suspects"][:len(results)]
    bench.check([place_of(result["locations"][0]) for result in results] == [(row["file"], row["line"]) for row in rows],
                "suspects are not those of the answer", run)
    for result, row in zip(results, rows):
        bench.check(rules[result["ruleIndex"]]["id"] == result["ruleId"] == row["reasons"][0]["kind"], f"rule: {result}", run)
        bench.check(all(reason["text"] in result["message"]["text"] for reason in row["reasons"]), f"message: {result}", run)
        bench.check(result["level"] == ("warning" if row["evidence"]["in_slice"] else "note") or row["reasons"][0]["kind"] != "outside",
                    f"level: {result}", run)
    ranks = [result["rank"] for result in results]
    bench.check(ranks == sorted(ranks, reverse=True) and ranks[0] == 100 and min(ranks) > 0, f"ranks: {ranks}", run)
    prints = [result["partialFingerprints"]["fileFunctionText/v1"] for result in results]
    bench.check(all(row["text"] in text and row["function"] in text for row, text in zip(rows, prints)), f"{prints}", run)
    files = [path_of({"artifactLocation": artifact["location"]}) for artifact in told["artifacts"]]
    named = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in results]
    named += [step["location"]["physicalLocation"]["artifactLocation"] for result in results for step in steps_of(result)]
    bench.check(all(told["artifacts"][at["index"]]["location"]["uri"] == at["uri"] for at in named), "indices of artifacts", run)
    bench.check(all(os.path.isfile(name) for name in files) and len(set(files)) == len(files), f"artifacts: {files}", run)
    said = [note["message"]["text"] for note in told["invocations"][0]["toolExecutionNotifications"]]
    bench.check(said == answer["missing"] and told["invocations"][0]["exitCode"] == 0, f"notifications: {said}", run)
    return log


def read_junit(path):
    suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
    case = suite.find("testcase")
    return suite, case, case.find("failure")


def check_wrong_byte(bench, python):
    """Output that is wrong: paths lead to it, and all files and the answer agree."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    right = bench.run(f"{bench.programs}/fault_ledger_O0_fixed", stdin=fault.stdin).out
    with open(bench.path("right"), "w") as file:
        file.write(right)
    sarif, junit = bench.path("answer.sarif"), bench.path("answer.xml")
    run = bench.wet("locate", "--json", "--budget=2", "--expect=right", "--limit=4", f"--sarif={sarif}", f"--junit={junit}", "--",
                    f"{bench.programs}/fault_ledger_O0", stdin=fault.stdin)
    if not bench.check(run.status == 0, "an answer", run):
        return
    answer = run.objects()[-1]
    told = check_sarif(bench, python, run, sarif)["runs"][0]
    bench.check(len(told["results"]) == 4 and told["properties"]["failingRun"]["exitCode"] == 0, "results", run)
    inside = [result for result in told["results"] if steps_of(result)]
    bench.check(len(inside) >= 3, "most of the first have a path", run)
    for result in inside:
        check_flow(bench, run, result, answer["run"])
    suite, case, failure = read_junit(junit)
    first = answer["suspects"][0]
    bench.check(suite.get("failures") == "1" and case.get("name") == "fault_ledger_O0" and failure.get("type") == "output"
                and case.get("file") == first["file"] and case.get("line") == str(first["line"]), "JUnit", run)
    bench.check(len(failure.text.splitlines()) == 4 and first["reasons"][0]["text"] in failure.text.splitlines()[0]
                and answer["criterion"]["description"] in failure.get("message"), f"JUnit: {failure.text}", run)
    bench.check(all(os.stat(path).st_mode & 0o077 == 0 for path in (sarif, junit)), "others may read them")
    if python:
        with open(bench.path("answers"), "w") as file:
            file.write(run.out)
        schema = f"{SCHEMAS}/wetdbg.locate.1.json"
        errors = errors_of(bench, python, schema, bench.path("answers"), "lines")
        bench.check(not errors, f"wetdbg.locate/1: {errors}", run)
        for wrong in ({"final": None}, {"more": 1}, {"suspects": [{}]}, {"criterion": dict(answer["criterion"], kind="other")}):
            with open(bench.path("answers"), "w") as file:
                json.dump(dict(answer, **wrong), file)
            bench.check(errors_of(bench, python, schema, bench.path("answers"), "lines"), f"the schema accepts {wrong}")


SOURCE = """#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char copy[8] = "", *end = NULL;
    int sum = argc * 5;
    for (int i = 0; i < 400; i++) {
        sum = sum * 3 + i;
        sum ^= argc;
    }
    memcpy(copy, argv[0], 4);
    if (copy[1] && sum)
        *end = sum;
    return 0;
}
"""


def check_strange(bench, python):
    """Names of folders and files that are no URIs; a path through a library and around a loop; a crash."""
    folder = bench.path("a b%41#\u00fc?")
    os.mkdir(folder)
    with open(f"{folder}/strange & <name>.c", "w") as file:
        file.write(SOURCE)
    build = bench.run("cc", "-g", "-O0", "-o", f"{folder}/program '\"&", f"{folder}/strange & <name>.c")
    bench.check(build.status == 0, "the program is built", build)
    run = bench.wet("locate", "--json", "--budget=1", "--crash", "--limit=0", "--sarif=strange.sarif", "--junit=strange.xml", "--",
                    f"{folder}/program '\"&")
    if not bench.check(run.status == 0, "an answer", run):
        return
    told = check_sarif(bench, python, run, bench.path("strange.sarif"))["runs"][0]
    answer = run.objects()[-1]
    bench.check(len(told["results"]) == answer["executed_lines"], "--limit=0: all lines", run)
    bench.check(told["properties"]["failingRun"]["exitSignalName"] == "SIGSEGV", f"{told['properties']}", run)
    flows = {result["locations"][0]["physicalLocation"]["region"]["startLine"]: steps_of(result) for result in told["results"]}
    loop, texts = flows[6], [step["location"]["message"]["text"] for step in flows[6]]
    bench.check(len(loop) == 100 and sum("steps that are left out" in text for text in texts) == 1, f"{len(loop)} steps: {texts}", run)
    _, case, failure = read_junit(bench.path("strange.xml"))
    bench.check(case.get("name") == "program '\"&" and "strange & <name>.c:13 in main" in failure.text, f"JUnit: {failure.text}", run)


def check_interrupt(bench, python):
    """Ctrl-C leaves files of the best list so far."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_lru")
    trace = bench.record("lru", f"{bench.programs}/fault_lru_O0")
    right = bench.run(f"{bench.programs}/fault_lru_O0_fixed", *fault.arguments).out
    with open(bench.path("lru.right"), "w") as file:
        file.write(right)
    child = subprocess.Popen([bench.wetdbg, "locate", "--json", "--budget=10m", "--expect=lru.right", "--sarif=cut.sarif", trace],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment, cwd=bench.work)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=120)
    with open(bench.path("cut.sarif")) as file:
        told = json.load(file)["runs"][0]
    # It may have come to its end before the signal did.
    bench.check(told["invocations"][0]["exitCode"] == child.returncode in (0, 130) and told["results"], f"{told['invocations']}")
    schema = f"{bench.build}/tests/sarif.schema.json"
    if python and os.path.exists(schema):
        errors = errors_of(bench, python, schema, bench.path("cut.sarif"))
        bench.check(not errors, f"SARIF's schema: {errors}")


def check_bad(bench):
    """Files that cannot be written are told before the program runs."""
    os.mkdir(bench.path("folder"))
    for option in ("sarif", "junit"):
        for name in ("/nowhere/x", "folder", "folder/", "/dev/full", ""):
            run = bench.wet("locate", "--crash", f"--{option}={name}", "--", "/usr/bin/touch", "TOUCHED")
            bench.check(run.status in (2, 5) and run.err.count("\n") == 1 and not run.out and not os.path.exists(bench.path("TOUCHED")),
                        f"--{option}={name}", run)


def run_test(bench, _):
    python = validator("e2e_locate_reports")
    if not os.path.exists(f"{bench.build}/tests/sarif.schema.json"):
        skip("SARIF's schema is not there: tests/get_from_npm BUILD fetches it")
    if not shutil.which("cc"):
        raise SystemExit("cc is needed")
    check_wrong_byte(bench, python)
    check_strange(bench, python)
    check_interrupt(bench, python)
    check_bad(bench)


e2e.main(run_test)
