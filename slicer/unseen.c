/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mappings of files, as calls made and moved them, over the calls that change a file: a pass over
 * slicer/descriptors.h in the order of times. Paths are read only of files of which no inode tells
 * whether they are the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/array.h"
#include "common/page.h"
#include "slicer/channels/channel_names.h"
#include "slicer/descriptors.h"
#include <wetdbg/files.h>

#define MAPPINGS_MAX 4096 /* at a time; further ones are not looked at */

struct mapping {
    uint64_t address, size, offset;
    uint32_t file;
    bool is_shared;
};

struct search {
    struct slc_files *files;
    const struct slc_transfer *list;
    size_t count;
    struct mapping *mappings;
    size_t mapping_count, mapping_capacity;
    struct wetdbg_unseen *found;
    size_t found_count, found_capacity;
};

/* What changes a file: bytes [offset, end). */
struct change {
    const struct slc_transfer *call;
    uint32_t file;    /* SLC_NO_FILE: that of the path */
    const char *path; /* plain; NULL: not known */
    uint64_t offset, end;
};

static const char *name_of(int32_t number)
{
    static const struct {
        int32_t number;
        const char *name;
    } names[] = {{SYS_write, "write"},         {SYS_writev, "writev"},
                 {SYS_pwrite64, "pwrite"},     {SYS_pwritev, "pwritev"},
                 {SYS_pwritev2, "pwritev2"},   {SYS_sendfile, "sendfile"},
                 {SYS_splice, "splice"},       {SYS_copy_file_range, "copy_file_range"},
                 {SYS_ftruncate, "ftruncate"}, {SYS_truncate, "truncate"},
                 {SYS_fallocate, "fallocate"}, {SYS_open, "open"},
                 {SYS_openat, "open"},         {SYS_openat2, "open"},
                 {SYS_creat, "open"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].number == number)
            return names[i].name;
    return "a system call";
}

/* ---- mappings ---- */

static int mapping_add(struct search *search, struct mapping mapping)
{
    if (search->mapping_count >= MAPPINGS_MAX || !mapping.size ||
        mapping.address + mapping.size < mapping.address ||
        mapping.offset + mapping.size < mapping.offset)
        return 0;
    if (wd_grow(search->mappings, search->mapping_capacity, search->mapping_count + 1))
        return -ENOMEM;
    search->mappings[search->mapping_count++] = mapping;
    return 0;
}

/* Memory [start, end) shows no file any more. */
static int hide(struct search *search, uint64_t start, uint64_t end)
{
    size_t kept = 0, count = search->mapping_count;
    int err = 0;

    for (size_t i = 0; i < count && !err; i++) {
        struct mapping *is = &search->mappings[i];
        uint64_t behind = is->address + is->size;
        if (behind <= start || is->address >= end)
            continue;
        const struct mapping rest = {end, behind > end ? behind - end : 0,
                                     is->offset + (end - is->address), is->file, is->is_shared};
        is->size = is->address < start ? start - is->address : 0;
        err = mapping_add(search, rest);
    }
    for (size_t i = 0; i < search->mapping_count; i++)
        if (search->mappings[i].size)
            search->mappings[kept++] = search->mappings[i];
    search->mapping_count = kept;
    return err;
}

/* mremap: what [address, address + size) shows is at another place, and shows more at its end. */
static int move(struct search *search, const struct slc_transfer *call)
{
    uint64_t start = call->address, end = start + call->size, more = call->count - call->size;
    size_t count = search->mapping_count;
    int err = 0;

    if (end < start || call->count < call->size)
        return 0;
    for (size_t i = 0; i < count && !err; i++) {
        struct mapping is = search->mappings[i];
        uint64_t behind = is.address + is.size, from = is.address > start ? is.address : start;
        if (behind <= start || is.address >= end)
            continue;
        if (call->to_address == start) {
            search->mappings[i].size += behind == end ? more : 0;
            continue;
        }
        is.offset += from - is.address;
        is.size = behind < end ? behind - from : end - from + more;
        is.address = from - start + call->to_address;
        err = mapping_add(search, is);
    }
    return err || call->to_address == start ? err : hide(search, start, end);
}

/* ---- files ---- */

/* Whether a mapping shows the file that a call changed. */
static bool is_file(struct search *search, const struct mapping *mapping,
                    const struct change *change)
{
    const struct slc_file *mapped = slc_files_get(search->files, mapping->file);
    const struct slc_file *changed =
        change->file == SLC_NO_FILE ? NULL : slc_files_get(search->files, change->file);

    if (mapping->file == change->file)
        return true;
    if (mapped->kind != SLC_FILE_PATH || (changed && changed->kind != SLC_FILE_PATH))
        return false;
    if (changed && mapped->has_inode && changed->has_inode)
        return mapped->device == changed->device && mapped->inode == changed->inode;
    if (changed && changed->is_new && changed->time > mapped->time)
        return false;
    const char *path = changed ? slc_files_plain(search->files, change->file) : change->path;
    const char *shown = slc_files_plain(search->files, mapping->file);
    return path && shown && slc_path_is(shown, path);
}

/* Whether the recording has what a call wrote through a mapping. */
static bool is_recorded(const struct search *search, const struct mapping *mapping,
                        const struct slc_transfer *call)
{
    for (const struct slc_transfer *next = call + 1;
         next < search->list + search->count && next->time == call->time; next++)
        if (next->kind == SLC_TRANSFER_SHOW && next->address - mapping->address < mapping->size)
            return true;
    return false;
}

/* ---- calls ---- */

/* One entry for each file and kind of call. */
static int note(struct search *search, const struct mapping *mapping, const struct change *change)
{
    const char *call = name_of(change->call->number);
    const char *file = slc_files_name(search->files, mapping->file);
    uint64_t from = change->offset > mapping->offset ? change->offset - mapping->offset : 0;
    uint64_t end = change->end - mapping->offset;

    for (size_t i = 0; i < search->found_count; i++) {
        struct wetdbg_unseen *known = &search->found[i];
        if (known->call == call && strcmp(known->file, file ? file : "") == 0) {
            known->calls += known->last_time != change->call->time;
            known->last_time = change->call->time;
            return 0;
        }
    }
    if (wd_grow(search->found, search->found_capacity, search->found_count + 1))
        return -ENOMEM;
    struct wetdbg_unseen *is = &search->found[search->found_count++];
    *is = (struct wetdbg_unseen){.time = change->call->time,
                                 .last_time = change->call->time,
                                 .call = call,
                                 .calls = 1,
                                 .address = mapping->address + from,
                                 .size_bytes = (end < mapping->size ? end : mapping->size) - from,
                                 .is_shared = mapping->is_shared};
    snprintf(is->file, sizeof(is->file), "%s", file ? file : "");
    return 0;
}

static int pass_change(struct search *search, const struct change *change)
{
    int err = 0;

    for (size_t i = 0; i < search->mapping_count && !err; i++) {
        const struct mapping *mapping = &search->mappings[i];
        if (change->offset >= mapping->offset + mapping->size || change->end <= mapping->offset ||
            !is_file(search, mapping, change) ||
            (mapping->is_shared && is_recorded(search, mapping, change->call)))
            continue;
        err = note(search, mapping, change);
    }
    return err;
}

/* truncate(): the path is read where a mapping may show the file. */
static int pass_cut(struct search *search, struct wetdbg *wet, struct change *change)
{
    struct slc_path path = {.time = change->call->time, .address = change->call->address};
    int err = search->mapping_count ? slc_paths_read(wet, &path, 1) : 0;

    change->path = path.text;
    if (!err && path.text)
        err = pass_change(search, change);
    free(path.text);
    return err;
}

static int pass_call(struct search *search, struct wetdbg *wet, const struct slc_transfer *call)
{
    struct change change = {
        .call = call, .file = call->file, .offset = call->offset, .end = call->offset + call->size};
    bool is_known = call->offset != SLC_OFFSET_UNKNOWN;

    if (change.end < change.offset || !is_known)
        change.end = UINT64_MAX;
    switch (call->kind) {
    case SLC_TRANSFER_MAP:
        return mapping_add(search, (struct mapping){call->address, wd_page_up(call->size),
                                                    call->offset, call->file, call->is_shared});
    case SLC_TRANSFER_UNMAP:
        return hide(search, call->address, call->address + call->size);
    case SLC_TRANSFER_MOVE:
        return move(search, call);
    case SLC_TRANSFER_WRITE:
    case SLC_TRANSFER_PASS:
        if (!is_known && call->is_append) /* behind what there was */
            return 0;
        change.offset = is_known ? call->offset : 0;
        return call->size ? pass_change(search, &change) : 0;
    case SLC_TRANSFER_TRUNCATE:
        change.end = UINT64_MAX;
        return call->count != SLC_OFFSET_UNKNOWN && call->count <= call->offset
                   ? 0
                   : pass_change(search, &change);
    case SLC_TRANSFER_HOLE:
        return pass_change(search, &change);
    case SLC_TRANSFER_CUT:
        change.end = UINT64_MAX;
        return pass_cut(search, wet, &change);
    default:
        return 0;
    }
}

int wetdbg_unseen_find(struct wetdbg *wet, struct wetdbg_unseen **list, size_t *count)
{
    struct search search = {.files = NULL};
    int err = slc_files_make(wet, &search.files);

    *list = NULL;
    *count = 0;
    if (!err)
        search.list = slc_files_transfers(search.files, &search.count);
    for (size_t i = 0; i < search.count && !err; i++)
        err = pass_call(&search, wet, &search.list[i]);
    slc_files_free(search.files);
    free(search.mappings);
    if (err) {
        free(search.found);
        return err;
    }
    *list = search.found;
    *count = search.found_count;
    return 0;
}
