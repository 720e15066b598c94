/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads arbitrary bytes as a .wet file, as far as that goes without a replayee.
 *
 * Checksums and compression would stop a fuzzer at the door. So the input is a container of its
 * own: per section a byte of kind, a byte of key and three bytes of length, then the bytes. They
 * are put into a proper file in memory; inputs that begin with a .wet file's magic are taken as
 * they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "tests/wet/wet_exercise.h"
#include "wet/store/store.h"
#include <wetdbg/errors.h>

#define SECTION_HEAD 5

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void query(const char *path)
{
    struct wetdbg *wet = NULL;
    int err = wetdbg_open(path, &wet);
    if (!err)
        err = exercise_tables(wet);
    int status = cli_exit_status(err);
    if (status != CLI_EXIT_OK && status != CLI_EXIT_TRACE && err != -12 /* ENOMEM */) {
        fprintf(stderr, "status %d: %s\n", status, wetdbg_error(err));
        abort();
    }
    wetdbg_close(wet);
}

static void raw(const uint8_t *bytes, size_t count)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    query(path);
    close(fd);
}

static void sections(const uint8_t *bytes, size_t count)
{
    static char path[64];
    struct wet_store_writer *writer;
    if (!path[0])
        snprintf(path, sizeof(path), "/dev/shm/wetdbg-fuzz-%d.wet", (int)getpid());
    if (wet_store_create(path, &writer))
        abort();
    while (count >= SECTION_HEAD) {
        size_t length = bytes[2] | (size_t)bytes[3] << 8 | (size_t)bytes[4] << 16;
        size_t here = length < count - SECTION_HEAD ? length : count - SECTION_HEAD;
        if (wet_store_add(writer, bytes[0], bytes[1], bytes + SECTION_HEAD, here, 1))
            abort();
        bytes += SECTION_HEAD + here;
        count -= SECTION_HEAD + here;
    }
    if (wet_store_commit(writer))
        abort();
    query(path);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count >= 6 && !memcmp(bytes, "WETDBG", 6))
        raw(bytes, count);
    else
        sections(bytes, count);
    return 0;
}
