/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets in files. Members are written as plain bits, which nothing in a file can make to be anything
 * else, and compressed by zstd.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "common/regular.h"
#include "slicer/sets/instance_set.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

#define MAGIC          "wetset1\n"
#define LEVEL          1
#define FILE_MAX_BYTES (UINT64_C(1) << 32)

struct header {
    char magic[8];
    uint64_t run;   /* which run it is of */
    uint64_t parts; /* intervals that it has instances in */
    uint64_t has_fault, fault_time, fault_pc, fault_task;
    uint64_t note; /* its bytes, behind this, filled up to a multiple of 8 */
};

/* ... and for each of the intervals: */
struct part_header {
    uint64_t interval;
    uint64_t words; /* of 64 instructions each, behind this */
};

/* Tells runs apart: two files of one recording say the same. */
static uint64_t run_of(const struct wetdbg *wet)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    const uint64_t facts[] = {info->first_time,      info->instructions, info->intervals,
                              info->node_executions, info->loads,        info->stores,
                              info->syscalls};
    return XXH64(facts, sizeof(facts), XXH64(info->program, strlen(info->program), 0));
}

static uint64_t words_of(const struct wetdbg_set *set, uint64_t k)
{
    return (slc_set_instructions(set, k) + 63) / 64;
}

static uint64_t padded(uint64_t size)
{
    return (size + 7) / 8 * 8;
}

static uint64_t size_of(const struct wetdbg_set *set, uint64_t note_size, bool all)
{
    uint64_t size = sizeof(struct header) + padded(note_size);

    for (uint64_t k = 0; k < set->part_count; k++)
        if (all || set->parts[k])
            size += sizeof(struct part_header) + 8 * words_of(set, k);
    return size;
}

/* ---- writing ---- */

static char *pack(const struct wetdbg_set *set, const char *note, uint64_t size)
{
    char *bytes = calloc(1, size), *at = bytes;
    struct header header = {.run = run_of(set->wet),
                            .has_fault = set->has_fault,
                            .fault_time = set->fault_time,
                            .fault_pc = set->fault_pc,
                            .fault_task = set->fault_task,
                            .note = strlen(note)};

    if (!bytes)
        return NULL;
    memcpy(header.magic, MAGIC, sizeof(header.magic));
    for (uint64_t k = 0; k < set->part_count; k++)
        header.parts += set->parts[k] != NULL;
    memcpy(at, &header, sizeof(header));
    at += sizeof(header);
    memcpy(at, note, header.note);
    at += padded(header.note);
    for (uint64_t k = 0; k < set->part_count; k++) {
        const struct part_header part = {k, words_of(set, k)};
        if (!set->parts[k])
            continue;
        memcpy(at, &part, sizeof(part));
        at += sizeof(part);
        slc_set_bits(set, k, (uint64_t *)(void *)at);
        at += 8 * part.words;
    }
    return bytes;
}

static int write_all(int fd, const char *path, const char *bytes, size_t size)
{
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return wetdbg_fail_errno("%s", path);
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

static int write_file(const char *path, const char *bytes, size_t size)
{
    char *temporary;
    int fd, err = wetdbg_own_file_check_goal(path);

    if (err)
        return err;
    if (asprintf(&temporary, "%s.part", path) < 0)
        return -ENOMEM;
    err = wetdbg_own_file_open(temporary, &fd);
    if (err) {
        free(temporary);
        return err;
    }
    if (ftruncate(fd, 0))
        err = wetdbg_fail_errno("%s", temporary);
    if (!err)
        err = write_all(fd, temporary, bytes, size);
    if (!err && rename(temporary, path))
        err = wetdbg_fail_errno("%s", path);
    if (err)
        unlink(temporary);
    close(fd);
    free(temporary);
    return err;
}

int wetdbg_set_save(const struct wetdbg_set *set, const char *note, const char *path)
{
    if (strlen(note) > WETDBG_SET_NOTE_MAX)
        return wetdbg_fail(-EINVAL, "%s: the note is too long", path);
    uint64_t size = size_of(set, strlen(note), false);
    char *bytes = pack(set, note, size);
    size_t room = ZSTD_compressBound(size);
    char *packed = malloc(room);
    int err = bytes && packed ? 0 : -ENOMEM;
    size_t used = err ? 0 : ZSTD_compress(packed, room, bytes, size, LEVEL);

    if (!err && ZSTD_isError(used))
        err = -ENOMEM;
    if (!err)
        err = write_file(path, packed, used);
    free(bytes);
    free(packed);
    return err;
}

/* ---- reading ---- */

static int corrupt(const char *path)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s is no set of instances, or was damaged", path);
}

static int read_file(const char *path, char **bytes, size_t *size)
{
    struct stat status;
    int fd, err = wd_regular_open(AT_FDCWD, path, WD_LINKS_FOLLOW, &fd, &status);

    *bytes = NULL;
    if (err)
        return err;
    if ((uint64_t)status.st_size > FILE_MAX_BYTES)
        err = corrupt(path);
    *size = err ? 0 : (size_t)status.st_size;
    if (!err && !(*bytes = malloc(*size + 1)))
        err = -ENOMEM;
    for (size_t at = 0; !err && at < *size;) {
        ssize_t done = read(fd, *bytes + at, *size - at);
        if (done <= 0)
            err = done ? wetdbg_fail_errno("%s", path) : corrupt(path);
        else
            at += (size_t)done;
    }
    close(fd);
    return err;
}

/* What a file holds, unpacked, of at most `most` bytes. */
static int unpack(const char *path, uint64_t most, char **bytes, size_t *size)
{
    char *packed = NULL;
    size_t packed_size;
    int err = read_file(path, &packed, &packed_size);
    unsigned long long content = err ? 0 : ZSTD_getFrameContentSize(packed, packed_size);

    *bytes = NULL;
    if (!err && (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR ||
                 content > most || content < sizeof(struct header)))
        err = corrupt(path);
    if (!err && !(*bytes = malloc(content)))
        err = -ENOMEM;
    if (!err && ZSTD_decompress(*bytes, content, packed, packed_size) != content)
        err = corrupt(path);
    *size = content;
    free(packed);
    return err;
}

static int read_parts(struct wetdbg_set *set, const char *path, const char *at, size_t left,
                      uint64_t count)
{
    uint64_t next = 0;

    for (; count; count--) {
        struct part_header part;
        if (left < sizeof(part))
            return corrupt(path);
        memcpy(&part, at, sizeof(part));
        at += sizeof(part);
        left -= sizeof(part);
        if (part.interval < next || part.interval >= set->part_count ||
            part.words != words_of(set, part.interval) || left / 8 < part.words)
            return corrupt(path);
        uint64_t *words = calloc(part.words + 1, 8);
        int err = words ? 0 : -ENOMEM;
        if (words)
            memcpy(words, at, 8 * part.words);
        uint64_t instructions = slc_set_instructions(set, part.interval);
        if (!err && instructions % 64 && words[part.words - 1] >> instructions % 64)
            err = corrupt(path);
        if (!err)
            err = slc_set_fill(set, part.interval, words, instructions);
        free(words);
        if (err)
            return err;
        at += 8 * part.words;
        left -= 8 * part.words;
        next = part.interval + 1;
    }
    return left ? corrupt(path) : 0;
}

static int read_fault(struct wetdbg_set *set, const char *path, const struct header *header)
{
    const struct wetdbg_info *info = wetdbg_get_info(set->wet);

    if (!header->has_fault)
        return 0;
    if (header->has_fault != 1 || header->fault_time < info->first_time ||
        header->fault_time > info->last_time + 1 || header->fault_task >= EVQ_TASKS_MAX)
        return corrupt(path);
    set->has_fault = true;
    set->fault_time = header->fault_time;
    set->fault_pc = header->fault_pc;
    set->fault_task = (uint32_t)header->fault_task;
    return 0;
}

/* Checks the note's size, and copies it if it is asked for. */
static int read_note(const char *path, const char *at, size_t left, uint64_t note_size, char **note)
{
    if (note_size > WETDBG_SET_NOTE_MAX || padded(note_size) > left)
        return corrupt(path);
    if (note && !(*note = strndup(at, note_size)))
        return -ENOMEM;
    return 0;
}

static int read_content(struct wetdbg_set *set, const char *path, const char *at, size_t size,
                        char **note)
{
    struct header header;

    memcpy(&header, at, sizeof(header));
    at += sizeof(header);
    size -= sizeof(header);
    if (memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0)
        return corrupt(path);
    if (header.run != run_of(set->wet))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is a set of another run's instances", path);
    int err = read_note(path, at, size, header.note, note);
    if (!err)
        err = read_parts(set, path, at + padded(header.note), size - padded(header.note),
                         header.parts);
    return err ? err : read_fault(set, path, &header);
}

int wetdbg_set_load(struct wetdbg *wet, const char *path, struct wetdbg_set **out, char **note)
{
    struct wetdbg_set *set = slc_set_new(wet);
    char *bytes = NULL, *text = NULL;
    size_t size = 0;
    int err = set ? unpack(path, size_of(set, WETDBG_SET_NOTE_MAX, true), &bytes, &size) : -ENOMEM;

    if (!err)
        err = read_content(set, path, bytes, size, note ? &text : NULL);
    free(bytes);
    if (err) {
        free(text);
        wetdbg_set_free(set);
        return err;
    }
    slc_set_finish(set);
    *out = set;
    if (note)
        *note = text;
    return 0;
}
