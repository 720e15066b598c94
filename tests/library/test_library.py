#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_library.py CMAKE BUILD PAGE SAMPLE CC CXX: installs into a scratch prefix; builds the program of PAGE there,
by pkg-config (shared and static) and by CMake, and runs it on a sample that crashes; PAGE's second program looks
around in a trace, its third takes arguments away; compiles each header alone; and
looks at the names that the libraries show."""
import os
import re
import subprocess
import sys
import tempfile

PUBLIC = re.compile(r"wetdbg_[a-z0-9_]+$")


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, timeout=200, **options)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def flags(prefix, *options):
    where = dict(os.environ, PKG_CONFIG_PATH=find(prefix, "wetdbg.pc"))
    return run("pkg-config", *options, "wetdbg", env=where).split()


def find(prefix, name):
    for folder, _, names in os.walk(prefix):
        if name in names:
            return folder
    sys.exit(f"{name} is not installed")


def check_names(prefix):
    """What others could clash with: only public names, and the same in both."""
    lib = find(prefix, "libwetdbg.a")
    shared = run("nm", "-D", "--defined-only", os.path.join(lib, "libwetdbg.so"))
    static = run("nm", "-g", "--defined-only", os.path.join(lib, "libwetdbg.a"))
    found = [{line.split()[-1] for line in text.splitlines() if len(line.split()) == 3} for text in (shared, static)]
    assert found[0] == found[1], found[0] ^ found[1]
    assert found[0] and all(PUBLIC.match(name) for name in found[0]), sorted(found[0])
    return found[0]


def check_headers(prefix, names, cc, cxx):
    """Each header compiles alone, as C and as C++; what it declares is there."""
    folder = os.path.join(prefix, "include", "wetdbg")
    declared = set()
    for header in sorted(os.listdir(folder)):
        for compiler, language in ((cc, "c"), (cxx, "c++")):
            run(compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{prefix}/include", "-x", language,
                "-include", os.path.join(folder, header), "/dev/null")
        with open(os.path.join(folder, header), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/|^\s*#define.*?[^\\]$", "", file.read(), flags=re.S | re.M)
        text = re.sub(r"static inline.*?^}", "", text, flags=re.S | re.M)
        declared |= set(re.findall(r"^(?:[a-z][\w \*]*?\b)?(wetdbg_\w+)\(", text, re.M))
    assert declared == names, declared ^ names


def check_program(program, sample, scratch, env):
    answer = run(program, sample, env=dict(env, _RR_TRACE_DIR=os.path.join(scratch, "recordings")))
    assert "SIGSEGV" in answer and re.search(r"cli_sample\.c:\d+  ", answer), answer


def check_second(program, prefix, build, page, scratch):
    """It walks over calls, and finds the writes to a variable that the sample counts with."""
    wetdbg, wet = os.path.join(prefix, "bin", "wetdbg"), os.path.join(scratch, "ledger.wet")
    ledger = f"{build}/tests/programs/fault_ledger_O0"
    data = os.path.join(os.path.dirname(page), "..", "tests", "programs", "data", "ledger.txt")
    with open(data, encoding="utf-8") as stdin:
        said = subprocess.run([wetdbg, "record", "-o", f"{scratch}/ledger", "--", ledger], stdin=stdin,
                              capture_output=True, text=True, timeout=100, check=False).stdout
    run(wetdbg, "replay", f"{scratch}/ledger", "-o", wet, "--batch")
    answer = run(program, wet, "account_count")
    assert re.search(r"^call 1: .*^call 10: ", answer, re.S | re.M), answer
    writes = re.findall(r"^time \d+  .*fault_ledger\.c:\d+$", answer, re.M)
    accounts = re.findall(r"^\w+ +-?\d+ \(\d+\)$", said, re.M)  # each was counted once
    assert writes and len(writes) == len(accounts), (answer, said)
    refused = subprocess.run([program, wet, "no_such_thing"], capture_output=True, text=True, timeout=100, check=False)
    assert refused.returncode == 1 and "no_such_thing" in refused.stderr, refused


def check_third(program):
    """Of a command's arguments the one is enough that it fails for."""
    answer = run(program, "ls", "-d", "/", "/no/such/file", "-a", ".")
    assert answer.splitlines()[-1] == "ls /no/such/file", answer
    refused = subprocess.run([program, "ls", "-d", "/"], capture_output=True, text=True, timeout=100, check=False)
    assert refused.returncode == 1 and refused.stderr, refused


def main():
    cmake, build, page, sample, cc, cxx = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        prefix, source = os.path.join(scratch, "prefix"), os.path.join(scratch, "program.c")
        run(cmake, "--install", build, "--prefix", prefix)
        with open(page, encoding="utf-8") as text:
            programs = re.findall(r"^```c\n(.*?)^```", text.read(), re.S | re.M)
        for path, program in zip((source, f"{scratch}/second.c", f"{scratch}/third.c"), programs):
            with open(path, "w", encoding="utf-8") as out:
                out.write(program)
        check_headers(prefix, check_names(prefix), cc, cxx)
        run(cc, "-Wall", "-Wextra", "-Werror", "-o", f"{scratch}/shared", source, *flags(prefix, "--cflags", "--libs"))
        lib = find(prefix, "libwetdbg.so")
        check_program(f"{scratch}/shared", sample, scratch, dict(os.environ, LD_LIBRARY_PATH=lib))
        for name in [name for name in os.listdir(lib) if name.startswith("libwetdbg.so")]:
            os.unlink(os.path.join(lib, name))
        run(cc, "-o", f"{scratch}/static", source, *flags(prefix, "--cflags", "--libs", "--static"))
        check_program(f"{scratch}/static", sample, scratch, os.environ)
        run(cc, "-Wall", "-Wextra", "-Werror", "-o", f"{scratch}/second", f"{scratch}/second.c",
            *flags(prefix, "--cflags", "--libs", "--static"))
        check_second(f"{scratch}/second", prefix, build, page, scratch)
        run(cc, "-Wall", "-Wextra", "-Werror", "-o", f"{scratch}/third", f"{scratch}/third.c",
            *flags(prefix, "--cflags", "--libs", "--static"))
        check_third(f"{scratch}/third")
        with open(f"{scratch}/CMakeLists.txt", "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.18)\nproject(user C)\nfind_package(wetdbg 0.1 REQUIRED)\n"
                       "add_executable(user program.c)\ntarget_link_libraries(user PRIVATE wetdbg::wetdbg_static)\n")
        run(cmake, "--install", build, "--prefix", prefix)
        run(cmake, "-S", scratch, "-B", f"{scratch}/build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={cc}")
        run(cmake, "--build", f"{scratch}/build")


main()
