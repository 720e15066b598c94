/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A part, per interval:
 *
 *   struct head | counts | note | frame of STATE | of ENTRIES | of LINES
 *
 * It is read by the program that wrote it, so structures go in as they are.
 */
#include "wet/build/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include <wetdbg/errors.h>

#define SECTIONS WET_WRITER_SECTIONS
#define COUNTS   2 /* which of them is packed when it is merged */

static const uint32_t kinds[SECTIONS] = {WET_SEC_STATE, WET_SEC_ENTRIES, WET_SEC_COUNTS,
                                         WET_SEC_LINES};

struct head {
    uint64_t counts_bytes, note_bytes;
    struct {
        uint64_t raw_bytes, hash, frame_bytes;
        enum wet_form form;
    } sections[SECTIONS]; /* that of COUNTS is empty */
};

/* ---- writing ---- */

struct wet_part {
    int fd, level;
    struct wet_packer *packer;
    struct wet_packed packed[SECTIONS];
};

int wet_part_new(int fd, int level, struct wet_part **out)
{
    struct wet_part *part = calloc(1, sizeof(*part));
    struct wet_packer *packer = part ? wet_packer_new() : NULL;
    if (!packer) {
        free(part);
        return -ENOMEM;
    }
    *part = (struct wet_part){.fd = fd, .level = level, .packer = packer};
    *out = part;
    return 0;
}

void wet_part_free(struct wet_part *part)
{
    if (!part)
        return;
    for (unsigned i = 0; i < SECTIONS; i++)
        wet_packed_fini(&part->packed[i]);
    wet_packer_free(part->packer);
    free(part);
}

static int bytes_put(const struct wet_part *part, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count) {
        ssize_t done = write(part->fd, from, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC; /* regular files take something or say why not */
        if (done <= 0)
            return wetdbg_fail_errno("writing a part of the file");
        from += done;
        count -= (size_t)done;
    }
    return 0;
}

static int sections_pack(struct wet_part *part, const struct wet_interval_parts *parts,
                         struct head *head)
{
    const struct wd_buf *bytes[SECTIONS] = {&parts->state, &parts->entries, NULL, &parts->lines};
    int err = 0;
    for (unsigned i = 0; !err && i < SECTIONS; i++) {
        struct wet_packed *packed = &part->packed[i];
        if (i == COUNTS)
            continue;
        err = wet_packer_pack(part->packer, kinds[i], parts->index, bytes[i]->data,
                              bytes[i]->size_bytes, part->level, packed);
        head->sections[i].raw_bytes = packed->raw_bytes;
        head->sections[i].hash = packed->hash;
        head->sections[i].form = packed->form;
        head->sections[i].frame_bytes = packed->frame.size_bytes;
    }
    return err;
}

int wet_part_put(struct wet_part *part, struct wet_interval_parts *parts)
{
    struct head head;
    memset(&head, 0, sizeof(head));
    head.counts_bytes = parts->counts.size_bytes;
    head.note_bytes = parts->note.size_bytes;
    int err = sections_pack(part, parts, &head);
    if (!err)
        err = bytes_put(part, &head, sizeof(head));
    if (!err)
        err = bytes_put(part, parts->counts.data, parts->counts.size_bytes);
    if (!err)
        err = bytes_put(part, parts->note.data, parts->note.size_bytes);
    for (unsigned i = 0; !err && i < SECTIONS; i++)
        err = bytes_put(part, part->packed[i].frame.data, head.sections[i].frame_bytes);
    wd_buf_fini(&parts->state); /* the next one comes in a buffer of its own */
    parts->entries.size_bytes = parts->counts.size_bytes = 0;
    parts->lines.size_bytes = parts->note.size_bytes = 0;
    return err;
}

/* ---- merging ---- */

struct reader {
    const struct wet_merge *merge;
    int fd;
    uint64_t at, bytes;          /* in the file */
    struct wet_node_table nodes; /* of the process that wrote it */
    uint32_t *map;               /* of these, wet_node_table_merge */
    uint32_t room;
    struct wet_packer *packer;
    struct wet_packed packed[SECTIONS];
    struct wd_buf counts, numbered, note, noted;
};

static int damaged(void)
{
    return wetdbg_fail(-WETDBG_ERR_MACHINE,
                       "a part of the file that a process built is not what was "
                       "expected of it; this is a defect (--jobs=1 does without)");
}

static int bytes_take(struct reader *reader, void *to, uint64_t count)
{
    uint8_t *bytes = to;
    if (count > reader->bytes - reader->at)
        return damaged();
    while (count) {
        ssize_t done = pread(reader->fd, bytes, count, (off_t)reader->at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return wetdbg_fail_errno("reading a part of the file");
        if (done == 0)
            return damaged();
        bytes += done;
        reader->at += (uint64_t)done;
        count -= (uint64_t)done;
    }
    return 0;
}

static int buf_take(struct reader *reader, struct wd_buf *buf, uint64_t count)
{
    buf->size_bytes = 0;
    if (count > reader->bytes - reader->at)
        return damaged();
    int err = wd_buf_reserve(buf, count);
    if (!err)
        err = bytes_take(reader, buf->data, count);
    buf->size_bytes = err ? 0 : count;
    return err;
}

/* The note names the process' nodes; reader->noted becomes one that names those of the file. */
static int nodes_take(struct reader *reader, const struct wet_index_record *expected)
{
    const struct wet_merge *merge = reader->merge;
    struct wd_view view = wd_view_of(reader->note.data, reader->note.size_bytes);
    const uint8_t *record = wd_view_bytes(&view, sizeof(*expected));
    if (!record || memcmp(record, expected, sizeof(*expected)))
        return damaged();
    int err = wet_node_table_load(&reader->nodes, &view);
    if (!err)
        err = wd_grow_zeroed(reader->map, reader->room, reader->nodes.count);
    reader->numbered.size_bytes = reader->noted.size_bytes = 0;
    if (!err)
        err = wet_node_table_merge(merge->nodes, &reader->nodes, reader->map, &reader->counts,
                                   &reader->numbered);
    if (!err)
        err = wd_buf_append(&reader->noted, expected, sizeof(*expected));
    if (!err)
        err = wet_node_table_save(merge->nodes, *merge->noted, &reader->noted);
    *merge->noted = merge->nodes->count;
    if (!err)
        err = wd_buf_append(&reader->noted, reader->note.data + view.at,
                            reader->note.size_bytes - view.at);
    return err == -WETDBG_ERR_CORRUPT ? damaged() : err;
}

static int interval_merge(struct reader *reader, uint64_t k,
                          const struct wet_index_record *expected)
{
    const struct wet_merge *merge = reader->merge;
    struct head head;
    int err = bytes_take(reader, &head, sizeof(head));
    if (!err)
        err = buf_take(reader, &reader->counts, head.counts_bytes);
    if (!err)
        err = buf_take(reader, &reader->note, head.note_bytes);
    if (!err)
        err = nodes_take(reader, expected);
    for (unsigned i = 0; !err && i < SECTIONS; i++) {
        struct wet_packed *packed = &reader->packed[i];
        if (i == COUNTS) {
            err = wet_packer_pack(reader->packer, kinds[i], k, reader->numbered.data,
                                  reader->numbered.size_bytes, merge->level, packed);
            continue;
        }
        packed->kind = kinds[i];
        packed->key = k;
        packed->raw_bytes = head.sections[i].raw_bytes;
        packed->hash = head.sections[i].hash;
        packed->form = head.sections[i].form;
        err = buf_take(reader, &packed->frame, head.sections[i].frame_bytes);
    }
    return err ? err
               : wet_interval_write(merge->store, merge->journal, reader->packed, &reader->noted);
}

int wet_part_merge(const struct wet_merge *merge, int fd, const struct wet_index_record *index,
                   uint64_t first, uint64_t count)
{
    struct reader reader = {.merge = merge, .fd = fd, .packer = wet_packer_new()};
    struct stat stat;
    int err = !reader.packer     ? -ENOMEM
              : fstat(fd, &stat) ? wetdbg_fail_errno("reading a part of the file")
                                 : 0;
    reader.bytes = err ? 0 : (uint64_t)stat.st_size;
    for (uint64_t i = 0; !err && i < count; i++)
        err = interval_merge(&reader, first + i, &index[i]);
    if (!err && reader.at != reader.bytes)
        err = damaged();
    wet_node_table_fini(&reader.nodes);
    free(reader.map);
    for (unsigned i = 0; i < SECTIONS; i++)
        wet_packed_fini(&reader.packed[i]);
    wet_packer_free(reader.packer);
    wd_buf_fini(&reader.counts);
    wd_buf_fini(&reader.numbered);
    wd_buf_fini(&reader.note);
    wd_buf_fini(&reader.noted);
    return err;
}
