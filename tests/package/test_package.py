#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_package.py BUILD SAMPLE CPACK shared|static: cpack makes a .deb that holds what it should; unpacked anywhere, its
wetdbg records and replays a sample with the preload that lies beside it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FILES = """
usr/bin/wetdbg
usr/include/wetdbg/api.h
usr/include/wetdbg/breaks.h
usr/include/wetdbg/build.h
usr/include/wetdbg/caller.h
usr/include/wetdbg/candidates.h
usr/include/wetdbg/decisions.h
usr/include/wetdbg/delta.h
usr/include/wetdbg/delta_program.h
usr/include/wetdbg/delta_record.h
usr/include/wetdbg/errors.h
usr/include/wetdbg/files.h
usr/include/wetdbg/implicit.h
usr/include/wetdbg/locate.h
usr/include/wetdbg/model.h
usr/include/wetdbg/mutate.h
usr/include/wetdbg/origin.h
usr/include/wetdbg/own_file.h
usr/include/wetdbg/parting.h
usr/include/wetdbg/prune.h
usr/include/wetdbg/record.h
usr/include/wetdbg/recording.h
usr/include/wetdbg/replace.h
usr/include/wetdbg/set.h
usr/include/wetdbg/slice.h
usr/include/wetdbg/spectrum.h
usr/include/wetdbg/switch.h
usr/include/wetdbg/switch_search.h
usr/include/wetdbg/verify.h
usr/include/wetdbg/walk.h
usr/include/wetdbg/wet.h
usr/include/wetdbg/wetdbg.h
usr/include/wetdbg/writes.h
usr/lib/*/cmake/wetdbg/WetdbgCTest.cmake
usr/lib/*/cmake/wetdbg/wetdbgConfig.cmake
usr/lib/*/cmake/wetdbg/wetdbgConfigVersion.cmake
usr/lib/*/cmake/wetdbg/wetdbgTargets-TYPE.cmake
usr/lib/*/cmake/wetdbg/wetdbgTargets.cmake
usr/lib/*/libwetdbg.a
usr/lib/*/libwetdbg.so
usr/lib/*/libwetdbg.so.0
usr/lib/*/libwetdbg.so.VERSION
usr/lib/*/pkgconfig/wetdbg.pc
usr/lib/*/wetdbg/libwetdbg-ticks.so
usr/share/bash-completion/completions/wetdbg
usr/share/doc/wetdbg/HACKING.md
usr/share/doc/wetdbg/README.md
usr/share/doc/wetdbg/changelog.gz
usr/share/doc/wetdbg/copyright
usr/share/doc/wetdbg/docs/architecture.md
usr/share/doc/wetdbg/docs/architecture/building.md
usr/share/doc/wetdbg/docs/architecture/delta.md
usr/share/doc/wetdbg/docs/architecture/engine.md
usr/share/doc/wetdbg/docs/architecture/feed.md
usr/share/doc/wetdbg/docs/architecture/front-end.md
usr/share/doc/wetdbg/docs/architecture/intervals.md
usr/share/doc/wetdbg/docs/architecture/limits.md
usr/share/doc/wetdbg/docs/architecture/locate.md
usr/share/doc/wetdbg/docs/architecture/model.md
usr/share/doc/wetdbg/docs/architecture/proof.md
usr/share/doc/wetdbg/docs/architecture/recording.md
usr/share/doc/wetdbg/docs/architecture/slices.md
usr/share/doc/wetdbg/docs/architecture/switching.md
usr/share/doc/wetdbg/docs/format.md
usr/share/doc/wetdbg/docs/glossary.md
usr/share/doc/wetdbg/docs/harnesses.md
usr/share/doc/wetdbg/docs/library.md
usr/share/doc/wetdbg/docs/locate-report.png
usr/share/doc/wetdbg/docs/schemas/wetdbg.locate.1.json
usr/share/doc/wetdbg/docs/schemas/wetdbg.types.1.json
usr/share/doc/wetdbg/docs/tutorial.md
usr/share/fish/vendor_completions.d/wetdbg.fish
usr/share/man/man1/wetdbg.1.gz
usr/share/zsh/vendor-completions/_wetdbg
""".split()


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, timeout=200, **options)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def make_package(build, cpack, scratch):
    """As if for Ninja, for which cpack leaves out building everything once more."""
    run(cpack, "-G", "DEB", "-B", scratch, "-D", "CPACK_CMAKE_GENERATOR=Ninja", cwd=build)
    names = [name for name in os.listdir(scratch) if name.endswith(".deb")]
    assert len(names) == 1 and re.fullmatch(r"wetdbg_[\d.]+_amd64\.deb", names[0]), names
    return os.path.join(scratch, names[0])


def check_control(package):
    control = run("dpkg-deb", "-f", package)
    depends = re.search(r"^Depends: (.*)$", control, re.M).group(1)
    for wanted in ("rr (>= 5.6)", "libc6 (>=", "libzydis", "libdw1", "libzstd1", "libreadline8"):
        assert wanted in depends, control
    assert re.search(r"^Suggests: gdb$", control, re.M), control


def check_files(root, has_shared):
    wanted = sorted(name for name in FILES if has_shared or "/libwetdbg.so" not in name)
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    for pattern, general in ((r"^usr/lib/(x86_64-linux-gnu/)?", "usr/lib/*/"), (r"Targets-\w+\.", "Targets-TYPE."),
                             (r"so\.\d+\.\d+\.\d+$", "so.VERSION")):
        found = [re.sub(pattern, general, name) for name in found]
    found.sort()
    assert found == wanted, found
    for folder, folders, names in os.walk(root):
        for name in names + folders:
            if os.path.islink(os.path.join(folder, name)):
                continue
            mode = os.stat(os.path.join(folder, name)).st_mode & 0o7777
            is_program = os.path.isdir(os.path.join(folder, name)) or name == "wetdbg" and folder.endswith("bin")
            assert mode == (0o755 if is_program else 0o644), (folder, name, oct(mode))


def check_links(root):
    """Of every page that is installed, to files beside it."""
    for page in (os.path.join(root, name) for name in FILES if name.endswith(".md")):
        with open(page, encoding="utf-8") as file:
            links = re.findall(r"\]\(([^)#]+)[^)]*\)", file.read())
        for link in links:
            target = os.path.join(os.path.dirname(page), link)
            assert link.startswith("http") or os.path.exists(target), (page, link)


def check_use(root, sample, scratch):
    program, recording = os.path.join(root, "usr/bin/wetdbg"), os.path.join(scratch, "recording")
    assert run(program, "--version").startswith("wetdbg ")
    done = subprocess.run([program, "record", "--ticks=software", "-o", recording, "--", sample], text=True,
                          capture_output=True, timeout=120)
    assert done.returncode not in (0, 125), done  # the sample crashes
    answer = run(program, "replay", recording, "--batch", "-e", "backtrace")
    assert " main " in answer, answer


def check_ctest(root, scratch):
    """A project that has one line of ours: a failing test of it tells of its fault."""
    project, build = os.path.join(scratch, "project"), os.path.join(scratch, "built")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
        file.write("cmake_minimum_required(VERSION 3.18)\nproject(p C)\nset(CMAKE_BUILD_TYPE Debug)\nenable_testing()\n"
                   "find_package(wetdbg REQUIRED COMPONENTS ctest)\nadd_executable(t t.c)\nadd_test(t t)\n")
    with open(os.path.join(project, "t.c"), "w") as file:
        file.write("int is_odd(int n)\n{\n    if (n & 2)\n        return 1;\n    return 0;\n}\n"
                   "int main(void)\n{\n    return !is_odd(5);\n}\n")
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={root}/usr")
    run("cmake", "--build", build)
    environment = dict(os.environ, XDG_DATA_HOME=scratch)
    done = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure"], text=True, capture_output=True,
                          timeout=120, env=environment)
    assert done.returncode and "t.c:3 in is_odd" in done.stdout, done


def main():
    build, sample, cpack, libraries = sys.argv[1:]
    if not shutil.which("dpkg-shlibdeps"):
        print("SKIPPED: test_package: dpkg-shlibdeps (Debian: dpkg-dev) is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        package = make_package(build, cpack, scratch)
        check_control(package)
        root = os.path.join(scratch, "root")
        run("dpkg-deb", "-x", package, root)
        check_files(root, libraries == "shared")
        check_links(root)
        check_use(root, sample, scratch)
        check_ctest(root, scratch)


main()
