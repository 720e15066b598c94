#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_other_processor.py BUILD-DIRECTORY: a recording whose processor had a feature that this one lacks (its header is
altered) is replayed, opened and asked, as long as the feature is not used."""
import os
import struct

import e2e

LEAF, NO_SUBLEAF, TBM = 0x80000001, 0xFFFFFFFF, 1 << 21


def unpack(packed):
    """Cap'n Proto's packing undone."""
    out, at = bytearray(), 0
    while at < len(packed):
        tag = packed[at]
        at += 1
        word = bytearray(8)
        for bit in range(8):
            if tag >> bit & 1:
                word[bit] = packed[at]
                at += 1
        out += word
        if tag == 0:
            out += bytes(8 * packed[at])
            at += 1
        elif tag == 0xFF:
            count = packed[at]
            out += packed[at + 1:at + 1 + 8 * count]
            at += 1 + 8 * count
    return out


def pack(words):
    """Not as short as it may be."""
    out = bytearray()
    for at in range(0, len(words), 8):
        word = words[at:at + 8]
        tag = sum(1 << bit for bit in range(8) if word[bit])
        out.append(tag)
        out += bytes(byte for byte in word if byte)
        if tag in (0, 0xFF):
            out.append(0)
    return bytes(out)


def alter(bench, trace):
    """Says in the header that the processor had TBM."""
    with open(f"{trace}/version", "rb") as file:
        line, packed = file.read().split(b"\n", 1)
    words = unpack(packed)
    key = struct.pack("<II", LEAF, NO_SUBLEAF)
    at = words.find(key)
    if at < 0 or words.find(key, at + 1) >= 0:
        bench.fail("the header's record of leaf 0x80000001 was not found")
        return
    ecx = struct.unpack_from("<I", words, at + 16)[0]
    struct.pack_into("<I", words, at + 16, ecx | TBM)
    os.chmod(f"{trace}/version", 0o600)
    with open(f"{trace}/version", "wb") as file:
        file.write(line + b"\n" + pack(words))
    os.unlink(f"{trace}/wetdbg.sums")


def main_test(bench, _arguments):
    trace = bench.record("other", f"{bench.programs}/fault_verify_O0")
    alter(bench, trace)
    wet = bench.path("other.wet")
    for command in (["dump", trace], ["ps", trace], ["replay", trace, "-o", wet, "--batch"], ["verify", wet],
                    ["open", wet, "--batch", "-e", "info modules", "-e", "backtrace"]):
        run = bench.wet(*command)
        if run.status != 0:
            bench.fail(f"{command[0]} of another processor's recording", run)


if __name__ == "__main__":
    e2e.main(main_test)
