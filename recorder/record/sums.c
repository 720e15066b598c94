/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/sums.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/err.h"
#include "recorder/ticks/digest_format.h"

#define SUMS_NAME    "wetdbg.sums"
#define BUFFER_BYTES (1u << 20)

static const char *const streams[] = {"version", "events",         "tasks",       "mmaps",
                                      "data",    TCK_DIGESTS_NAME, TCK_LINES_NAME};
#define STREAMS_ALWAYS 5 /* the others are there with software ticks only */

/* The sum of a file's bytes. -errno if it cannot be read. */
static int file_sum(const char *trace_dir, const char *name, unsigned long long *sum)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", trace_dir, name);
    FILE *file = fopen(path, "rbe");
    if (!file)
        return wd_fail_errno("%s", path);
    XXH64_state_t *state = XXH64_createState();
    char *buffer = malloc(BUFFER_BYTES);
    int err = state && buffer ? 0 : -ENOMEM;
    if (!err)
        XXH64_reset(state, 0);
    for (size_t count; !err && (count = fread(buffer, 1, BUFFER_BYTES, file)) > 0;)
        XXH64_update(state, buffer, count);
    if (!err && ferror(file))
        err = wd_fail_errno("%s", path);
    if (!err)
        *sum = XXH64_digest(state);
    free(buffer);
    XXH64_freeState(state);
    fclose(file);
    return err;
}

static bool is_there(const char *trace_dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", trace_dir, name);
    return access(path, F_OK) == 0;
}

int rec_sums_write(const char *trace_dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/" SUMS_NAME, trace_dir);
    FILE *out = fopen(path, "we");
    if (!out)
        return wd_fail_errno("%s", path);
    int err = 0;
    for (size_t i = 0; !err && i < sizeof streams / sizeof *streams; i++) {
        unsigned long long sum;
        if (i >= STREAMS_ALWAYS && !is_there(trace_dir, streams[i]))
            continue;
        err = file_sum(trace_dir, streams[i], &sum);
        if (!err)
            fprintf(out, "%016llx %s\n", sum, streams[i]);
    }
    if (fclose(out) && !err)
        err = wd_fail_errno("%s", path);
    if (err)
        remove(path);
    return err;
}

int rec_sums_check(const char *trace_dir)
{
    char path[4096], name[32];
    unsigned long long kept, now;
    snprintf(path, sizeof path, "%s/" SUMS_NAME, trace_dir);
    FILE *in = fopen(path, "re");
    if (!in)
        return errno == ENOENT ? 0 : wd_fail_errno("%s", path);
    int err = 0, fields;
    while (!err && (fields = fscanf(in, "%16llx %31s", &kept, name)) != EOF) {
        bool known = false;
        for (size_t i = 0; fields == 2 && i < sizeof streams / sizeof *streams; i++)
            known |= strcmp(name, streams[i]) == 0;
        if (!known) {
            err = wd_fail(-WD_ERR_CORRUPT, "%s: damaged", path);
            break;
        }
        err = file_sum(trace_dir, name, &now);
        if (!err && now != kept)
            err = wd_fail(-WD_ERR_CORRUPT, "%s/%s is not as it was recorded: its checksum differs",
                          trace_dir, name);
    }
    fclose(in);
    return err;
}
