#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_recipes.py BUILD: the commands of docs/harnesses.md for Meson, Automake, GitHub Actions and GitLab, as they stand there, tell
of the fault of a project; tests that pass are not recorded, and verdicts are what they are without them."""
import glob
import os
import re
import shlex
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import e2e
import shop

FAULT = f"shop.c:{shop.FAULT} in shop_price"
with open(f"{e2e.SOURCE}/docs/harnesses.md") as page:
    PAGE = page.read()


def command(begin):
    """The line of the page that begins so, as words."""
    return shlex.split(re.search(rf"^\$ ({begin}.*)$", PAGE, re.M)[1])


def is_there(*programs):
    for program, package in programs:
        if not shutil.which(program):
            shop.skip("test_recipes", f"{program} (Debian: {package}) is not installed")
            return False
    return True


def need(bench, *words, **how):
    run = bench.run(*words, patience=200, **how)
    if not bench.check(run.status == 0, f"{words[0]} fails", run):
        raise SystemExit(bench.finish())


def count_recordings(bench):
    return len(bench.wet("ls", "--json").objects()[0]["recordings"])


def read_all(pattern):
    texts = {}
    for path in glob.glob(pattern):
        with open(path, errors="replace") as file:
            texts[os.path.basename(path)] = file.read()
    return texts


def check_meson(bench):
    if not is_there(("meson", "meson"), ("ninja", "ninja-build")):
        return
    for name, is_right in (("meson", False), ("meson_right", True)):
        need(bench, "meson", "setup", bench.path(name), shop.SOURCE, f"-Dfixed={str(is_right).lower()}")
        before = count_recordings(bench)
        words = [bench.path(name) if word == "build" else word for word in command("meson test")]
        run = bench.run(*words, "--print-errorlogs", patience=200)
        verdicts = dict(re.findall(r"\d+/\d+ (\w+) +(OK|FAIL|ERROR)", run.out))
        passed = {test for test, verdict in verdicts.items() if verdict == "OK"}
        bench.check(len(verdicts) == 5 and passed == (set(verdicts) if is_right else {"till_nine"}), f"{name}: {verdicts}", run)
        with open(bench.path(name, "meson-logs", "testlog-wetdbg.txt"), errors="replace") as file:
            said = file.read().count(FAULT)
        bench.check(said == (0 if is_right else 4), f"{name}: {said} tests tell of the fault", run)
        bench.check((count_recordings(bench) > before) != is_right, f"{name}: recordings")


def check_automake(bench):
    if not is_there(("automake", "automake"), ("autoconf", "autoconf"), ("make", "make")):
        return
    tree = bench.path("automake")
    shutil.copytree(f"{shop.SOURCE}/automake", tree)
    for name in glob.glob(f"{shop.SOURCE}/shop*.[ch]"):
        shutil.copy(name, tree)
    need(bench, "autoreconf", "-i", cwd=tree)
    for name, flags in (("wrong", "-DWRONG"), ("right", "-DFIXED")):
        build = f"{tree}/{name}"
        os.mkdir(build)
        need(bench, "../configure", f"CPPFLAGS={flags}", cwd=build)
        os.symlink("../till.sh", f"{build}/till.sh")
        run = bench.run(*command("make check"), cwd=build, patience=200)
        logs = read_all(f"{build}/*.log")
        told = {test for test, text in logs.items() if FAULT in text and test != "test-suite.log"}
        tests = {"shop_unity.log", "shop_assert.log", "till.log"}
        bench.check(told == (tests if name == "wrong" else set()), f"Automake, {name}: {told} tell", run)
        bench.check((run.status == 0) == (name == "right") and set(logs) >= tests, f"Automake, {name}: status", run)


def steps():
    """The commands of the workflow's steps, by name."""
    block = re.search(r"^```yaml\n(name: tests.*?)^```$", PAGE, re.M | re.S)[1]
    try:
        import yaml
        jobs = yaml.safe_load(block)["jobs"]["test"]["steps"]
        return {step.get("name"): step.get("run") for step in jobs}
    except ImportError:
        shop.skip("test_recipes", "PyYAML (Debian: python3-yaml) is not installed, so the workflow is read by its lines")
        found = re.findall(r"- name: (\w+)\n +run: (\|\n(?:          .*\n)+|.*\n)", block)
        return {name: text.lstrip("|\n") for name, text in found}


def check_actions(bench):
    """What it fetches needs the network; the rest runs here, with this build in place of what is installed."""
    runs = steps()
    tree = bench.path("checkout")
    shutil.copytree(shop.SOURCE, tree)
    text = f"{runs['build']}\n{runs['test']}\n"
    installed = re.search(r"/usr/lib/\S*/WetdbgCTest\.cmake", text)[0]
    text = text.replace(installed, f"{e2e.SOURCE}/cmake/WetdbgCTest.cmake -DWETDBG_PROGRAM={bench.wetdbg}")
    text = text.replace("ctest ", "ctest -R '^(tap|till.*)$' ")
    run = bench.run("bash", "-c", text, cwd=tree, patience=250)
    with open(f"{tree}/build/junit.xml") as file:
        bench.check(FAULT in file.read(), "CTest's own XML has no explanation", run)
    bench.check(run.status != 0 and run.out.count(FAULT) == 5, "the workflow's commands", run)


def check_any_command(bench):
    """GitHub's and GitLab's recipes of `wetdbg ci`, without what they fetch."""
    github = re.search(r"^```yaml\n(name: ci.*?)^```$", PAGE, re.M | re.S)[1]
    gitlab = re.search(r"^```yaml\n(test:.*?)^```$", PAGE, re.M | re.S)[1]
    found = dict(re.findall(r"- name: (\w+)\n +run: (\|\n(?:          .*\n)+|.*\n)", github))
    lines = re.search(r"^  script:\n((?:    - .*\n)+)", gitlab, re.M)[1]
    for name, text, kept in (("github", found["build"].lstrip("|") + found["test"], ["report", "locate.sarif"]),
                             ("gitlab", "set -e\n" + lines.replace("    - ", ""), ["paths", "junit.xml"])):
        tree = bench.path(name)
        shutil.copytree(shop.SOURCE, tree)
        text = text.replace("-- ctest ", "--budget=3 -- ctest -R '^till$' ")
        run = bench.run("bash", "-c", text, cwd=tree, patience=250)
        page = github if name == "github" else gitlab
        folder = f"{tree}/wetdbg-report"
        paths = re.findall(r"wetdbg-report/[\w.]+", page)
        said = read_all(f"{folder}/locate.txt").get("locate.txt", "")
        bench.check(run.status == 8 and f"shop.c:{shop.FAULT}  in shop_price" in said and "--budget" in text, f"{name}'s commands", run)
        bench.check(paths and all(os.path.exists(f"{tree}/{path}") for path in paths) and all(word in page for word in kept),
                    f"{name}: {paths}, {os.listdir(folder)}", run)
    try:
        import yaml
        uses = [step.get("uses") for step in yaml.safe_load(github)["jobs"]["test"]["steps"]]
        bench.check("actions/upload-artifact@v4" in uses and yaml.safe_load(gitlab)["test"]["artifacts"]["when"] == "on_failure", f"{uses}")
    except ImportError:
        shop.skip("test_recipes", "PyYAML (Debian: python3-yaml) is not installed, so the recipes are read by their lines")


def test(bench, _):
    bench.environment["PATH"] = os.path.dirname(bench.wetdbg) + ":" + bench.environment["PATH"]
    check_meson(bench)
    check_automake(bench)
    check_actions(bench)
    check_any_command(bench)


e2e.main(test)
