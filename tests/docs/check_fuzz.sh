#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_fuzz.sh SOURCES CMAKE: the build with fuzzers that HACKING.md names can be configured. It needs
# clang, and nothing else configures it.
set -eu
if ! command -v clang >/dev/null || ! command -v clang++ >/dev/null; then
    echo "SKIPPED: docs_fuzz: clang is not installed"
    exit 77
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
"$2" -S "$1" -B "$build" -DWETDBG_FUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
"$2" --build "$build" --target help | grep -w fuzz_wet
