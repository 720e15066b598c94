/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The run's calls in the order in which they ended, over what files and pipes hold of its own
 * bytes.
 *
 * A pipe is as long as all that was ever put into it: who reads takes the bytes behind those that
 * were taken before. So a write that waits for its reader, and ends after it, needs nothing
 * special.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/page.h"
#include "slicer/channels/channel_names.h"
#include "slicer/channels/channels_priv.h"
#include "slicer/channels/contents.h"

#define PATHS_MAX    4096 /* that are read; files of further ones are each their own */
#define MAPPINGS_MAX 1024 /* shared ones at a time; what others show is not followed */
#define BASE_MAX     32

/* A pipe's or a pair's one way. */
struct way {
    struct sent {
        uint32_t sender;
        uint64_t start; /* in all that was put in */
    } * list;
    size_t count, capacity;
    uint64_t sent, taken;
    size_t next; /* message that is taken next */
};

struct mapping {
    uint64_t address, size, offset;
    uint32_t object;
};

struct linker {
    struct slc_channels *channels;
    struct slc_contents contents;
    struct slc_names names;
    struct slc_symlinks symlinks;
    char *current; /* directory; NULL: not known */
    struct slc_path *paths;
    size_t path_count;
    uint32_t *objects;   /* by file */
    uint32_t *inodes;    /* by file: the first one that has its inode; SLC_NO_FILE: not told */
    uint32_t *of_inodes; /* by such a file: the inode's object now */
    struct state {
        uint64_t end;   /* the file's length, or SLC_OFFSET_UNKNOWN */
        uint32_t inode; /* as in `inodes` */
    } * states;         /* by object */
    size_t state_capacity;
    char **directories; /* by file: its path, once it is known */
    struct way *ways;   /* by fifo */
    struct mapping *mappings;
    size_t mapping_count, mapping_capacity;
    unsigned moves; /* chdirs so far */
    struct slc_link *found;
    size_t found_count, found_capacity;
    uint32_t *receivers; /* of found links */
    size_t receiver_capacity;
};

/* ---- links ---- */

static int link_add(struct linker *linker, uint32_t receiver, struct slc_link link)
{
    if (link.size == 0 || linker->found_count >= SLC_LINKS_MAX)
        return 0;
    struct slc_link *last = linker->found_count ? &linker->found[linker->found_count - 1] : NULL;
    if (last && linker->receivers[linker->found_count - 1] == receiver &&
        last->sender == link.sender && last->offset + last->size == link.offset &&
        last->from + last->size == link.from) {
        last->size += link.size;
        return 0;
    }
    if (wd_grow(linker->found, linker->found_capacity, linker->found_count + 1) ||
        wd_grow(linker->receivers, linker->receiver_capacity, linker->found_count + 1))
        return -ENOMEM;
    linker->receivers[linker->found_count] = receiver;
    linker->found[linker->found_count++] = link;
    return 0;
}

/* Those of one receiver stand side by side already; now they are sorted by its number. */
static int sort_links(struct linker *linker)
{
    struct slc_channels *channels = linker->channels;
    uint32_t *first = calloc(channels->count + 2, sizeof(*first));

    channels->links = malloc((linker->found_count + 1) * sizeof(*channels->links));
    channels->link_count = linker->found_count;
    if (!first || !channels->links) {
        free(first);
        return -ENOMEM;
    }
    for (size_t i = 0; i < linker->found_count; i++)
        first[linker->receivers[i] + 2]++;
    for (size_t i = 2; i < channels->count + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < linker->found_count; i++)
        channels->links[first[linker->receivers[i] + 1]++] = linker->found[i];
    channels->first_links = first;
    return 0;
}

/* ---- objects ---- */

static int object_new(struct linker *linker, uint64_t end, uint32_t *object)
{
    *object = slc_contents_object(&linker->contents);
    if (*object == SLC_NO_OBJECT ||
        wd_grow(linker->states, linker->state_capacity, (size_t)*object + 1))
        return -ENOMEM;
    linker->states[*object] = (struct state){end, SLC_NO_FILE};
    return 0;
}

static int by_inode(const void *a, const void *b, void *arg)
{
    const struct slc_file *x = slc_files_get(arg, *(const uint32_t *)a);
    const struct slc_file *y = slc_files_get(arg, *(const uint32_t *)b);

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* Finds the files that are the same, as far as calls said which they are. */
static void compare_inodes(struct linker *linker, uint32_t *sorted)
{
    struct slc_files *files = linker->channels->files;
    uint32_t count = slc_files_count(files), told = 0;

    for (uint32_t i = 0; i < count; i++)
        if (slc_files_get(files, i)->has_inode)
            sorted[told++] = i;
    qsort_r(sorted, told, sizeof(*sorted), by_inode, files);
    for (uint32_t i = 0; i < told; i++) {
        const struct slc_file *is = slc_files_get(files, sorted[i]), *before;
        before = i ? slc_files_get(files, sorted[i - 1]) : NULL;
        bool is_same = before && before->device == is->device && before->inode == is->inode;
        linker->inodes[sorted[i]] = is_same ? linker->inodes[sorted[i - 1]] : sorted[i];
    }
}

/* Notes of a file that was opened, or is used, what it is. */
static void set_object(struct linker *linker, uint32_t file, uint32_t object)
{
    uint32_t inode = linker->inodes[file];

    linker->objects[file] = object;
    if (inode == SLC_NO_FILE)
        return;
    linker->of_inodes[inode] = object;
    linker->states[object].inode = inode;
}

/* The object that a file is by its inode; SLC_NO_OBJECT if that is not known, or nothing has been
 * it yet. */
static uint32_t object_of_inode(const struct linker *linker, uint32_t file)
{
    uint32_t inode = linker->inodes[file];

    return inode == SLC_NO_FILE ? SLC_NO_OBJECT : linker->of_inodes[inode];
}

/* A name went: its inode may be another file's soon. */
static void forget_inode(struct linker *linker, uint32_t object)
{
    uint32_t inode = object == SLC_NO_OBJECT ? SLC_NO_FILE : linker->states[object].inode;

    if (inode != SLC_NO_FILE && linker->of_inodes[inode] == object)
        linker->of_inodes[inode] = SLC_NO_OBJECT;
}

/* The object of a file: of those without a path or inode each has its own. */
static int object_of(struct linker *linker, uint32_t file, uint32_t *object)
{
    *object = linker->objects[file];
    if (*object != SLC_NO_OBJECT)
        return 0;
    *object = object_of_inode(linker, file);
    bool is_empty = slc_files_get(linker->channels->files, file)->kind == SLC_FILE_MEMORY;
    int err = *object == SLC_NO_OBJECT
                  ? object_new(linker, is_empty ? 0 : SLC_OFFSET_UNKNOWN, object)
                  : 0;
    if (!err)
        set_object(linker, file, *object);
    return err;
}

/* The part [offset, end) of a file that a live mapping shows, of those the first one; NULL:
 * none. */
static const struct mapping *find_mapping(const struct linker *linker, uint32_t object,
                                          uint64_t offset, uint64_t end)
{
    const struct mapping *found = NULL;

    for (size_t i = 0; i < linker->mapping_count; i++) {
        const struct mapping *mapping = &linker->mappings[i];
        if (mapping->object == object && mapping->offset < end &&
            offset < mapping->offset + mapping->size && (!found || mapping->offset < found->offset))
            found = mapping;
    }
    return found;
}

static int take_stored(struct linker *linker, uint32_t receiver, uint32_t object, uint64_t offset,
                       uint64_t end, uint64_t base)
{
    struct slc_extent extent;
    uint64_t at;
    int err = 0;

    while (!err && slc_contents_next(&linker->contents, object, offset, end, &at, &extent)) {
        err = link_add(linker, receiver,
                       (struct slc_link){at - base, extent.end, extent.from, extent.sender});
        offset = at + extent.end;
    }
    return err;
}

/* Links what a call got of a file: of what a mapping shows, its memory. */
static int take_file(struct linker *linker, uint32_t receiver, uint32_t object, uint64_t offset,
                     uint64_t size)
{
    uint64_t base = offset, end = offset + size;
    const struct mapping *mapping;
    int err = 0;

    if (offset == SLC_OFFSET_UNKNOWN || end < offset)
        return 0;
    while (!err && offset < end && (mapping = find_mapping(linker, object, offset, end))) {
        uint64_t from = mapping->offset > offset ? mapping->offset : offset;
        uint64_t behind =
            mapping->offset + mapping->size < end ? mapping->offset + mapping->size : end;
        err = take_stored(linker, receiver, object, offset, from, base);
        if (!err)
            err = link_add(linker, receiver,
                           (struct slc_link){from - base, behind - from,
                                             mapping->address + (from - mapping->offset),
                                             SLC_NO_CALL});
        offset = behind;
    }
    return err ? err : take_stored(linker, receiver, object, offset, end, base);
}

static int put_file(struct linker *linker, uint32_t sender, uint32_t object,
                    const struct slc_transfer *transfer)
{
    uint64_t *end = &linker->states[object].end, offset = transfer->offset;

    if (transfer->is_append && *end != SLC_OFFSET_UNKNOWN)
        offset = *end;
    if (offset == SLC_OFFSET_UNKNOWN || offset + transfer->size < offset) {
        if (!transfer->is_append) /* it may have been anywhere */
            slc_contents_cut(&linker->contents, object, 0);
        return 0;
    }
    if (transfer->is_append || (*end != SLC_OFFSET_UNKNOWN && *end < offset + transfer->size))
        *end = offset + transfer->size;
    return slc_contents_put(&linker->contents, object, offset, transfer->size, sender, 0);
}

/* ---- pipes and pairs ---- */

static bool is_foreign(const struct linker *linker, uint32_t fifo, uint64_t event)
{
    return slc_files_fifo(linker->channels->files, fifo)->foreign <= event;
}

static int put_fifos(struct linker *linker)
{
    const struct slc_channels *channels = linker->channels;

    for (size_t i = 0; i < channels->count; i++) {
        uint32_t sender = channels->order[i];
        const struct slc_transfer *transfer = &channels->list[sender];
        if (transfer->kind != SLC_TRANSFER_WRITE && transfer->kind != SLC_TRANSFER_PASS)
            continue;
        uint32_t fifo = slc_files_get(channels->files, transfer->file)->writes_fifo;
        if (fifo == SLC_NO_FIFO || transfer->size >= SLC_SENT_MAX)
            continue;
        struct way *way = &linker->ways[fifo];
        if (wd_grow(way->list, way->capacity, way->count + 1))
            return -ENOMEM;
        way->list[way->count++] = (struct sent){sender, way->sent};
        way->sent += transfer->size;
    }
    return 0;
}

/* Takes bytes of a way from `start` on. */
static int take_bytes(struct linker *linker, uint32_t receiver, const struct way *way,
                      uint64_t start, uint64_t size)
{
    size_t at = wd_bisect(0, way->count, i, way->list[i].start <= start);
    int err = 0;

    for (at -= at > 0; at < way->count && way->list[at].start < start + size && !err; at++) {
        const struct sent *sent = &way->list[at];
        uint64_t behind = at + 1 < way->count ? way->list[at + 1].start : way->sent;
        uint64_t from = sent->start > start ? sent->start : start;
        uint64_t end = behind < start + size ? behind : start + size;
        if (from < end)
            err = link_add(
                linker, receiver,
                (struct slc_link){from - start, end - from, from - sent->start, sent->sender});
    }
    return err;
}

static int take_fifo(struct linker *linker, uint32_t receiver, uint32_t fifo,
                     const struct slc_transfer *transfer)
{
    struct way *way = &linker->ways[fifo];
    uint64_t start = way->taken, size = transfer->size;

    if (is_foreign(linker, fifo, transfer->ended) || size >= SLC_SENT_MAX)
        return 0;
    if (slc_files_fifo(linker->channels->files, fifo)->has_messages) {
        if (way->next >= way->count)
            return 0;
        const struct sent *sent = &way->list[way->next];
        uint64_t room = linker->channels->list[sent->sender].size;
        start = sent->start;
        size = size < room ? size : room;
        way->next += !transfer->is_peek;
    } else if (!transfer->is_peek) {
        way->taken += size;
    }
    return take_bytes(linker, receiver, way, start, size);
}

/* ---- paths ---- */

static bool needs_path(const struct slc_channels *channels, const struct slc_transfer *transfer,
                       const uint64_t *last_read)
{
    switch (transfer->kind) {
    case SLC_TRANSFER_NAME:
        return channels->is_written[transfer->file] ||
               last_read[transfer->file] > channels->first_named;
    case SLC_TRANSFER_RENAME:
    case SLC_TRANSFER_LINK:
    case SLC_TRANSFER_UNLINK:
    case SLC_TRANSFER_SYMLINK:
    case SLC_TRANSFER_CUT:
    case SLC_TRANSFER_CHDIR:
        return true;
    default:
        return false;
    }
}

/* Notes the directories that a call's paths begin at: their own are asked for as if they were read
 * at the end. */
static void note_directories(const struct slc_channels *channels,
                             const struct slc_transfer *transfer, uint64_t *last)
{
    uint32_t directories[2] = {SLC_NO_FILE, SLC_NO_FILE};

    switch (transfer->kind) {
    case SLC_TRANSFER_NAME:
        directories[0] = slc_files_get(channels->files, transfer->file)->directory;
        break;
    case SLC_TRANSFER_RENAME:
    case SLC_TRANSFER_LINK:
        directories[1] = transfer->to_directory;
        directories[0] = transfer->file;
        break;
    case SLC_TRANSFER_SYMLINK:
        directories[1] = transfer->to_directory;
        break;
    case SLC_TRANSFER_UNLINK:
    case SLC_TRANSFER_CHDIR:
        directories[0] = transfer->file;
        break;
    default:
        break;
    }
    for (unsigned i = 0; i < 2; i++)
        if (directories[i] != SLC_NO_FILE)
            last[directories[i]] = UINT64_MAX;
}

/* Whether a call says something of a file's bytes without writing any. */
static bool asks(const struct slc_transfer *transfer)
{
    return transfer->kind == SLC_TRANSFER_READ || transfer->kind == SLC_TRANSFER_MAP ||
           transfer->kind == SLC_TRANSFER_PASS || transfer->kind == SLC_TRANSFER_TRUNCATE ||
           transfer->kind == SLC_TRANSFER_HOLE;
}

/* When each file was last read, or lost bytes, by event. */
static uint64_t *find_reads(const struct slc_channels *channels)
{
    uint64_t *last = calloc(slc_files_count(channels->files) + 1, sizeof(*last));

    for (size_t i = 0; last && i < channels->count; i++) {
        const struct slc_transfer *transfer = &channels->list[i];
        note_directories(channels, transfer, last);
        uint32_t file = transfer->kind == SLC_TRANSFER_PASS ? transfer->from_file : transfer->file;
        if (asks(transfer) && last[file] < transfer->ended)
            last[file] = transfer->ended;
    }
    return last;
}

static int ask_path(struct linker *linker, size_t *capacity, wetdbg_time time, uint64_t address)
{
    if (linker->path_count >= PATHS_MAX || !address)
        return 0;
    if (wd_grow(linker->paths, *capacity, linker->path_count + 1))
        return -ENOMEM;
    linker->paths[linker->path_count++] = (struct slc_path){.time = time, .address = address};
    return 0;
}

/* Reads the paths that matter: of files that were written, of others read after that, and of what
 * gave files other names. */
static int read_paths(struct linker *linker)
{
    const struct slc_channels *channels = linker->channels;
    uint64_t *last_read = find_reads(channels);
    size_t capacity = 0;
    int err = last_read ? 0 : -ENOMEM;

    for (size_t i = 0; i < channels->count && !err; i++) {
        const struct slc_transfer *transfer = &channels->list[i];
        bool is_open = transfer->kind == SLC_TRANSFER_NAME;
        if (!needs_path(channels, transfer, last_read))
            continue;
        err = ask_path(linker, &capacity, transfer->time,
                       is_open ? slc_files_get(channels->files, transfer->file)->path_address
                               : transfer->address);
        if (!err && transfer->kind != SLC_TRANSFER_UNLINK && !is_open)
            err = ask_path(linker, &capacity, transfer->time, transfer->to_address);
    }
    free(last_read);
    return err ? err : slc_paths_read(channels->wet, linker->paths, linker->path_count);
}

/* Whether paths can tell anything: a file was written by one descriptor and read by another. */
static bool matters(const struct slc_channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        const struct slc_transfer *transfer = &channels->list[i];
        uint32_t file = transfer->kind == SLC_TRANSFER_PASS ? transfer->from_file : transfer->file;
        if (file == SLC_NO_FILE || transfer->ended < channels->first_named ||
            (transfer->kind != SLC_TRANSFER_READ && transfer->kind != SLC_TRANSFER_MAP &&
             transfer->kind != SLC_TRANSFER_PASS))
            continue;
        if (slc_files_get(channels->files, file)->kind == SLC_FILE_PATH)
            return true;
    }
    return false;
}

/* The whole path of a text, through the links that it names, perhaps all but its last part; NULL if
 * it is not known, or memory is short (*err). */
static char *whole_path(const struct linker *linker, wetdbg_time time, uint64_t address,
                        uint32_t directory, bool follows_last, int *err)
{
    const char *text = slc_paths_find(linker->paths, linker->path_count, time, address);
    const char *known = linker->current;
    char base[BASE_MAX];

    if (!text)
        return NULL;
    snprintf(base, sizeof(base), "@%u", linker->moves); /* whatever the current directory is */
    if (directory != SLC_NO_FILE) {
        snprintf(base, sizeof(base), "#%u", directory);
        known = linker->directories[directory];
    }
    char *path = slc_path_resolve(&linker->symlinks, known ? known : base, text, follows_last);
    *err = path ? 0 : -ENOMEM;
    return path;
}

/* What a name stands for that was opened: `object` has what it stood for before. */
static int open_object(struct linker *linker, uint32_t file, uint32_t *object)
{
    bool is_new = slc_files_get(linker->channels->files, file)->is_new;
    uint32_t inode = linker->inodes[file], known = object_of_inode(linker, file);
    uint32_t was = *object == SLC_NO_OBJECT ? SLC_NO_FILE : linker->states[*object].inode;
    bool is_other = inode != SLC_NO_FILE && was != SLC_NO_FILE && inode != was;

    if (!is_new && known != SLC_NO_OBJECT) {
        *object = known;
        return 0;
    }
    if (*object != SLC_NO_OBJECT && !is_new && !is_other)
        return 0;
    return object_new(linker, is_new ? 0 : SLC_OFFSET_UNKNOWN, object);
}

static int pass_name(struct linker *linker, const struct slc_transfer *transfer)
{
    const struct slc_file *file = slc_files_get(linker->channels->files, transfer->file);
    int err = 0;
    char *path =
        whole_path(linker, transfer->time, file->path_address, file->directory, true, &err);
    uint32_t *object = path ? slc_names_object(&linker->names, path) : NULL;

    if (path && !object)
        err = -ENOMEM;
    if (object && !err)
        err = open_object(linker, transfer->file, object);
    if (object && !err)
        set_object(linker, transfer->file, *object);
    free(linker->directories[transfer->file]);
    linker->directories[transfer->file] = path;
    return err;
}

static int rename_object(struct linker *linker, const char *from, const char *to, bool is_exchange,
                         bool is_link)
{
    const uint32_t *at = slc_names_object(&linker->names, from);
    uint32_t moved = at ? *at : SLC_NO_OBJECT;
    int err = at ? 0 : -ENOMEM;

    if (!err && moved == SLC_NO_OBJECT && is_link)
        err = object_new(linker, SLC_OFFSET_UNKNOWN, &moved);
    uint32_t *target = err ? NULL : slc_names_object(&linker->names, to);
    if (!target)
        return -ENOMEM;
    uint32_t other = *target;
    if (!is_exchange && other != moved)
        forget_inode(linker, other);
    *target = moved;
    uint32_t *source = slc_names_object(&linker->names, from);
    if (!source)
        return -ENOMEM;
    *source = is_link ? moved : is_exchange ? other : SLC_NO_OBJECT;
    return 0;
}

#define EXCHANGE 2 /* a flag of renameat2 */

/* A symbolic link that was renamed has the same text. */
static int rename_symlink(struct linker *linker, const char *from, const char *to)
{
    struct slc_symlink *replaced =
        strcmp(from, to) ? slc_symlinks_find(&linker->symlinks, to) : NULL;

    if (replaced)
        slc_symlinks_remove(&linker->symlinks, replaced);
    struct slc_symlink *moved = slc_symlinks_find(&linker->symlinks, from);
    if (!moved)
        return 0;
    char *path = strdup(to);
    if (!path)
        return -ENOMEM;
    free(moved->path);
    moved->path = path;
    return 0;
}

static int pass_rename(struct linker *linker, const struct slc_transfer *transfer)
{
    int err = 0;
    char *from = whole_path(linker, transfer->time, transfer->address, transfer->file, false, &err);
    char *to = NULL;

    if (!err)
        to = whole_path(linker, transfer->time, transfer->to_address, transfer->to_directory, false,
                        &err);
    if (from && to && !err && transfer->kind == SLC_TRANSFER_RENAME)
        err = rename_symlink(linker, from, to);
    if (from && to && !err && strcmp(from, to) != 0)
        err = rename_object(linker, from, to, transfer->count & EXCHANGE,
                            transfer->kind == SLC_TRANSFER_LINK);
    free(from);
    free(to);
    return err;
}

static int pass_unlink(struct linker *linker, const struct slc_transfer *transfer)
{
    int err = 0;
    char *path = whole_path(linker, transfer->time, transfer->address, transfer->file, false, &err);
    struct slc_symlink *link = path ? slc_symlinks_find(&linker->symlinks, path) : NULL;
    uint32_t *object = path ? slc_names_object(&linker->names, path) : NULL;

    if (link)
        slc_symlinks_remove(&linker->symlinks, link);
    if (object) {
        forget_inode(linker, *object);
        *object = SLC_NO_OBJECT;
    }
    if (path && !object)
        err = -ENOMEM;
    free(path);
    return err;
}

static int pass_symlink(struct linker *linker, const struct slc_transfer *transfer)
{
    const char *text =
        slc_paths_find(linker->paths, linker->path_count, transfer->time, transfer->address);
    int err = 0;
    char *path = whole_path(linker, transfer->time, transfer->to_address, transfer->to_directory,
                            false, &err);

    if (path && text && !err)
        err = slc_symlinks_add(&linker->symlinks, path, text);
    free(path);
    return err;
}

/* Without a path that is known relative ones mean nothing that was named before. */
static int pass_chdir(struct linker *linker, const struct slc_transfer *transfer)
{
    int err = 0;
    char *path = NULL;

    if (transfer->address)
        path = whole_path(linker, transfer->time, transfer->address, SLC_NO_FILE, true, &err);
    else if (transfer->file != SLC_NO_FILE && linker->directories[transfer->file])
        path = strdup(linker->directories[transfer->file]);
    free(linker->current);
    linker->current = path;
    linker->moves++;
    return err;
}

static int pass_cut(struct linker *linker, const struct slc_transfer *transfer)
{
    int err = 0;
    char *path = whole_path(linker, transfer->time, transfer->address, SLC_NO_FILE, true, &err);
    uint32_t *object = path ? slc_names_object(&linker->names, path) : NULL;

    if (path && !object)
        err = -ENOMEM;
    if (object && *object != SLC_NO_OBJECT) {
        slc_contents_cut(&linker->contents, *object, transfer->offset);
        linker->states[*object].end = transfer->offset;
    }
    free(path);
    return err;
}

/* ---- mappings ---- */

/* What leaves memory stays in the file. */
static int pass_unmap(struct linker *linker, uint32_t number, const struct slc_transfer *transfer)
{
    uint64_t start = transfer->address, end = start + transfer->size;
    size_t count = linker->mapping_count;
    int err = 0;

    if (end < start || transfer->size >= SLC_SENT_MAX)
        return 0;
    for (size_t i = 0; i < count && !err; i++) {
        struct mapping is = linker->mappings[i];
        uint64_t from = is.address > start ? is.address : start;
        uint64_t to = is.address + is.size < end ? is.address + is.size : end;
        if (from >= to)
            continue;
        err = slc_contents_put(&linker->contents, is.object, is.offset + (from - is.address),
                               to - from, number, from - start);
        linker->mappings[i].size = from - is.address;
        if (!err && wd_grow(linker->mappings, linker->mapping_capacity, linker->mapping_count + 1))
            err = -ENOMEM;
        if (!err)
            linker->mappings[linker->mapping_count++] = (struct mapping){
                to, is.address + is.size - to, is.offset + (to - is.address), is.object};
    }
    size_t kept = 0;
    for (size_t i = 0; i < linker->mapping_count; i++)
        if (linker->mappings[i].size)
            linker->mappings[kept++] = linker->mappings[i];
    linker->mapping_count = kept;
    return err;
}

static int mapping_add(struct linker *linker, struct mapping mapping)
{
    if (linker->mapping_count >= MAPPINGS_MAX || mapping.size == 0 ||
        mapping.size >= SLC_SENT_MAX || mapping.offset + mapping.size < mapping.offset ||
        mapping.address + mapping.size < mapping.address)
        return 0;
    if (wd_grow(linker->mappings, linker->mapping_capacity, linker->mapping_count + 1))
        return -ENOMEM;
    linker->mappings[linker->mapping_count++] = mapping;
    return 0;
}

static int pass_map(struct linker *linker, uint32_t number, const struct slc_transfer *transfer)
{
    uint32_t object;
    int err = object_of(linker, transfer->file, &object);

    if (!err)
        err = take_file(linker, number, object, transfer->offset, transfer->size);
    if (err || !transfer->is_shared || transfer->size >= SLC_SENT_MAX)
        return err;
    return mapping_add(linker, (struct mapping){transfer->address, wd_page_up(transfer->size),
                                                transfer->offset, object});
}

/* Makes two mappings of one that goes across an address. */
static int mapping_split(struct linker *linker, uint64_t address)
{
    for (size_t i = 0; i < linker->mapping_count; i++) {
        struct mapping *is = &linker->mappings[i];
        uint64_t kept = address - is->address;
        if (address <= is->address || kept >= is->size)
            continue;
        const struct mapping rest = {address, is->size - kept, is->offset + kept, is->object};
        is->size = kept;
        return mapping_add(linker, rest);
    }
    return 0;
}

/* mremap. What the mapping gets at its end shows more of the file. */
static int pass_move(struct linker *linker, const struct slc_transfer *transfer)
{
    uint64_t start = transfer->address, end = start + transfer->size;
    uint64_t more = transfer->count - transfer->size;
    int err = end < start ? 0 : mapping_split(linker, start);

    if (!err)
        err = mapping_split(linker, end);
    for (size_t i = 0; i < linker->mapping_count && !err; i++) {
        struct mapping *is = &linker->mappings[i];
        if (is->address < start || is->address >= end)
            continue;
        if (is->address + is->size == end && transfer->count > transfer->size)
            is->size += more < SLC_SENT_MAX ? more : 0;
        is->address += transfer->to_address - start;
        if (is->address + is->size < is->address || is->offset + is->size < is->offset)
            is->size = 0; /* no kernel does that */
    }
    return err;
}

/* ---- what mappings show of calls ---- */

/* Some bytes of a file that memory shows, byte `offset` of a transfer and those behind it: they are
 * what a call sent from its byte `from` on. */
struct shown {
    uint32_t number, sender;
    uint64_t offset, from, size;
};

static int show_sent(struct linker *linker, const struct shown *shown)
{
    struct slc_buffers buffers;
    uint64_t before = 0;
    int err = slc_channels_buffers(linker->channels, shown->sender, &buffers);

    for (size_t i = 0; i < buffers.count && !err; before += buffers.spans[i++].size) {
        uint64_t from = shown->from > before ? shown->from : before;
        uint64_t end = shown->from + shown->size, behind = before + buffers.spans[i].size;
        if (end > behind)
            end = behind;
        if (from < end)
            err = link_add(linker, shown->number,
                           (struct slc_link){shown->offset + (from - shown->from), end - from,
                                             buffers.spans[i].address + (from - before),
                                             SLC_NO_CALL});
    }
    return err;
}

/* What went from descriptor to descriptor has links of its own, just before those of what shows
 * it. */
static int show_passed(struct linker *linker, const struct shown *shown)
{
    size_t last = linker->found_count, first = last;
    int err = 0;

    while (first && linker->receivers[first - 1] >= shown->sender)
        first--;
    for (size_t i = first; i < last && !err; i++) {
        const struct slc_link is = linker->found[i];
        uint64_t from = shown->from > is.offset ? shown->from : is.offset;
        uint64_t end = shown->from + shown->size;
        if (end > is.offset + is.size)
            end = is.offset + is.size;
        if (linker->receivers[i] == shown->sender && from < end)
            err = link_add(linker, shown->number,
                           (struct slc_link){shown->offset + (from - shown->from), end - from,
                                             is.from + (from - is.offset), is.sender});
    }
    return err;
}

/* What a call copied of the process's memory. */
static int pass_borrow(struct linker *linker, uint32_t number)
{
    const struct slc_transfer *lent = &linker->channels->list[number - 1];
    const struct shown shown = {number, number - 1, 0, 0, lent->size};

    assert(number && lent->kind == SLC_TRANSFER_LEND);
    return lent->size < SLC_SENT_MAX ? show_sent(linker, &shown) : 0;
}

/* Links what shared mappings show of a call to where the same call had it from. */
static int pass_show(struct linker *linker, uint32_t number, const struct slc_transfer *transfer)
{
    const struct slc_transfer *list = linker->channels->list;
    const struct mapping *mapping = NULL;
    struct slc_extent extent;
    uint64_t at;
    int err = 0;

    for (size_t i = 0; i < linker->mapping_count && !mapping; i++)
        if (transfer->address - linker->mappings[i].address < linker->mappings[i].size)
            mapping = &linker->mappings[i];
    if (!mapping)
        return 0;
    uint64_t base = mapping->offset + (transfer->address - mapping->address), offset = base;
    while (!err && slc_contents_next(&linker->contents, mapping->object, offset,
                                     base + transfer->size, &at, &extent)) {
        const struct shown shown = {number, extent.sender, at - base, extent.from, extent.end};
        if (list[extent.sender].time == transfer->time)
            err = list[extent.sender].kind == SLC_TRANSFER_PASS ? show_passed(linker, &shown)
                                                                : show_sent(linker, &shown);
        offset = at + extent.end;
    }
    return err;
}

/* ---- all calls ---- */

static int take(struct linker *linker, uint32_t number, uint32_t file, uint64_t offset)
{
    const struct slc_transfer *transfer = &linker->channels->list[number];
    uint32_t fifo = slc_files_get(linker->channels->files, file)->reads_fifo, object;

    if (fifo != SLC_NO_FIFO)
        return take_fifo(linker, number, fifo, transfer);
    int err = object_of(linker, file, &object);
    return err ? err : take_file(linker, number, object, offset, transfer->size);
}

static int put(struct linker *linker, uint32_t number)
{
    const struct slc_transfer *transfer = &linker->channels->list[number];
    uint32_t object;

    if (slc_files_get(linker->channels->files, transfer->file)->writes_fifo != SLC_NO_FIFO ||
        transfer->size >= SLC_SENT_MAX)
        return 0;
    int err = object_of(linker, transfer->file, &object);
    return err ? err : put_file(linker, number, object, transfer);
}

static int cut(struct linker *linker, const struct slc_transfer *transfer)
{
    uint32_t object;
    int err = object_of(linker, transfer->file, &object);

    if (err)
        return err;
    slc_contents_cut(&linker->contents, object, transfer->offset);
    linker->states[object].end = transfer->offset;
    return 0;
}

static int dig(struct linker *linker, const struct slc_transfer *transfer)
{
    uint64_t end = transfer->offset + transfer->size;
    uint32_t object;
    int err = object_of(linker, transfer->file, &object);

    if (err)
        return err;
    if (end < transfer->offset) /* from there on all has moved */
        end = UINT64_MAX;
    if (linker->states[object].end < end)
        linker->states[object].end = SLC_OFFSET_UNKNOWN;
    return slc_contents_clear(&linker->contents, object, transfer->offset, end);
}

static int pass(struct linker *linker, uint32_t number)
{
    const struct slc_transfer *transfer = &linker->channels->list[number];

    switch (transfer->kind) {
    case SLC_TRANSFER_READ:
        return take(linker, number, transfer->file, transfer->offset);
    case SLC_TRANSFER_WRITE:
        return put(linker, number);
    case SLC_TRANSFER_PASS: {
        int err = take(linker, number, transfer->from_file, transfer->from_offset);
        return err ? err : put(linker, number);
    }
    case SLC_TRANSFER_MAP:
        return pass_map(linker, number, transfer);
    case SLC_TRANSFER_TRUNCATE:
        return cut(linker, transfer);
    case SLC_TRANSFER_HOLE:
        return dig(linker, transfer);
    case SLC_TRANSFER_UNMAP:
        return pass_unmap(linker, number, transfer);
    case SLC_TRANSFER_NAME:
        return pass_name(linker, transfer);
    case SLC_TRANSFER_RENAME:
    case SLC_TRANSFER_LINK:
        return pass_rename(linker, transfer);
    case SLC_TRANSFER_UNLINK:
        return pass_unlink(linker, transfer);
    case SLC_TRANSFER_SYMLINK:
        return pass_symlink(linker, transfer);
    case SLC_TRANSFER_CUT:
        return pass_cut(linker, transfer);
    case SLC_TRANSFER_CHDIR:
        return pass_chdir(linker, transfer);
    case SLC_TRANSFER_SHOW:
        return pass_show(linker, number, transfer);
    case SLC_TRANSFER_MOVE:
        return pass_move(linker, transfer);
    case SLC_TRANSFER_LEND:
        return 0;
    case SLC_TRANSFER_BORROW:
        return pass_borrow(linker, number);
    }
    return 0;
}

static int linker_init(struct linker *linker)
{
    const struct slc_channels *channels = linker->channels;
    size_t files = slc_files_count(channels->files) + 1;

    uint32_t *sorted = malloc(files * sizeof(*sorted));

    linker->objects = malloc(files * sizeof(*linker->objects));
    linker->inodes = malloc(files * sizeof(*linker->inodes));
    linker->of_inodes = malloc(files * sizeof(*linker->of_inodes));
    linker->directories = calloc(files, sizeof(*linker->directories));
    linker->ways = calloc(slc_files_fifo_count(channels->files) + 1, sizeof(*linker->ways));
    bool is_whole = sorted && linker->objects && linker->inodes && linker->of_inodes &&
                    linker->directories && linker->ways;
    if (is_whole) {
        memset(linker->objects, 0xff, files * sizeof(*linker->objects));
        memset(linker->inodes, 0xff, files * sizeof(*linker->inodes));
        memset(linker->of_inodes, 0xff, files * sizeof(*linker->of_inodes));
        compare_inodes(linker, sorted);
    }
    free(sorted);
    return is_whole ? 0 : -ENOMEM;
}

static void linker_fini(struct linker *linker)
{
    const struct slc_channels *channels = linker->channels;

    for (uint32_t i = 0; linker->directories && i < slc_files_count(channels->files); i++)
        free(linker->directories[i]);
    for (uint32_t i = 0; linker->ways && i < slc_files_fifo_count(channels->files); i++)
        free(linker->ways[i].list);
    for (size_t i = 0; i < linker->path_count; i++)
        free(linker->paths[i].text);
    slc_contents_fini(&linker->contents);
    slc_names_fini(&linker->names);
    slc_symlinks_fini(&linker->symlinks);
    free(linker->current);
    free(linker->paths);
    free(linker->objects);
    free(linker->inodes);
    free(linker->of_inodes);
    free(linker->states);
    free(linker->directories);
    free(linker->ways);
    free(linker->mappings);
    free(linker->found);
    free(linker->receivers);
}

int slc_channels_link(struct slc_channels *channels)
{
    struct linker linker = {.channels = channels};
    int err = linker_init(&linker);

    assert(!channels->first_links);
    if (!err && matters(channels))
        err = read_paths(&linker);
    if (!err)
        err = put_fifos(&linker);
    for (size_t i = 0; i < channels->count && !err; i++)
        err = pass(&linker, channels->order[i]);
    if (!err)
        err = sort_links(&linker);
    linker_fini(&linker);
    return err;
}
