/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/channels/channels.h"
#include <wetdbg/errors.h>
#include <wetdbg/files.h>

/* What was opened under one path, however often, or one thing without a path. */
struct group {
    struct wetdbg_file is;
    const char *plain; /* its path without "." and ".."; NULL: none */
};

struct wetdbg_files {
    struct slc_channels *channels;
    struct slc_files *descriptors; /* of them */
    struct group *groups;
    size_t group_count, group_capacity;
    uint32_t *group_of; /* by the descriptors' number of a file: group + 1 */
    size_t file_capacity;
};

/* The group of a file: that of its path, or of the one standard output, say. */
static int find_group(struct wetdbg_files *files, uint32_t file, struct group **group)
{
    const char *name = slc_files_name(files->descriptors, file);
    const char *plain = slc_files_plain(files->descriptors, file);

    if (file >= files->file_capacity &&
        wd_grow_zeroed(files->group_of, files->file_capacity, (size_t)file + 1))
        return -ENOMEM;
    for (size_t i = 0; i < files->group_count && plain && !files->group_of[file]; i++)
        if (files->groups[i].plain && strcmp(files->groups[i].plain, plain) == 0)
            files->group_of[file] = (uint32_t)i + 1;
    if (!files->group_of[file]) {
        if (wd_grow(files->groups, files->group_capacity, files->group_count + 1))
            return -ENOMEM;
        files->groups[files->group_count] =
            (struct group){.is = {.name = name, .is_path = plain != NULL}, .plain = plain};
        files->group_of[file] = (uint32_t)++files->group_count;
    }
    *group = &files->groups[files->group_of[file] - 1];
    return 0;
}

static int count_call(struct wetdbg_files *files, const struct slc_transfer *transfer,
                      uint32_t index, bool is_write)
{
    struct group *group;
    int err = index == SLC_NO_FILE ? 0 : find_group(files, index, &group);

    if (err || index == SLC_NO_FILE)
        return err;
    struct wetdbg_file *file = &group->is;
    if (!file->first_time)
        file->first_time = transfer->time;
    file->last_time = transfer->time;
    file->is_mapped |= transfer->kind == SLC_TRANSFER_MAP;
    if (transfer->kind == SLC_TRANSFER_MAP)
        return 0;
    *(is_write ? &file->writes : &file->reads) += 1;
    *(is_write ? &file->written_bytes : &file->read_bytes) += transfer->size;
    return 0;
}

static int count_transfer(struct wetdbg_files *files, const struct slc_transfer *transfer)
{
    int err = 0;

    switch (transfer->kind) {
    case SLC_TRANSFER_PASS:
        err = count_call(files, transfer, transfer->from_file, false);
        return err ? err : count_call(files, transfer, transfer->file, true);
    case SLC_TRANSFER_READ:
    case SLC_TRANSFER_MAP:
        return transfer->is_peek ? 0 : count_call(files, transfer, transfer->file, false);
    case SLC_TRANSFER_WRITE:
        return count_call(files, transfer, transfer->file, true);
    default:
        return 0;
    }
}

int wetdbg_files_open(struct wetdbg *wet, struct wetdbg_files **out)
{
    struct wetdbg_files *files = calloc(1, sizeof(*files));
    int err = files ? slc_channels_make(wet, &files->channels) : -ENOMEM;
    const struct slc_transfer *transfer;

    if (!err)
        files->descriptors = slc_channels_files(files->channels);
    for (uint32_t i = 0; !err && (transfer = slc_channels_call(files->channels, i)); i++)
        err = count_transfer(files, transfer);
    if (err) {
        wetdbg_files_close(files);
        return err;
    }
    *out = files;
    return 0;
}

void wetdbg_files_close(struct wetdbg_files *files)
{
    if (!files)
        return;
    slc_channels_free(files->channels);
    free(files->groups);
    free(files->group_of);
    free(files);
}

size_t wetdbg_files_count(const struct wetdbg_files *files)
{
    return files->group_count;
}

struct wetdbg_file wetdbg_files_get(const struct wetdbg_files *files, size_t n)
{
    return n < files->group_count ? files->groups[n].is : (struct wetdbg_file){.name = NULL};
}

int wetdbg_files_find_written(const struct wetdbg_files *files, const char *path, size_t *n)
{
    const struct group *found = NULL;

    for (size_t i = 0; i < files->group_count; i++) {
        const struct group *group = &files->groups[i];
        if (!group->plain || !group->is.writes || !slc_path_is(group->plain, path))
            continue;
        if (found)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' may be '%s' or '%s': say more of the path",
                               path, found->is.name, group->is.name);
        found = group;
        *n = i;
    }
    return found ? 0
                 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote to no file '%s'", path);
}

/* ---- what was put out ---- */

struct outputs {
    struct wetdbg_output *list;
    size_t count, capacity;
};

static int add_piece(struct outputs *outputs, const struct slc_transfer *transfer, uint64_t offset,
                     uint64_t address, uint64_t size)
{
    if (wd_grow(outputs->list, outputs->capacity, outputs->count + 1))
        return -ENOMEM;
    outputs->list[outputs->count++] =
        (struct wetdbg_output){transfer->fd, transfer->time, offset, address, size};
    return 0;
}

/* Adds what one call put out, which it may have found in several pieces; `offset` is that of its
 * first byte. */
static int add_outputs(struct slc_channels *channels, uint32_t number, uint64_t offset,
                       struct outputs *outputs)
{
    const struct slc_transfer *transfer = slc_channels_call(channels, number);
    struct slc_buffers buffers;

    if (transfer->kind == SLC_TRANSFER_PASS)
        return add_piece(outputs, transfer, offset, WETDBG_OUTPUT_PASSED, transfer->size);
    int err = slc_channels_buffers(channels, number, &buffers);
    for (size_t i = 0; i < buffers.count && !err; i++) {
        err = add_piece(outputs, transfer, offset, buffers.spans[i].address, buffers.spans[i].size);
        offset += offset == SLC_OFFSET_UNKNOWN ? 0 : buffers.spans[i].size;
    }
    return err;
}

static int hand_over(struct outputs *outputs, int err, struct wetdbg_output **list, size_t *count)
{
    if (err)
        free(outputs->list);
    *list = err ? NULL : outputs->list;
    *count = err ? 0 : outputs->count;
    return err;
}

int wetdbg_files_outputs(const struct wetdbg_files *files, size_t n, struct wetdbg_output **list,
                         size_t *count)
{
    const struct slc_transfer *transfer;
    struct outputs outputs = {.count = 0};
    int err = 0;

    for (uint32_t i = 0; !err && (transfer = slc_channels_call(files->channels, i)); i++)
        if (slc_transfer_is_output(transfer) && transfer->file < files->file_capacity &&
            files->group_of[transfer->file] == n + 1)
            err = add_outputs(files->channels, i, transfer->offset, &outputs);
    return hand_over(&outputs, err, list, count);
}

int wetdbg_descriptor_outputs(struct wetdbg *wet, int fd, struct wetdbg_output **list,
                              size_t *count)
{
    struct slc_channels *channels = NULL;
    struct outputs outputs = {.count = 0};
    uint32_t number;
    int err = slc_channels_make(wet, &channels);

    for (uint32_t i = 0; !err && (number = slc_channels_ended(channels, i)) != SLC_NO_CALL; i++) {
        const struct slc_transfer *transfer = slc_channels_call(channels, number);
        if (!slc_transfer_is_output(transfer) || transfer->fd != fd)
            continue;
        err = add_outputs(channels, number, slc_channels_put_out(channels, number), &outputs);
    }
    slc_channels_free(channels);
    return hand_over(&outputs, err, list, count);
}
