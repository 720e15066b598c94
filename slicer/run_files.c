/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/descriptors.h"
#include <wetdbg/errors.h>
#include <wetdbg/files.h>

/* What was opened under one path, however often, or one thing without a path. */
struct group {
    struct wetdbg_file is;
    const char *plain; /* its path without "." and ".."; NULL: none */
};

struct wetdbg_files {
    struct wetdbg *wet;
    struct slc_files *descriptors;
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
    int err = files ? slc_files_make(wet, &files->descriptors) : -ENOMEM;
    size_t count = 0;
    const struct slc_transfer *transfers =
        err ? NULL : slc_files_transfers(files->descriptors, &count);

    for (size_t i = 0; i < count && !err; i++)
        err = count_transfer(files, &transfers[i]);
    if (err) {
        wetdbg_files_close(files);
        return err;
    }
    files->wet = wet;
    *out = files;
    return 0;
}

void wetdbg_files_close(struct wetdbg_files *files)
{
    if (!files)
        return;
    slc_files_free(files->descriptors);
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

/* Appends what one call wrote, which it may have found in several pieces. */
static int add_outputs(const struct wetdbg_files *files, const struct slc_transfer *transfer,
                       struct wetdbg_output **list, size_t *count)
{
    size_t output_count;
    const struct wetdbg_output *outputs = wetdbg_outputs(files->wet, &output_count);
    uint64_t offset = transfer->offset, left = transfer->size;

    for (size_t i = 0; i < output_count && left; i++) {
        if (outputs[i].time != transfer->time)
            continue;
        if (wd_grow_one(*list, *count))
            return -ENOMEM;
        struct wetdbg_output *own = &(*list)[(*count)++];
        *own = outputs[i];
        own->size = own->size < left ? own->size : left;
        own->offset = offset;
        left -= own->size;
        offset += offset == SLC_OFFSET_UNKNOWN ? 0 : own->size;
    }
    return 0;
}

int wetdbg_files_outputs(const struct wetdbg_files *files, size_t n, struct wetdbg_output **list,
                         size_t *count)
{
    size_t transfer_count;
    const struct slc_transfer *transfers = slc_files_transfers(files->descriptors, &transfer_count);
    int err = 0;

    *list = NULL;
    *count = 0;
    for (size_t i = 0; i < transfer_count && !err; i++)
        if (transfers[i].kind == SLC_TRANSFER_WRITE && transfers[i].file < files->file_capacity &&
            files->group_of[transfers[i].file] == n + 1)
            err = add_outputs(files, &transfers[i], list, count);
    if (err)
        free(*list);
    return err;
}
